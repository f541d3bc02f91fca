//! What the out-of-memory errors of the imported text come from, beside the verdict.

use leptos::prelude::*;

use crate::state::{OutOfMemoryErrors, State};
use megatron_memory::diagnosis::diagnose;
use megatron_memory::report::diagnosis::sentences;

/// The explanation of each error; nothing where the text had none.
#[component]
pub(crate) fn OutOfMemoryNotes() -> impl IntoView {
    let state = expect_context::<State>();
    let OutOfMemoryErrors(errors) = expect_context();
    let explained = Memo::new(move |_| {
        let errors = errors.read();
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
