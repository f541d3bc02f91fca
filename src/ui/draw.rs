//! What drawings have in common.

use crate::report::markup::{Markup, Text, tag};

/// A button; `place` says which one it is.
pub(crate) fn button(
    place: impl Into<Text>,
    class: &'static str,
    label: impl Into<Text>,
) -> Markup {
    tag("button")
        .with("type", "button")
        .class(class)
        .with("data-at", place)
        .text(label)
}

/// A yes or no as the value of an ARIA attribute.
pub(crate) const fn aria(yes: bool) -> &'static str {
    if yes { "true" } else { "false" }
}

/// An entry of a list to choose from.
pub(crate) fn option(value: impl Into<Text>, label: impl Into<Text>) -> Markup {
    tag("option").with("value", value).text(label)
}

/// A dialog with a title that its own button or Escape closes.
pub(crate) fn dialog(id: &'static str, title: &'static str, inside: Vec<Markup>) -> Markup {
    let close = tag("form")
        .with("method", "dialog")
        .child(tag("button").text("Close"));
    // Read from its start: otherwise the focus, and with it the view, goes to the first button, at the end.
    let heading = tag("h2")
        .with("id", format!("{id}-title"))
        .with("tabindex", "-1")
        .with("autofocus", "")
        .text(title);
    tag("dialog")
        .with("id", id)
        .class("help")
        .with("aria-labelledby", format!("{id}-title"))
        .child(heading)
        .children(inside)
        .child(close)
}
