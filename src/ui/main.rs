//! The entry point of the page: what `index.html` loads, and `embed.html` for the whole calculator.
//!
//! What only lazy functions call is in modules of their own, which the page loads after its first view. Builds for
//! development have one module, and there these are ordinary functions.

use std::future::{Ready, ready};

use leptos::prelude::*;
#[cfg(not(debug_assertions))]
use leptos::wasm_split::wasm_split;
use ui::{DialogKind, LazyPart, LazyParts, NotLoaded};

fn main() {
    ui::start_page(LazyParts {
        dialog: |kind| Box::pin(dialog(kind)),
        part: |part| Box::pin(self::part(part)),
    });
}

#[cfg_attr(
    not(debug_assertions),
    wasm_split(
        dialog,
        wasm_split_path = leptos::wasm_split,
        return_wrapper(let view = _; { view.await } -> Result<AnyView, NotLoaded>),
        fallible
    )
)]
fn dialog(kind: Option<DialogKind>) -> Ready<Result<AnyView, NotLoaded>> {
    ready(Ok(ui::dialog(kind)))
}

#[cfg_attr(
    not(debug_assertions),
    wasm_split(
        part,
        wasm_split_path = leptos::wasm_split,
        return_wrapper(let view = _; { view.await } -> Result<AnyView, NotLoaded>),
        fallible
    )
)]
fn part(part: Option<LazyPart>) -> Ready<Result<AnyView, NotLoaded>> {
    ready(Ok(ui::part(part)))
}
