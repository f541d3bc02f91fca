//! Coordinates, seeds and process groups of the shown rank, for each module that runs on it.

use leptos::html::Div;
use leptos::prelude::*;

use super::state::RanksState;
use crate::parts::{InSight, Table, deferred_signal, passing_memo};
use megatron_memory::parallel::groups::process_groups::ProcessGroup;
use megatron_memory::report::amount::{Scale, grouped};
use megatron_memory::report::rank_details::{GroupFacts, ModuleFacts};

/// Everything about the shown rank.
#[component]
pub(super) fn RankDetails(ranks: RanksState) -> impl IntoView {
    let place = NodeRef::<Div>::new();
    let modules = deferred_signal(
        place,
        InSight::AfterFrame,
        move || ranks.results.page.outcome.track(),
        move || module_facts(ranks),
    );
    view! {
        <div class="ranks-details" node_ref=place>
            <div class="rank-modules">
                <For each=move || 0..modules.read().len() key=|number| *number let:number>
                    <ModuleDetails ranks=ranks modules=modules number=number />
                </For>
            </div>
        </div>
    }
}

fn module_facts(ranks: RanksState) -> Vec<ModuleFacts> {
    let outcome = ranks.results.page.outcome.get();
    let Some((shown, outcome)) = ranks.shown.get().zip(outcome) else {
        return Vec::new();
    };
    let scale = Scale::fine(ranks.results.page.preferences.unit.get());
    let places = shown.places.iter();
    places
        .map(|place| ModuleFacts::of(&outcome.config, &outcome.estimate, place, scale))
        .collect()
}

/// What the shown rank is to one of its modules.
#[component]
fn ModuleDetails(
    ranks: RanksState,
    modules: ReadSignal<Vec<ModuleFacts>>,
    /// Which of the rank's modules it is.
    number: usize,
) -> impl IntoView {
    let module = passing_memo(move || modules.read().get(number).cloned());
    let groups = Memo::new(move |_| {
        let groups = module.get().map(|module| module.groups);
        let groups = groups.into_iter().flatten();
        groups.map(|facts| facts.group).collect::<Vec<_>>()
    });
    let facts = move || {
        let facts = module.get().map(|module| module.facts);
        let facts = facts.into_iter().flatten();
        facts
            .map(|(name, text)| view! { <dt>{name}</dt><dd>{text}</dd> })
            .collect_view()
    };
    let caption = move || {
        let module = module.get().map(|module| module.module);
        format!("Groups of {} that the rank is in", module.unwrap_or_default())
    };
    let alone = move || match module.get() {
        Some(module) if !module.alone.is_empty() => {
            format!("Alone in {}.", module.alone.join(", "))
        }
        _ => String::new(),
    };
    view! {
        <div class="rank-module">
            <dl class="facts">{facts}</dl>
            <Table attr:class="groups" caption headings=["Group", "View", "Size", "Ranks"]>
                <For each=move || groups.get() key=|group| group.name() let:group>
                    <GroupRow ranks=ranks module=module number=number group=group />
                </For>
            </Table>
            <p class="panel-note">{alone}</p>
        </div>
    }
}

/// A process group that the rank is in. Its name is a button that shows the group on the map.
#[component]
fn GroupRow(
    ranks: RanksState,
    module: Memo<Option<ModuleFacts>>,
    /// Which of the rank's modules it is.
    number: usize,
    group: ProcessGroup,
) -> impl IntoView {
    let facts = passing_memo(move || {
        let module = module.read();
        let mut groups = module.as_ref()?.groups.iter();
        groups.find(|facts| facts.group == group).cloned()
    });
    let text = move |of: fn(GroupFacts) -> String| facts.get().map(of);
    let is_chosen = passing_memo(move || ranks.group.get() == (number, group));
    view! {
        <tr>
            <th scope="row">
                <button
                    type="button"
                    class="group-name"
                    aria-pressed=move || is_chosen.get().to_string()
                    on:click=move |_| ranks.group.set((number, group))
                >
                    {group.name()}
                </button>
            </th>
            <td>{move || text(|facts| facts.view.to_owned())}</td>
            <td>{move || text(|facts| grouped(facts.size))}</td>
            <td>{move || text(|facts| facts.ranks)}</td>
        </tr>
    }
}
