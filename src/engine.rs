//! The JavaScript API: the library as an ES module, for pages and for Node.

use wasm_bindgen::prelude::*;

/// The version of this calculator.
#[must_use]
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
