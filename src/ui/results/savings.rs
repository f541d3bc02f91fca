//! The ledger: what each way of recomputing or offloading would save on the shown stage. A click makes it so.

use core::time::Duration;
use std::sync::Arc;

use super::super::browser::Timer;
use super::super::draw::{aria, button};
use super::super::shown::{Gesture, Piece, shown};
use super::panel::{head, panel, scrolling};
use super::picture::number;
use super::view::View;
use crate::memory::savings::Saving;
use crate::report::amount::Scale;
use crate::report::markup::{Markup, tag};
use crate::report::savings::{Kind, Row, rows};
use leptos::prelude::*;

/// A ledger is a dozen estimates: it waits until the reader pauses.
const PAUSE: Duration = Duration::from_millis(400);

/// The ledger of the shown stage.
pub(super) fn savings(view: View) -> Piece {
    let saved: RwSignal<Arc<Vec<Saving>>> = RwSignal::new(Arc::default());
    let timer = Timer::default();
    Effect::new(move |_| {
        let outcome = view.state.outcome.get();
        let stage = view.stage.get();
        timer.restart(
            PAUSE,
            Box::new(move || {
                let job = &view.state.setup.read_untracked().job;
                let found = stage
                    .map(|stage| crate::memory::savings::savings(job, stage))
                    .unwrap_or_default();
                // While the settings cannot run, the last ledger stays, as all results do.
                if outcome.is_none() || !found.is_empty() {
                    saved.set(Arc::new(found));
                }
            }),
        );
    });
    let listed = move || rows(&saved.read(), Scale::fine(view.state.unit.get()));
    let draw = move || table(&listed());
    let hands = move |gesture: Gesture<'_>| {
        if let Gesture::Choose(place) = gesture
            && let Some(row) = number(place).and_then(|i| untrack(listed).into_iter().nth(i))
        {
            apply(&view, &row);
        }
        false
    };
    let inside = vec![
        head(
            "savings-title",
            "What recompute would save",
            "on this stage, against the settings as they are; the last column is the part of the forward pass that runs twice",
        ),
        shown("savings", draw, hands),
    ];
    panel("panel", "savings-title", inside)
}

fn apply(view: &View, row: &Row) {
    let Some(stage) = untrack(|| view.stage.get()) else {
        return;
    };
    let mut setup = view.state.setup.get_untracked();
    for (field, value) in row.choice.settings() {
        setup.job.put(stage.module, field, value);
    }
    view.state.jump(setup);
}

fn table(rows: &[Row]) -> Vec<Markup> {
    let headings = [
        "Recompute",
        "Saves",
        "Stage then",
        "Fullest GPU then",
        "Runs again",
    ];
    let heading = |text: &'static str| tag("th").with("scope", "col").text(text);
    let head = tag("tr").children(headings.map(heading));
    let rows = rows.iter().enumerate().map(|(i, row)| {
        let choose = button(i.to_string(), "link", row.name.clone())
            .with("aria-pressed", aria(row.current))
            .mark("disabled", row.kind == Kind::Refused);
        let kind = match row.kind {
            // No saving that anybody can have.
            Kind::Less if row.too_large => "same",
            Kind::Less => "less",
            Kind::Same => "same",
            Kind::More => "more",
            Kind::Refused => "refused",
        };
        let fullest = if row.too_large { "more" } else { "" };
        tag("tr")
            .class(if row.current { "chosen" } else { "" })
            .child(tag("th").with("scope", "row").child(choose))
            .child(tag("td").class(kind).text(row.saves.clone()))
            .child(tag("td").text(row.peak.clone()))
            .child(tag("td").class(fullest).text(row.fullest.clone()))
            .child(tag("td").text(row.again.clone()))
    });
    let table = tag("table")
        .child(tag("thead").child(head))
        .child(tag("tbody").children(rows));
    let scroll = scrolling("aria-labelledby", "savings-title");
    vec![scroll.child(table)]
}
