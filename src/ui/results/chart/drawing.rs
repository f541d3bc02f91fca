//! Single shapes and texts of a scene as SVG elements.

use leptos::either::EitherOf3;
use leptos::prelude::*;

use megatron_memory::export::svg::{corners, outline, texture_id};
use megatron_memory::report::scene::{Drawing, Shape};
use megatron_memory::report::target::Target;

/// Some drawings from back to front, with the texture right above the last one that has it.
pub(super) fn list(chart: &str, drawings: &[Drawing], highlighted: Option<&Target>) -> impl IntoView + use<> {
    let is_lit = |drawing: &Drawing| {
        let target = highlighted.zip(drawing.target.as_ref());
        target.is_some_and(|(highlighted, target)| highlighted.highlights(target))
    };
    let textured = drawings.iter().filter(|drawing| drawing.class.textured());
    let outlines: String = textured.map(|drawing| outline(&drawing.shape)).collect();
    let first = drawings.iter().find(|drawing| drawing.class.textured());
    let texture = first.map(|first| texture(chart, outlines, is_lit(first)));
    let last = drawings.iter().rposition(|drawing| drawing.class.textured());
    let (below, above) = drawings.split_at(last.map_or(0, |last| last + 1));
    let elements = |drawings: &[Drawing]| {
        let elements = drawings.iter();
        elements.map(|drawing| element(drawing, is_lit(drawing))).collect_view()
    };
    (elements(below), texture, elements(above))
}

/// The element of a drawing.
///
/// Rectangles are polygons as well: the place and size of a `rect` are style, which a browser works out anew for each
/// that moves, while the corners of a polygon are its own.
pub(crate) fn element(drawing: &Drawing, lit: bool) -> impl IntoView + use<> {
    let class = with_lit(&drawing.class.names(), lit);
    match &drawing.shape {
        Shape::Rect { .. } | Shape::Area { .. } => EitherOf3::A(view! {
            <polygon class=class points=corners(&drawing.shape) />
        }),
        Shape::Line { from, to } => EitherOf3::B(view! {
            <line
                class=class
                x1=from.0.to_string()
                y1=from.1.to_string()
                x2=to.0.to_string()
                y2=to.1.to_string()
            />
        }),
        Shape::Text { x, y, anchor, text } => EitherOf3::C(view! {
            // The blank shows nowhere, and keeps this text from the next where somebody reads them in a row.
            <text class=class x=x.to_string() y=y.to_string() text-anchor=anchor.name()>
                {format!("{text} ")}
            </text>
        }),
    }
}

/// The texture of a chart within outlines.
pub(super) fn texture(chart: &str, outlines: String, lit: bool) -> impl IntoView + use<> {
    view! {
        <path
            class=with_lit("textured", lit)
            fill=format!("url(#{})", texture_id(chart))
            d=outlines
        />
    }
}

/// A style class, and `lit` for what is highlighted.
pub(super) fn with_lit(class: &str, lit: bool) -> String {
    if lit { format!("{class} lit") } else { class.to_owned() }
}
