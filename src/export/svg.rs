//! A picture as an SVG file that stands by itself.

use core::fmt::Write as _;

use crate::report::markup::{Markup, tag};
use crate::report::scene::{Class, Drawing, Px, Scene, Shape};

/// The file's text. `style` is a style sheet for the pictures' classes.
#[must_use]
pub fn document(scene: &Scene, style: &str) -> String {
    picture(scene, style).to_string()
}

/// The file's one element, for a document that has it among others.
#[must_use]
pub fn picture(scene: &Scene, style: &str) -> Markup {
    let (width, height) = (scene.width.to_string(), scene.height.to_string());
    let mut file = tag("svg")
        .with("xmlns", "http://www.w3.org/2000/svg")
        .class(format!("scene scene-{}", scene.id))
        .with("width", width.clone())
        .with("height", height.clone())
        .with("viewBox", format!("0 0 {width} {height}"))
        .with("role", "img")
        .child(tag("title").text(scene.title.clone()))
        .child(tag("desc").text(scene.description.clone()));
    if !style.is_empty() {
        file = file.child(tag("style").text(style));
    }
    file = file.child(texture(scene.id));
    // What only catches the pointer has no place in a file.
    let drawn = |drawings: &[Drawing]| -> Vec<Markup> {
        let seen = drawings
            .iter()
            .filter(|drawing| drawing.class != Class::Reach);
        seen.flat_map(|drawing| shapes(scene.id, drawing, ""))
            .collect()
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

/// The elements of a drawing: its shape with `more` classes, and its texture where it has one.
///
/// Rectangles are polygons as well: the place and size of a `rect` are style, which a browser works out anew for each that
/// moves, while the corners of a polygon are its own.
#[must_use]
pub fn shapes(scene: &str, drawing: &Drawing, more: &str) -> Vec<Markup> {
    let class = format!("{}{more}", drawing.class.names());
    let name = match &drawing.shape {
        Shape::Rect { .. } | Shape::Area { .. } => "polygon",
        Shape::Line { .. } => "line",
        Shape::Text { .. } => "text",
    };
    let mut shapes = vec![place(tag(name).class(class), &drawing.shape)];
    if drawing.class.textured() {
        let texture = tag(name).class(format!("textured{more}"));
        let texture = texture.with("fill", format!("url(#{})", texture_id(scene)));
        shapes.push(place(texture, &drawing.shape));
    }
    shapes
}

fn place(element: Markup, shape: &Shape) -> Markup {
    match shape {
        Shape::Rect {
            x,
            y,
            width,
            height,
        } => {
            let (right, bottom) = (*x + *width, *y + *height);
            let corners = [(*x, *y), (right, *y), (right, bottom), (*x, bottom)];
            // What has no area has no outline either.
            let seen = *width > Px::ZERO && *height > Px::ZERO;
            element.with("points", points(if seen { &corners } else { &[] }))
        }
        Shape::Area { corners } => element.with("points", points(corners)),
        Shape::Line { from, to } => element
            .with("x1", from.0.to_string())
            .with("y1", from.1.to_string())
            .with("x2", to.0.to_string())
            .with("y2", to.1.to_string()),
        Shape::Text { x, y, anchor, text } => element
            .with("x", x.to_string())
            .with("y", y.to_string())
            .with("text-anchor", anchor.name())
            .text(text.clone()),
    }
}

fn points(corners: &[(Px, Px)]) -> String {
    let mut points = String::with_capacity(corners.len() * 12);
    for (x, y) in corners {
        _ = write!(points, "{x},{y} ");
    }
    points
}

/// The texture that the textured shapes of a scene are overlaid with.
#[must_use]
pub fn texture(scene: &str) -> Markup {
    let line = tag("rect")
        .class("texture")
        .with("width", "1.5")
        .with("height", "5");
    let pattern = tag("pattern")
        .with("id", texture_id(scene))
        .with("width", "5")
        .with("height", "5")
        .with("patternUnits", "userSpaceOnUse")
        .with("patternTransform", "rotate(45)");
    tag("defs").child(pattern.child(line))
}

fn texture_id(scene: &str) -> String {
    format!("texture-{scene}")
}
