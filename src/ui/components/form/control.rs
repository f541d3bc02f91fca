//! The control of a field, by the kind of its values.

mod checkboxes;
mod select;
mod stepper;
mod switch;
mod text_box;

use checkboxes::Checkboxes;
pub use select::Select;
use stepper::Stepper;
use switch::Switch;
pub use text_box::TextBox;

use leptos::prelude::*;
use megatron_memory::config::field::{Default, Field, Group, Kind};
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::gpus::GPUS;

/// The control of a field. `invalid` says whether an error involves it.
#[component]
pub fn FieldControl(id: FieldId, invalid: Memo<bool>) -> impl IntoView {
    let field = id.field();
    match field.kind {
        _ if id == FieldId::gpu => view! { <Select id invalid options=gpu_options() /> }.into_any(),
        Kind::Choice(names) => {
            let absent = match field.default {
                Default::Derived(rule) => Some(("", rule)),
                _ => None,
            };
            let names = names.iter().map(|name| (*name, *name));
            let options = absent.into_iter().chain(names).collect();
            view! { <Select id invalid options /> }.into_any()
        }
        Kind::Flag => view! { <Switch id invalid /> }.into_any(),
        Kind::Set(names) => view! { <Checkboxes id names /> }.into_any(),
        _ if has_steps(field) => view! { <Stepper id invalid /> }.into_any(),
        _ => view! { <TextBox id invalid /> }.into_any(),
    }
}

/// The GPUs to choose from, as values and labels.
pub fn gpu_options() -> Vec<(&'static str, &'static str)> {
    let gpus = GPUS.iter().map(|gpu| (gpu.id, gpu.name));
    [("", "none")].into_iter().chain(gpus).collect()
}

/// Whether the field is a number that has buttons to step it.
fn has_steps(field: &Field) -> bool {
    let is_number = matches!(field.kind, Kind::Int { .. });
    is_number && matches!(field.group, Group::Parallelism | Group::Batch)
}
