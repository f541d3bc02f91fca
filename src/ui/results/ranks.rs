//! The map of all ranks, and everything about the chosen one.

mod details;
mod map;
mod state;

use leptos::prelude::*;

use crate::parts::Panel;
use details::RankDetails;
use map::RankMap;
use megatron_memory::report::amount::grouped;
use megatron_memory::report::rank_map::Coloring;
use state::RanksState;

/// The panel of the ranks.
#[component]
pub(super) fn RanksPanel() -> impl IntoView {
    let ranks = RanksState::new();
    let count = move || match ranks.world_size() {
        None => String::new(),
        Some(1) => String::from("1 rank"),
        Some(count) => format!("{} ranks", grouped(count)),
    };
    view! {
        <Panel class="ranks" title="ranks-title">
            <div class="ranks-head">
                <header class="panel-head">
                    <h2 id="ranks-title" tabindex="-1">"Ranks"</h2>
                    <p class="panel-note">{count}</p>
                    <ColoringChoice coloring=ranks.coloring />
                </header>
            </div>
            <RankMap ranks=ranks />
            <RankDetails ranks=ranks />
        </Panel>
    }
}

/// What the colors of the map say.
#[component]
fn ColoringChoice(coloring: RwSignal<Coloring>) -> impl IntoView {
    let choices = Coloring::ALL.map(|choice| {
        view! {
            <button
                type="button"
                aria-pressed=move || (coloring.get() == choice).to_string()
                on:click=move |_| coloring.set(choice)
            >
                {choice.label()}
            </button>
        }
    });
    view! {
        <div class="choices" role="group" aria-label="Color by">
            {choices.into_iter().collect_view()}
        </div>
    }
}
