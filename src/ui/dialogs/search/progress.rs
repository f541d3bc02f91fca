//! How far a search is.

use std::sync::Arc;

use leptos::prelude::*;

use super::state::{Phase, SearchState};
use crate::browser;
use megatron_memory::report::amount::grouped;
use megatron_memory::report::layouts::counts;
use megatron_memory::search::{Slice, Space};

/// The parts that the progress bar is divided into.
const STEPS: u128 = 1000;

/// A line with the counts so far, and a bar. Screen readers hear when the search starts and ends, not every number.
#[component]
pub(super) fn Progress() -> impl IntoView {
    let search: SearchState = expect_context();
    let phase = search.phase;
    let with = move |say: fn(&Slice, &Space) -> String| {
        let space = search.space();
        let said = space.map(|space| say(search.table.read().counts(), &space));
        said.unwrap_or_default()
    };
    let said = move || match phase.get() {
        Phase::Before => String::new(),
        Phase::Running => "Searching.".to_owned(),
        Phase::Stopped => "Stopped.".to_owned(),
        Phase::Done => format!("Done: {}.", with(|slice, space| counts(space, slice))),
    };
    let now = move || {
        with(|slice, space| {
            let (looked_at, total) = (grouped(slice.looked_at), grouped(space.total()));
            format!("{looked_at} of {total} combinations: {}.", counts(space, slice))
        })
    };
    let left = move || {
        let now = browser::now();
        let took = now.saturating_sub(search.began.get_value());
        match phase.get() {
            Phase::Running => with_time(search.table.read().counts(), search.space(), took),
            _ => String::new(),
        }
    };
    let share = move || {
        with(|slice, space| {
            let share = u128::from(slice.looked_at) * STEPS / u128::from(space.total().max(1));
            share.to_string()
        })
    };
    view! {
        <div class="layouts-progress">
            <p role="status">{said}</p>
            <Show when=move || matches!(phase.get(), Phase::Running | Phase::Stopped)>
                <p class="layouts-now">{now}</p>
                <p class="layouts-time">{left}</p>
            </Show>
            <Show when=move || phase.get() == Phase::Running>
                <progress max=STEPS.to_string() value=share aria-label="Progress"></progress>
            </Show>
        </div>
    }
}

/// The time that is left where the rest takes as long as what was looked at in `took` milliseconds; empty for the first
/// second, in which it is not known.
fn with_time(slice: &Slice, space: Option<Arc<Space>>, took: u64) -> String {
    let (Some(space), true) = (space, took >= 1_000 && slice.looked_at > 0) else {
        return String::new();
    };
    let rest = u128::from(space.total().saturating_sub(slice.looked_at));
    let seconds = rest * u128::from(took) / u128::from(slice.looked_at) / 1_000;
    match seconds {
        0..=90 => format!("About {} s left.", seconds.max(1)),
        _ => format!("About {} min left.", seconds.div_ceil(60)),
    }
}
