//! The time of a step in one line, below the headline.

use leptos::prelude::*;

use crate::parts::Deferred;
use crate::state::{OpenDialog, Outcome, ResultsState};
use megatron_memory::report::time::{calibration, line, no_time};
use megatron_memory::time::step_time;

/// The line. Nothing in an embed, which is about memory.
#[component]
pub(super) fn StepTimeLine() -> impl IntoView {
    use_context::<OpenDialog>().map(|_| view! { <Line /> })
}

/// The line. Its first words come with the results; later ones once the frame with the memory is on the screen. The last
/// ones stay, dimmed, while the job cannot run.
#[component]
fn Line() -> impl IntoView {
    let results = expect_context::<ResultsState>();
    let predict = move || {
        let outcome = results.page.outcome.read_untracked();
        let outcome = outcome.as_ref().map(AsRef::as_ref);
        outcome.map(|Outcome { config, estimate }| step_time(config, estimate))
    };
    results.time.set(predict());
    let work = Deferred::new();
    Effect::watch(
        move || results.page.outcome.track(),
        move |(), _, _| {
            work.after_frame(move || {
                let time = predict();
                if *results.time.read_untracked() != time {
                    results.time.set(time);
                }
            });
        },
        false,
    );
    let words = move || match results.time.read().as_ref() {
        Some(Ok(time)) => {
            let outcome = results.page.outcome.read_untracked();
            let calibrated = outcome.as_ref().and_then(|outcome| calibration(&outcome.config));
            [Some(line(time)), calibrated]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(" · ")
        }
        Some(Err(why)) => no_time(why),
        None => String::new(),
    };
    view! { <p class="step-time" data-testid="step-time">{words}</p> }
}
