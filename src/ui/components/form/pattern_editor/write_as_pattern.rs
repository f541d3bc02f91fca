//! The way from a `GPTModel` to a pattern.

use super::from_gpt::{as_pattern, has_letters};
use crate::browser;
use crate::components::form::ids::control_id;
use crate::state::State;
use leptos::prelude::*;
use megatron_memory::config::job::Module;

/// Whether letters stand for all that the layers are. Encoders have no patterns.
fn can_be_written(module: &Module) -> bool {
    module.io().is_language() && module.hybrid().is_none() && has_letters(module)
}

/// A button that writes the layers of a `GPTModel` as a pattern, in one step to undo.
#[component]
pub(super) fn WriteAsPattern() -> impl IntoView {
    let state = expect_context::<State>();
    let offers = Memo::new(move |_| {
        let outcome = state.outcome.read();
        let module = outcome.as_ref().and_then(|o| o.module(state.form.module.get()));
        !state.stale.get() && module.is_some_and(can_be_written)
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
