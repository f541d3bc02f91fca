//! The place below the headline of a tight job, for what a replay of PyTorch's allocator says of it.

use leptos::prelude::*;

use crate::lazy_parts::LazyPart;
use crate::state::State;
use megatron_memory::report::summary::{Standing, Verdict};

/// What a replay says of a job that is tight by the factors: nothing of others. It has its height before it is there, so
/// that nothing below moves.
#[component]
pub(crate) fn ReplayOfTight() -> impl IntoView {
    let state = expect_context::<State>();
    let is_tight = Memo::new(move |_| {
        let outcome = state.outcome.read();
        let verdict = outcome
            .as_ref()
            .map(|outcome| Standing::new(&outcome.config, &outcome.estimate).verdict);
        !state.stale.get() && verdict == Some(Verdict::Tight)
    });
    view! {
        <Show when=move || is_tight.get()>
            <div class="missing replay-of-tight">{LazyPart::ReplayOfTight.view()}</div>
        </Show>
    }
}
