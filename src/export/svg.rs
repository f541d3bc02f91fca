//! A scene as a self-contained SVG file.

use crate::report::markup::{Markup, Text, tag};
use crate::report::scene::{Class, Drawing, Px, Scene, Shape};

/// The text of the file. `style` is a style sheet for the scene's classes.
#[must_use]
pub fn document(scene: &Scene, style: &str) -> String {
    picture(scene, style).to_string()
}

/// The `<svg>` element of the file.
#[must_use]
pub fn picture(scene: &Scene, style: &str) -> Markup {
    let (width, height) = (Text::from(scene.width), Text::from(scene.height));
    let mut file = tag("svg")
        .with("xmlns", "http://www.w3.org/2000/svg")
        .class(format!("scene scene-{}", scene.id))
        .with("width", width.clone())
        .with("height", height.clone())
        .with("viewBox", ["0 0 ", &width, " ", &height].concat())
        .with("role", "img")
        .child(tag("title").text(scene.title.clone()))
        .child(tag("desc").text(scene.description.clone()));
    if !style.is_empty() {
        file = file.child(tag("style").text(style.to_owned()));
    }
    file = file.child(texture(scene.id));
    let drawn = |drawings: &[Drawing]| -> Vec<Markup> {
        // A scene's first drawing may be an invisible shape that catches the pointer. A file needs none.
        let drawings = match drawings {
            [first, rest @ ..] if first.class == Class::Reach => rest,
            all => all,
        };
        let mut shapes: Vec<Markup> = drawings.iter().map(shape).collect();
        if let Some((below, texture)) = texture_over(scene.id, drawings) {
            shapes.insert(below, texture);
        }
        shapes
    };
    let marks = scene.marks.iter().map(|mark| {
        let chosen = if mark.chosen { " chosen" } else { "" };
        tag("g")
            .class(format!("mark {}{chosen}", mark.class.names()))
            .child(tag("title").text(mark.label.clone()))
            .children(drawn(&mark.drawings))
    });
    file.children(drawn(&scene.behind))
        .children(marks)
        .children(drawn(&scene.before))
}

/// The SVG element of a drawing.
fn shape(drawing: &Drawing) -> Markup {
    let element = |name| tag(name).class(drawing.class.names());
    match &drawing.shape {
        Shape::Rect { .. } | Shape::Area { .. } => element("polygon").with("points", corners(&drawing.shape)),
        Shape::Line { from, to } => element("line")
            .with("x1", from.0)
            .with("y1", from.1)
            .with("x2", to.0)
            .with("y2", to.1),
        Shape::Text { x, y, anchor, text } => element("text")
            .with("x", *x)
            .with("y", *y)
            .with("text-anchor", anchor.name())
            // The space is invisible, and separates this text from the next for programs that read them in a row.
            .text([text, " "].concat()),
    }
}

/// The corners of a rectangle or an area as the `points` of an SVG polygon; empty for other shapes and for empty
/// rectangles.
#[must_use]
pub fn corners(shape: &Shape) -> String {
    let rectangle;
    let corners = match shape {
        Shape::Rect { x, y, width, height } if *width > Px::ZERO && *height > Px::ZERO => {
            let (right, bottom) = (*x + *width, *y + *height);
            rectangle = [(*x, *y), (right, *y), (right, bottom), (*x, bottom)];
            rectangle.as_slice()
        }
        Shape::Area { corners } => corners.as_slice(),
        // A rectangle without an area has no outline either.
        _ => &[],
    };
    let mut points = String::with_capacity(corners.len() * 14);
    for (x, y) in corners {
        x.write(&mut points);
        points.push(',');
        y.write(&mut points);
        points.push(' ');
    }
    points
}

/// The outline of a rectangle or an area as a closed part of an SVG path; empty for other shapes and for empty
/// rectangles.
#[must_use]
pub fn outline(shape: &Shape) -> String {
    match corners(shape) {
        corners if corners.is_empty() => corners,
        corners => format!("M{corners}z"),
    }
}

/// A path that draws the texture over all textured drawings, and the number of drawings that come before it; `None`
/// where none is textured.
fn texture_over(scene: &str, drawings: &[Drawing]) -> Option<(usize, Markup)> {
    let textured = |drawing: &Drawing| drawing.class.textured();
    let last = drawings.iter().rposition(textured)?;
    let textured = drawings.iter().filter(|drawing| textured(drawing));
    let outlines: String = textured.map(|drawing| outline(&drawing.shape)).collect();
    let texture = tag("path")
        .class("textured")
        .with("fill", format!("url(#{})", texture_id(scene)))
        .with("d", outlines);
    Some((last + 1, texture))
}

/// The definition of the texture of a scene.
fn texture(scene: &str) -> Markup {
    let line = tag("rect").class("texture").with("width", "1.5").with("height", "5");
    let pattern = tag("pattern")
        .with("id", texture_id(scene))
        .with("width", "5")
        .with("height", "5")
        .with("patternUnits", "userSpaceOnUse")
        .with("patternTransform", "rotate(45)");
    tag("defs").child(pattern.child(line))
}

/// The id of the texture of a scene.
#[must_use]
pub fn texture_id(scene: &str) -> String {
    format!("texture-{scene}")
}
