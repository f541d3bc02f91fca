//! A group of controls that is one stop of the Tab key; the arrow keys go from one control to the next.

use leptos::html::Div;
use leptos::prelude::*;

use crate::browser;

/// The group. Its controls are there from the start.
#[component]
pub fn Toolbar(
    /// Style classes.
    class: &'static str,
    /// The name of the group.
    label: &'static str,
    children: Children,
) -> impl IntoView {
    let place = NodeRef::<Div>::new();
    Effect::new(move |_| {
        if let Some(toolbar) = place.get() {
            browser::set_tab_stop(&toolbar);
        }
    });
    view! {
        <div
            class=class
            role="toolbar"
            aria-label=label
            node_ref=place
            on:focusin=move |_| {
                if let Some(toolbar) = place.get_untracked() {
                    browser::set_tab_stop(&toolbar);
                }
            }
            on:keydown=move |event| {
                let toolbar = place.get_untracked();
                if toolbar.is_some_and(|toolbar| browser::press_in_toolbar(&toolbar, &browser::key(&event))) {
                    event.prevent_default();
                }
            }
        >
            {children()}
        </div>
    }
}
