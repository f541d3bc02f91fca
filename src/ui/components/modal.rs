//! A native dialog over the page.

use crate::ui::state::{DialogKind, OpenDialog};
use leptos::html::Dialog;
use leptos::prelude::*;

/// A dialog with a title, open while [`OpenDialog`] says so. Its own button and Escape close it.
#[component]
pub fn Modal(kind: DialogKind, id: &'static str, title: &'static str, children: Children) -> impl IntoView {
    let open_dialog = expect_context::<OpenDialog>();
    let dialog = NodeRef::<Dialog>::new();
    Effect::new(move |_| {
        let Some(dialog) = dialog.get() else {
            return;
        };
        match (open_dialog.is(kind), dialog.open()) {
            (true, false) => {
                let _ = dialog.show_modal();
            }
            (false, true) => dialog.close(),
            _ => {}
        }
    });
    let title_id = move || format!("{id}-title");
    view! {
        <dialog
            id=id
            class="help"
            aria-labelledby=title_id()
            node_ref=dialog
            on:close=move |_| open_dialog.close(kind)
        >
            // The title takes the focus: otherwise it would go to the first button, at the end, and the view with it.
            <h2 id=title_id() tabindex="-1" autofocus="">
                {title}
            </h2>
            {children()}
            <form method="dialog">
                <button>"Close"</button>
            </form>
        </dialog>
    }
}
