//! The form: a section for every group of fields, each field drawn from its declaration.

mod control;
mod derived;
mod field_help;
mod field_row;
mod field_search;
mod pattern_editor;
mod pattern_note;
mod problem_note;
mod section;
mod section_fields;
mod section_foot;
mod section_summary;
mod stepping;

pub use control::{Select, TextBox, gpu_options};
pub use field_search::SEARCH;
pub use problem_note::{FixButton, ProblemNote};

use super::module_list::ModuleList;
use crate::config::field::{Field, Group, Kind};
use crate::config::fields::FieldId;
use field_row::FieldRow;
use field_search::FieldSearch;
use leptos::prelude::*;
use section::FormSection;

/// The settings pane: the search box, the modules and all sections.
#[component]
pub fn Form() -> impl IntoView {
    view! {
        <div class="form" id="settings" tabindex="-1" role="region" aria-label="Settings">
            <FieldSearch />
            <ModuleList />
            <FormSections />
        </div>
    }
}

/// All sections.
#[component]
pub fn FormSections() -> impl IntoView {
    let sections = Group::ALL.map(|group| view! { <FormSection group /> });
    view! { <div class="sections">{sections}</div> }
}

/// Some fields without their sections, for an embed.
#[component]
pub fn FieldRows(fields: Vec<FieldId>) -> impl IntoView {
    let rows = fields.into_iter().map(|id| view! { <FieldRow id /> });
    view! { <div class="form embed-inputs">{rows.collect_view()}</div> }
}

/// The id of a field's control.
pub fn control_id(field: &Field) -> String {
    format!("field-{}", field.key)
}

/// Whether the field is a number that has buttons to step it.
fn has_steps(field: &Field) -> bool {
    let is_number = matches!(field.kind, Kind::Int { .. });
    is_number && matches!(field.group, Group::Parallelism | Group::Batch)
}
