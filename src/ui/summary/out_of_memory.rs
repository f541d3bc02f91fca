//! What the out-of-memory errors of the imported text come from, beside the verdict.

use leptos::prelude::*;

use crate::state::{OutOfMemoryErrors, State};
use megatron_memory::diagnosis::diagnose;
use megatron_memory::report::diagnosis::sentences;

/// The explanation of each error; nothing where the text had none.
#[component]
pub(super) fn OutOfMemoryNotes() -> impl IntoView {
    let state = expect_context::<State>();
    let errors = use_context::<OutOfMemoryErrors>();
    let explained = Memo::new(move |_| {
        let errors = errors.map(|errors| errors.0.get()).unwrap_or_default();
        let outcome = state.outcome.read();
        let outcome = outcome.as_deref().filter(|_| !errors.is_empty());
        let explain = |outcome: &crate::state::Outcome| {
            let (config, estimate) = (&outcome.config, &outcome.estimate);
            let explained = errors.iter().map(|error| {
                let sentences = sentences(error, config, &diagnose(error, config, estimate));
                format!("Out of memory, line {}: {}", error.line, sentences.join(" "))
            });
            explained.collect::<Vec<String>>()
        };
        outcome.map(explain).unwrap_or_default()
    });
    view! {
        <For each=move || explained.get() key=String::clone let:text>
            <p class="out-of-memory" role="note">{text}</p>
        </For>
    }
}
