//! The button that puts a text on the clipboard.

use leptos::prelude::*;
use leptos::text_prop::TextProp;

use super::button::ActionButton;
use crate::browser;

/// A button that copies a text. Browsers may refuse that.
#[component]
pub fn CopyButton(
    /// The text; `None` where there is nothing to copy. Called when the button is pressed.
    text: impl Fn() -> Option<String> + 'static,
    /// Called with whether the browser has allowed it.
    on_done: impl Fn(bool) + Clone + 'static,
    /// Whether there is nothing to copy at the moment.
    #[prop(default = Signal::stored(false), into)]
    blocked: Signal<bool>,
    /// Why there is nothing to copy.
    #[prop(default = "".into(), into)]
    reason: TextProp,
    children: Children,
) -> impl IntoView {
    let copy = move || {
        if let Some(text) = untrack(&text) {
            browser::copy(&text, on_done.clone());
        }
    };
    view! {
        <ActionButton blocked reason on_press=copy>
            {children()}
        </ActionButton>
    }
}
