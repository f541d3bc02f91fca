//! All ranks as colored cells: a slider whose value is a rank.

use leptos::ev::{KeyboardEvent, MouseEvent};
use leptos::html::Div;
use leptos::prelude::*;
use leptos_use_element_size::{Size, UseElementSizeOptions, use_element_size_with_options};

use super::state::RanksState;
use crate::browser;
use crate::parts::{InSight, deferred_signal};
use megatron_memory::report::amount::Scale;
use megatron_memory::report::rank_map::{Cells, ColoredCells, Fill, LegendEntry};

/// The width of the picture in pixels before the first measurement.
const FIRST_WIDTH: f64 = 640.0;
/// The least room for cells in pixels.
const NARROWEST: u64 = 64;
/// The room in pixels around all cells, for the outline of the chosen one.
const EDGE: u64 = 2;

/// The contents of the map.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Map {
    cells: Cells,
    fills: Vec<Fill>,
    legend: Vec<LegendEntry>,
    rank: u64,
    /// The rank in one sentence.
    sentence: String,
    /// The cell of the rank, as an SVG path.
    chosen: String,
    /// The cells of the chosen group, as an SVG path.
    group: String,
}

/// The map with its legend, and the shown rank in one sentence.
#[component]
pub(super) fn RankMap(ranks: RanksState) -> impl IntoView {
    let place = NodeRef::<Div>::new();
    let first = Size {
        width: FIRST_WIDTH,
        height: 0.0,
    };
    let options = UseElementSizeOptions::default().initial_size(first);
    let width = use_element_size_with_options(place, options).width;
    let cells = Memo::new(move |_| cells(ranks, width.get()));
    let map = deferred_signal(
        place,
        InSight::AfterFrame,
        move || ranks.results.page.outcome.track(),
        move || Map::of(ranks, cells.get()?),
    );
    let is_drawn = Memo::new(move |_| map.read().is_some());
    view! {
        <div class="ranks-picture" node_ref=place>
            <Show when=move || is_drawn.get()>
                <CellSlider ranks=ranks cells=cells map=map />
                <ColorLegend map=map />
                // The map says the same of itself to those who walk it with keys.
                <p class="readout">{move || of_map(map, |map| map.sentence.clone())}</p>
            </Show>
        </div>
    }
}

/// Where the cells are in a picture of some width in pixels; nothing before the first valid job.
fn cells(ranks: RanksState, width: f64) -> Option<Cells> {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "no element is that wide, and the conversion stops at the ends of the type"
    )]
    let width = width.round() as u64;
    let room = width.saturating_sub(2 * EDGE).max(NARROWEST);
    ranks.world_size().map(|world| Cells::new(world, room))
}

/// Something of the map; the default before the first valid job.
fn of_map<T: Default>(map: ReadSignal<Option<Map>>, read: impl FnOnce(&Map) -> T) -> T {
    map.read().as_ref().map(read).unwrap_or_default()
}

/// The cells, and on them the chosen group and the shown rank.
#[component]
fn CellSlider(ranks: RanksState, cells: Memo<Option<Cells>>, map: ReadSignal<Option<Map>>) -> impl IntoView {
    // Of the picture, and of the cells in it.
    let outer = move || of_map(map, |map| size(map.cells, 2 * EDGE));
    let inner = move || of_map(map, |map| size(map.cells, 0));
    let view_box = move || {
        let [width, height] = outer();
        format!("-{EDGE} -{EDGE} {width} {height}")
    };
    let fills = move || {
        of_map(map, |map| map.fills.clone())
            .into_iter()
            .map(|fill| view! { <path class=fill.class fill-opacity=fill.opacity d=fill.path /> })
            .collect_view()
    };
    let rank_at = move |event: &MouseEvent| rank_at(event, cells.get_untracked()?);
    view! {
        <svg
            class="rank-map"
            id="rank-map"
            tabindex="0"
            role="slider"
            aria-label="Rank"
            aria-valuemin="0"
            aria-valuemax=move || of_map(map, |map| (map.cells.world - 1).to_string())
            aria-valuenow=move || of_map(map, |map| map.rank.to_string())
            aria-valuetext=move || of_map(map, |map| map.sentence.clone())
            viewBox=view_box
            width=move || outer()[0].to_string()
            height=move || outer()[1].to_string()
            on:keydown=move |event| press(ranks, cells, &event)
            on:blur=move |_| ranks.point(None)
        >
            {fills}
            <path class="rank-lines" d=move || of_map(map, |map| map.cells.grid()) />
            <path class="rank-group" d=move || of_map(map, |map| map.group.clone()) />
            <path
                class="rank-chosen"
                d=move || of_map(map, |map| map.chosen.clone())
            />
            <rect
                class="rank-cells"
                width=move || inner()[0].to_string()
                height=move || inner()[1].to_string()
                on:pointermove=move |event| {
                    if browser::is_mouse(&event)
                        && let Some(rank) = rank_at(&event)
                    {
                        ranks.point(Some(rank));
                    }
                }
                on:pointerleave=move |event| if browser::is_mouse(&event) { ranks.point(None) }
                on:click=move |event| {
                    if let Some(rank) = rank_at(&event) {
                        ranks.choose(rank);
                    }
                }
            />
        </svg>
    }
}

