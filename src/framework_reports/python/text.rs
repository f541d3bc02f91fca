//! Values as Python writes them.

use crate::decimal;
use crate::parallel::python::{self, NotAnInt};
use crate::value::Value;

/// `f"{x:.{digits}f}"`: correctly rounded, ties to even, never an exponent.
pub(in super::super) fn fixed(x: f64, digits: usize) -> String {
    if x.is_nan() {
        return "nan".to_owned();
    }
    decimal::fixed(x, digits)
}

/// `str(value)`.
pub(in super::super) fn str(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        _ => repr(value),
    }
}

/// `repr(value)`.
pub(in super::super) fn repr(value: &Value) -> String {
    let mut out = String::new();
    write_repr(&mut out, value);
    out
}

fn write_repr(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Int(i) => out.push_str(&i.to_string()),
        Value::Float(x) => out.push_str(&float_repr(*x)),
        Value::Text(text) => out.push_str(&python::repr(text)),
        Value::List(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_repr(out, item);
            }
            out.push(']');
        }
        Value::Map(entries) => {
            out.push('{');
            for (i, (key, item)) in entries.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                out.push_str(&python::repr(key));
                out.push_str(": ");
                write_repr(out, item);
            }
            out.push('}');
        }
    }
}

/// `repr(x)`: the shortest digits that read back as `x`, with an exponent from 10¹⁶ on and below 10⁻⁴.
pub(super) fn float_repr(x: f64) -> String {
    if !x.is_finite() {
        return fixed(x, 0);
    }
    let scientific = decimal::scientific(x);
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(e) if !(-4..16).contains(&e) => {
            let sign = if e < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", e.unsigned_abs())
        }
        _ => decimal::general(x),
    }
}

/// `int(text)`; what leaves 128 bits saturates. `None` where Python raises an exception.
pub(super) fn parse_int(text: &str) -> Option<i128> {
    match python::int(text) {
        Ok(int) => Some(int),
        Err(NotAnInt::Malformed) => None,
        Err(NotAnInt::TooLarge) if python::strip(text).starts_with('-') => Some(-i128::MAX),
        Err(NotAnInt::TooLarge) => Some(i128::MAX),
    }
}
