//! A native dialog over the page.

use leptos::html;
use leptos::prelude::*;

/// A modal `<dialog>`, open while a signal says so. Escape closes it, as does a `<form method="dialog">` inside.
#[component]
pub fn Dialog(
    /// The id of the heading inside, which names the dialog.
    title_id: String,
    #[prop(into)] is_open: Signal<bool>,
    /// Called when the dialog has been closed.
    on_close: impl Fn() + 'static,
    children: Children,
) -> impl IntoView {
    let element = NodeRef::<html::Dialog>::new();
    Effect::new(move |_| {
        let Some(element) = element.get() else {
            return;
        };
        match (is_open.get(), element.open()) {
            (true, false) => {
                let _ = element.show_modal();
            }
            (false, true) => element.close(),
            (true, true) | (false, false) => {}
        }
    });
    view! {
        <dialog aria-labelledby=title_id node_ref=element on:close=move |_| on_close()>
            {children()}
        </dialog>
    }
}
