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

use crate::parts::InTurn;
use field_row::FieldRow;
use leptos::prelude::*;
use megatron_memory::config::field::Group;
use megatron_memory::config::fields::FieldId;
use section::FormSection;

/// The sections.
#[component]
pub fn FormSections() -> impl IntoView {
    let sections = Group::ALL.map(|group| view! { <InTurn><FormSection group /></InTurn> });
    view! { <div class="sections">{sections}</div> }
}

/// Some fields without their sections, for an embed.
#[component]
pub fn FieldRows(fields: Vec<FieldId>) -> impl IntoView {
    let rows = fields.into_iter().map(|id| view! { <FieldRow id /> });
    view! { <div class="form embed-inputs">{rows.collect_view()}</div> }
}
