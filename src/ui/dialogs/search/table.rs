//! The layouts that a search found, as a table of which only the rows in sight are in the page.

mod rows;
mod scroll;

use leptos::html::Div;
use leptos::prelude::*;

use self::rows::RowsInSight;
use super::left_out::LeftOut;
use super::nearest::nothing_found;
use super::state::{Filters, Phase, SearchState};
use super::tradeoff::Tradeoff;
use crate::dialogs::parts::Labelled;
use crate::parts::OpenButton;
use megatron_memory::report::amount::{Scale, Unit, grouped};
use megatron_memory::search::Candidate;
use megatron_memory::source::Source;
use megatron_memory::units::Bytes;

/// The table with its filters, and below it what is to be known about it; or why there is none.
#[component]
pub(super) fn FoundLayouts(
    /// The box of the rows.
    place: NodeRef<Div>,
) -> impl IntoView {
    let search: SearchState = expect_context();
    let is_empty = Memo::new(move |_| search.table.read().count() == 0);
    let nothing = move || match search.space() {
        Some(space) if search.phase.get() == Phase::Done => {
            let table = search.table.read();
            let suggestion = search.suggestion.read();
            let unit = search.state.preferences.unit.get();
            nothing_found(table.counts().closest.as_ref(), suggestion.as_ref(), &space, unit)
        }
        _ => String::new(),
    };
    view! {
        <Show
            when=move || !is_empty.get()
            fallback=move || view! {
                <p class="layouts-none">{nothing}</p>
                <LeftOut />
            }
        >
            <div class="layouts-head">
                <FilterFields />
                <p class="layouts-rows">
                    {move || match search.table.read().len() {
                        1 => "1 layout".to_owned(),
                        rows => format!("{} layouts", counted(rows)),
                    }}
                </p>
            </div>
            <RowsInSight place />
            <Own />
            <About />
        </Show>
    }
}

/// The order of the table, what layouts trade for what, and what was left out, folded up below the table.
#[component]
fn About() -> impl IntoView {
    let is_open = RwSignal::new(false);
    view! {
        <div class="layouts-about">
            <OpenButton
                attr:name="about-layouts"
                is_open
                label="Order, picture and what was left out"
            />
            <Show when=move || is_open.get()>
                <LeftOut />
                <Order />
                <Tradeoff />
            </Show>
        </div>
    }
}

/// In which order the layouts come.
#[component]
fn Order() -> impl IntoView {
    view! {
        <p class="layouts-order">
            <span>
                "In this order unless you sort: what fits, then what fits with less than 5 GiB free, which runs slower than \
                 predicted, then what is tight; all weights trained before adapters alone; then the shortest predicted time of \
                 a step. Layouts whose steps differ by less than 5 % are a tie. Where no time is predicted: no context \
                 parallelism below 4,096 tokens, least on top of the model's own work (recomputation, bubble, exchanged \
                 data, and weights and gradients that are read for every micro batch, together), fewest GPUs per replica, \
                 lowest peak. The bubble is replayed from the schedule, with stages as unequal as their matrix products ("
            </span>
            <a href=Source::PipelineBubble.citation().url() rel="noopener">
                "arXiv 2104.04473"
            </a>
            <span>")."</span>
        </p>
    }
}

/// A number of layouts, with its digits in groups.
fn counted(layouts: usize) -> String {
    grouped(u64::try_from(layouts).unwrap_or(u64::MAX))
}

/// The place of the page's own layout, and what the best one gains over it.
#[component]
fn Own() -> impl IntoView {
    let search: SearchState = expect_context();
    let place = move || {
        let (space, found) = (search.space()?, search.table.read());
        let own = found.own()?;
        let of = found.count() + usize::from(!own.is_listed);
        Some(format!(
            "Your layout, {}: number {} of {}.",
            space.sizes(own.candidate.index),
            counted(own.before + 1),
            counted(of)
        ))
    };
    // A memo: while results arrive, the list is built anew only where another layout is among the best.
    let better = Memo::new(move |_| {
        let table = search.table.read();
        let own = table.own()?.candidate;
        let better: Vec<Candidate> = table.best().iter().copied().filter(|c| c.is_before(&own)).collect();
        (!better.is_empty()).then_some((own, better))
    });
    let why = move || {
        let (space, (own, better)) = (search.space()?, better.get()?);
        let scale = Scale::fine(search.state.preferences.unit.get());
        let rows = better.iter().map(|candidate| {
            let gains = candidate.gains_over(&own).into_iter();
            let gains: Vec<String> = gains.map(|gain| gain.text(|b| scale.amount(b))).collect();
            let gains = format!("{}: {}.", space.sizes(candidate.index), gains.join(", "));
            view! { <li>{gains}</li> }
        });
        Some(view! {
            <details class="layouts-why">
                <summary>"Why not mine?"</summary>
                <p>"What the best layouts gain over it:"</p>
                <ol>{rows.collect_view()}</ol>
            </details>
        })
    };
    view! {
        <div class="layouts-own">
            <p>{place}</p>
            {why}
        </div>
    }
}

#[component]
fn FilterFields() -> impl IntoView {
    let search: SearchState = expect_context();
    let has_gpu = search
        .space_untracked()
        .is_some_and(|space| space.gpu_memory().is_some());
    let filter = move |typed: String| {
        search.change_table(|table, space| table.set_filter(space, &typed));
        search.filters.update(|filters| filters.words = typed);
    };
    // What was typed before the dialog was closed still counts.
    let Filters { words, least_free } = search.filters.get_untracked();
    let unit = search.state.preferences.unit.get_untracked();
    let min_headroom = move |typed: String| {
        let amount: u64 = typed.trim().parse().unwrap_or(0);
        let least = Bytes(amount.saturating_mul(unit.bytes()));
        search.change_table(|table, _| table.set_min_headroom(least));
        search.filters.update(|filters| filters.least_free = typed);
    };
    let headroom = has_gpu.then(|| {
        view! {
            <Labelled label=at_least_free(unit)>
                <input
                    name="room"
                    autocomplete="off"
                    value=least_free
                    on:input:target=move |event| min_headroom(event.target().value())
                />
            </Labelled>
        }
    });
    view! {
        <div class="layouts-filters">
            <Labelled label="Filter, e.g. tp4 pp8">
                <input
                    name="filter"
                    autocomplete="off"
                    value=words
                    on:input:target=move |event| filter(event.target().value())
                />
            </Labelled>
            {headroom}
        </div>
    }
}

/// The label of the field for the least free memory.
const fn at_least_free(unit: Unit) -> &'static str {
    match unit {
        Unit::Gib => "At least free, GiB",
        Unit::Gb => "At least free, GB",
    }
}
