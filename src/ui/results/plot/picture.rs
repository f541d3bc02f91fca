//! The plot itself: the value that is nearest to the pointer says its numbers, and a click applies it.

use leptos::ev::MouseEvent;
use leptos::html::Div;
use leptos::prelude::*;

use super::super::chart::{drawing, pixel_width};
use super::values::apply;
use crate::browser;
use crate::state::State;
use megatron_memory::config::fields::FieldId;
use megatron_memory::fit::SweepPoint;
use megatron_memory::report::amount::Unit;
use megatron_memory::report::curves::{Curve, Plot};
use megatron_memory::report::scene::{Drawing, Px, Scene};

/// The width in pixels below which a plot is rather clipped than squeezed.
const NARROWEST: i32 = 240;

/// The picture, with a line below that says what is pointed at, or else what the plot shows.
#[component]
pub(super) fn PlotPicture(
    id: FieldId,
    curves: RwSignal<Vec<Curve>>,
    /// Whether no value can be applied.
    readonly: bool,
) -> impl IntoView {
    let state = expect_context::<State>();
    let place = NodeRef::<Div>::new();
    let width = pixel_width(place);
    let width = move || Px::of(width.get().max(NARROWEST));
    let pointed = RwSignal::new(None::<SweepPoint>);
    let scene = Memo::new(move |_| {
        let curves = curves.read();
        let is_drawn = curves.iter().any(|curve| !curve.sweep.points.is_empty());
        is_drawn.then(|| plot(id, &curves, state.preferences.unit.get(), width()).draw())
    });
    let is_drawn = Memo::new(move |_| scene.read().is_some());
    let of_scene = move |read: fn(&Scene) -> String| scene.read().as_ref().map(read);
    let drawn = move |part: fn(&Scene) -> &Vec<Drawing>| {
        let scene = scene.read();
        let drawings = scene.as_ref().map(part)?.iter();
        Some(drawings.map(|one| drawing::element(one, false)).collect_view())
    };
    let at = move |event: &MouseEvent| {
        let width = untrack(width);
        let columns = u32::try_from(width.0 / 100).ok()?;
        let (column, _) = browser::pointer_cell(event, columns, 1)?;
        let x = Px::of(i32::try_from(column).ok()?);
        let curves = curves.read_untracked();
        plot(id, &curves, Unit::default(), width).nearest(x).copied()
    };
    let readout = move || {
        let curves = curves.read();
        let plot = plot(id, &curves, state.preferences.unit.get(), Px::ZERO);
        match pointed.get() {
            Some(point) => plot.sentence(&point),
            None => plot.sentences().join(" "),
        }
    };
    view! {
        <div class="picture" node_ref=place>
            <Show when=move || is_drawn.get()>
                <svg
                    class="scene scene-plot"
                    role="img"
                    aria-label=move || of_scene(|scene| format!("{}. {}", scene.title, scene.description))
                    viewBox=move || of_scene(|scene| format!("0 0 {} {}", scene.width, scene.height))
                    width=move || of_scene(|scene| scene.width.to_string())
                    height=move || of_scene(|scene| scene.height.to_string())
                    on:pointermove=move |event| if browser::is_mouse(&event) { pointed.set(at(&event)) }
                    on:pointerleave=move |event| if browser::is_mouse(&event) { pointed.set(None) }
                    on:click=move |event| {
                        if let Some(point) = at(&event) {
                            pointed.set(Some(point));
                            if !readonly {
                                apply(state, id, &curves.read_untracked(), point.value);
                            }
                        }
                    }
                >
                    {move || drawn(|scene| &scene.behind)}
                    {move || drawn(|scene| &scene.before)}
                </svg>
            </Show>
        </div>
        <p class="readout">{readout}</p>
    }
}

/// The plot of some lines.
pub(super) fn plot(id: FieldId, curves: &[Curve], unit: Unit, width: Px) -> Plot<'_> {
    Plot {
        field: id,
        curves,
        unit,
        width,
    }
}
