//! Elements as HTML, for pages that are made when the calculator is built.

use core::fmt::Write as _;

use megatron_memory::report::markup::Markup;

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

/// Writes an element as HTML, which closes elements without content by a tag of their own.
fn write(out: &mut String, markup: &Markup) {
    _ = write!(out, "<{}", markup.tag);
    for (name, value) in &markup.attributes {
        _ = write!(out, " {name}=\"{}\"", escaped(value));
    }
    out.push('>');
    if markup.tag == "input" {
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
