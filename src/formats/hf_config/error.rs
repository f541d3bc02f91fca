//! Why a `config.json` cannot be read as a model.

use core::fmt;

use thiserror::Error;

/// Everything that keeps a file from being read, in the order in which it was noticed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", lines(problems))]
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
    /// The kind of mistake.
    pub kind: HfProblemKind,
}

/// The kinds of mistakes of a model configuration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HfProblemKind {
    /// The file holds something else than an object with keys.
    #[error("this is not an object with keys")]
    NotAnObject,
    /// Neither the model family nor the number of layers is there.
    #[error("this is no model configuration: it has neither `num_hidden_layers` nor a known `model_type`")]
    NotAModel,
    /// The family is known, and an estimate for it would mislead.
    #[error("{family} cannot be estimated: {reason}")]
    Refused {
        /// The family's name.
        family: &'static str,
        /// Why.
        reason: &'static str,
    },
    /// The family can be estimated, but not with this value of the key.
    #[error("asks for {what}")]
    Unsupported {
        /// What is missing.
        what: &'static str,
    },
    /// The file names no known family, and the key says that the model is not like Llama.
    #[error("says that this is not like Llama, and the family is not known")]
    NotLikeLlama,
    /// The layers of the model have different values, where the estimate takes one.
    #[error("has different values for different layers, and the estimate takes one for all")]
    PerLayer,
    /// A list of layers with something that is no layer.
    #[error("cannot be read: {why}")]
    Blocks {
        /// What it is.
        why: String,
    },
    /// A key that the family cannot do without, and for which its software has no default.
    #[error("is missing")]
    Missing,
    /// A key is there with a value of the wrong kind.
    #[error("must be {expected}")]
    WrongType {
        /// What belongs there.
        expected: &'static str,
    },
    /// A number that no model has.
    #[error("must be between {min} and {max}")]
    OutOfRange {
        /// Smallest number accepted.
        min: i128,
        /// Largest number accepted.
        max: i128,
    },
}

fn lines(problems: &[HfProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(HfProblem::to_string).collect();
    lines.join("\n")
}

impl fmt::Display for HfProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if !self.key.is_empty() {
            write!(f, "`{}` ", self.key)?;
        }
        write!(f, "{}", self.kind)
    }
}
