//! Python's comparisons.

use core::cmp::Ordering;

use super::value::Number;
use super::{OperationError, PyResult, PyValue};
use crate::python::Exception;

impl PyValue<'_> {
    /// `self > other`.
    pub(in super::super) fn exceeds(self, other: impl Into<Self>) -> Result<bool, OperationError> {
        Ok(compare(self, other.into())? == Some(Ordering::Greater))
    }

    /// `self < other`.
    pub(in super::super) fn is_below(self, other: impl Into<Self>) -> Result<bool, OperationError> {
        Ok(compare(self, other.into())? == Some(Ordering::Less))
    }

    /// `self <= other`.
    pub(in super::super) fn is_at_most(self, other: impl Into<Self>) -> Result<bool, OperationError> {
        Ok(compare(self, other.into())?.is_some_and(Ordering::is_le))
    }

    /// `self == other`, where one of them is a number.
    pub(in super::super) fn equals(self, other: impl Into<Self>) -> bool {
        let numbers = self.number().zip(other.into().number());
        numbers.is_some_and(|(a, b)| a.compare(b) == Some(Ordering::Equal))
    }

    /// `max(self, other)`: the first unless the second is larger.
    pub(in super::super) fn max(self, other: Self) -> Result<Self, OperationError> {
        Ok(if other.exceeds(self)? { other } else { self })
    }

    /// `min(self, other)`: the first unless the second is smaller.
    pub(in super::super) fn min(self, other: Self) -> Result<Self, OperationError> {
        Ok(if other.is_below(self)? { other } else { self })
    }
}

impl PyResult<'_> {
    /// `self > number`.
    pub(in super::super) fn exceeds(self, number: i32) -> Result<bool, OperationError> {
        self.value()?.exceeds(number)
    }

    /// `self == number`.
    pub(in super::super) fn equals(self, number: i32) -> Result<bool, OperationError> {
        Ok(self.value()?.equals(number))
    }
}

impl Number {
    /// `None` where one of the two is NaN.
    fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(&b)),
            (a, b) => a.float().partial_cmp(&b.float()),
        }
    }
}

fn compare(left: PyValue<'_>, right: PyValue<'_>) -> Result<Option<Ordering>, OperationError> {
    match (left.number(), right.number()) {
        (Some(a), Some(b)) => Ok(a.compare(b)),
        _ => Err(Exception::TypeError.into()),
    }
}
