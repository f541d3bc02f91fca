//! What could not be used of the page's link, beside the verdict: the job may be another one than the link's.

use leptos::prelude::*;

use crate::state::State;

/// The note; nothing where all of the link is used.
#[component]
pub(super) fn LinkNote() -> impl IntoView {
    let ignored = expect_context::<State>().link.ignored;
    let text = move || ignored.get();
    view! {
        <Show when=move || !ignored.read().is_empty()>
            <p class="ignored" role="note" data-testid="ignored" title=text>{text}</p>
        </Show>
    }
}
