//! Below the headline of a job whose verdict is "Tight": what the device shows by a replay of PyTorch's allocator.

use leptos::html::Div;
use leptos::prelude::*;

use super::answer_in_sight::answer_in_sight;
use crate::state::State;
use megatron_memory::report::amount::Scale;
use megatron_memory::report::reserved::of_tight;
use search_worker::{Answer, Request};

/// A sentence with the memory that the device shows and whether the job fits with it, once a worker has run the replay.
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
    let words = move || {
        let scale = Scale::coarse(state.preferences.unit.get());
        match (replayed.read().as_ref(), state.outcome.read().as_ref()) {
            (Some(Some(found)), Some(outcome)) => of_tight(&outcome.config, found, scale),
            (Some(None), _) => String::from("PyTorch's allocator is not replayed for this job."),
            (None, _) | (_, None) => String::from("PyTorch's allocator is being replayed…"),
        }
    };
    view! { <div node_ref=place data-testid="replay-of-tight">{words}</div> }
}
