//! The part of Python's semantics that the two estimators depend on: how its numbers behave, which
//! class of exception an operation raises, and how values are written.
//!
//! A formula is written with Rust's operators on [`PyValue`]s. An operator gives a [`PyResult`], so
//! that an expression stays one line: its operands are evaluated from left to right and the first
//! exception is the result. [`PyResult::value`] ends a Python statement, and `?` ends the function
//! where the statement raised.

mod arithmetic;
mod attributes;
mod comparison;
mod operation_error;
mod text;
mod value;

pub use operation_error::OperationError;
pub use value::{PyResult, PyValue};

pub(super) use attributes::{attribute, attributes};
pub(super) use text::{fixed, repr, str};
