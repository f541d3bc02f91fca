//! Parts that the dialogs have in common.

use leptos::prelude::*;

use crate::state::{DialogKind, OpenDialog};

/// The id of the heading, by which a dialog is called.
pub(super) const TITLE: &str = "modal-title";

/// The heading of a dialog.
#[component]
pub(super) fn Title(
    /// The heading's text.
    text: &'static str,
) -> impl IntoView {
    view! { <h2 id=TITLE>{text}</h2> }
}

/// A control under its label.
#[component]
pub(super) fn Labelled(
    /// The label's text.
    #[prop(into)]
    label: Signal<String>,
    /// The control.
    children: Children,
) -> impl IntoView {
    view! {
        <label class="modal-field">
            <span>{label}</span>
            {children()}
        </label>
    }
}

/// An error message that screen readers announce when it appears; hidden while it is empty.
#[component]
pub(super) fn Alert(
    /// The message.
    #[prop(into)]
    message: Signal<String>,
) -> impl IntoView {
    view! {
        <p class="modal-error" role="alert" hidden=move || message.read().is_empty()>
            {message}
        </p>
    }
}

/// A menu of choices.
#[component]
pub(super) fn Menu(
    /// The name of the control.
    name: &'static str,
    /// The label's text.
    label: &'static str,
    /// Values and their labels.
    options: Vec<(String, String)>,
    /// The chosen value.
    #[prop(into)]
    chosen: Signal<String>,
    /// Called with the value that the reader chooses.
    choose: impl Fn(String) + Send + 'static,
) -> impl IntoView {
    let options = options
        .into_iter()
        .map(|(value, label)| {
            let selected = value.clone();
            view! {
                <option value=value selected=move || *chosen.read() == selected>
                    {label}
                </option>
            }
        })
        .collect_view();
    view! {
        <Labelled label>
            <select name=name on:change:target=move |event| choose(event.target().value())>
                {options}
            </select>
        </Labelled>
    }
}

/// The button that closes the dialog.
#[component]
pub(super) fn CloseButton(
    /// The dialog that it closes.
    kind: DialogKind,
    /// The button's text.
    #[prop(default = "Close")]
    label: &'static str,
) -> impl IntoView {
    let dialog: OpenDialog = expect_context();
    view! {
        <button type="button" name="close" on:click=move |_| dialog.close(kind)>
            {label}
        </button>
    }
}
