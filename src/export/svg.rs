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
        let mut shapes: Vec<Markup> = drawings.iter().map(|each| shape(each, "")).collect();
        if let Some((below, texture)) = texture_over(scene.id, drawings, "") {
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

/// The element of a drawing, with `more` classes.
///
/// Rectangles are polygons as well: the place and size of a `rect` are style, which a browser works out anew for each that
/// moves, while the corners of a polygon are its own.
#[must_use]
pub fn shape(drawing: &Drawing, more: &str) -> Markup {
    let element = |name| tag(name).class(and_more(drawing.class.names(), more));
    match &drawing.shape {
        Shape::Rect { .. } | Shape::Area { .. } => {
            let mut points = String::new();
            write_corners(&drawing.shape, &mut points);
            element("polygon").with("points", points)
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

/// A class with `more`, which starts with a blank where there is any.
#[must_use]
pub fn and_more(class: Text, more: &str) -> Text {
    if more.is_empty() {
        return class;
    }
    [&class, more].concat().into()
}

/// Appends the corners of what has an area.
fn write_corners(shape: &Shape, points: &mut String) {
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
    points.reserve(corners.len() * 14);
    for (x, y) in corners {
        x.write(points);
        points.push(',');
        y.write(points);
        points.push(' ');
    }
}

/// Appends the outline of what has an area to those of a path.
pub fn write_outline(shape: &Shape, path: &mut String) {
    let start = path.len();
    path.push('M');
    write_corners(shape, path);
    if path.len() > start + 1 {
        path.push('z');
    } else {
        path.truncate(start);
    }
}

/// What lies over the textured ones of some drawings, with `more` classes, and how many of the drawings are below it.
#[must_use]
pub fn texture_over(scene: &str, drawings: &[Drawing], more: &str) -> Option<(usize, Markup)> {
    let (mut path, mut below) = (String::new(), 0);
    for (i, drawing) in drawings.iter().enumerate() {
        if drawing.class.textured() {
            write_outline(&drawing.shape, &mut path);
            below = i + 1;
        }
    }
    (below > 0).then(|| (below, textured(scene, path, more)))
}

/// The texture of a scene within a path, with `more` classes.
#[must_use]
pub fn textured(scene: &str, path: String, more: &str) -> Markup {
    tag("path")
        .class(and_more(Text::Borrowed("textured"), more))
        .with("fill", format!("url(#{})", texture_id(scene)))
        .with("d", path)
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