/// Width and height of the cells in pixels, with some more.
fn size(cells: Cells, more: u64) -> [u64; 2] {
    let (width, height) = cells.size();
    [width + more, height + more]
}

/// The rank under the pointer.
fn rank_at(event: &MouseEvent, cells: Cells) -> Option<u64> {
    let (columns, rows) = (cells.columns.try_into().ok()?, cells.rows.try_into().ok()?);
    let (column, row) = browser::pointer_cell(event, columns, rows)?;
    cells.rank_at(column.into(), row.into())
}

/// The legend of the colors.
#[component]
fn ColorLegend(map: ReadSignal<Option<Map>>) -> impl IntoView {
    let item = |entry: LegendEntry| {
        view! {
            <li>
                <svg class="swatch" viewBox="0 0 12 12" aria-hidden="true">
                    <path class=entry.class fill-opacity=entry.opacity d="M0 0h12v12h-12z" />
                </svg>
                <span>{entry.text}</span>
            </li>
        }
    };
    let items = move || {
        let entries = of_map(map, |map| map.legend.clone());
        entries.into_iter().map(item).collect_view()
    };
    view! {
        <div class="legend">
            <ul aria-label="Colors">{items}</ul>
        </div>
    }
}

/// Moves from rank to rank.
fn press(ranks: RanksState, cells: Memo<Option<Cells>>, event: &KeyboardEvent) {
    let (Some(shown), Some(cells)) = (ranks.shown.get_untracked(), cells.get_untracked()) else {
        return;
    };
    let (rank, last) = (shown.rank, cells.world - 1);
    let row = cells.columns * cells.each;
    let to = match browser::key(event).as_str() {
        "ArrowLeft" => rank.saturating_sub(1),
        "ArrowRight" => rank + 1,
        "ArrowUp" => rank.checked_sub(row).unwrap_or(rank),
        "ArrowDown" if rank + row <= last => rank + row,
        "ArrowDown" => rank,
        "PageUp" => rank.saturating_sub(row * 8),
        "PageDown" => rank + row * 8,
        "Home" => 0,
        "End" => last,
        _ => return,
    };
    event.prevent_default();
    ranks.choose(to.min(last));
}

impl Map {
    fn of(ranks: RanksState, cells: Cells) -> Option<Self> {
        let shown = ranks.shown.get()?;
        let outcome = ranks.results.page.outcome.read();
        let outcome = outcome.as_ref()?;
        let colored = ColoredCells {
            config: &outcome.config,
            estimate: &outcome.estimate,
            standing: ranks.results.page.standing.get()?,
            cells,
            coloring: ranks.coloring.get(),
            scale: Scale::coarse(ranks.results.page.preferences.unit.get()),
        };
        let (module, group) = ranks.group.get();
        let place = shown.places.get(module).or(shown.places.first());
        let members = place.map(|place| place.members(group)).unwrap_or_default();
        Some(Self {
            cells,
            fills: colored.fills(),
            legend: colored.legend(),
            rank: shown.rank,
            chosen: cells.path(core::slice::from_ref(&(shown.rank..shown.rank + 1))),
            sentence: shown.sentence,
            group: cells.path(&members),
        })
    }
}
