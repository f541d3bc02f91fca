//! A box to type into, for numbers and free text.

use crate::components::form::ids::control_id;
use crate::components::form::stepping::{StepNote, step_of_key, take_step};
use crate::state::State;
use crate::values::shown;
use leptos::ev::KeyboardEvent;
use leptos::prelude::*;
use megatron_memory::config::field::{Default, Kind};
use megatron_memory::config::fields::FieldId;

/// The longest rule that stands in an empty box as a hint of the value that it stands for.
const LONGEST_HINT: usize = 13;

/// The box of a field. What was typed stays as it was typed until the box is left and what it holds is valid.
#[component]
pub fn TextBox(
    id: FieldId,
    invalid: Memo<bool>,
    /// The id of the element, where it is not the form's only control of the field.
    #[prop(optional, into)]
    element: Option<String>,
) -> impl IntoView {
    let state = expect_context::<State>();
    let note = use_context::<StepNote>();
    let field = id.field();
    let control = control_id(field);
    let (keypad, class) = match field.kind {
        Kind::Int { .. } => ("numeric", Some("number")),
        Kind::Decimal { .. } => ("decimal", Some("number")),
        _ => ("text", None),
    };
    let text = Memo::new(move |_| shown(field, state.value(id).as_ref()));
    let hint = Memo::new(move |_| hint(state, id));
    let press = move |event: KeyboardEvent| {
        if event.key() == "Enter" {
            state.finish_typing(id);
        } else if let Some(step) = step_of_key(&event, field) {
            event.prevent_default();
            take_step(state, id, step, note);
        }
    };
    view! {
        <input
            id=element.unwrap_or_else(|| control.clone())
            class=class
            type="text"
            inputmode=keypad
            autocomplete="off"
            autocapitalize="off"
            spellcheck="false"
            placeholder=hint
            aria-describedby=format!("{control}-problems")
            aria-invalid=move || invalid.get().to_string()
            prop:value=text
            on:input:target=move |event| state.type_into(id, &event.target().value())
            on:keydown=press
            on:blur=move |_| state.finish_typing(id)
        />
    }
}

/// The value that an empty box stands for; empty where it must not be empty.
fn hint(state: State, id: FieldId) -> String {
    match (state.derived_value(id), id.field().default) {
        (Some(number), _) => number.to_string(),
        (None, Default::Derived(rule)) if rule.len() <= LONGEST_HINT => rule.to_owned(),
        (None, Default::Derived(_)) => String::from("none"),
        (None, _) => String::new(),
    }
}
