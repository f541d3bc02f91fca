//! One section of the form: a line that says what is in it, and its fields in up to three steps.

use leptos::prelude::*;

use super::derived::Derived;
use super::essence::essence;
use super::field::FieldRow;
use crate::config::field::{Field, Group, Level};
use crate::config::fields::FieldId;
use crate::ui::state::{Disclosure, State, state};

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
#[component]
pub(super) fn Section(group: Group) -> impl IntoView {
    let state = state();
    let disclosure = state.disclosure;
    let open = Memo::new(move |_| disclosure.read().is_open(group));
    let level = Memo::new(move |_| disclosure.read().level(group));
    let essence = Memo::new(move |_| {
        let outcome = state.outcome.read();
        outcome
            .as_ref()
            .and_then(|o| essence(group, state, o))
            .unwrap_or_default()
    });
    let errors = Memo::new(move |_| errors(state, group));
    let body = format!("section-{}", group as usize);
    view! {
        <section class="section">
            <h2>
                <button
                    type="button"
                    class="section-line"
                    aria-expanded=move || if open.get() { "true" } else { "false" }
                    aria-controls=body.clone()
                    on:click=move |_| disclosure.update(|d| d.toggle(group))
                >
                    <span class="section-title">{group.title()}</span>
                    <span class="section-errors" hidden=move || errors.get() == 0>
                        {move || match errors.get() {
                            1 => String::from("1 problem"),
                            n => format!("{n} problems"),
                        }}
                    </span>
                    <span class="section-essence">{essence}</span>
                </button>
            </h2>
            <div class="section-body" id=body hidden=move || !open.get()>
                {move || open.get().then(|| body_view(state, group, level))}
            </div>
        </section>
    }
}

fn body_view(state: &'static State, group: Group, level: Memo<Level>) -> AnyView {
    let block = move |at: Level| {
        move || {
            (level.get() >= at).then(|| {
                let rows = fields(group).filter(move |id| id.field().level == at);
                rows.map(|id| view! { <FieldRow id /> }).collect_view()
            })
        }
    };
    let changed = Memo::new(move |_| fields(group).any(|id| state.changed(id)));
    let (essential, more, all) = (
        count(group, Level::Essential),
        count(group, Level::More),
        count(group, Level::All),
    );
    let show = move |to: Level| move |_| state.disclosure.update(|d| d.set_level(group, to));
    view! {
        {block(Level::Essential)}
        <Derived group />
        {block(Level::More)}
        {block(Level::All)}
        <div class="section-foot">
            <button
                type="button"
                class="link"
                hidden=move || more == essential || level.get() != Level::Essential
                on:click=show(Level::More)
            >
                {format!("{} more", more - essential)}
            </button>
            <button
                type="button"
                class="link"
                hidden=move || {
                    all == more || level.get() == Level::All
                        || (level.get() == Level::Essential && more > essential)
                }
                on:click=show(Level::All)
            >
                {format!("all {all} flags")}
            </button>
            <button
                type="button"
                class="link"
                hidden=move || level.get() == Level::Essential
                on:click=show(Level::Essential)
            >
                "fewer"
            </button>
            <button
                type="button"
                class="link section-reset"
                hidden=move || !changed.get()
                on:click=move |_| state.reset(fields(group))
            >
                "Reset section"
            </button>
        </div>
    }
    .into_any()
}
