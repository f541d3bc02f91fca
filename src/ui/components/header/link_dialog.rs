//! The dialog with the link, for browsers that refuse the clipboard.

use crate::components::modal::Modal;
use crate::state::{DialogKind, OpenDialog, State};
use leptos::html::Input;
use leptos::prelude::*;

/// Shows the link, selected, so that one key copies it.
#[component]
pub fn LinkDialog() -> impl IntoView {
    let state = expect_context::<State>();
    let open_dialog = expect_context::<OpenDialog>();
    let input = NodeRef::<Input>::new();
    let link = move || {
        if open_dialog.is(DialogKind::Link) {
            state.address()
        } else {
            String::new()
        }
    };
    Effect::new(move |_| {
        if open_dialog.is(DialogKind::Link) {
            // In the next frame, because the dialog, which opens now, moves the focus to its title.
            request_animation_frame(move || {
                if let Some(input) = input.get_untracked() {
                    input.select();
                }
            });
        }
    });
    view! {
        <Modal kind=DialogKind::Link id="link" title="Copy this link">
            <p>"The browser does not let the page use the clipboard."</p>
            <input
                id="link-text"
                type="text"
                readonly=true
                aria-label="Link"
                node_ref=input
                prop:value=link
            />
        </Modal>
    }
}
