//! A picture of what the layouts trade for what: two measures, the layouts that none beats in both, and the page's own.

mod axes;
mod picture;

use leptos::ev::{KeyboardEvent, MouseEvent};
use leptos::html::Div;
use leptos::prelude::*;

use self::axes::Axes;
use self::picture::{Drawing, HEIGHT, MEASURES, Picture, label, measure, sentence};
use super::state::SearchState;
use crate::browser;
use crate::dialogs::parts::Menu;
use crate::parts::Deferred;
use crate::results::pixel_width;
use megatron_memory::report::scene::Px;
use megatron_memory::search::{Candidate, Column};

/// The width in pixels below which the picture is rather clipped than squeezed.
const NARROWEST: i32 = 240;

/// What the picture shows, and which layout its reader looks at.
#[derive(Clone, Copy)]
struct TradeoffState {
    search: SearchState,
    /// The measures: across, and up.
    measures: [RwSignal<Column>; 2],
    picture: RwSignal<Option<Picture>>,
    /// The layout under the mouse.
    pointed: RwSignal<Option<Candidate>>,
    /// The layout that was clicked, tapped or reached by arrow keys.
    chosen: RwSignal<Option<Candidate>>,
}

/// The picture with its menus, and what the layout that is pointed at or chosen says.
#[component]
pub(super) fn Tradeoff() -> impl IntoView {
    let search: SearchState = expect_context();
    let measures = [Column::Time, Column::Peak].map(RwSignal::new);
    let [across, up] = measures;
    let place = NodeRef::<Div>::new();
    let width = pixel_width(place);
    // Drawn when the search pauses or ends: until then each answer would move all points.
    let picture = RwSignal::new(None);
    let drawing = Deferred::new();
    Effect::new(move |_| {
        if !search.at_rest.get() {
            picture.set(None);
            return;
        }
        let width = Px::of(width.get().max(NARROWEST));
        let measures = [across.get(), up.get()];
        let (Some(space), true) = (search.space(), search.table.read().is_sorted()) else {
            return;
        };
        // Where no time is predicted, waiting stands in for it.
        let is_timed = search.table.read().columns(&space).contains(&Column::Time);
        let measures = measures.map(|measure| match measure {
            Column::Time if !is_timed => Column::Bubble,
            measure => measure,
        });
        let start = Drawing::new(space, search.own.get(), measures, width);
        drawing.in_pieces(start, move |drawing| {
            let table = search.table.try_read_untracked();
            let is_done = table.is_none_or(|table| drawing.advance(&table));
            // Another search may have begun.
            if is_done && search.at_rest.try_get_untracked() == Some(true) {
                let _ = picture.try_set(drawing.picture());
            }
            is_done
        });
    });
    let tradeoff = TradeoffState {
        search,
        measures,
        picture,
        pointed: RwSignal::new(None),
        chosen: RwSignal::new(None),
    };
    provide_context(tradeoff);
    let is_drawn = Memo::new(move |_| picture.read().is_some());
    let has_own = Memo::new(move |_| {
        let picture = picture.read();
        picture.as_ref().is_some_and(|picture| picture.own.is_some())
    });
    view! {
        <Show when=move || is_drawn.get()>
            <section class="tradeoff" aria-label="What layouts trade">
                <div class="tradeoff-measures">
                    <MeasureMenu name="tradeoff-up" label="Up" of=up />
                    <MeasureMenu name="tradeoff-across" label="Across" of=across />
                </div>
                <div class="picture" node_ref=place>
                    <Points />
                </div>
                <p class="tradeoff-key">
                    <span class="tradeoff-best">"No layout has less of both"</span>
                    <span class="tradeoff-other">"Others"</span>
                    <span class="tradeoff-own" hidden=move || !has_own.get()>
                        "Yours"
                    </span>
                </p>
                <Readout />
            </section>
        </Show>
    }
}

/// A menu of what can be compared.
#[component]
fn MeasureMenu(name: &'static str, label: &'static str, of: RwSignal<Column>) -> impl IntoView {
    let options = MEASURES.map(|column| (column.id().to_owned(), self::label(column).to_owned()));
    let choose = move |id: String| {
        if let Some(column) = measure(&id) {
            of.set(column);
        }
    };
    let chosen = Signal::derive(move || of.get().id().to_owned());
    view! { <Menu name label options=options.into() chosen choose /> }
}

impl TradeoffState {
    /// The layout that is spoken of.
    fn shown(self) -> Option<Candidate> {
        self.pointed.get().or_else(|| self.chosen.get())
    }

    /// The layout that is nearest to the pointer.
    fn at(self, event: &MouseEvent) -> Option<Candidate> {
        let picture = self.picture.read_untracked();
        let picture = picture.as_ref()?;
        let size = |length: Px| u32::try_from(length.0 / 100).ok();
        let (x, y) = browser::pointer_cell(event, size(picture.width)?, size(HEIGHT)?)?;
        let length = |pixels: u32| i32::try_from(pixels).ok().map(Px::of);
        picture.nearest(length(x)?, length(y)?)
    }

