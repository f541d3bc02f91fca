//! A picture as an SVG file that stands by itself.

use crate::report::markup::{Markup, Text, tag};
use crate::report::scene::{Class, Drawing, Px, Scene, Shape};

/// The file's text. `style` is a style sheet for the pictures' classes.
#[must_use]
pub fn document(scene: &Scene, style: &str) -> String {
    picture(scene, style).to_string()
}

/// The file's one element, for a document that has it among others.
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
        // What only catches the pointer lies below the rest, and has no place in a file.
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

/// The element of a drawing.
fn shape(drawing: &Drawing) -> Markup {
    let element = |name| tag(name).class(drawing.class.names());
    match &drawing.shape {
        Shape::Rect { .. } | Shape::Area { .. } => {
            element("polygon").with("points", corners(&drawing.shape))
        }
        Shape::Line { from, to } => element("line")
            .with("x1", from.0)
            .with("y1", from.1)
            .with("x2", to.0)
            .with("y2", to.1),
        Shape::Text { x, y, anchor, text } => element("text")
            .with("x", *x)
            .with("y", *y)
            .with("text-anchor", anchor.name())
            // The blank shows nowhere, and keeps this text from the next where somebody reads them in a row.
            .text([text, " "].concat()),
    }
}

/// The corners of what has an area, as SVG writes the points of a polygon; empty for what has none.
#[must_use]
pub fn corners(shape: &Shape) -> String {
    let rectangle;
    let corners = match shape {
        Shape::Rect {
            x,
            y,
            width,
            height,
        } if *width > Px::ZERO && *height > Px::ZERO => {
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

/// The outline of what has an area, as a closed part of an SVG path; empty for what has none.
#[must_use]
pub fn outline(shape: &Shape) -> String {
    match corners(shape) {
        corners if corners.is_empty() => corners,
        corners => format!("M{corners}z"),
    }
}

/// What lies over the textured ones of some drawings, and how many of the drawings are below it.
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

/// The texture that the textured shapes of a scene are overlaid with.
fn texture(scene: &str) -> Markup {
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

/// The id of a scene's texture, which textured shapes are filled with.
#[must_use]
pub fn texture_id(scene: &str) -> String {
    format!("texture-{scene}")
}
