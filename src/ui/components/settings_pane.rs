//! The settings pane: the search box, the modules and all sections of the form.

use leptos::prelude::*;

use super::form::FormSections;
use super::form::field_search::FieldSearch;
use super::module_list::ModuleList;

/// The pane.
#[component]
pub fn SettingsPane() -> impl IntoView {
    view! {
        <div class="form" id="settings" tabindex="-1" role="region" aria-label="Settings">
            <FieldSearch />
            <ModuleList />
            <FormSections />
        </div>
    }
}
