//! A part of the results under a title of its own.

use super::super::shown::{Piece, frame, shown};
use crate::report::markup::{Markup, Text, tag};

/// A part of the results; the element with the id `title` names it.
pub(super) fn panel(class: &'static str, title: &'static str, inside: Vec<Piece>) -> Piece {
    let section = tag("section").class(class).with("aria-labelledby", title);
    frame(section, inside)
}

/// A title with a note, both of which stay as they are.
pub(super) fn head(id: &'static str, title: &'static str, note: &'static str) -> Piece {
    shown("whole", move || vec![heading(id, title, note)], |_| false)
}

/// The same for a head that has more in it.
pub(super) fn heading(id: &'static str, title: &'static str, note: impl Into<Text>) -> Markup {
    tag("header")
        .class("panel-head")
        .child(tag("h2").with("id", id).text(title))
        .child(tag("p").class("panel-note").text(note))
}

/// What scrolls sideways by itself, with keys too; the attribute `by` names it.
pub(super) fn scrolling(by: &'static str, name: &'static str) -> Markup {
    tag("div")
        .class("table-scroll")
        .with("tabindex", "0")
        .with("role", "group")
        .with(by, name)
}
