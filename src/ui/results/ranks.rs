//! The groups of equal ranks, the map of all ranks, and everything about the chosen one.

mod details;
mod groups;
mod map;
mod state;

use leptos::prelude::*;

use crate::parts::{InTurn, OpenButton, Panel};
use details::RankDetails;
use groups::RankGroups;
use map::RankMap;
use megatron_memory::report::amount::grouped;
use megatron_memory::report::rank_map::Coloring;
use state::RanksState;

/// So many ranks are drawn at once; of more, the groups say as much with less.
const FEW_RANKS: u64 = 64;

/// The panel of the ranks.
#[component]
pub(crate) fn RanksPanel() -> impl IntoView {
    let ranks = RanksState::new();
    let is_open = RwSignal::new(false);
    let is_large = Memo::new(move |_| ranks.world_size().is_some_and(|count| count > FEW_RANKS));
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
                    <Show when=move || !is_large.get()>
                        <ColoringChoice coloring=ranks.coloring />
                    </Show>
                    <Show when=move || is_large.get()>
                        <OpenButton attr:data-testid="every-rank" is_open label="Show every rank" />
                    </Show>
                </header>
            </div>
            <InTurn><RankGroups ranks=ranks /></InTurn>
            <Show when=move || is_large.get() && is_open.get()>
                <ColoringChoice coloring=ranks.coloring />
            </Show>
            <Show when=move || !is_large.get() || is_open.get()>
                <InTurn><RankMap ranks=ranks /></InTurn>
            </Show>
            <InTurn><RankDetails ranks=ranks /></InTurn>
        </Panel>
    }
}

/// The choice of what the map's colors mean.
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
