//! The exceptions that Python raises for an operation on values of the wrong type or size.

use crate::python::{Exception, PythonError};

/// An exception that Python itself raises for an operation. Only the message about a missing attribute is modelled,
/// since it names what a caller left out; of the other exceptions the class says what happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OperationError {
    /// An object lacks an attribute. The type name is Python's, and the message that of `CPython` 3.11.
    #[error("'{type_name}' object has no attribute '{name}'")]
    NoAttribute {
        /// The type of the object.
        type_name: &'static str,
        /// The attribute.
        name: &'static str,
    },
    /// An exception of this class, without its message.
    #[error("")]
    Raised(Exception),
}

impl From<Exception> for OperationError {
    fn from(exception: Exception) -> Self {
        Self::Raised(exception)
    }
}

impl From<OperationError> for PythonError {
    fn from(error: OperationError) -> Self {
        let exception = match error {
            OperationError::NoAttribute { .. } => Exception::AttributeError,
            OperationError::Raised(exception) => exception,
        };
        exception.with(error.to_string())
    }
}
