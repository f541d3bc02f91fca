//! The title of the browser's tab: the answer, such as `65.2 GiB · DeepSeek-V3 · 2,048 × H100 80 GB`.

use gloo::timers::callback::Timeout;
use leptos::prelude::*;

use super::browser;
use super::state::{Outcome, State};
use megatron_memory::formats::state::PresetRef;
use megatron_memory::report::amount::Scale;
use megatron_memory::report::caption::job_words;

/// How long the title waits for the next keystroke, in milliseconds.
const PAUSE: u32 = 300;

/// Keeps the title of the tab current. Shows nothing.
#[component]
pub(super) fn Title() -> impl IntoView {
    let state = expect_context::<State>();
    Effect::new(move |_: Option<Timeout>| {
        state.outcome.track();
        state.stale.track();
        state.preferences.unit.track();
        Timeout::new(PAUSE, move || browser::set_title(&untrack(|| title(state))))
    });
}

fn title(state: State) -> String {
    let name = "Megatron Memory";
    let outcome = state.outcome.read();
    let Some(Outcome { estimate, .. }) = outcome.as_deref().filter(|_| !state.stale.get()) else {
        return format!("Cannot run · {name}");
    };
    let total = Scale::coarse(state.preferences.unit.get()).amount(estimate.worst_rank.total);
    format!("{total} · {} · {name}", job_of(state, outcome.as_deref()))
}

/// The job in a few words; empty before the first valid job.
pub(super) fn job_of(state: State, outcome: Option<&Outcome>) -> String {
    let setup = state.setup.read();
    let model = setup.preset.as_ref().and_then(PresetRef::label);
    outcome
        .map(|outcome| job_words(&outcome.config, model))
        .unwrap_or_default()
}
