//! What PyTorch's allocator reserves on the shown stage: by the factors at first, and by a replay once a worker has run
//! one.

use std::sync::Arc;

use leptos::html::Div;
use leptos::prelude::*;

use super::answer_in_sight::answer_in_sight;
use crate::state::{Outcome, ResultsState};
use megatron_memory::memory::StageRef;
use megatron_memory::report::amount::Scale;
use megatron_memory::report::reserved::{by_factors, derivation, line};
use search_worker::{Answer, Request};

/// A job that can run, with a stage of it.
type Question = (Arc<Outcome>, StageRef);

/// What is reserved, in a line, and below it on demand how that is found.
#[component]
pub(super) fn ReservedLine() -> impl IntoView {
    let results = expect_context::<ResultsState>();
    let unit = results.page.preferences.unit;
    let place = NodeRef::<Div>::new();
    let replayed = answer_in_sight(
        place,
        move || results.stage.track(),
        move |link| {
            let stage = Some(results.stage.get_untracked()?);
            Some(Request::Reserve { link, stage })
        },
        |answer| match answer {
            Answer::Reserved(found) => found,
            _ => None,
        },
    );
    // The line, and how it is found.
    let words = Memo::new(move |_| {
        let scale = Scale::fine(unit.get());
        let Some((outcome, stage)) = question(results) else {
            return Default::default();
        };
        match replayed.read().as_ref() {
            Some(replayed) => [line(&outcome.config, replayed, scale), derivation(replayed, scale)],
            None => by_factors(&outcome.config, &outcome.estimate, stage, scale).unwrap_or_default(),
        }
    });
    let of_words = move |read: fn(&[String; 2]) -> &String| read(&words.read()).clone();
    view! {
        <div class="reserved" data-testid="reserved" node_ref=place>
            <p>{move || of_words(|[line, _]| line)}</p>
            <details>
                <summary>"How this is found"</summary>
                <p>
                    {move || of_words(|[_, how]| how)} " "
                    <a href="./evidence.html" target="_blank" rel="noopener">"Measured runs"</a>
                </p>
            </details>
        </div>
    }
}

/// What the line is about.
fn question(results: ResultsState) -> Option<Question> {
    let outcome = results.page.outcome.get()?;
    Some((outcome, results.stage.get()?))
}
