//! Calls of the browser that only embeds make.

use super::window;

/// The address's query with its `?`; empty where there is none.
pub(crate) fn query() -> String {
    let query = window().and_then(|window| window.location().search().ok());
    query.unwrap_or_default()
}
