//! One section of the form: a line that says what is in it, and its fields in up to three steps.

use leptos::prelude::*;

use super::derived::derived;
use super::essence::essence;
use super::field::field_row;
use crate::config::field::{Field, Group, Level};
use crate::config::fields::FieldId;
use crate::ui::parts::{aria, block_if, button, click, memo, text, yes};
use crate::ui::state::{Disclosure, State};

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

    fn toggle(&mut self, group: Group) {
        if let Some(open) = self.open.get_mut(group as usize) {
            *open = !*open;
        }
    }

    fn set_level(&mut self, group: Group, level: Level) {
        if let Some(slot) = self.level.get_mut(group as usize) {
            *slot = level;
        }
    }

    /// Opens what hides this field.
    pub(in crate::ui) fn reveal(&mut self, field: &Field) {
        if let Some(open) = self.open.get_mut(field.group as usize) {
            *open = true;
        }
        if self.level(field.group) < field.level {
            self.set_level(field.group, field.level);
        }
    }
}

fn fields(group: Group) -> impl Iterator<Item = FieldId> {
    FieldId::ALL
        .iter()
        .copied()
        .filter(move |id| id.field().group == group)
}

fn count(group: Group, level: Level) -> usize {
    fields(group).filter(|id| id.field().level <= level).count()
}

/// Fields of the group that have a problem which keeps the job from running.
fn errors(state: &'static State, group: Group) -> usize {
    let checked = state.checked.read();
    let bad = |id: &FieldId| checked.errors().any(|p| p.fields.contains(id));
    fields(group).filter(bad).count()
}

/// A section.
pub(super) fn section(state: &'static State, group: Group) -> AnyView {
    let disclosure = state.disclosure;
    let open = memo(move || disclosure.read().is_open(group));
    let level = memo(move || disclosure.read().level(group));
    let essence = memo(move || {
        let outcome = state.outcome.read();
        outcome
            .as_ref()
            .and_then(|o| essence(group, state, o))
            .unwrap_or_default()
    });
    let errors = memo(move || errors(state, group));
    let body = format!("section-{}", group as usize);
    view! {
        <section class="section">
            <h2>
                <button
                    type="button"
                    class="section-line"
                    aria-expanded=aria(move || open.get())
                    aria-controls=body.clone()
                    on:click=click(move || disclosure.update(|d| d.toggle(group)))
                >
                    <span class="section-title">{group.title()}</span>
                    <span class="section-errors" hidden=yes(move || errors.get() == 0)>
                        {text(move || match errors.get() {
                            1 => String::from("1 problem"),
                            n => format!("{n} problems"),
                        })}
                    </span>
                    <span class="section-essence">{text(move || essence.get())}</span>
                </button>
            </h2>
            <div class="section-body" id=body hidden=yes(move || !open.get())>
                {block_if(move || open.get(), move || body_view(state, group, level))}
            </div>
        </section>
    }
    .into_any()
}

fn body_view(state: &'static State, group: Group, level: Memo<Level>) -> AnyView {
    let rows = move |at: Level| {
        block_if(
            move || level.get() >= at,
            move || {
                let rows = fields(group).filter(move |id| id.field().level == at);
                rows.map(|id| field_row(state, id))
                    .collect_view()
                    .into_any()
            },
        )
    };
    let changed = memo(move || fields(group).any(|id| state.changed(id)));
    let (essential, more, all) = (
        count(group, Level::Essential),
        count(group, Level::More),
        count(group, Level::All),
    );
    let reveal = move |to: Level, label: String, hidden: Signal<bool>| {
        button("link", label, hidden, move || {
            state.disclosure.update(|d| d.set_level(group, to));
        })
    };
    let no_more = yes(move || more == essential || level.get() != Level::Essential);
    let no_all = yes(move || {
        all == more
            || level.get() == Level::All
            || (level.get() == Level::Essential && more > essential)
    });
    let no_fewer = yes(move || level.get() == Level::Essential);
    view! {
        {rows(Level::Essential)}
        {derived(state, group)}
        {rows(Level::More)}
        {rows(Level::All)}
        <div class="section-foot">
            {reveal(Level::More, format!("{} more", more - essential), no_more)}
            {reveal(Level::All, format!("all {all} flags"), no_all)}
            {reveal(Level::Essential, String::from("fewer"), no_fewer)}
            {button(
                "link section-reset",
                "Reset section",
                yes(move || !changed.get()),
                move || state.reset(fields(group)),
            )}
        </div>
    }
    .into_any()
}
