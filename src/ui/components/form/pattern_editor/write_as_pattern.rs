//! The way from a `GPTModel` to a pattern.

use super::from_gpt::as_pattern;
use crate::browser;
use crate::components::form::ids::control_id;
use crate::state::State;
use leptos::prelude::*;

/// A button that writes the layers of a `GPTModel` as a pattern, in one step to undo.
#[component]
pub(super) fn WriteAsPattern() -> impl IntoView {
    let state = expect_context::<State>();
    // Encoders have no patterns.
    let offers = Memo::new(move |_| {
        let outcome = state.outcome.read();
        let module = outcome.as_ref().and_then(|o| o.module(state.form.module.get()));
        !state.stale.get() && module.is_some_and(|m| m.io().is_language() && m.hybrid().is_none())
    });
    let write = move |_| {
        let index = state.form.module.get_untracked();
        let outcome = state.outcome.get_untracked();
        let module = outcome.as_ref().and_then(|outcome| outcome.module(index));
        let Some(module) = module else {
            return;
        };
        let mut job = state.setup.get_untracked().job;
        let pattern = as_pattern(&mut job, index, module);
        state.edit(job);
        state.toasts.offer_undo(format!(
            "The pattern has {} layers: each layer has become two, its attention and its MLP.",
            pattern.layers().count()
        ));
        // The button goes; the focus must not be lost with it.
        browser::focus(control_id(super::editor::FIELD.field()));
    };
    view! {
        <button type="button" class="link" hidden=move || !offers.get() on:click=write>
            "Write these layers as a pattern"
        </button>
    }
}
