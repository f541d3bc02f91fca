//! The foot of a section, below its fields.

use super::ids::line_id;
use super::section_fields::{SectionFields, fields_of};
use crate::browser;
use crate::state::{DialogKind, OpenDialog, State};
use leptos::prelude::*;
use megatron_memory::config::field::{Group, Level};

/// The switches between the levels, and the way back to the preset.
#[component]
pub fn SectionFoot(group: Group, fields: SectionFields) -> impl IntoView {
    let state = expect_context::<State>();
    let counts =
        Memo::new(move |_| [Level::Essential, Level::More, Level::All].map(|level| fields.shown_at(level).len()));
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
        match more - essential {
            1 => "1 more setting".to_owned(),
            others => format!("{others} more settings"),
        }
    };
    let all = move || {
        let [_, _, all] = counts.get();
        format!("All {all} settings")
    };
    let changed = Memo::new(move |_| state.is_changed(fields_of(group)));
    let set_level = move |level| {
        state
            .form
            .disclosure
            .update(|disclosure| disclosure.set_level(group, level));
    };
    let reset = move |_| {
        browser::focus(line_id(group));
        state.reset(fields_of(group));
    };
    // An embed has no dialogs.
    let open_dialog = use_context::<OpenDialog>().filter(|_| group == Group::Parallelism);
    let search = open_dialog.map(|open_dialog| {
        view! {
            <button
                type="button"
                class="link"
                aria-haspopup="dialog"
                data-testid="search-layouts"
                on:click=move |_| open_dialog.open(DialogKind::Search)
            >
                "Browse layouts"
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
                "Show less"
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
