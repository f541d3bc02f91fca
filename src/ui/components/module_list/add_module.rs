//! The list of modules to add.

use super::encoder;
use crate::state::State;
use leptos::prelude::*;
use megatron_memory::presets::encoders::ENCODERS;

/// The prefix of the index of a module to copy: `like.1`.
const COPY: &str = "like.";

/// Adds an encoder, or a copy of a module that is there.
#[component]
pub fn AddModule() -> impl IntoView {
    let state = expect_context::<State>();
    let names = Memo::new(move |_| {
        let setup = state.setup.read();
        let names = setup.job.modules.iter().map(|module| module.name.clone());
        names.collect::<Vec<_>>()
    });
    let add = move |value: &str| match value.strip_prefix(COPY) {
        Some(index) => {
            if let Ok(index) = index.parse() {
                state.add_copy(index);
            }
        }
        None => {
            if let Some(settings) = encoder(value) {
                state.add_module(settings);
            }
        }
    };
    let encoders = ENCODERS
        .iter()
        .map(|encoder| view! { <option value=encoder.id>{encoder.name}</option> });
    let copies = move || {
        let names = names.get();
        (!names.is_empty()).then(|| {
            let copies = names.into_iter().enumerate().map(|(index, name)| {
                view! { <option value=format!("{COPY}{index}")>{format!("A copy of {name}")}</option> }
            });
            view! { <optgroup label="Copies">{copies.collect_view()}</optgroup> }
        })
    };
    view! {
        <select
            class="module-add"
            id="add-module"
            aria-label="Add a module"
            on:change:target=move |event| {
                let list = event.target();
                add(&list.value());
                // The list says again what it is for.
                list.set_value("");
            }
        >
            <option value="">"Add module…"</option>
            <optgroup label="Encoders">{encoders.collect_view()}</optgroup>
            {copies}
        </select>
    }
}
