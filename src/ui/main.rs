//! The page. [`state`] holds what it knows; every other module draws a part of it.
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
mod parts;
mod results;
mod state;
mod summary;
mod title;
mod url_sync;
mod values;

use leptos::mount;

use app::App;

/// The entry point: panics go to the console, and [`App`] goes into the element `#app`.
fn main() {
    // The loader notices the trap that follows a panic and shows what the reader can do.
    console_error_panic_hook::set_once();

    // The first view that the page itself brings makes room for the application.
    if let Some(place) = browser::emptied("app") {
        mount::mount_to(place, App).forget();
    }
}
