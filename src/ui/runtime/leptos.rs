//! The calculator's own page.

use std::cell::Cell;
use std::rc::Rc;

use leptos::html::custom;
use leptos::prelude::*;

use super::{Fill, fill_in};
use crate::report::markup::Markup;
use crate::ui::browser::Element;

pub(in crate::ui) use leptos::prelude::AnyView as Piece;

/// The one type of element that the page is built from: each further one would be code of its own.
pub(in crate::ui) fn element(shell: Markup, inside: Vec<Piece>, fill: Fill) -> Piece {
    let name = shell.tag;
    let fill = Rc::new(Cell::new(Some((shell, fill))));
    custom(name)
        .directive(fill_once, fill)
        .child(inside)
        .into_any()
}

fn fill_once(element: Element, fill: Rc<Cell<Option<(Markup, Fill)>>>) {
    if let Some((shell, fill)) = fill.take() {
        fill_in(&element, &shell, fill);
    }
}
