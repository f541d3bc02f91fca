//! As much of Python as the two estimators use: its numbers, its exceptions and its text.

mod arithmetic;
mod division;
mod fault;
mod namespace;
mod object;
mod text;

pub use fault::PythonError;

pub(super) use fault::Fault;
pub(super) use namespace::{Namespace, count, hashable, int, is_none, truth};
pub(super) use object::{Object, Py};
pub(super) use text::{fixed, repr, str};
