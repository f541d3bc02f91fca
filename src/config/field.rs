//! The declaration form for one input field: everything that a form control, a link, an importer or
//! a message needs to know about it, in one place.

mod decimal;
mod declare;
mod form;

use core::fmt;

use super::condition::Condition;

pub use decimal::Decimal;
pub(super) use declare::{Declaration, dashed};
pub use form::{Group, Level};

/// Whether one value serves the whole job or each module has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every module may set it.
    Module,
    /// One value for the job.
    Job,
}

/// Whether a field says what the model is or how it is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aspect {
    /// What the model is: its layers and their sizes.
    Model,
    /// How experts are trained. Another model with experts can be trained alike; one without has no use for it.
    ExpertTraining,
    /// How the layers of this one model are split over stages. It may mean nothing for another model.
    LayerSplit,
    /// How the job is trained, whatever the model.
    Training,
}

/// The kind of value that a field takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A whole number within `min..=max`.
    Int {
        /// Smallest legal value.
        min: u64,
        /// Largest legal value.
        max: u64,
    },
    /// On or off.
    Flag,
    /// One name out of a closed list.
    Choice(&'static [&'static str]),
    /// Any number of names out of a closed list.
    Set(&'static [&'static str]),
    /// A decimal number, kept as whole millionths within `min..=max`.
    Decimal {
        /// Smallest legal value in millionths.
        min: u64,
        /// Largest legal value in millionths.
        max: u64,
    },
    /// `moe_layer_freq`: a whole number N, a list of zeros and ones, or a Python list expression.
    LayerPattern,
    /// Free text with a grammar of its own.
    Text {
        /// Longest legal text in characters.
        max: usize,
    },
}

/// The meaning of a missing value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// The field must be given.
    Required,
    /// Nothing, or derived from other fields as the text says.
    Derived(&'static str),
    /// A whole number.
    Int(u64),
    /// On or off.
    Flag(bool),
    /// A name out of the field's list.
    Choice(&'static str),
    /// The names that are in, separated by commas.
    Set(&'static str),
    /// Millionths.
    Decimal(u64),
}

impl fmt::Display for Default {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Required => f.write_str("required"),
            Self::Int(i) => write!(f, "{i}"),
            Self::Flag(b) => f.write_str(if *b { "on" } else { "off" }),
            Self::Derived(text) | Self::Choice(text) | Self::Set(text) => f.write_str(text),
            Self::Decimal(millionths) => Decimal(*millionths).fmt(f),
        }
    }
}

/// How many words a flag takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// None; the field becomes true.
    Switch,
    /// None; the field becomes false.
    InvertedSwitch,
    /// One.
    One,
    /// All up to the next flag.
    Many,
}

/// The flag of Megatron-LM's command line that sets a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag {
    /// Its name without the leading dashes.
    pub name: &'static str,
    /// How many words it takes.
    pub arity: Arity,
    /// The name under which the parser stores its value.
    pub destination: &'static str,
    /// Whether it changes the memory of most jobs that have it; an import does not ask for the others' values.
    pub changes_memory: bool,
    /// The value that the parser stores when no flag is given, as Python prints it, where it is not the field's
    /// default.
    pub parser_default: Option<&'static str>,
}

/// One input field: its names, its kind and default, and its place in the form. Its flag, its other names and its help
/// are methods of [`FieldId`](super::fields::FieldId).
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Megatron-LM's argument name in snake case, or our own name where Megatron has none.
    pub name: &'static str,
    /// The key in share links.
    pub key: &'static str,
    /// One value for the job, or one a module.
    pub scope: Scope,
    /// Legal values.
    pub kind: Kind,
    /// The meaning of a missing value.
    pub default: Default,
    /// Whether it says what the model is or how it is trained.
    pub aspect: Aspect,
    /// The condition under which the field matters; none where it always does.
    pub relevant_if: Option<Condition>,
    /// Whether Megatron-LM has this argument; the others are this calculator's own.
    pub megatron: bool,
    /// The name in the form.
    pub label: &'static str,
    /// The symbol in formulas, empty where it appears in none.
    pub symbol: &'static str,
    /// The unit, empty for plain counts.
    pub unit: &'static str,
    /// Section of the form.
    pub group: Group,
    /// How soon it is shown.
    pub level: Level,
}
