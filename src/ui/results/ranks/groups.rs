//! The ranks as groups of equal ranks: the ones that run the same stages.

use leptos::html::Div;
use leptos::prelude::*;

use super::state::RanksState;
use crate::parts::{InSight, deferred_signal, passing_memo};
use megatron_memory::report::amount::{Scale, grouped};
use megatron_memory::report::rank_map::spans;
use megatron_memory::report::summary::stage_name;

/// Ranks that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
struct EqualRanks {
    /// The first of them.
    first: u64,
    /// The last of them.
    last: u64,
    /// The stages that they run.
    stages: String,
    /// The memory of each of them.
    memory: String,
    /// Whether the rank that the panel is about is one of them.
    has_shown: bool,
}

impl EqualRanks {
    /// The ranks, and their number.
    fn ranks(&self) -> String {
        match self.last - self.first + 1 {
            1 => format!("rank {}", grouped(self.first)),
            count => format!(
                "{} ranks, {} to {}",
                grouped(count),
                grouped(self.first),
                grouped(self.last)
            ),
        }
    }
}

/// A button for each group, which chooses its first rank.
#[component]
pub(super) fn RankGroups(ranks: RanksState) -> impl IntoView {
    let place = NodeRef::<Div>::new();
    let groups = deferred_signal(
        place,
        InSight::AfterFrame,
        move || ranks.results.page.outcome.track(),
        move || groups(ranks),
    );
    view! {
        <div class="rank-groups" node_ref=place>
            <ul>
                <For each=move || 0..groups.read().len() key=|number| *number let:number>
                    <GroupButton ranks groups number />
                </For>
            </ul>
        </div>
    }
}

#[component]
fn GroupButton(
    ranks: RanksState,
    groups: ReadSignal<Vec<EqualRanks>>,
    /// The place of the group in the list.
    number: usize,
) -> impl IntoView {
    let group = passing_memo(move || groups.read().get(number).cloned());
    let text = move |read: fn(&EqualRanks) -> String| group.read().as_ref().map(read);
    let has_shown = move || group.read().as_ref().is_some_and(|group| group.has_shown);
    let choose = move |_| {
        if let Some(group) = group.get_untracked() {
            ranks.choose(group.first);
        }
    };
    view! {
        <li>
            <button type="button" aria-pressed=move || has_shown().to_string() on:click=choose>
                <strong>{move || text(|group| group.stages.clone())}</strong>
                <span>{move || text(EqualRanks::ranks)}</span>
                <span>{move || text(|group| group.memory.clone())}</span>
            </button>
        </li>
    }
}

fn groups(ranks: RanksState) -> Vec<EqualRanks> {
    let outcome = ranks.results.page.outcome.read();
    let Some(outcome) = outcome.as_ref() else {
        return Vec::new();
    };
    let scale = Scale::coarse(ranks.results.page.preferences.unit.get());
    let shown = ranks.shown.read();
    let shown = shown.as_ref().map(|shown| shown.rank);
    let spans = spans(&outcome.config, &outcome.estimate).into_iter();
    spans
        .map(|span| {
            let stages = span.memory.stages.iter();
            let stages: Vec<String> = stages.map(|at| stage_name(&outcome.config, *at)).collect();
            EqualRanks {
                first: span.ranks.start,
                last: span.ranks.end.saturating_sub(1),
                stages: stages.join(" and "),
                memory: format!("{} each", scale.amount(span.memory.total)),
                has_shown: shown.is_some_and(|rank| span.ranks.contains(&rank)),
            }
        })
        .collect()
}
