//! A number with buttons that step it.

use super::text_box::TextBox;
use crate::components::form::stepping::{StepNote, take_step};
use crate::state::State;
use leptos::prelude::*;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::suggest::step::Step;

/// A number between its two buttons.
#[component]
pub fn Stepper(id: FieldId, invalid: Memo<bool>) -> impl IntoView {
    view! {
        <span class="stepper">
            <StepButton id step=Step::Down sign="−" verb="Decrease" />
            <TextBox id invalid />
            <StepButton id step=Step::Up sign="+" verb="Increase" />
        </span>
    }
}

/// A button for the pointer; the keyboard has the arrow keys in the field.
#[component]
fn StepButton(id: FieldId, step: Step, sign: &'static str, verb: &'static str) -> impl IntoView {
    let state = expect_context::<State>();
    let note = use_context::<StepNote>();
    view! {
        <button
            type="button"
            class="step"
            tabindex="-1"
            aria-label=format!("{verb} {}", id.field().label)
            on:click=move |_| take_step(state, id, step, note)
        >
            {sign}
        </button>
    }
}
