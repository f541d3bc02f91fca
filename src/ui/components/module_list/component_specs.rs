//! The modules as component specs: text to copy and to change.

use super::encoder;
use crate::state::State;
use leptos::html::Textarea;
use leptos::prelude::*;
use megatron_memory::presets::encoders::ENCODERS;

/// A text that could not be read.
#[derive(Clone, Debug, PartialEq)]
struct Refused {
    text: String,
    message: String,
    /// The specs of the job at the time. Once the job has changed, they replace the text.
    specs: String,
}

/// The specs of the job, one a line.
#[component]
pub fn ComponentSpecs() -> impl IntoView {
    let state = expect_context::<State>();
    let area = NodeRef::<Textarea>::new();
    let specs = Memo::new(move |_| state.setup.read().job.component_specs());
    let refused = RwSignal::new(None::<Refused>);
    let refusal = Memo::new(move |_| {
        let refused = refused.get();
        refused.filter(|refused| refused.specs == *specs.read())
    });
    let text = move || match refusal.get() {
        Some(refused) => refused.text,
        None => specs.get(),
    };
    let message = move || refusal.get().map(|refused| refused.message);
    let read = move |typed: String| {
        let mut job = state.setup.get_untracked().job;
        // What a module is that the job does not have yet.
        let unknown = ENCODERS.first().and_then(|first| encoder(first.id));
        match job.set_component_specs(&typed, &unknown.unwrap_or_default()) {
            Ok(()) => {
                refused.set(None);
                state.edit(job);
                // Also where the same specs were written in another way.
                if let Some(area) = area.get_untracked() {
                    area.set_value(&untrack(|| specs.get()));
                }
            }
            Err(refusal) => refused.set(Some(Refused {
                text: typed,
                message: refusal.message,
                specs: untrack(|| specs.get()),
            })),
        }
    };
    view! {
        <details>
            <summary>"As component specs"</summary>
            <textarea
                id="component-specs"
                rows="3"
                spellcheck="false"
                aria-label="Component specs, one a line"
                aria-invalid=move || refusal.read().is_some().to_string()
                aria-describedby="component-specs-wrong"
                node_ref=area
                prop:value=text
                on:change:target=move |event| read(event.target().value())
            ></textarea>
            <p class="problem" id="component-specs-wrong" role="status">
                {message}
            </p>
        </details>
    }
}
