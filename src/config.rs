//! What a user may set, and how raw values become a checked configuration.

pub mod choices;
pub mod field;
pub mod fields;
pub mod parse;
pub mod pattern;
mod typed;

pub use typed::NameSet;
