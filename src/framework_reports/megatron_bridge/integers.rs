//! `_get_positive_int` and `_get_non_negative_int`: attributes that are whole numbers or have a default.

use super::super::python::{PyResult, PyValue};
use crate::python::{Exception, PythonError};

/// The attribute as a positive whole number; `default` where it is missing or `None`.
pub(super) fn positive_or<'a>(attribute: PyResult<'a>, name: &str, default: i32) -> Result<PyValue<'a>, PythonError> {
    let Some(value) = attribute.if_given() else {
        return Ok(default.into());
    };
    let value = value.int()?;
    if value.is_at_most(0)? {
        return Err(Exception::ValueError.with(format!("{name} must be positive")));
    }
    Ok(value)
}

/// The attribute as a whole number that is not negative; `default` where it is missing or `None`.
pub(super) fn non_negative_or<'a>(
    attribute: PyResult<'a>,
    name: &str,
    default: PyValue<'a>,
) -> Result<PyValue<'a>, PythonError> {
    let Some(value) = attribute.if_given() else {
        return Ok(default);
    };
    let value = value.int()?;
    if value.is_below(0)? {
        return Err(Exception::ValueError.with(format!("{name} must be non-negative")));
    }
    Ok(value)
}

/// A whole number in 128 bits, where a float stands for one that is larger.
pub(super) fn saturating_int(value: PyValue<'_>) -> Result<i128, PythonError> {
    match value {
        PyValue::Float(x) if x < 0.0 => Ok(i128::MIN),
        PyValue::Float(_) => Ok(i128::MAX),
        _ => Ok(value.index()?),
    }
}
