//! The rows of the table that are in sight: layouts with their ranks, and a line before each group that leaves less memory
//! free than those before it.

use std::sync::Arc;

use leptos::either::Either;
use leptos::html::Div;
use leptos::prelude::*;
use leptos_use_element_size::use_element_size;

use super::super::columns;
use super::super::state::{Phase, SearchState};
use super::scroll::{Rows, layout_height};
use crate::browser;
use crate::parts::{Deferred, MoreHeadings, Table};
use megatron_memory::report::amount::Scale;
use megatron_memory::report::layouts::group_words;
use megatron_memory::search::{Candidate, Column, Direction, GroupStart, LayoutRank, Room, Space};
use megatron_memory::verdict::Verdict;

/// Rows in the page before the first one in sight, and after the last one, for a reader who scrolls.
const ROWS_BESIDE: usize = 8;
/// The same while results arrive: each row costs every frame a millisecond of layout and paint.
const ROWS_BESIDE_RUNNING: usize = 2;

/// The row of a layout.
#[derive(Clone, Copy, PartialEq)]
struct Listed {
    /// The layout's place in the table, from 0.
    place: usize,
    candidate: Candidate,
    rank: LayoutRank,
}

/// What a row in the page is of.
#[derive(Clone, Copy, PartialEq)]
enum Row {
    /// The line before a group.
    Line(GroupStart),
    Layout(Listed),
}

impl Row {
    /// What tells the row apart from all others of the table: the group, or the layout's index.
    fn key(&self) -> Result<u64, Room> {
        match self {
            Self::Line(group) => Err(group.room),
            Self::Layout(listed) => Ok(listed.candidate.index),
        }
    }
}

#[component]
pub(super) fn RowsInSight(
    /// The box of the rows.
    place: NodeRef<Div>,
) -> impl IntoView {
    let search: SearchState = expect_context();
    let columns = Memo::new(move |_| {
        let space = search.space();
        let columns = space.map(|space| search.table.read().columns(&space));
        columns.unwrap_or_default()
    });
    let all = Memo::new(move |_| Rows::of(&search.table.read()));
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
    let first = Memo::new(move |_| {
        let last_start = all.read().layouts.saturating_sub(in_page.get());
        top.get().saturating_sub(beside.get()).min(last_start)
    });
    let tied = Memo::new(move |_| search.table.read().tied_ranks());
    let rows = Memo::new(move |_| {
        let (first, in_page) = (first.get(), in_page.get());
        let Some(space) = search.space() else {
            return Vec::new();
        };
        let (table, tied, all) = (search.table.read(), tied.read(), all.read());
        let listed = table.rows(&space, first, in_page).into_iter();
        let rows = listed.flat_map(|(place, candidate)| {
            let rank = table.rank(&tied, &candidate);
            let layout = Row::Layout(Listed { place, candidate, rank });
            all.group(place).map(Row::Line).into_iter().chain([layout])
        });
        rows.collect::<Vec<Row>>()
    });
    let is_settled = Memo::new(move |_| search.at_rest.get() && is_painted.get() && search.table.read().is_sorted());
    let before = move || all.read().above(first.get(), row_height());
    let after = move || all.read().below(first.get() + in_page.get(), row_height());
    let row = move |row: Row| match row {
        Row::Line(group) => Either::Left(view! { <Line group all columns /> }),
        Row::Layout(Listed { candidate, .. }) => {
            let listed = Memo::new(move |_| {
                let rows = rows.read();
                rows.iter().find_map(|row| match row {
                    Row::Layout(listed) if listed.candidate.index == candidate.index => Some(*listed),
                    _ => None,
                })
            });
            Either::Right(view! { <LayoutRow candidate listed all columns /> })
        }
    };
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
                let row = all.read_untracked().at(pixels, row_height());
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
                row_count=Signal::derive(move || all.read().count())
            >
                <MoreHeadings slot>
                    <RankHead />
                    {heads}
                </MoreHeadings>
                <Gap pixels=before columns />
                <For each=move || rows.get() key=Row::key children=row />
                <Gap pixels=after columns />
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

/// The height of a layout in pixels.
fn row_height() -> usize {
    layout_height(browser::is_narrow())
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

/// How many columns the table has: those of a layout, its buttons and its rank.
fn width(columns: Memo<Vec<Column>>) -> usize {
    columns.read().len() + 2
}

/// The space of the rows that are not in the page.
#[component]
fn Gap(pixels: impl Fn() -> usize + Copy + Send + Sync + 'static, columns: Memo<Vec<Column>>) -> impl IntoView {
    view! {
        <tr class="layouts-gap" aria-hidden="true" hidden=move || pixels() == 0>
            <td colspan=move || width(columns) style:height=move || format!("{}px", pixels())></td>
        </tr>
    }
}

/// The line before a group of layouts, with what it means for them.
#[component]
fn Line(group: GroupStart, all: Memo<Rows>, columns: Memo<Vec<Column>>) -> impl IntoView {
    let search: SearchState = expect_context();
    let room = group.room;
    let words = move || group_words(room, Scale::coarse(search.state.preferences.unit.get()));
    // The group begins elsewhere as results arrive.
    let number = move || {
        let all = all.read();
        let group = all.groups.iter().find(|group| group.room == room);
        // The line is the row before its first layout's.
        group.map(|group| all.number(group.place) - 1)
    };
    view! {
        <tr class="layouts-line" aria-rowindex=number>
            <td colspan=move || width(columns)>
                <span>{words}</span>
            </td>
        </tr>
    }
}

/// The heading of the ranks, which brings the best first.
#[component]
fn RankHead() -> impl IntoView {
    let search: SearchState = expect_context();
    let sorted = move || search.table.read().sort().is_none().then_some("ascending");
    let sort = move |_| search.change_table(|table, _| table.sort_best_first());
    view! {
        <th scope="col" aria-sort=sorted>
            <button type="button" name="sort:rank" on:click=sort>
                "Rank"
            </button>
        </th>
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
    /// Its row; `None` once it is no more among those in sight.
    listed: Memo<Option<Listed>>,
    all: Memo<Rows>,
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
        let (columns, unit) = (columns.read(), search.state.preferences.unit.get());
        let cells = columns.iter().map(|column| {
            let text = columns::text(*column, space, &candidate, unit);
            view! { <td data-label=columns::label(*column, unit)>{text}</td> }
        });
        Some(cells.collect_view())
    };
    let apply = move |_| {
        search.apply(candidate.index);
    };
    let is_own = Memo::new(move |_| search.own.get().is_some_and(|own| own.index == candidate.index));
    let pin = move |_| search.compare(candidate.index);
    let rank = move || listed.read().as_ref().map(|listed| listed.rank.to_string());
    let number = move || listed.read().as_ref().map(|listed| all.read().number(listed.place));
    view! {
        <tr
            class=match candidate.verdict() {
                Verdict::DoesNotFit => "over",
                Verdict::Tight => "tight",
                Verdict::Unknown | Verdict::Fits | Verdict::NotThisJob | Verdict::Refused(_) => "",
            }
            class:own=is_own
            aria-current=move || is_own.get().then_some("true")
            aria-rowindex=number
        >
            <td>
                <button type="button" aria-label=format!("Apply {name}") on:click=apply>
                    "Apply"
                </button>
                <button type="button" aria-label=format!("Compare {name}") on:click=pin>
                    "Compare"
                </button>
            </td>
            <td data-label="Rank">{rank}</td>
            {cells}
        </tr>
    }
}
