//! Several modules on one cluster, as Megatron-Bridge's `MegatronMIMO` places them.
//!
//! Each module (the language model and its encoders) has its own parallelism on its own range of ranks.
//! A [`MimoInput`] is what a user set, of any type; [`MimoInput::check`] turns it into a [`MimoLayout`] or
//! into every [`ModuleProblem`] it has, in the order of the framework's own checks
//! (`megatron_mimo_config.py`), so that the first problem is the one that the framework raises.

mod arrange;
mod colocated;
mod input;
mod layout;
mod module_rules;
pub mod parallelism;
mod rules;
mod set_rules;
pub mod spec;

pub use input::{MimoInput, ModuleInput};
pub use layout::{MimoLayout, PlacedModule};
pub use parallelism::{Field, ModuleParallelism};
pub use rules::{ModuleRef, Rule};

/// A rule that the modules of a job break.
pub type ModuleProblem = super::problem::Problem<Field>;

/// The name of the one module that may have experts.
pub const LANGUAGE_MODULE: &str = "language";
