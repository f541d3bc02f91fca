//! A drop-down list, for fields that hold one name out of a list.

use crate::components::form::ids::control_id;
use crate::state::State;
use crate::values::{has, shown};
use leptos::html;
use leptos::prelude::*;
use megatron_memory::config::field::Kind;
use megatron_memory::config::fields::FieldId;
use megatron_memory::value::Value;

/// The list of a field: the values and labels of its options. An empty value leaves the field out.
#[component]
pub fn Select(
    id: FieldId,
    invalid: Memo<bool>,
    options: Vec<(&'static str, &'static str)>,
    /// The id of the element, where it is not the form's only control of the field.
    #[prop(optional, into)]
    element: Option<String>,
) -> impl IntoView {
    let state = expect_context::<State>();
    let control = control_id(id.field());
    let list = NodeRef::<html::Select>::new();
    let chosen = Memo::new(move |_| chosen(state, id));
    // Once the options are there: a list holds only what it offers.
    Effect::new(move |_| {
        if let Some(list) = list.get() {
            list.set_value(&chosen.read());
        }
    });
    let choose = move |value: String| {
        let value = if value.is_empty() {
            Value::Null
        } else {
            Value::Text(value)
        };
        state.set(id, value);
    };
    let options = options
        .into_iter()
        .map(|(value, label)| view! { <option value=value>{label}</option> });
    let options = options.collect_view();
    view! {
        <select
            id=element.unwrap_or_else(|| control.clone())
            aria-describedby=format!("{control}-problems")
            aria-invalid=move || invalid.get().to_string()
            node_ref=list
            on:change:target=move |event| choose(event.target().value())
        >
            {options}
        </select>
    }
}

/// The value of the option that the field holds; empty where it holds none of them.
fn chosen(state: State, id: FieldId) -> String {
    let (field, value) = (id.field(), state.value(id));
    let Kind::Choice(names) = field.kind else {
        return shown(field, value.as_ref());
    };
    let mut names = names.iter().enumerate();
    let chosen = names.find(|(index, _)| has(field, value.as_ref(), *index));
    chosen.map_or("", |(_, name)| name).to_owned()
}
