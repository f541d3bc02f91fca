//! The form: a section for every group of fields, each field drawn from its declaration.

mod control;
mod derived;
mod field_help;
mod field_row;
pub mod field_search;
mod ids;
mod pattern_editor;
mod pattern_note;
mod problem_note;
mod section;
mod section_fields;
mod section_foot;
mod section_summary;
mod stepping;

pub use control::{FieldControl, Select, TextBox, gpu_options};
pub use ids::{control_id, is_control_id};
pub use pattern_editor::PatternEditor;
pub use problem_note::{FixButton, ProblemNote};

use field_row::FieldRow;
use leptos::prelude::*;
use megatron_memory::config::field::Group;
use megatron_memory::config::fields::FieldId;
use section::FormSection;

/// The sections.
#[component]
pub fn FormSections(
    /// How many of them are there.
    #[prop(into)]
    built: Signal<usize>,
) -> impl IntoView {
    let sections = Group::ALL.into_iter().enumerate().map(|(number, group)| {
        view! { <Show when=move || number < built.get()><FormSection group /></Show> }
    });
    view! { <div class="sections">{sections.collect_view()}</div> }
}

/// Some fields without their sections, for an embed.
#[component]
pub fn FieldRows(fields: Vec<FieldId>) -> impl IntoView {
    let rows = fields.into_iter().map(|id| view! { <FieldRow id /> });
    view! { <div class="form embed-inputs">{rows.collect_view()}</div> }
}
