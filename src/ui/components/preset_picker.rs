//! The list of models and of jobs of several modules.

mod pick;

use crate::presets::PRESETS;
use crate::presets::jobs::JOBS;
use crate::ui::state::State;
use leptos::html::Select;
use leptos::prelude::*;

/// The list of presets: models by family, then jobs of several modules.
#[component]
pub fn PresetPicker() -> impl IntoView {
    let state = expect_context::<State>();
    let list = NodeRef::<Select>::new();
    let chosen = Memo::new(move |_| {
        let setup = state.setup.read();
        let preset = setup.preset.as_ref();
        preset.map(|preset| preset.id.clone()).unwrap_or_default()
    });
    // Once the options are there: a list holds only what it offers.
    Effect::new(move |_| {
        if let Some(list) = list.get() {
            list.set_value(&chosen.read());
        }
    });
    view! {
        <label class="preset">
            <span class="unseen">"Model"</span>
            <select
                id="preset"
                node_ref=list
                on:change:target=move |event| pick::pick(state, &event.target().value())
            >
                <option value="" disabled hidden>
                    "No preset"
                </option>
                {families()
                    .into_iter()
                    .map(|family| view! { <PresetGroup label=family.0 entries=family.1 /> })
                    .collect_view()}
                <PresetGroup
                    label="Several modules"
                    entries=JOBS.iter().map(|job| (job.id, job.name)).collect()
                />
            </select>
        </label>
    }
}

/// The ids and names of presets that stand together.
type Entries = Vec<(&'static str, &'static str)>;

#[component]
fn PresetGroup(label: &'static str, entries: Entries) -> impl IntoView {
    let options = entries
        .into_iter()
        .map(|(id, name)| view! { <option value=id>{name}</option> });
    view! { <optgroup label=label>{options.collect_view()}</optgroup> }
}

/// The models by family, families in the order of their first model.
fn families() -> Vec<(&'static str, Entries)> {
    let mut families: Vec<(&str, Entries)> = Vec::new();
    for model in PRESETS {
        let entry = (model.id, model.name);
        match families.iter_mut().find(|(name, _)| *name == model.family) {
            Some((_, entries)) => entries.push(entry),
            None => families.push((model.family, vec![entry])),
        }
    }
    families
}
