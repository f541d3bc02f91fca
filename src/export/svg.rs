//! A picture as an SVG file that stands by itself.

use core::fmt::Write;

use crate::report::scene::{Class, Drawing, Scene, Shape};

/// The file's text. `style` is a style sheet for the pictures' classes; it is put inside as it is, so
/// it must come from the program and not from a user.
#[must_use]
pub fn document(scene: &Scene, style: &str) -> String {
    let (width, height) = (scene.width, scene.height);
    let mut file = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"scene scene-{}\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\">\n",
        scene.id
    );
    line(
        &mut file,
        1,
        &format!("<title>{}</title>", escaped(&scene.title)),
    );
    line(
        &mut file,
        1,
        &format!("<desc>{}</desc>", escaped(&scene.description)),
    );
    if !style.is_empty() {
        line(&mut file, 1, &format!("<style>{style}</style>"));
    }
    line(&mut file, 1, &texture(scene));
    for drawing in &scene.behind {
        draw(&mut file, 1, scene, drawing);
    }
    for mark in &scene.marks {
        let chosen = if mark.chosen { " chosen" } else { "" };
        line(
            &mut file,
            1,
            &format!("<g class=\"mark {}{chosen}\">", mark.class.names()),
        );
        line(
            &mut file,
            2,
            &format!("<title>{}</title>", escaped(&mark.label)),
        );
        for drawing in &mark.drawings {
            draw(&mut file, 2, scene, drawing);
        }
        line(&mut file, 1, "</g>");
    }
    for drawing in &scene.before {
        draw(&mut file, 1, scene, drawing);
    }
    file += "</svg>\n";
    file
}

/// The name of the texture that a scene's textured shapes are overlaid with.
#[must_use]
pub fn texture_id(scene_id: &str) -> String {
    format!("texture-{scene_id}")
}

fn texture(scene: &Scene) -> String {
    format!(
        "<defs><pattern id=\"{}\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" \
         patternTransform=\"rotate(45)\"><rect class=\"texture\" width=\"1.5\" height=\"5\"/></pattern></defs>",
        texture_id(scene.id)
    )
}

fn draw(file: &mut String, depth: usize, scene: &Scene, drawing: &Drawing) {
    let class = drawing.class.names();
    match &drawing.shape {
        // What only catches the pointer has no place in a file.
        Shape::Rect { .. } if drawing.class == Class::Reach => {}
        Shape::Rect {
            x,
            y,
            width,
            height,
        } => {
            let place = format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"");
            line(file, depth, &format!("<rect class=\"{class}\" {place}/>"));
            if drawing.class.textured() {
                let texture = texture_id(scene.id);
                line(
                    file,
                    depth,
                    &format!("<rect fill=\"url(#{texture})\" {place}/>"),
                );
            }
        }
        Shape::Line {
            from: (x1, y1),
            to: (x2, y2),
        } => {
            line(
                file,
                depth,
                &format!(
                    "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"
                ),
            );
        }
        Shape::Text { x, y, anchor, text } => {
            let anchor = anchor.name();
            let text = escaped(text);
            line(
                file,
                depth,
                &format!(
                    "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{text}</text>"
                ),
            );
        }
    }
}

fn line(file: &mut String, depth: usize, text: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(file, "{:1$}{text}", "", depth * 2);
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Not allowed in XML at all.
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
