//! The exceptions that Python raises.

use core::fmt;

use super::raise;

/// An exception that ended a framework's estimator: the class and the message a user would see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonError {
    /// The exception's class, such as `ZeroDivisionError`.
    pub kind: &'static str,
    /// The exception's message; empty for a bare `assert`.
    pub message: String,
}

impl fmt::Display for PythonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind)?;
        if !self.message.is_empty() {
            f.write_str(": ")?;
            f.write_str(&self.message)?;
        }
        Ok(())
    }
}

impl core::error::Error for PythonError {}

pub(super) fn type_error(message: &[&str]) {
    raise("TypeError", message);
}

pub(super) fn zero_division(message: &str) {
    raise("ZeroDivisionError", &[message]);
}

pub(super) fn overflow(message: &str) {
    raise("OverflowError", &[message]);
}
