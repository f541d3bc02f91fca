//! The help of a field, which its `?` button opens below it.

use super::ids::control_id;
use crate::state::State;
use crate::values::{default, shown};
use leptos::html::Div;
use leptos::prelude::*;
use megatron_memory::config::fields::FieldId;
use megatron_memory::value::Value;

/// The help of a field.
#[component]
pub fn FieldHelp(
    id: FieldId,
    open: RwSignal<bool>,
    /// The element that the help is in.
    element: NodeRef<Div>,
) -> impl IntoView {
    view! {
        <div
            class="field-help"
            id=format!("{}-help", control_id(id.field()))
            node_ref=element
            hidden=move || !open.get()
        >
            <Show when=move || open.get()>
                <HelpText id />
            </Show>
        </div>
    }
}

#[component]
fn HelpText(id: FieldId) -> impl IntoView {
    let state = expect_context::<State>();
    let field = id.field();
    let default = match default(field) {
        Value::Null => format!("Left out: {}.", field.default),
        _ => format!("Default: {}.", field.default),
    };
    let base = move || match state.base(id) {
        Some(base) => format!("{default} This preset: {}.", shown(field, Some(&base))),
        None => default.clone(),
    };
    let aliases = match id.aliases() {
        [] => String::new(),
        aliases => format!("Also known as {}", aliases.join(", ")),
    };
    view! {
        <p>{id.help()}</p>
        <p>
            // A page beside the calculator, which explains all terms together.
            <a target="_blank" href=format!("./formulas.html#{}", field.key)>
                "Glossary"
            </a>
        </p>
        <p class="faint">{base}</p>
        <p class="faint">{aliases}</p>
    }
}
