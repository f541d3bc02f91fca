//! Checkboxes, for fields that hold any number of names out of a list.

use crate::components::form::ids::control_id;
use crate::state::State;
use crate::values::{has, toggled};
use leptos::prelude::*;
use megatron_memory::config::fields::FieldId;

/// The checkboxes of a field, one for each of its names.
#[component]
pub fn Checkboxes(id: FieldId, names: &'static [&'static str]) -> impl IntoView {
    let control = control_id(id.field());
    let boxes = names.iter().enumerate().map(|(index, name)| {
        // The first box has the field's own id, so that search and fixes find it.
        let own = if index == 0 {
            control.clone()
        } else {
            format!("{control}-{index}")
        };
        view! { <NamedBox id index name=*name own /> }
    });
    let boxes = boxes.collect_view();
    view! {
        <div
            class="boxes"
            role="group"
            aria-labelledby=format!("{control}-label")
            aria-describedby=format!("{control}-problems")
        >
            {boxes}
        </div>
    }
}

/// The box of one name. `own` is the id of its element.
#[component]
fn NamedBox(id: FieldId, index: usize, name: &'static str, own: String) -> impl IntoView {
    let state = expect_context::<State>();
    let field = id.field();
    let checked = Memo::new(move |_| has(field, state.value(id).as_ref(), index));
    let toggle = move |_| {
        let now = untrack(|| state.value(id));
        state.set(id, toggled(field, now.as_ref(), index));
    };
    view! {
        <label class="box">
            <input id=own type="checkbox" prop:checked=checked on:change=toggle />
            <span>{name}</span>
        </label>
    }
}
