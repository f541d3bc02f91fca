//! The layouts that a search found, as a table of which only the rows in sight are in the page.

use std::sync::Arc;

use leptos::html::Div;
use leptos::prelude::*;
use leptos_use_element_size::use_element_size;

use super::columns;
use super::left_out::LeftOut;
use super::nearest::nothing_found;
use super::state::{Filters, Phase, SearchState};
use super::tradeoff::Tradeoff;
use crate::browser;
use crate::dialogs::parts::Labelled;
use crate::parts::{Deferred, MoreHeadings, OpenButton, Table};
use megatron_memory::report::amount::{Scale, Unit, grouped};
use megatron_memory::search::{Candidate, Column, Direction, Space};
use megatron_memory::source::PIPELINE_BUBBLE;
use megatron_memory::units::Bytes;
use megatron_memory::verdict::Verdict;

/// The height of a row in pixels, as in the style sheet: where a row stands follows from its number.
const ROW_HEIGHT: usize = 44;
/// The same in a narrow window, where each row is a card.
const CARD_HEIGHT: usize = 208;
/// Rows in the page before the first one in sight, and after the last one, for a reader who scrolls.
const ROWS_BESIDE: usize = 8;
/// The same while results arrive: each row costs every frame a millisecond of layout and paint.
const ROWS_BESIDE_RUNNING: usize = 2;

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
            <a href=PIPELINE_BUBBLE.url() rel="noopener">
                "arXiv 2104.04473"
            </a>
            <span>")."</span>
        </p>
    }
}

/// The height of a row in pixels.
fn row_height() -> usize {
    if browser::is_narrow() { CARD_HEIGHT } else { ROW_HEIGHT }
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

#[component]
fn RowsInSight(
    /// The box of the rows.
    place: NodeRef<Div>,
) -> impl IntoView {
    let search: SearchState = expect_context();
    let columns = Memo::new(move |_| {
        let space = search.space();
        let columns = space.map(|space| search.table.read().columns(&space));
        columns.unwrap_or_default()
    });
    let in_sight = rows_in_sight(place);
    let beside = Memo::new(move |_| match search.phase.get() {
        Phase::Running => ROWS_BESIDE_RUNNING,
        _ => ROWS_BESIDE,
    });
    // Rows come a frame after their headings: together they would be one long task.
    let is_painted = painted();
    let in_page = Memo::new(move |_| {
        if is_painted.get() {
            beside.get() + in_sight.get() + beside.get()
        } else {
            0
        }
    });
    // The first row in sight.
    let top = RwSignal::new(0_usize);
    let count = Memo::new(move |_| search.table.read().len());
    let first = Memo::new(move |_| {
        let last_start = count.get().saturating_sub(in_page.get());
        top.get().saturating_sub(beside.get()).min(last_start)
    });
    let rows = Memo::new(move |_| {
        let (first, in_page) = (first.get(), in_page.get());
        let space = search.space();
        space.map_or_else(Vec::new, |space| search.table.read().rows(&space, first, in_page))
    });
    let is_settled = Memo::new(move |_| search.at_rest.get() && is_painted.get() && search.table.read().is_sorted());
    let after = move || count.get().saturating_sub(first.get() + in_page.get());
    let heads = move || {
        let columns = columns.get().into_iter();
        columns.map(|column| view! { <Head column /> }).collect_view()
    };
    view! {
        <div
            class="layouts-table"
            node_ref=place
            tabindex="0"
            role="region"
            aria-label="Layouts"
            aria-busy=move || (!is_settled.get()).to_string()
            on:scroll:target=move |event| {
                let pixels = usize::try_from(event.target().scroll_top()).unwrap_or(0);
                let row = pixels / row_height();
                // Others are needed only some rows later.
                if row.abs_diff(top.get_untracked()) >= beside.get_untracked() / 2 || row == 0 {
                    top.set(row);
                }
            }
        >
            <Table
                caption="Layouts"
                caption_unseen=true
                headings=["Use it"]
                row_count=Signal::derive(move || count.get() + 1)
            >
                <MoreHeadings slot>{heads}</MoreHeadings>
                    <Gap rows=move || first.get() columns />
                    <For
                        each=move || rows.get()
                        key=|(_, candidate)| candidate.index
                        children=move |(_, candidate)| {
                            let place = Memo::new(move |_| {
                                let rows = rows.read();
                                let row = rows.iter().find(|(_, c)| c.index == candidate.index);
                                row.map_or(0, |(place, _)| *place)
                            });
                            view! { <LayoutRow candidate place columns /> }
                        }
                    />
                    <Gap rows=after columns />
            </Table>
        </div>
    }
}

/// Whether a frame was painted since this was called.
fn painted() -> ReadSignal<bool> {
    let (is_painted, set_painted) = signal(false);
    Deferred::new().after_frame(move || set_painted.set(true));
    is_painted
}

/// The number of rows that the box of the table has room for; 0 until it is known.
fn rows_in_sight(place: NodeRef<Div>) -> Memo<usize> {
    let height = use_element_size(place).height;
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "heights are not negative, and the conversion stops at the ends of the type"
    )]
    let pixels = move || height.get().round() as usize;
    Memo::new(move |_| pixels().div_ceil(row_height()))
}

