//! Elements as HTML, for pages that are made when the calculator is built.

use core::fmt::Write as _;

use megatron_memory::report::markup::{Markup, tag};

/// The head and the header of all generated pages.
const FRAME: &str = include_str!("html/page.html");

/// A whole page of that title, with what it says of itself to search engines and to sites that show links. `template`
/// is what it contains, and `parts` are the elements that `filled` puts there.
pub(crate) fn page(title: &str, description: &str, template: &str, parts: &[(&str, Vec<Markup>)]) -> String {
    framed(title, description, &filled(template, parts))
}

/// The same around what is HTML already.
pub(crate) fn framed(title: &str, description: &str, main: &str) -> String {
    let frame = filled(FRAME, &[("head", head(title, description))]);
    frame.replace("<!-- main -->", main)
}

/// The title and the description of a page, as browsers, search engines and sites that show links (Open Graph) read
/// them.
pub(crate) fn head(title: &str, description: &str) -> Vec<Markup> {
    let meta = |kind, name: &'static str, content: &str| {
        let named = tag("meta").with(kind, name);
        named.with("content", content.to_owned())
    };
    vec![
        tag("title").text(format!("{title} · Megatron Memory")),
        meta("name", "description", description),
        meta("property", "og:type", "website"),
        meta("property", "og:site_name", "Megatron Memory"),
        meta("property", "og:title", title),
        meta("property", "og:description", description),
    ]
}

/// A page's template with every `<!-- name -->` replaced by its elements.
pub(crate) fn filled(template: &str, parts: &[(&str, Vec<Markup>)]) -> String {
    let mut page = template.to_owned();
    for (place, elements) in parts {
        let mut text = String::new();
        for element in elements {
            write(&mut text, element);
        }
        page = page.replace(&format!("<!-- {place} -->"), &text);
    }
    page
}

/// Writes an element as HTML, where some elements have neither contents nor an end.
fn write(out: &mut String, markup: &Markup) {
    _ = write!(out, "<{}", markup.tag);
    for (name, value) in &markup.attributes {
        _ = write!(out, " {name}=\"{}\"", escaped(value));
    }
    out.push('>');
    if matches!(markup.tag, "img" | "input" | "link" | "meta") {
        return;
    }
    out.push_str(&escaped(&markup.text));
    for child in &markup.children {
        write(out, child);
    }
    _ = write!(out, "</{}>", markup.tag);
    if matches!(markup.tag, "tr" | "dd" | "details") {
        out.push('\n');
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
