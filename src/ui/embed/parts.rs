//! The parts of small embeds that not every view needs. Each is a module that is loaded when it is needed.

use leptos::prelude::*;

use super::presentation::Presentation;
use super::settings::Plots;
use crate::browser;
use crate::lazy_parts::Loading;
use crate::parts::when_idle;
use crate::results::{NumbersPanel, StagesPanel, TimelinePanel};
use crate::state::{OutcomeReplay, State};
use megatron_memory::report::reserved::Replayed;

/// The functions that load these parts: the lazy functions of `light_embed.rs`. Provided as context.
#[derive(Clone, Copy)]
pub struct EmbedParts {
    /// Loads [`embed_table`].
    pub table: fn() -> Loading,
    /// Loads [`embed_timeline`].
    pub timeline: fn() -> Loading,
    /// Loads [`embed_sweep`].
    pub sweep: fn() -> Loading,
    /// Loads [`embed_replay`].
    pub replay: fn() -> Loading,
}

/// Every stage with its buckets.
#[must_use]
pub fn embed_table() -> AnyView {
    view! { <NumbersPanel /> }.into_any()
}

/// The heaviest stage over one step, and all stages.
#[must_use]
pub fn embed_timeline() -> AnyView {
    view! { <TimelinePanel /><StagesPanel /> }.into_any()
}

/// Plots of the memory over each of the fields that the address names.
#[must_use]
pub fn embed_sweep() -> AnyView {
    let Presentation { fields, readonly, .. } = Presentation::from_query(&browser::query());
    view! { <fieldset disabled=readonly><Plots fields=fields readonly /></fieldset> }.into_any()
}

/// The replay of PyTorch's allocator for a job that is tight by the factors, once its reader pauses. Shows nothing: the
/// headline does.
#[must_use]
pub fn embed_replay() -> AnyView {
    let state = expect_context::<State>();
    when_idle(
        move || state.outcome.track(),
        || (),
        move |()| {
            let outcome = state
                .outcome
                .get_untracked()
                .filter(|_| untrack(|| state.is_left_open()));
            state.replay.set(outcome.map(|outcome| OutcomeReplay {
                found: Replayed::of_worst_rank(&outcome.config, &outcome.estimate),
                outcome,
            }));
            true
        },
    );
    ().into_any()
}
