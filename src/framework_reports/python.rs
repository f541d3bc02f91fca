//! As much of Python as the two estimators use: its numbers, its exceptions and its text.
//!
//! Formulas are written as Python writes them. What makes them small is that nothing in them is
//! larger than a word: the objects of a run lie in one table, a [`Py`] is a place in it, and an
//! exception is kept beside the table instead of being handed from call to call. What follows the
//! first exception still runs, but leaves no trace: it can neither raise another one nor print.

mod arithmetic;
mod exception;
mod namespace;
mod object;
mod run;
mod text;

mod division;

pub use exception::PythonError;

pub(super) use namespace::{Namespace, count, hashable, int, is_none, truth};
pub(super) use object::{Object, Py};
pub(super) use run::{has_raised, raise, run};
pub(super) use text::{fixed, repr, str};
