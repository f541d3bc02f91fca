//! A switch, for fields that are on or off.

use crate::components::form::ids::control_id;
use crate::state::State;
use crate::values::has;
use leptos::prelude::*;
use megatron_memory::config::fields::FieldId;
use megatron_memory::value::Value;

/// The switch of a field.
#[component]
pub fn Switch(id: FieldId, invalid: Memo<bool>) -> impl IntoView {
    let state = expect_context::<State>();
    let field = id.field();
    let control = control_id(field);
    let on = Memo::new(move |_| has(field, state.value(id).as_ref(), 0));
    view! {
        <input
            id=control.clone()
            class="switch"
            type="checkbox"
            role="switch"
            aria-describedby=format!("{control}-problems")
            aria-invalid=move || invalid.get().to_string()
            prop:checked=on
            on:change:target=move |event| state.set(id, Value::Bool(event.target().checked()))
        />
    }
}
