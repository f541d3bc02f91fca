//! The exceptions that Python raises for an operation on values of the wrong type or size.

use crate::python::{Exception, PythonError};

/// An exception that Python itself raises for an operation, with the values that its message names. Type names are
/// Python's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages are CPython 3.11's and say what happened")]
pub enum OperationError {
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

impl OperationError {
    /// The exception's class.
    fn exception(self) -> Exception {
        match self {
            Self::NoAttribute { .. } => Exception::AttributeError,
            Self::Operands { .. }
            | Self::NotComparable { .. }
            | Self::Concatenation { .. }
            | Self::Repetition(_)
            | Self::NotReal(_)
            | Self::NoInteger(_)
            | Self::NoIntOf(_)
            | Self::Unhashable(_) => Exception::TypeError,
            Self::RepetitionTooLong | Self::IntOfInfinity => Exception::OverflowError,
            Self::IntOfNan => Exception::ValueError,
            Self::ZeroDivision(_) => Exception::ZeroDivisionError,
            Self::IndexOutOfRange => Exception::IndexError,
            Self::Unbound(_) => Exception::UnboundLocalError,
            Self::OutOfMemory => Exception::MemoryError,
        }
    }
}

impl From<OperationError> for PythonError {
    fn from(error: OperationError) -> Self {
        error.exception().with(error.to_string())
    }
}
