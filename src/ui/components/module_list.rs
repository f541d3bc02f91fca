//! The list of modules above the form: which one the form edits, and everything that is done to the list itself.
//!
//! A job of one model shows nothing but a quiet way to add a second one.

mod add_module;
mod component_specs;
mod edits;
mod module_item;

use add_module::AddModule;
use component_specs::ComponentSpecs;
use module_item::ModuleItem;

use crate::state::State;
use leptos::prelude::*;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::{RawJob, Settings};
use megatron_memory::presets::encoders;
use megatron_memory::report::modules::{ModuleRow, rows};
use megatron_memory::value::Value;

/// The list, and the ways to add to it and to lay it out.
#[component]
pub fn ModuleList() -> impl IntoView {
    let state = expect_context::<State>();
    let rows = Memo::new(move |_| module_rows(state));
    let several = Memo::new(move |_| !rows.read().is_empty());
    view! {
        <div class="modules">
            <Show when=move || several.get()>
                <div class="modules-head">
                    <h2>"Modules"</h2>
                    <button
                        type="button"
                        title="Place the modules one after another, and make the world as large as they are"
                        on:click=move |_| state.edit_job(RawJob::lay_out)
                    >
                        "Place the modules"
                    </button>
                </div>
                <ol class="module-list">
                    // By index: while modules are moved or renamed, the elements stay, and the focus with them.
                    <For each=move || 0..rows.read().len() key=|index| *index let:index>
                        <ModuleItem index rows />
                    </For>
                </ol>
            </Show>
            <AddModule />
            <Show when=move || several.get()>
                <ComponentSpecs />
            </Show>
        </div>
    }
}

/// The modules as the list shows them, with their memory while the job is valid.
fn module_rows(state: State) -> Vec<ModuleRow> {
    let setup = state.setup.read();
    if setup.job.modules.is_empty() {
        return Vec::new();
    }
    let is_valid = state.checked.read().config.is_some();
    let outcome = state.outcome.read();
    let standing = state.standing.get();
    let valid = outcome.as_ref().zip(standing.as_ref()).filter(|_| is_valid);
    let valid = valid.map(|(outcome, standing)| (&outcome.config, &outcome.estimate, standing));
    rows(&setup.job, valid)
}

/// The settings of an encoder that feeds the language model.
fn encoder(id: &str) -> Option<Settings> {
    let mut settings = encoders::by_id(id)?.settings();
    if settings.get(FieldId::projector).is_none() {
        settings.set(FieldId::projector, Value::Text(String::from("mlp")));
    }
    Some(settings)
}
