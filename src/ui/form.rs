//! The form: a section for every group of fields, drawn from the fields' declarations.

mod control;
mod derived;
mod essence;
mod field;
pub(super) mod search;
mod section;

use leptos::prelude::*;

pub(crate) use field::control_id;

use crate::config::field::Group;
use crate::config::fields::FieldId;
use crate::ui::state::{State, state};
use search::Search;
use section::section;

/// All sections, under the search box.
#[component]
pub fn Form() -> impl IntoView {
    let state = state();
    view! {
        <div class="form" id="settings" tabindex="-1" role="region" aria-label="Settings">
            <Search />
            {Group::ALL.map(|group| section(state, group)).collect_view()}
        </div>
    }
}

/// Some fields without their sections.
pub(super) fn rows(state: &'static State, fields: Vec<FieldId>) -> AnyView {
    fields
        .into_iter()
        .map(|id| field::field_row(state, id))
        .collect_view()
        .into_any()
}
