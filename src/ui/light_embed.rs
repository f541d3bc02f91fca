//! The entry point of small embeds: what `embed.html` loads for every view but the whole calculator.
//!
//! The table, the timeline and the plots are each loaded by themselves, by the views that have them, and so is the replay of
//! PyTorch's allocator, for jobs that need it. Builds for development have one module, and there these are ordinary functions.

use std::future::{Ready, ready};

use leptos::prelude::*;
#[cfg(not(debug_assertions))]
use leptos::wasm_split::wasm_split;
use ui::{EmbedParts, NotLoaded};

fn main() {
    ui::start_light_embed(EmbedParts {
        table: || Box::pin(table()),
        timeline: || Box::pin(timeline()),
        sweep: || Box::pin(sweep()),
        replay: || Box::pin(replay()),
    });
}

#[cfg_attr(
    not(debug_assertions),
    wasm_split(
        table,
        wasm_split_path = leptos::wasm_split,
        return_wrapper(let view = _; { view.await } -> Result<AnyView, NotLoaded>),
        fallible
    )
)]
fn table() -> Ready<Result<AnyView, NotLoaded>> {
    ready(Ok(ui::embed_table()))
}

#[cfg_attr(
    not(debug_assertions),
    wasm_split(
        timeline,
        wasm_split_path = leptos::wasm_split,
        return_wrapper(let view = _; { view.await } -> Result<AnyView, NotLoaded>),
        fallible
    )
)]
fn timeline() -> Ready<Result<AnyView, NotLoaded>> {
    ready(Ok(ui::embed_timeline()))
}

#[cfg_attr(
    not(debug_assertions),
    wasm_split(
        sweep,
        wasm_split_path = leptos::wasm_split,
        return_wrapper(let view = _; { view.await } -> Result<AnyView, NotLoaded>),
        fallible
    )
)]
fn sweep() -> Ready<Result<AnyView, NotLoaded>> {
    ready(Ok(ui::embed_sweep()))
}

#[cfg_attr(
    not(debug_assertions),
    wasm_split(
        replay,
        wasm_split_path = leptos::wasm_split,
        return_wrapper(let view = _; { view.await } -> Result<AnyView, NotLoaded>),
        fallible
    )
)]
fn replay() -> Ready<Result<AnyView, NotLoaded>> {
    ready(Ok(ui::embed_replay()))
}
