//! The job beside a pinned one: what each bucket of the fullest stage gains or loses, and which settings differ.

use std::sync::Arc;

use super::super::draw::button;
use super::super::shown::{Gesture, Piece, shown};
use super::super::state::{Outcome, State};
use super::super::values::{same, shown as text_of};
use super::frameworks::signed;
use super::panel::{heading, scrolling};
use super::view::View;
use crate::config::check;
use crate::config::fields::FieldId;
use crate::formats::state::Setup;
use crate::memory::bucket::Bucket;
use crate::memory::{StageEstimate, estimate};
use crate::report::amount::Scale;
use crate::report::markup::{Markup, tag};
use crate::report::summary::stage_name;
use crate::units::Bytes;
use leptos::prelude::*;

/// The id of the title.
const TITLE: &str = "compare-title";
/// The most settings that are named.
const MOST: usize = 40;

/// The comparison; nothing where no job is pinned.
pub(super) fn compare(view: View) -> Piece {
    let state = view.state;
    let pinned = Memo::new_owning(move |_| {
        let setup = state.compare.read();
        let config = setup.as_ref().and_then(|setup| check(&setup.job).config);
        let outcome = config.map(|config| {
            let estimate = estimate(&config);
            Arc::new(Outcome { config, estimate })
        });
        (outcome, true)
    });
    let act = move |gesture: Gesture<'_>| {
        match gesture {
            Gesture::Choose("swap") => state.swap(),
            Gesture::Choose("unpin") => state.pin(None),
            _ => {}
        }
        false
    };
    let draw = move || {
        let setup = state.compare.read();
        setup.as_ref().map_or_else(Vec::new, |setup| {
            vec![panel(view, setup, pinned.get().as_deref())]
        })
    };
    shown("compare-place", draw, act)
}

fn panel(view: View, setup: &Setup, pinned: Option<&Outcome>) -> Markup {
    let head = heading(TITLE, "Against the pinned job", "the fullest stage of each")
        .child(button("swap", "link", "Swap"))
        .child(button("unpin", "link", "Unpin"));
    let section = tag("section")
        .class("panel frameworks compare")
        .with("aria-labelledby", TITLE)
        .child(head);
    let now = view.state.outcome.read();
    let table = now
        .as_deref()
        .zip(pinned)
        .and_then(|(now, pinned)| table(now, pinned, Scale::fine(view.state.unit.get())));
    let table = table.unwrap_or_else(|| tag("p").text("The pinned job cannot run."));
    section.child(table).child(settings(view.state, setup))
}

/// A row a bucket that either job has.
fn table(now: &Outcome, pinned: &Outcome, scale: Scale) -> Option<Markup> {
    let (new, old) = (now.estimate.worst_stage()?, pinned.estimate.worst_stage()?);
    let place = |outcome: &Outcome| stage_name(&outcome.config, outcome.estimate.worst);
    let headings = [
        String::from("Bucket"),
        format!("Pinned, {}", place(pinned)),
        format!("Now, {}", place(now)),
        String::from("Difference"),
    ];
    let headings = headings.map(|heading| tag("th").with("scope", "col").text(heading));
    let held: Vec<Bucket> = Bucket::ALL
        .into_iter()
        .filter(|bucket| old.bytes(*bucket).max(new.bytes(*bucket)) > Bytes::ZERO)
        .collect();
    // The numbers of a column add up to its total as they are shown.
    let column = |stage: &StageEstimate| -> Vec<Bytes> {
        held.iter().map(|bucket| stage.bytes(*bucket)).collect()
    };
    let (before, after) = (column(old), column(new));
    let (before, after) = (scale.parts(&before), scale.parts_beside(&after, &before));
    let mut rows = Vec::new();
    for ((bucket, before), after) in held.iter().zip(before).zip(after) {
        let difference = signed(new.bytes(*bucket), old.bytes(*bucket), scale);
        rows.push(row(bucket.label(), [before, after, difference]));
    }
    let total = [
        scale.number(old.total),
        scale.number(new.total),
        signed(new.total, old.total, scale),
    ];
    rows.push(row("Total", total).class("ours"));
    let table = tag("table")
        .child(tag("thead").child(tag("tr").children(headings)))
        .child(tag("tbody").children(rows));
    let scroll = scrolling("aria-label", "Pinned job and this one, by bucket");
    Some(scroll.child(table))
}

fn row(name: &'static str, cells: [String; 3]) -> Markup {
    tag("tr")
        .child(tag("th").with("scope", "row").text(name))
        .children(cells.map(|cell| tag("td").text(cell)))
}

/// The settings that differ, each with both values.
fn settings(state: State, pinned: &Setup) -> Markup {
    let (setup, module) = (state.setup.read(), state.module.get());
    let mut items = Vec::new();
    for id in FieldId::ALL.iter().copied() {
        let field = id.field();
        let (old, new) = (pinned.job.get(module, id), setup.job.get(module, id));
        if same(field, old, new) || items.len() == MOST {
            continue;
        }
        let value = |value| match text_of(field, value) {
            text if text.is_empty() => String::from("none"),
            text => text,
        };
        let values = format!("{} → {}", value(old), value(new));
        items.push(
            tag("div")
                .child(tag("dt").text(field.presentation().label))
                .child(tag("dd").text(values)),
        );
    }
    if items.is_empty() {
        return tag("p")
            .class("panel-note")
            .text("The settings are the same.");
    }
    tag("dl").class("embed-fixed").children(items)
}

/// Pins the job on the page, or takes the pin out.
pub(in super::super) fn pin(state: State) {
    if untrack(|| state.compare.read().is_some()) {
        state.pin(None);
        return;
    }
    state.pin(Some(state.setup.get_untracked()));
    let said = "This job is pinned: the results show what every change makes of it.";
    state.toasts.tell(said);
}
