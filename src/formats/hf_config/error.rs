//! Why a file gives no model, in words.

use core::fmt;

/// Everything that keeps a file from being read, in the order in which it was noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HfError {
    /// At least one problem.
    pub problems: Vec<HfProblem>,
}

/// One thing that keeps a file from being read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HfProblem {
    /// The key, with the keys around it; empty when the file as a whole is meant.
    pub key: String,
    /// Line of the key, counted from 1; none when the key is missing.
    pub line: Option<u32>,
    /// What is wrong.
    pub kind: HfProblemKind,
}

/// What can be wrong with a model configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HfProblemKind {
    /// The file holds something else than an object with keys.
    NotAnObject,
    /// Neither the model family nor the number of layers is there.
    NotAModel,
    /// The family is known, and an estimate for it would mislead.
    Refused {
        /// The family's name.
        family: &'static str,
        /// Why.
        reason: &'static str,
    },
    /// A key that the family cannot do without, and for which its software has no default.
    Missing,
    /// A key is there with a value of the wrong kind.
    WrongType {
        /// What belongs there.
        expected: &'static str,
    },
    /// A number that no model has.
    OutOfRange {
        /// Smallest number accepted.
        min: i128,
        /// Largest number accepted.
        max: i128,
    },
}

impl fmt::Display for HfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl fmt::Display for HfProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if !self.key.is_empty() {
            write!(f, "`{}` ", self.key)?;
        }
        match &self.kind {
            HfProblemKind::NotAnObject => f.write_str("this is not an object with keys"),
            HfProblemKind::NotAModel => {
                f.write_str("this is no model configuration: it has neither `num_hidden_layers` nor a known `model_type`")
            }
            HfProblemKind::Refused { family, reason } => write!(f, "{family} cannot be estimated: {reason}"),
            HfProblemKind::Missing => f.write_str("is missing"),
            HfProblemKind::WrongType { expected } => write!(f, "must be {expected}"),
            HfProblemKind::OutOfRange { min, max } => write!(f, "must be between {min} and {max}"),
        }
    }
}
