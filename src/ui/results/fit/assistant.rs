//! Changes with which the job fits, each with what it saves and what it costs.

use leptos::prelude::*;

use super::found::{ChangeSearch, apply};
use crate::components::lay_out::LayOutButton;
use crate::parts::passing_memo;
use crate::state::{DialogKind, FoundChanges, OpenDialog, State};
use megatron_memory::report::amount::Scale;
use megatron_memory::report::offers::OfferRow;

/// The changes with which the job fits, as rows whose button applies them.
#[component]
pub(super) fn Assistant() -> impl IntoView {
    let state = expect_context::<State>();
    let found = RwSignal::new(FoundChanges::default());
    let rows = Memo::new(move |_| {
        let (found, scale) = (found.read(), Scale::fine(state.preferences.unit.get()));
        let moves = found.offers.iter();
        moves
            .map(|change| OfferRow::new(change.clone(), scale))
            .collect::<Vec<_>>()
    });
    let status = move || {
        let found = found.read();
        if !found.is_complete {
            return String::from("Trying changes …");
        }
        if !found.offers.is_empty() {
            return String::new();
        }
        if state.stale.get() {
            return String::from("The job cannot run yet: pick a layout, or mend the settings marked in the form.");
        }
        if found.fits {
            return String::from(
                "Fits. No single change would recompute or offload less, or take fewer GPUs per replica, and still fit.",
            );
        }
        let scale = Scale::coarse(state.preferences.unit.get());
        match &found.closest {
            Some(closest) => format!(
                "Neither a single change nor a pair of them is enough. Closest: {}, {} allocated.",
                closest.label(),
                scale.amount(closest.measured.total)
            ),
            None => String::from("No single change saves memory."),
        }
    };
    view! {
        <div class="moves" data-testid="moves">
            <ChangeSearch found />
            <div class="ways-out">
                <LayOutButton primary=true />
                <SearchButton />
            </div>
            <ul>
                <For each=move || 0..rows.read().len() key=|number| *number let:number>
                    <MoveItem rows=rows number=number />
                </For>
            </ul>
            <p class="panel-note" hidden=move || status().is_empty()>{status}</p>
        </div>
    }
}

/// A change with a button that applies it.
#[component]
fn MoveItem(rows: Memo<Vec<OfferRow>>, number: usize) -> impl IntoView {
    let state = expect_context::<State>();
    let row = passing_memo(move || rows.read().get(number).cloned());
    let text = move |read: fn(&OfferRow) -> &String| row.read().as_ref().map(read).cloned();
    let saves_nothing = move || row.read().as_ref().is_some_and(|row| row.change.saves <= 0);
    let apply = move |_| {
        if let Some(row) = row.get_untracked() {
            apply(state, &row, "fit-title");
        }
    };
    view! {
        <li>
            <button type="button" class="fix" on:click=apply>
                {move || text(|row| &row.name)}
            </button>
            <strong class:plain=saves_nothing>{move || text(|row| &row.saves)}</strong>
            <span>{move || text(|row| &row.cost)}</span>
        </li>
    }
}

/// Opens the search for other layouts.
#[component]
fn SearchButton() -> impl IntoView {
    let dialogs = use_context::<OpenDialog>();
    dialogs.map(|dialogs| {
        view! {
            <button
                type="button"
                class="link"
                data-testid="fit-search"
                on:click=move |_| dialogs.open(DialogKind::Search)
            >
                "Browse layouts"
            </button>
        }
    })
}
