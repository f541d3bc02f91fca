//! Jobs in and out as plain data: what the second JavaScript module offers, and the page's dialogs on top of it.
//!
//! The page and the engine do without it until somebody asks; then it is loaded. Everything here is plain data to
//! plain data, so that it is tested without a browser; [`js`] is the thin layer that JavaScript calls.

mod data;
pub mod dialog;
mod export;
mod import;
mod job;
#[cfg(feature = "api")]
pub mod js;
mod picture;
mod presets;
mod search;

pub use data::Failure;
pub use export::export_text;
pub use import::import_text;
pub use job::{decode_link, encode_link};
pub use picture::svg;
pub use presets::presets;
pub use search::search;
