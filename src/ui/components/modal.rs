//! A dialog with a title above its content and a button that closes it below.

use crate::parts::Dialog;
use crate::state::{DialogKind, OpenDialog};
use leptos::prelude::*;

/// A dialog that is open while [`OpenDialog`] says so. Its content is there while it is open.
#[component]
pub fn Modal(kind: DialogKind, id: &'static str, title: &'static str, children: ChildrenFn) -> impl IntoView {
    let open_dialog = expect_context::<OpenDialog>();
    let title_id = format!("{id}-title");
    let heading_id = title_id.clone();
    view! {
        <Dialog
            attr:id=id
            attr:class="help"
            title_id
            is_open=move || open_dialog.is(kind)
            on_close=move || open_dialog.close(kind)
        >
            <Show when=move || open_dialog.is(kind)>
                // The title takes the focus: otherwise it would go to the first button, at the end, and the view with it.
                <h2 id=heading_id.clone() tabindex="-1" autofocus="">
                    {title}
                </h2>
                {children()}
                <form method="dialog">
                    <button>"Close"</button>
                </form>
            </Show>
        </Dialog>
    }
}
