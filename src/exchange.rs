//! Jobs in and out as plain data, and the page's dialogs on top of that.

mod data;
mod export;
mod import;
mod job;
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
