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
