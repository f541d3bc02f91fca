//! The page and its embeds. [`state`] holds what they know; every other module draws a part of them.
//!
//! Each of two programs starts a part of this package: the page, and small embeds, which are linked without forms,
//! dialogs and searches and so are there sooner.
#![allow(
    clippy::must_use_candidate,
    clippy::large_types_passed_by_value,
    clippy::needless_pass_by_value,
    unreachable_pub,
    reason = "components are used by naming them in a view, own their properties, and come with public helpers"
)]

mod app;
mod browser;
mod components;
mod dialogs;
mod embed;
mod lazy_parts;
mod loaded_part;
mod parts;
mod results;
mod state;
mod summary;
mod title;
mod url_sync;
mod values;

use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;

use app::App;
use browser::Unseen;
pub use dialogs::dialog;
use embed::LightEmbed;
pub use embed::{EmbedParts, embed_replay, embed_sweep, embed_table, embed_timeline};
pub use lazy_parts::{LazyPart, LazyParts, NotLoaded};
pub use loaded_part::part;
use megatron_memory::config::raw::RawJob;
use megatron_memory::config::{Checked, check, validate};
use parts::next_task;
pub use state::DialogKind;

/// The id of the element that shows the application.
const PLACE: &str = "app";

/// Starts the page, or the whole calculator in a frame of another page.
pub fn start_page(lazy: LazyParts) {
    start(check, move || {
        provide_context(lazy);
        view! { <App /> }
    });
}

/// Starts a small view of the calculator in a frame of another page. Nothing in it offers what would mend a job.
pub fn start_light_embed(parts: EmbedParts) {
    start(validate, move || {
        provide_context(parts);
        view! { <LightEmbed /> }
    });
}

/// Panics go to the console. One task reads the job in the address, one checks it, one works out its memory, and the next
/// one begins to draw it, out of sight: the application says itself when it takes the place of the first view that the
/// document brings.
fn start<V: IntoView + 'static>(check: fn(&RawJob) -> Checked, application: impl FnOnce() -> V + 'static) {
    // The loader notices the trap that follows a panic and shows what the reader can do.
    console_error_panic_hook::set_once();

    let owner = Owner::new();
    let state = owner.with(|| embed::state_of_address(check));
    spawn_local(async move {
        next_task().await;
        state.checked.with_untracked(|_| ());
        next_task().await;
        state.outcome.with_untracked(|_| ());
        next_task().await;
        owner.with(|| {
            provide_context(state);
            if let Some(unseen) = Unseen::new() {
                provide_context(unseen);
                mount_to(unseen.element(), application).forget();
            }
        });
        // What the application reads lives as long as the document.
        core::mem::forget(owner);
    });
}
