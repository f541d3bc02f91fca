//! What a user may set, and how raw values become a checked configuration.

pub mod adapt;
pub mod canonical;
mod check;
pub mod choices;
pub mod edit;
pub mod ends;
pub mod field;
pub mod fields;
pub mod gpus;
pub mod job;
mod mend;
pub mod parse;
pub mod pattern;
pub mod problem;
pub mod raw;
mod rules;
mod spans;
pub mod step;
mod typed;

pub use check::{Checked, check};
pub use spans::mimo_input;
pub use typed::NameSet;
