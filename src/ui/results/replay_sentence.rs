//! Below the headline of a job that is tight by the factors: whether a replay of PyTorch's allocator settles it.

use leptos::html::Div;
use leptos::prelude::*;

use super::answer_in_sight::answer_in_sight;
use crate::state::{OutcomeReplay, State};
use megatron_memory::report::amount::Scale;
use megatron_memory::report::reserved::settled;
use search_worker::{Answer, Request};

/// Has a worker replay the allocator, on which the verdict of the page is then, and says so in a sentence.
#[component]
pub(crate) fn ReplaySentence() -> impl IntoView {
    let state = expect_context::<State>();
    let place = NodeRef::<Div>::new();
    let replayed = answer_in_sight(
        place,
        || (),
        |link| Some(Request::Reserve { link, stage: None }),
        |answer| match answer {
            Answer::Reserved(found) => Some(found),
            _ => None,
        },
    );
    Effect::new(move |_| {
        let found = replayed.read().clone();
        let replay = found.zip(state.outcome.get_untracked());
        state
            .replay
            .set(replay.map(|(found, outcome)| OutcomeReplay { outcome, found }));
    });
    let words = move || {
        let scale = Scale::coarse(state.preferences.unit.get());
        let outcome = state.outcome.read();
        let by_factors = outcome.as_ref().map(|outcome| outcome.by_factors());
        match (replayed.read().as_ref(), state.standing.get(), by_factors) {
            (Some(Some(_)), Some(by_replay), Some(by_factors)) => settled(&by_replay, &by_factors, scale),
            (Some(None), ..) => String::from("PyTorch's allocator is not replayed for this job."),
            (Some(_) | None, ..) => String::from("PyTorch's allocator is being replayed…"),
        }
    };
    view! { <div node_ref=place data-testid="replay-of-tight">{words}</div> }
}