    /// Goes along the layouts that none beats, or applies the chosen one.
    fn press(self, event: &KeyboardEvent) {
        let chosen = self.chosen.get_untracked();
        let step = |from: Option<&Candidate>, forward| {
            let picture = self.picture.read_untracked();
            picture.as_ref().and_then(|picture| picture.step(from, forward))
        };
        let next = match event.key().as_str() {
            "ArrowRight" | "ArrowDown" => step(chosen.as_ref(), true),
            "ArrowLeft" | "ArrowUp" => step(chosen.as_ref(), false),
            "Home" => step(None, true),
            "Enter" => {
                if let Some(chosen) = chosen {
                    event.prevent_default();
                    self.search.apply(chosen.index);
                }
                return;
            }
            _ => return,
        };
        event.prevent_default();
        self.pointed.set(None);
        self.chosen.set(next);
    }
}

/// The id of the option of a layout.
fn option_id(c: &Candidate) -> String {
    format!("tradeoff-{}", c.index)
}

/// The picture itself: a list of the layouts that none beats, among the others.
#[component]
fn Points() -> impl IntoView {
    let tradeoff: TradeoffState = expect_context();
    let TradeoffState {
        search,
        measures: [across, up],
        picture,
        pointed,
        chosen,
    } = tradeoff;
    let unit = search.state.preferences.unit;
    let of_picture = move |read: fn(&Picture) -> String| picture.read().as_ref().map(read);
    let name = move || {
        let (up, across) = (label(up.get()), label(across.get()).to_lowercase());
        format!("{up} against {across}: layouts that no other beats in both")
    };
    let options = move || {
        let (picture, space) = (picture.read(), search.space()?);
        let unit = search.state.preferences.unit.get();
        let points = picture.as_ref()?.frontier.iter().map(|point| {
            let candidate = point.candidate;
            let is_chosen = move || chosen.read().is_some_and(|c| c.index == candidate.index);
            view! {
                <circle
                    role="option"
                    id=option_id(&candidate)
                    class="tradeoff-best"
                    cx=point.x.to_string()
                    cy=point.y.to_string()
                    r="5"
                    aria-selected=move || is_chosen().to_string()
                    aria-label=sentence(&space, &candidate, unit)
                />
            }
        });
        Some(points.collect_view())
    };
    let own = move || {
        let own = picture.read().as_ref()?.own?;
        Some(format!("M{} {}m0 -8l8 8l-8 8l-8 -8z", own.x, own.y))
    };
    let ring = move || {
        let shown = tradeoff.shown()?;
        let point = picture.read().as_ref()?.place(&shown)?;
        Some(view! {
            <circle class="tradeoff-ring" cx=point.x.to_string() cy=point.y.to_string() r="9" />
        })
    };
    view! {
        <div
            class="tradeoff-points"
            role="listbox"
            tabindex="0"
            aria-label=name
            aria-activedescendant=move || chosen.read().as_ref().map(option_id)
            on:keydown=move |event| tradeoff.press(&event)
        >
            <svg
                class="scene"
                role="presentation"
                viewBox=move || of_picture(|picture| format!("0 0 {} {HEIGHT}", picture.width))
                width=move || of_picture(|picture| picture.width.to_string())
                height=HEIGHT.to_string()
                on:pointermove=move |event| {
                    if browser::is_mouse(&event) {
                        pointed.set(tradeoff.at(&event));
                    }
                }
                on:pointerleave=move |event| if browser::is_mouse(&event) { pointed.set(None) }
                on:click=move |event| chosen.set(tradeoff.at(&event))
            >
                <Axes picture measures=[across, up] space=Signal::derive(move || search.space()) unit />
                <path class="tradeoff-other" aria-hidden="true" d=move || of_picture(Picture::dots) />
                <path class="tradeoff-steps" aria-hidden="true" d=move || of_picture(Picture::steps) />
                {options}
                <path class="tradeoff-own" aria-hidden="true" d=own />
                <g aria-hidden="true">{ring}</g>
            </svg>
        </div>
    }
}

/// What the layout that is pointed at or chosen has of every measure, and what can be done with the chosen one.
#[component]
fn Readout() -> impl IntoView {
    let tradeoff: TradeoffState = expect_context();
    let search = tradeoff.search;
    let text = move || match (tradeoff.shown(), search.space()) {
        (Some(c), Some(space)) => sentence(&space, &c, search.state.preferences.unit.get()),
        _ => "Point at a layout, or step through the best ones with the arrow keys.".to_owned(),
    };
    let act = move |act: fn(SearchState, u64)| {
        if let Some(chosen) = tradeoff.chosen.get_untracked() {
            act(search, chosen.index);
        }
    };
    let is_chosen = Memo::new(move |_| tradeoff.chosen.read().is_some());
    view! {
        <div class="tradeoff-readout">
            <p class="readout">{text}</p>
            <button
                type="button"
                name="tradeoff-apply"
                hidden=move || !is_chosen.get()
                on:click=move |_| act(SearchState::apply)
            >
                "Apply"
            </button>
            <button
                type="button"
                name="tradeoff-compare"
                hidden=move || !is_chosen.get()
                on:click=move |_| act(SearchState::compare)
            >
                "Compare"
            </button>
        </div>
    }
}
