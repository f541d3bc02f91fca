//! The entry point of the page: what `index.html` loads, and `embed.html` for the whole calculator.
//!
//! What only lazy functions call is in modules of their own, which the page loads after its first view. Builds for
//! development have one module, and there these are ordinary functions.

use leptos::prelude::*;
use ui::{DialogKind, LazyPart, LazyParts};

fn main() {
    ui::start_page(LazyParts {
        dialog: |kind| Box::pin(dialog(kind)),
        part: |part| Box::pin(self::part(part)),
    });
}

#[allow(clippy::unused_async, reason = "it is awaited until its module is loaded")]
#[cfg_attr(not(debug_assertions), lazy)]
async fn dialog(kind: Option<DialogKind>) -> AnyView {
    ui::dialog(kind)
}

#[allow(clippy::unused_async, reason = "it is awaited until its module is loaded")]
#[cfg_attr(not(debug_assertions), lazy)]
async fn part(part: Option<LazyPart>) -> AnyView {
    ui::part(part)
}
