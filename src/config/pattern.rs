//! `moe_layer_freq`: which decoder layers are `MoE` layers.
//!
//! Megatron-LM takes a whole number, or a Python list expression that it evaluates
//! (`moe_freq_type` in megatron/training/arguments.py). Here it is a closed grammar and never an
//! evaluator: lists of zeros and ones, `+`, and `* n`, with parentheses.

use core::fmt;

use super::number_lists::{self, LONGEST, ListError};
use crate::value::Value;

/// The layers for which something holds: `MoE` layers, or layers with linear attention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayerPattern {
    /// Layer `i` (from 0) is a `MoE` layer when `i % n == 0`.
    Every(u64),
    /// One entry a layer.
    List(Vec<bool>),
}

/// Why a layer pattern cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// An empty text.
    #[error("needs a value: 1, or a list such as ([0]*3+[1]*58)")]
    Empty,
    /// The number is not a positive whole number.
    #[error("as a number must be a positive whole number; as a list write ([0]*3+[1]*58)")]
    NotPositive,
    /// A list entry is neither 0 nor 1.
    #[error("may only list zeros (dense layers) and ones (MoE layers)")]
    NotZeroOrOne,
    /// The text does not follow the grammar.
    #[error("cannot be read at character {place}; write a number, a list like [0,1,1], or ([0]*3+[1]*58)")]
    Syntax {
        /// Position in characters, from 1.
        place: usize,
    },
    /// More entries than any model has layers.
    #[error("has more than {LONGEST} entries")]
    TooLong,
    /// A value that is neither a number, a list nor text.
    #[error("must be a number or a list, not a {given}")]
    WrongType {
        /// The type of the value, as Python calls it.
        given: &'static str,
    },
}

impl LayerPattern {
    /// Whether it holds for every layer.
    pub(super) fn is_everywhere(&self) -> bool {
        match self {
            Self::Every(period) => *period == 1,
            Self::List(list) => !list.contains(&false),
        }
    }

    /// Reads a number, a list, or text in either form.
    pub(super) fn read(value: &Value) -> Result<Self, PatternError> {
        match value {
            Value::Int(n) => every(*n),
            Value::List(items) => {
                if items.len() > LONGEST {
                    return Err(PatternError::TooLong);
                }
                let mut list = Vec::with_capacity(items.len());
                for item in items {
                    list.push(match item {
                        Value::Int(0) | Value::Bool(false) => false,
                        Value::Int(1) | Value::Bool(true) => true,
                        _ => return Err(PatternError::NotZeroOrOne),
                    });
                }
                Ok(Self::List(list))
            }
            Value::Text(text) => Self::read_text(text),
            Value::Float(_) => Err(PatternError::NotPositive),
            other => Err(PatternError::WrongType {
                given: other.python_type(),
            }),
        }
    }

    fn read_text(text: &str) -> Result<Self, PatternError> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(PatternError::Empty);
        }
        if !trimmed.contains('[') {
            return trimmed.parse().map_err(|_| PatternError::NotPositive).and_then(every);
        }
        let numbers = number_lists::read(trimmed).map_err(|error| match error {
            ListError::Syntax { place } => PatternError::Syntax { place },
            ListError::TooLong => PatternError::TooLong,
        })?;
        let flags = numbers.into_iter().map(|number| match number {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(PatternError::NotZeroOrOne),
        });
        let list = flags.collect::<Result<_, _>>()?;
        Ok(Self::List(list))
    }

    /// Whether layer `index` (from 0) is a `MoE` layer. Layers beyond a list are dense; validation
    /// refuses lists of the wrong length.
    #[must_use]
    pub fn is_moe(&self, index: u64) -> bool {
        match self {
            Self::Every(n) => index.is_multiple_of(*n),
            Self::List(list) => usize::try_from(index).is_ok_and(|i| list.get(i) == Some(&true)),
        }
    }
}

/// The pattern as Megatron-LM's argument: a number, or runs such as `([0]*3+[1]*58)`.
impl fmt::Display for LayerPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = match self {
            Self::Every(n) => return write!(f, "{n}"),
            Self::List(list) => list,
        };
        if list.is_empty() {
            return f.write_str("[]");
        }
        f.write_str("(")?;
        for (i, run) in list.chunk_by(|a, b| a == b).enumerate() {
            if i > 0 {
                f.write_str("+")?;
            }
            let entry = u8::from(run.first() == Some(&true));
            write!(f, "[{entry}]")?;
            if run.len() > 1 {
                write!(f, "*{}", run.len())?;
            }
        }
        f.write_str(")")
    }
}

fn every(n: i128) -> Result<LayerPattern, PatternError> {
    match u64::try_from(n) {
        Ok(n) if n > 0 => Ok(LayerPattern::Every(n)),
        _ => Err(PatternError::NotPositive),
    }
}
