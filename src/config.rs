//! What a user may set, and how raw values become a checked configuration.

pub mod adapters;
pub mod canonical;
mod check;
pub mod choices;
pub mod condition;
mod context;
mod draft;
pub mod edit;
pub mod field;
pub mod fields;
mod from_field;
pub mod gpus;
pub mod hybrid_pattern;
pub mod job;
pub mod layers;
pub mod modality;
mod module_links;
mod nearby;
pub mod not_modelled;
pub mod packing;
pub mod parse;
pub mod pattern;
mod prepared;
pub mod problem;
mod rank_ranges;
pub mod raw;
pub mod relevance;
mod rules;
pub mod software;
pub mod suggest;

pub use check::{Checked, validate};
pub use from_field::NameSet;
pub use prepared::Prepared;
pub use rank_ranges::mimo_input;
pub use rules::rule_names;
pub use suggest::check;
