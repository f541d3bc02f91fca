//! What carries the page: who runs again when a value changes, and how elements get into the document.
//!
//! The calculator's own page stands on Leptos. In a frame of another page every byte counts, and the same parts
//! stand on a few lines of their own. Both are used by their common names, and only by `reactive` and `shown`.

mod leptos;

use super::browser::Element;
use crate::report::markup::Markup;

pub(super) use self::leptos::{Piece, element};

/// What becomes of an element that has just been made.
pub(super) type Fill = Box<dyn FnOnce(&Element)>;

/// Gives a new element its attributes, and then to whom it belongs.
fn fill_in(element: &Element, shell: &Markup, fill: Fill) {
    for (name, value) in &shell.attributes {
        let _ = element.set_attribute(name, value);
    }
    fill(element);
}
