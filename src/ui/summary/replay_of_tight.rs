//! Where the headline says, of a job whose verdict is "Tight", what a replay of PyTorch's allocator finds.

use leptos::prelude::*;

use crate::lazy_parts::LazyPart;
use crate::state::State;
use megatron_memory::report::summary::Verdict;

/// The sentence of the replay where the verdict is "Tight", and nothing otherwise. The place is as high as one line before
/// the sentence is loaded, so that what is below does not move.
#[component]
pub(crate) fn ReplayOfTight() -> impl IntoView {
    let state = expect_context::<State>();
    let is_tight = Memo::new(move |_| {
        let outcome = state.outcome.read();
        let verdict = outcome.as_ref().map(|outcome| outcome.standing().verdict);
        !state.stale.get() && verdict == Some(Verdict::Tight)
    });
    view! {
        <Show when=move || is_tight.get()>
            <div class="missing replay-of-tight">{LazyPart::ReplayOfTight.view()}</div>
        </Show>
    }
}
