//! What only an embed asks of the browser.

use super::{Element, document, window};

/// The address's query with its `?`; empty where there is none.
pub(crate) fn query() -> String {
    let query = window().and_then(|window| window.location().search().ok());
    query.unwrap_or_default()
}

/// The element with this id.
pub(crate) fn by_id(id: &str) -> Option<Element> {
    document()?.get_element_by_id(id)
}

/// An element that stands nowhere yet.
pub(crate) fn new_element(tag: &str) -> Option<Element> {
    document()?.create_element(tag).ok()
}
