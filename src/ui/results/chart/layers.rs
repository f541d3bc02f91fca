//! The shapes of many marks in one element for each meaning, so that a chart of hundreds of shapes follows a keystroke
//! with a dozen changes.
//!
//! This is for marks that catch the pointer with a rectangle of [`Class::Reach`] and leave the rest to the chart: which
//! shape the pointer is on follows from where it is in that rectangle.

use leptos::prelude::*;

use super::drawing::{self, with_lit};
use crate::state::Highlight;
use megatron_memory::export::svg::outline;
use megatron_memory::report::scene::{Class, Drawing, Mark, Px, Scene, Shape};
use megatron_memory::report::target::Target;

/// Into how many columns and rows a reach is divided, to tell where the pointer is.
pub(super) const CELLS: u32 = 999;

/// The rectangle with which a mark catches the pointer; none for a mark that catches it with all its shapes.
pub(super) fn reach(mark: &Mark) -> Option<&Drawing> {
    let first = mark.drawings.first()?;
    (first.class == Class::Reach).then_some(first)
}

/// The target of the shape at a column and a row of a mark's reach; `None` where there is no shape.
pub(super) fn target_at(mark: &Mark, (column, row): (u32, u32)) -> Option<&Target> {
    let Shape::Rect { x, y, width, height } = reach(mark)?.shape else {
        return None;
    };
    let middle = |length: Px, cell: u32| length.share(2 * u128::from(cell) + 1, 2 * u128::from(CELLS));
    let place = (x + middle(width, column), y + middle(height, row));
    let mut drawings = mark.drawings.iter().filter(|d| d.shape.holds(place));
    drawings.find_map(|drawing| drawing.target.as_ref())
}

/// All shapes of a meaning that are highlighted, or that are not.
struct Layer {
    class: Class,
    lit: bool,
    outlines: String,
}

/// The drawings of a mark besides its reach; nothing for a mark without one.
fn above_reach(mark: &Mark) -> &[Drawing] {
    match mark.drawings.as_slice() {
        [first, rest @ ..] if first.class == Class::Reach => rest,
        _ => &[],
    }
}

/// The shapes above the reaches, with the texture over those that have one.
pub(super) fn shapes(chart: &str, scene: &Scene, highlight: Highlight) -> impl IntoView + use<> {
    let mut layers: Vec<Layer> = Vec::new();
    for mark in &scene.marks {
        let whole_mark = highlight.highlights(&mark.target);
        let shapes = above_reach(mark).iter();
        for drawing in shapes.filter(|drawing| !matches!(drawing.shape, Shape::Text { .. })) {
            let target = drawing.target.as_ref();
            let lit = whole_mark || target.is_some_and(|target| highlight.highlights(target));
            let outlines = outline(&drawing.shape);
            let mut same = layers.iter_mut();
            match same.find(|layer| (layer.class, layer.lit) == (drawing.class, lit)) {
                Some(layer) => layer.outlines.push_str(&outlines),
                None => layers.push(Layer {
                    class: drawing.class,
                    lit,
                    outlines,
                }),
            }
        }
    }
    let textures = [false, true].map(|lit| {
        let textured = layers.iter();
        let textured = textured.filter(|layer| layer.lit == lit && layer.class.textured());
        let outlines: String = textured.map(|layer| layer.outlines.as_str()).collect();
        (!outlines.is_empty()).then(|| drawing::texture(chart, outlines, lit))
    });
    let layers = layers.into_iter().map(|layer| {
        view! { <path class=with_lit(&layer.class.names(), layer.lit) d=layer.outlines /> }
    });
    view! {
        <g aria-hidden="true">{layers.collect_view()} {textures.into_iter().flatten().collect_view()}</g>
    }
}

/// The texts above the reaches, in a group for each mark.
pub(super) fn texts(scene: &Scene) -> impl IntoView + use<> {
    let marks = scene.marks.iter().filter(|mark| reach(mark).is_some());
    let groups = marks.map(|mark| {
        let texts = above_reach(mark).iter();
        let texts = texts.filter(|drawing| matches!(drawing.shape, Shape::Text { .. }));
        let texts = texts.map(|drawing| drawing::element(drawing, false));
        view! { <g class=class(mark)>{texts.collect_view()}</g> }
    });
    view! { <g aria-hidden="true">{groups.collect_view()}</g> }
}

/// The style classes of a mark.
pub(super) fn class(mark: &Mark) -> String {
    let chosen = if mark.chosen { " chosen" } else { "" };
    format!("{}{chosen}", mark.class.names())
}