/// The space of the rows that are not in the page.
#[component]
fn Gap(rows: impl Fn() -> usize + Copy + Send + Sync + 'static, columns: Memo<Vec<Column>>) -> impl IntoView {
    let width = move || columns.read().len() + 1;
    let height = move || format!("{}px", rows() * row_height());
    view! {
        <tr class="layouts-gap" aria-hidden="true" hidden=move || rows() == 0>
            <td colspan=width style:height=height></td>
        </tr>
    }
}

/// A heading that sorts by its column.
#[component]
fn Head(column: Column) -> impl IntoView {
    let search: SearchState = expect_context();
    let sorted = move || {
        let sort = search.table.read().sort().filter(|sort| sort.column == column);
        sort.map(|sort| match sort.direction {
            Direction::Ascending => "ascending",
            Direction::Descending => "descending",
        })
    };
    let sort = move |_| search.change_table(|table, _| table.sort_by(column));
    view! {
        <th scope="col" aria-sort=sorted>
            <button type="button" name=format!("sort:{}", column.id()) on:click=sort>
                {move || columns::label(column, search.state.preferences.unit.get())}
            </button>
        </th>
    }
}

/// A layout, and what can be done with it.
#[component]
fn LayoutRow(
    candidate: Candidate,
    /// Its place in the table, from 0.
    place: Memo<usize>,
    columns: Memo<Vec<Column>>,
) -> impl IntoView {
    let search: SearchState = expect_context();
    let space: Option<Arc<Space>> = search.space_untracked();
    let name = space.as_ref().map_or_else(String::new, |space| {
        let sizes = space.dimensions().iter().zip(space.picks(candidate.index));
        let sizes = sizes.map(|(d, pick)| format!("{} {}", d.axis.symbol(), pick.label()));
        sizes.collect::<Vec<_>>().join(", ")
    });
    let cells = move || {
        let space = space.as_ref()?;
        let columns = columns.read();
        let cells = columns
            .iter()
            .map(|column| view! { <td data-label=columns::label(*column, search.state.preferences.unit.get())>{columns::text(*column, space, &candidate, search.state.preferences.unit.get())}</td> });
        Some(cells.collect_view())
    };
    let apply = move |_| {
        search.apply(candidate.index);
    };
    let is_own = Memo::new(move |_| search.own.get().is_some_and(|own| own.index == candidate.index));
    let pin = move |_| search.compare(candidate.index);
    // A line parts what is tight from what fits, in the order of the search.
    let is_first_tight = move || {
        let table = search.table.read();
        let fitting = usize::try_from(table.counts().fitting()).ok();
        let is_tight = candidate.verdict() == Verdict::Tight;
        is_tight && table.sort().is_none() && Some(place.get()) == fitting.filter(|fitting| *fitting > 0)
    };
    view! {
        <tr
            class=match candidate.verdict() {
                Verdict::DoesNotFit => "over",
                Verdict::Tight => "tight",
                Verdict::Unknown | Verdict::Fits | Verdict::NotThisJob | Verdict::Refused(_) => "",
            }
            class:first-tight=is_first_tight
            class:own=is_own
            aria-current=move || is_own.get().then_some("true")
            aria-rowindex=move || place.get() + 2
        >
            <td>
                <button type="button" aria-label=format!("Apply {name}") on:click=apply>
                    "Apply"
                </button>
                <button type="button" aria-label=format!("Compare {name}") on:click=pin>
                    "Compare"
                </button>
            </td>
            {cells}
        </tr>
    }
}
