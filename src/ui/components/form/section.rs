//! One section of the form: a line that says what is in it, and its fields in up to three levels.

use super::derived::DerivedChips;
use super::field_row::FieldRow;
use super::section_summary::section_summary;
use crate::config::field::{Group, Level};
use crate::config::fields::FieldId;
use crate::ui::browser;
use crate::ui::dialogs::{DialogKind, OpenDialog};
use crate::ui::state::State;
use leptos::prelude::*;

/// A section. One without meaning for the job is hidden, until somebody searches for one of its fields.
#[component]
pub fn FormSection(group: Group) -> impl IntoView {
    let state = expect_context::<State>();
    let open = Memo::new(move |_| state.disclosure.read().is_open(group));
    let fields = SectionFields::of(state, group);
    let hidden = move || !open.get() && fields.mattering.read().is_empty();
    view! {
        <section class="section" hidden=hidden>
            <h2>
                <SectionLine group open />
            </h2>
            <div
                class="section-body"
                id=format!("section-{}", group as usize)
                hidden=move || !open.get()
            >
                <Show when=move || open.get()>
                    <For each=move || fields.essential() key=|id| id.field().key let:id>
                        <FieldRow id />
                    </For>
                    <DerivedChips group />
                    <For each=move || fields.further() key=|id| id.field().key let:id>
                        <FieldRow id />
                    </For>
                    <SectionFoot group fields />
                </Show>
            </div>
        </section>
    }
}

/// The line that opens and closes the section, with its problems and a summary.
#[component]
fn SectionLine(group: Group, open: Memo<bool>) -> impl IntoView {
    let state = expect_context::<State>();
    let errors = Memo::new(move |_| state.errors_in(group));
    let all_errors = Memo::new(move |_| state.checked.read().errors().count());
    let summary = Memo::new(move |_| section_summary(group, state).unwrap_or_default());
    // Of those that the headline counts, in the same words.
    let problems = move || match (errors.get(), all_errors.get()) {
        (own, all) if own != all => format!("{own} of {all} problems"),
        (1, _) => String::from("1 problem"),
        (own, _) => format!("{own} problems"),
    };
    view! {
        <button
            type="button"
            class="section-line"
            id=line_id(group)
            aria-expanded=move || if open.get() { "true" } else { "false" }
            aria-controls=format!("section-{}", group as usize)
            on:click=move |_| state.disclosure.update(|disclosure| disclosure.toggle(group))
        >
            <span class="section-title">{group.title()}</span>
            <span class="section-errors" hidden=move || errors.get() == 0>
                {problems}
            </span>
            <span class="section-essence">{summary}</span>
        </button>
    }
}

/// The switches between the levels, and the way back to the preset.
#[component]
fn SectionFoot(group: Group, fields: SectionFields) -> impl IntoView {
    let state = expect_context::<State>();
    let open_dialog = expect_context::<OpenDialog>();
    let counts = Memo::new(move |_| {
        [Level::Essential, Level::More, Level::All].map(|level| fields.shown_at(level).len())
    });
    let no_more = move || {
        let [essential, more, _] = counts.get();
        more == essential || fields.level.get() != Level::Essential
    };
    let no_all = move || {
        let ([essential, more, all], level) = (counts.get(), fields.level.get());
        all == more || level == Level::All || (level == Level::Essential && more > essential)
    };
    let more = move || {
        let [essential, more, _] = counts.get();
        format!("{} more", more - essential)
    };
    let all = move || {
        let [_, _, all] = counts.get();
        format!("all {all} flags")
    };
    let changed = Memo::new(move |_| fields_of(group).any(|id| state.is_changed(id)));
    let set_level = move |level| {
        state
            .disclosure
            .update(|disclosure| disclosure.set_level(group, level));
    };
    let reset = move |_| {
        browser::focus(line_id(group));
        state.reset(fields_of(group));
    };
    let search = (group == Group::Parallelism).then(|| {
        view! {
            <button
                type="button"
                class="link"
                aria-haspopup="dialog"
                data-testid="search-layouts"
                data-exchange="search"
                on:click=move |_| open_dialog.open(DialogKind::Search)
            >
                "Find layouts that fit"
            </button>
        }
    });
    view! {
        <div class="section-foot" id=format!("foot-{}", group as usize)>
            <button type="button" class="link" hidden=no_more on:click=move |_| set_level(Level::More)>
                {more}
            </button>
            <button type="button" class="link" hidden=no_all on:click=move |_| set_level(Level::All)>
                {all}
            </button>
            <button
                type="button"
                class="link"
                hidden=move || fields.level.get() == Level::Essential
                on:click=move |_| set_level(Level::Essential)
            >
                "fewer"
            </button>
            <button
                type="button"
                class="link section-reset"
                hidden=move || !changed.get()
                on:click=reset
            >
                "Reset section"
            </button>
            {search}
        </div>
    }
}

fn line_id(group: Group) -> String {
    format!("line-{}", group as usize)
}

/// The fields of a group, in the order of their declarations.
fn fields_of(group: Group) -> impl Iterator<Item = FieldId> {
    let all = FieldId::ALL.iter().copied();
    all.filter(move |id| id.presentation().group == group)
}

/// Which fields of a section show.
#[derive(Clone, Copy)]
struct SectionFields {
    group: Group,
    /// The highest level that shows.
    level: Memo<Level>,
    /// The fields that mean something for the job, or hold something that the reader must see.
    mattering: Memo<Vec<FieldId>>,
}

impl SectionFields {
    fn of(state: State, group: Group) -> Self {
        Self {
            group,
            level: Memo::new(move |_| state.disclosure.read().level(group)),
            mattering: Memo::new(move |_| {
                let fields = fields_of(group);
                fields.filter(|id| state.matters(*id)).collect()
            }),
        }
    }

    /// The fields that show at a level. One that means nothing for the job shows only among all.
    fn shown_at(self, level: Level) -> Vec<FieldId> {
        let mattering = self.mattering.read();
        let shows = |id: &FieldId| {
            level == Level::All || (id.presentation().level <= level && mattering.contains(id))
        };
        fields_of(self.group).filter(shows).collect()
    }

    /// The essential fields that show now.
    fn essential(self) -> Vec<FieldId> {
        let mut shown = self.shown_at(self.level.get());
        shown.retain(|id| id.presentation().level == Level::Essential);
        shown
    }

    /// The other fields that show now, level by level.
    fn further(self) -> Vec<FieldId> {
        let mut shown = self.shown_at(self.level.get());
        shown.retain(|id| id.presentation().level != Level::Essential);
        shown.sort_by_key(|id| id.presentation().level);
        shown
    }
}
