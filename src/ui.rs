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
pub mod dialogs;
mod embed;
mod parts;
mod results;
mod state;
mod summary;
mod title;
mod url_sync;
mod values;

pub use app::App;
