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
use crate::ui::state::state;
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
