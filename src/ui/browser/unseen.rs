//! The element in which the application is drawn before the document shows it.

use leptos::prelude::{GetValue, LocalStorage, StoredValue};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use super::document;

/// An element that is not in the document. A handle: copies share the element.
#[derive(Clone, Copy)]
pub(crate) struct Unseen(StoredValue<HtmlElement, LocalStorage>);

impl Unseen {
    /// Creates the element.
    pub(crate) fn new() -> Option<Self> {
        let element: HtmlElement = document()?.create_element("div").ok()?.dyn_into().ok()?;
        Some(Self(StoredValue::new_local(element)))
    }

    /// The element itself.
    pub(crate) fn element(self) -> HtmlElement {
        self.0.get_value()
    }

    /// Puts what has been drawn into the element with this id, in place of what is there.
    pub(crate) fn show_in(self, id: &str) {
        let Some(place) = document().and_then(|document| document.get_element_by_id(id)) else {
            return;
        };
        place.set_text_content(None);
        let drawn = self.element();
        while let Some(node) = drawn.first_child() {
            if place.append_child(&node).is_err() {
                return;
            }
        }
    }
}
