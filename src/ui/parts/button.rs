//! Buttons that say why they can do nothing, and buttons that open what stands below them.

use leptos::prelude::*;
use leptos::text_prop::TextProp;

/// A button that stays focusable while it can do nothing, because the focus may be on it. Its title is the reason then;
/// [`on_press_of_disabled`](crate::browser::on_press_of_disabled) says it to fingers and keys.
#[component]
pub fn ActionButton(
    /// Whether it can do nothing at the moment.
    #[prop(into)]
    blocked: Signal<bool>,
    /// Why it can do nothing, without a full stop.
    #[prop(into)]
    reason: TextProp,
    /// What it does; not called while it can do nothing.
    on_press: impl Fn() + 'static,
    children: Children,
) -> impl IntoView {
    view! {
        <button
            type="button"
            aria-disabled=move || blocked.get().to_string()
            title=move || blocked.get().then(|| reason.get())
            on:click=move |_| {
                if !blocked.get_untracked() {
                    on_press();
                }
            }
        >
            {children()}
        </button>
    }
}

/// A button that opens something below it, and closes it when it is pressed again.
#[component]
pub fn OpenButton(
    is_open: RwSignal<bool>,
    /// The button's text while it is closed.
    label: &'static str,
) -> impl IntoView {
    view! {
        <button
            type="button"
            class="link"
            aria-expanded=move || is_open.get().to_string()
            on:click=move |_| is_open.update(|open| *open = !*open)
        >
            {move || if is_open.get() { "Close" } else { label }}
        </button>
    }
}
