//! The component that draws a [`Scene`] as SVG, and lets pointer and keys reach its marks.

pub(super) mod drawing;
mod layers;
mod mark;

use leptos::html::Div;
use leptos::prelude::*;
use leptos_use_resize_observer::use_resize_observer;

use crate::parts::{InSight, deferred_signal};
use crate::state::{Highlight, ResultsState};
use mark::ChartMark;
use megatron_memory::export::svg::texture_id;
use megatron_memory::report::scene::{Drawing, Px, Scene};

/// The role of a chart's marks for keyboards and screen readers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkRole {
    /// One of the marks is always the chosen one, as in a list box; the arrow keys choose.
    Choice,
    /// Each mark is a button of its own; the arrow keys move between them.
    Buttons,
}

/// The width in pixels before the first measurement.
const FIRST_WIDTH: i32 = 720;
/// The width in pixels below which a chart is rather clipped than squeezed.
const NARROWEST: i32 = 160;

/// The state that the parts of a chart share.
#[derive(Clone, Copy)]
struct ChartState {
    /// A name that is unique on the page.
    id: &'static str,
    role: MarkRole,
    results: ResultsState,
    highlight: Highlight,
    /// The scene that is drawn; none before the first valid job.
    scene: ReadSignal<Option<Scene>>,
    /// The number of the mark that had the focus last.
    focused: RwSignal<usize>,
    /// The number of the one mark that the Tab key reaches: the chosen one, or the one that had the focus last.
    tab_stop: Memo<usize>,
}

/// A chart of the outcome, as wide as its place.
#[component]
pub(super) fn Chart(
    /// A name that is unique on the page; the marks' ids start with it.
    id: &'static str,
    /// Draws the scene for a width.
    draw: fn(ResultsState, Px) -> Option<Scene>,
    /// The role of the marks.
    role: MarkRole,
    /// When it follows a keystroke.
    #[prop(default = InSight::AfterFrame)]
    in_sight: InSight,
) -> impl IntoView {
    let results = expect_context::<ResultsState>();
    let place = NodeRef::<Div>::new();
    let width = pixel_width(place);
    let scene = deferred_signal(
        place,
        in_sight,
        move || results.page.outcome.track(),
        move || draw(results, Px::of(width.get().max(NARROWEST))),
    );
    let focused = RwSignal::new(0);
    let tab_stop = Memo::new(move |_| {
        let scene = scene.read();
        let marks = scene.as_ref().map_or(&[][..], |scene| &scene.marks);
        let chosen = marks.iter().position(|mark| mark.chosen);
        chosen.unwrap_or(focused.get().min(marks.len().saturating_sub(1)))
    });
    let chart = ChartState {
        id,
        role,
        results,
        highlight: expect_context(),
        scene,
        focused,
        tab_stop,
    };
    let is_drawn = Memo::new(move |_| scene.read().is_some());
    view! {
        <div class="picture" node_ref=place on:pointerleave=move |event| chart.point_nowhere(&event)>
            <Show when=move || is_drawn.get()>
                <ChartSvg chart=chart />
            </Show>
        </div>
    }
}

/// The width of an element in whole pixels.
pub(crate) fn pixel_width(place: NodeRef<Div>) -> Signal<i32> {
    let width = RwSignal::new(FIRST_WIDTH);
    use_resize_observer(place, move |entries, _| {
        if let Some(last) = entries.last() {
            #[allow(
                clippy::cast_possible_truncation,
                reason = "no element is that wide, and the conversion stops at the ends of the type"
            )]
            let now = last.content_rect().width().round() as i32;
            width.maybe_update(|before| core::mem::replace(before, now) != now);
        }
    });
    width.into()
}

/// The scene itself, from back to front.
#[component]
fn ChartSvg(chart: ChartState) -> impl IntoView {
    let width = move || chart.of_scene(|scene| scene.width.to_string());
    let height = move || chart.of_scene(|scene| scene.height.to_string());
    let view_box = move || chart.of_scene(|scene| format!("0 0 {} {}", scene.width, scene.height));
    let label = move || chart.of_scene(|scene| format!("{}. {}", scene.title, scene.description));
    let mark_count = move || chart.of_scene(|scene| scene.marks.len());
    view! {
        <svg
            class=move || {
                let dims = if chart.dims_the_rest() { " dims" } else { "" };
                format!("scene scene-{}{dims}", chart.id)
            }
            role=if chart.role == MarkRole::Choice { "listbox" } else { "group" }
            aria-label=label
            viewBox=view_box
            width=width
            height=height
        >
            <TexturePattern chart=chart.id />
            <g aria-hidden="true">{move || chart.drawn(|scene| &scene.behind)}</g>
            <For each=move || 0..mark_count() key=|number| *number let:number>
                <ChartMark chart=chart number=number />
            </For>
            {move || chart.scene.read().as_ref().map(|scene| layers::shapes(chart.id, scene, chart.highlight))}
            <g aria-hidden="true">{move || chart.drawn(|scene| &scene.before)}</g>
            {move || chart.scene.read().as_ref().map(layers::texts)}
        </svg>
    }
}

/// How far the lines of a texture are apart, and how wide they are.
const TEXTURE_STEP: &str = "5";
const TEXTURE_LINE: &str = "1.5";

/// The texture that shapes can be overlaid with besides their color.
#[component]
fn TexturePattern(
    /// The chart's name.
    chart: &'static str,
) -> impl IntoView {
    view! {
        <defs>
            <pattern
                id=texture_id(chart)
                width=TEXTURE_STEP
                height=TEXTURE_STEP
                patternUnits="userSpaceOnUse"
                patternTransform="rotate(45)"
            >
                <rect class="texture" width=TEXTURE_LINE height=TEXTURE_STEP />
            </pattern>
        </defs>
    }
}

impl ChartState {
    /// Something of the scene; the default where there is none.
    fn of_scene<T: Default>(self, read: impl FnOnce(&Scene) -> T) -> T {
        self.scene.read().as_ref().map(read).unwrap_or_default()
    }

    /// The elements of a part of the scene.
    fn drawn(self, part: fn(&Scene) -> &Vec<Drawing>) -> Option<impl IntoView + use<>> {
        let scene = self.scene.read();
        let scene = scene.as_ref()?;
        Some(drawing::list(self.id, part(scene), self.highlight.target().as_ref()))
    }

    /// Whether anything in the scene is highlighted, so that the rest is dimmed.
    fn dims_the_rest(self) -> bool {
        let Some(target) = self.highlight.target() else {
            return false;
        };
        self.of_scene(|scene| {
            let marks = scene.marks.iter();
            let mut targets = marks.flat_map(|mark| {
                let parts = mark.drawings.iter().filter_map(|drawing| drawing.target.as_ref());
                parts.chain([&mark.target])
            });
            targets.any(|other| target.highlights(other))
        })
    }

    /// The pointer has left what it was on.
    fn point_nowhere(self, event: &leptos::ev::PointerEvent) {
        if crate::browser::is_mouse(event) {
            self.highlight.clear();
        }
    }
}
