//! What the out-of-memory errors of the imported text come from, beside the verdict.

use leptos::prelude::*;

use crate::lazy_parts::LazyPart;
use crate::state::{OutOfMemoryErrors, State};
use megatron_memory::diagnosis::diagnose;
use megatron_memory::report::diagnosis::sentences;

/// Where each error is explained; nothing where the text had none.
#[component]
pub(crate) fn OutOfMemoryNotes() -> impl IntoView {
    let OutOfMemoryErrors(errors) = expect_context();
    view! { <Show when=move || !errors.read().is_empty()>{LazyPart::ExplainedErrors.view()}</Show> }
}

/// The explanation of each error.
#[component]
pub(crate) fn ExplainedErrors() -> impl IntoView {
    let state = expect_context::<State>();
    let OutOfMemoryErrors(errors) = expect_context();
    let explained = Memo::new(move |_| {
        let errors = errors.read();
        let outcome = state.outcome.read();
        let outcome = outcome.as_deref();
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
