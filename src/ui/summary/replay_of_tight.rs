//! What a replay of PyTorch's allocator says of a job that is tight by the factors.

use leptos::html::Div;
use leptos::prelude::*;

use crate::results::answer_in_sight;
use crate::state::State;
use megatron_memory::report::amount::Scale;
use megatron_memory::report::reserved::of_tight;
use megatron_memory::report::summary::{Standing, Verdict};
use search_worker::{Answer, Request};

/// What a replay says of a job that is tight: nothing of others. Its line is there before the worker's answer, so that
/// nothing below moves.
#[component]
pub(crate) fn ReplayOfTight() -> impl IntoView {
    let state = expect_context::<State>();
    let place = NodeRef::<Div>::new();
    let is_tight = Memo::new(move |_| {
        let outcome = state.outcome.read();
        let verdict = outcome
            .as_ref()
            .map(|outcome| Standing::new(&outcome.config, &outcome.estimate).verdict);
        !state.stale.get() && verdict == Some(Verdict::Tight)
    });
    let replayed = answer_in_sight(
        place,
        move || is_tight.track(),
        move |link| {
            is_tight
                .get_untracked()
                .then_some(Request::Reserve { link, stage: None })
        },
        |answer| match answer {
            Answer::Reserved(found) => Some(found),
            _ => None,
        },
    );
    let words = move || {
        let scale = Scale::coarse(state.preferences.unit.get());
        match (replayed.read().as_ref(), state.outcome.read().as_ref()) {
            (Some(Some(found)), Some(outcome)) => of_tight(&outcome.config, found, scale),
            (Some(None), _) => String::from("PyTorch's allocator is not replayed for such a job."),
            (None, _) | (_, None) => String::from("PyTorch's allocator is being replayed…"),
        }
    };
    view! {
        <div node_ref=place>
            <Show when=move || is_tight.get()>
                <p class="missing" data-testid="replay-of-tight">{words}</p>
            </Show>
        </div>
    }
}
