//! Where the headline says, of a job that is tight by the factors, what a replay of PyTorch's allocator makes of it.

use leptos::prelude::*;

use crate::lazy_parts::LazyPart;
use crate::state::State;

/// The sentence of the replay where the job is tight by the factors, and nothing otherwise. The place is as high as one line before
/// the sentence is loaded, so that what is below does not move.
#[component]
pub(crate) fn ReplayOfTight() -> impl IntoView {
    let state = expect_context::<State>();
    let is_left_open = Memo::new(move |_| state.is_left_open());
    view! {
        <Show when=move || is_left_open.get()>
            <div class="missing replay-of-tight">{LazyPart::ReplayOfTight.view()}</div>
        </Show>
    }
}
