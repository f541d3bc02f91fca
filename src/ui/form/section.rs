//! One section of the form: a line that says what is in it, and its fields in up to three steps.

use super::Sheet;
use super::derived::derived;
use super::essence::essence;
use super::field::row;
use super::relevance::Relevance;
use crate::config::field::{Group, Level};
use crate::config::fields::FieldId;
use crate::report::markup::{Markup, tag};
use crate::ui::draw::{aria, button};
use crate::ui::state::Disclosure;
use leptos::prelude::*;

impl Disclosure {
    /// What is open on a first visit: how ranks share the work, and the batch.
    pub(in crate::ui) fn first() -> Self {
        Self {
            open: Group::ALL
                .map(|g| matches!(g, Group::Parallelism | Group::Batch | Group::Hardware)),
            level: [Level::Essential; Group::ALL.len()],
        }
    }

    fn is_open(&self, group: Group) -> bool {
        self.open.get(group as usize).copied().unwrap_or_default()
    }

    fn level(&self, group: Group) -> Level {
        self.level
            .get(group as usize)
            .copied()
            .unwrap_or(Level::All)
    }

    pub(super) fn toggle(&mut self, group: Group) {
        if let Some(open) = self.open.get_mut(group as usize) {
            *open = !*open;
        }
    }

    pub(super) fn set_level(&mut self, group: Group, level: Level) {
        if let Some(slot) = self.level.get_mut(group as usize) {
            *slot = level;
        }
    }

    /// Opens what hides this field of the job.
    pub(in crate::ui) fn reveal(&mut self, id: FieldId, relevance: &Relevance) {
        let field = id.field();
        let level = if relevance.has(id) {
            field.presentation().level
        } else {
            Level::All
        };
        if let Some(open) = self.open.get_mut(field.presentation().group as usize) {
            *open = true;
        }
        if self.level(field.presentation().group) < level {
            self.set_level(field.presentation().group, level);
        }
    }
}

/// The fields of a group.
pub(super) fn fields(group: Group) -> impl Iterator<Item = FieldId> {
    let all = FieldId::ALL.iter().copied();
    all.filter(move |id| id.presentation().group == group)
}

/// Whether a field means something for the job, or hides something that the reader must see.
fn matters(sheet: &Sheet, id: FieldId) -> bool {
    sheet.relevance.has(id) || sheet.changed(id) || sheet.invalid(id)
}

/// Whether a field shows at a level: where it means nothing for the job, only with all the others.
fn shows(sheet: &Sheet, id: FieldId, level: Level) -> bool {
    level == Level::All || (id.presentation().level <= level && matters(sheet, id))
}

/// A section.
pub(super) fn section(sheet: &Sheet, group: Group) -> Markup {
    let number = group as usize;
    let open = sheet.state.disclosure.read().is_open(group);
    let own = sheet.checked.errors().filter(|p| sheet.concerns(p, group));
    let (own, all) = (own.count(), sheet.checked.errors().count());
    // Of those that the headline counts, in the same words.
    let errors = match own {
        _ if own != all => format!("{own} of {all} problems"),
        1 => String::from("1 problem"),
        _ => format!("{own} problems"),
    };
    let essence = sheet
        .outcome
        .as_ref()
        .and_then(|o| essence(group, sheet, o));
    let line = button(format!("{number}/toggle"), "section-line", "")
        .with("id", format!("line-{number}"))
        .with("aria-expanded", aria(open))
        .with("aria-controls", format!("section-{number}"))
        .child(tag("span").class("section-title").text(group.title()))
        .child(
            tag("span")
                .class("section-errors")
                .mark("hidden", own == 0)
                .text(errors),
        )
        .child(
            tag("span")
                .class("section-essence")
                .text(essence.unwrap_or_default()),
        );
    let body = tag("div")
        .class("section-body")
        .with("id", format!("section-{number}"))
        .mark("hidden", !open);
    let body = if open {
        body.children(inside(sheet, group))
    } else {
        body
    };
    // A section without meaning for the job shows where somebody searched for one of its fields.
    let idle = !open && !fields(group).any(|id| matters(sheet, id));
    tag("section")
        .class("section")
        .mark("hidden", idle)
        .child(tag("h2").child(line))
        .child(body)
}

fn inside(sheet: &Sheet, group: Group) -> Vec<Markup> {
    let level = sheet.state.disclosure.read().level(group);
    let mut inside = Vec::new();
    for at in [Level::Essential, Level::More, Level::All] {
        if at <= level {
            let here = fields(group)
                .filter(|id| id.presentation().level == at && shows(sheet, *id, level));
            inside.extend(here.map(|id| row(sheet, id)));
        }
        if at == Level::Essential {
            inside.push(derived(sheet, group));
        }
    }
    inside.push(foot(sheet, group, level));
    inside
}

/// The switches between the levels, and the way back.
fn foot(sheet: &Sheet, group: Group, level: Level) -> Markup {
    let [essential, more, all] = [Level::Essential, Level::More, Level::All]
        .map(|level| fields(group).filter(|id| shows(sheet, *id, level)).count());
    let no_more = more == essential || level != Level::Essential;
    let no_all =
        all == more || level == Level::All || (level == Level::Essential && more > essential);
    let changed = fields(group).any(|id| sheet.changed(id));
    let switches = [
        ("more", format!("{} more", more - essential), no_more),
        ("all", format!("all {all} flags"), no_all),
        ("fewer", String::from("fewer"), level == Level::Essential),
    ];
    let number = group as usize;
    let switches = switches.map(|(part, label, hidden)| {
        button(format!("{number}/{part}"), "link", label).mark("hidden", hidden)
    });
    let reset = button(
        format!("{number}/reset"),
        "link section-reset",
        "Reset section",
    );
    tag("div")
        .class("section-foot")
        .with("id", format!("foot-{number}"))
        .children(switches)
        .child(reset.mark("hidden", !changed))
        .children((group == Group::Parallelism).then(search))
}

/// Opens a dialog of `exchange.js`, which is loaded then.
fn search() -> Markup {
    button("search/layouts", "link", "Find layouts that fit")
        .with("aria-haspopup", "dialog")
        .with("data-exchange", "search")
}
