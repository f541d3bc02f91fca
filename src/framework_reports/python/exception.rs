//! The exceptions that the estimators raise.

use core::fmt;

/// An exception that ended a framework's estimator: the class and the message a user would see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonError {
    /// The exception's class, such as `ZeroDivisionError`.
    pub kind: &'static str,
    /// The exception's message; empty for a bare `assert`.
    pub message: String,
}

impl PythonError {
    /// A `ValueError`.
    pub(in super::super) fn value(message: String) -> Self {
        Self {
            kind: "ValueError",
            message,
        }
    }

    /// An `AssertionError`, with an empty message for an `assert` that has none.
    pub(in super::super) fn assertion(message: String) -> Self {
        Self {
            kind: "AssertionError",
            message,
        }
    }
}

impl fmt::Display for PythonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind)?;
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        Ok(())
    }
}

impl core::error::Error for PythonError {}

/// An exception that Python itself raises for an operation. Type names are Python's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the messages are CPython 3.11's and say what happened"
)]
pub enum Exception {
    #[error("'{type_name}' object has no attribute '{name}'")]
    NoAttribute {
        type_name: &'static str,
        name: &'static str,
    },
    #[error("unsupported operand type(s) for {operator}: '{left}' and '{right}'")]
    Operands {
        operator: &'static str,
        left: &'static str,
        right: &'static str,
    },
    #[error("'{operator}' not supported between instances of '{left}' and '{right}'")]
    NotComparable {
        operator: &'static str,
        left: &'static str,
        right: &'static str,
    },
    #[error("can only concatenate {sequence} (not \"{other}\") to {sequence}")]
    Concatenation {
        sequence: &'static str,
        other: &'static str,
    },
    #[error("can't multiply sequence by non-int of type '{0}'")]
    Repetition(&'static str),
    #[error("cannot fit 'int' into an index-sized integer")]
    RepetitionTooLong,
    #[error("must be real number, not {0}")]
    NotReal(&'static str),
    #[error("'{0}' object cannot be interpreted as an integer")]
    NoInteger(&'static str),
    #[error("int() argument must be a string, a bytes-like object or a real number, not '{0}'")]
    NoIntOf(&'static str),
    #[error("cannot convert float NaN to integer")]
    IntOfNan,
    #[error("cannot convert float infinity to integer")]
    IntOfInfinity,
    #[error("unhashable type: '{0}'")]
    Unhashable(&'static str),
    #[error("{0}")]
    ZeroDivision(&'static str),
    #[error("list index out of range")]
    IndexOutOfRange,
    #[error("cannot access local variable '{0}' where it is not associated with a value")]
    Unbound(&'static str),
    #[error("")]
    OutOfMemory,
}

impl Exception {
    /// The exception's class.
    fn class(self) -> &'static str {
        match self {
            Self::NoAttribute { .. } => "AttributeError",
            Self::Operands { .. }
            | Self::NotComparable { .. }
            | Self::Concatenation { .. }
            | Self::Repetition(_)
            | Self::NotReal(_)
            | Self::NoInteger(_)
            | Self::NoIntOf(_)
            | Self::Unhashable(_) => "TypeError",
            Self::RepetitionTooLong | Self::IntOfInfinity => "OverflowError",
            Self::IntOfNan => "ValueError",
            Self::ZeroDivision(_) => "ZeroDivisionError",
            Self::IndexOutOfRange => "IndexError",
            Self::Unbound(_) => "UnboundLocalError",
            Self::OutOfMemory => "MemoryError",
        }
    }
}

impl From<Exception> for PythonError {
    fn from(exception: Exception) -> Self {
        Self {
            kind: exception.class(),
            message: exception.to_string(),
        }
    }
}
