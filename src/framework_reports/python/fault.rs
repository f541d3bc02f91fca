//! The exceptions that Python raises.

use core::fmt;

use serde::Serialize;

/// An exception that ended a framework's estimator: the class and the message a user would see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PythonError {
    /// The exception's class, such as `ZeroDivisionError`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The exception's message; empty for a bare `assert`.
    pub message: String,
}

impl PythonError {
    pub(in super::super) fn value(message: impl Into<String>) -> Self {
        Self {
            kind: "ValueError",
            message: message.into(),
        }
    }

    pub(in super::super) fn assertion(message: impl Into<String>) -> Self {
        Self {
            kind: "AssertionError",
            message: message.into(),
        }
    }
}

impl fmt::Display for PythonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.message.is_empty() {
            return f.write_str(self.kind);
        }
        write!(f, "{}: {}", self.kind, self.message)
    }
}

impl core::error::Error for PythonError {}

/// An exception inside a formula, small enough to travel through it by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Fault {
    /// A name that the object `of` this type lacks.
    Attribute {
        of: &'static str,
        name: &'static str,
    },
    /// Types that an operator does not take.
    Operands {
        symbol: &'static str,
        left: &'static str,
        right: &'static str,
    },
    /// Types that have no order.
    Order {
        symbol: &'static str,
        left: &'static str,
        right: &'static str,
    },
    /// `sequence + other`, where `other` is something else.
    Concatenation {
        sequence: &'static str,
        other: &'static str,
    },
    /// `sequence * factor`, where `factor` is no whole number.
    Repetition { factor: &'static str },
    /// A repetition or a length beyond 64 bits.
    IndexSize,
    /// More elements than a report is worth; see [`super::namespace::MOST_LAYERS`].
    Memory,
    /// A division by zero, in the words of the numbers that met.
    ZeroDivision(&'static str),
    /// Something that `range` does not take.
    Range(&'static str),
    /// Something that `int` does not take.
    Integer(&'static str),
    /// Something that is no real number.
    Real(&'static str),
    /// A float too large for an integer.
    Infinite,
    /// A float that is not a number, where an integer is needed.
    NotANumber,
    /// Something that cannot be a key.
    Unhashable(&'static str),
    /// The last element of nothing.
    Index,
    /// A variable that no branch has set.
    Unbound(&'static str),
}

impl From<Fault> for PythonError {
    fn from(fault: Fault) -> Self {
        Self {
            kind: fault.kind(),
            message: fault.to_string(),
        }
    }
}

impl Fault {
    fn kind(self) -> &'static str {
        match self {
            Self::Attribute { .. } => "AttributeError",
            Self::IndexSize | Self::Infinite => "OverflowError",
            Self::Memory => "MemoryError",
            Self::ZeroDivision(_) => "ZeroDivisionError",
            Self::NotANumber => "ValueError",
            Self::Index => "IndexError",
            Self::Unbound(_) => "UnboundLocalError",
            Self::Operands { .. }
            | Self::Order { .. }
            | Self::Concatenation { .. }
            | Self::Repetition { .. }
            | Self::Range(_)
            | Self::Integer(_)
            | Self::Real(_)
            | Self::Unhashable(_) => "TypeError",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attribute { of, name } => write!(f, "'{of}' object has no attribute '{name}'"),
            Self::Operands {
                symbol,
                left,
                right,
            } => write!(
                f,
                "unsupported operand type(s) for {symbol}: '{left}' and '{right}'"
            ),
            Self::Order {
                symbol,
                left,
                right,
            } => write!(
                f,
                "'{symbol}' not supported between instances of '{left}' and '{right}'"
            ),
            Self::Concatenation { sequence, other } => write!(
                f,
                "can only concatenate {sequence} (not \"{other}\") to {sequence}"
            ),
            Self::Repetition { factor } => {
                write!(f, "can't multiply sequence by non-int of type '{factor}'")
            }
            Self::IndexSize => f.write_str("cannot fit 'int' into an index-sized integer"),
            Self::Memory => Ok(()),
            Self::ZeroDivision(message) => f.write_str(message),
            Self::Range(of) => write!(f, "'{of}' object cannot be interpreted as an integer"),
            Self::Integer(of) => write!(
                f,
                "int() argument must be a string, a bytes-like object or a real number, not '{of}'"
            ),
            Self::Real(of) => write!(f, "must be real number, not {of}"),
            Self::Infinite => f.write_str("cannot convert float infinity to integer"),
            Self::NotANumber => f.write_str("cannot convert float NaN to integer"),
            Self::Unhashable(of) => write!(f, "unhashable type: '{of}'"),
            Self::Index => f.write_str("list index out of range"),
            Self::Unbound(name) => write!(
                f,
                "cannot access local variable '{name}' where it is not associated with a value"
            ),
        }
    }
}
