//! Values as Python writes them, and whole numbers as it reads them.

use core::num::IntErrorKind;

use super::PyValue;
use crate::python;

/// `f"{x:.{digits}f}"`.
pub(in super::super) fn fixed(x: f64, digits: usize) -> String {
    if x.is_nan() {
        return "nan".to_owned();
    }
    format!("{x:.digits$}")
}

/// `str(value)`.
pub(in super::super) fn str(value: PyValue<'_>) -> String {
    match value {
        PyValue::Str(text) => text.to_owned(),
        _ => repr(value),
    }
}

/// `repr(value)`.
pub(in super::super) fn repr(value: PyValue<'_>) -> String {
    match value {
        PyValue::None => "None".to_owned(),
        PyValue::Bool(true) => "True".to_owned(),
        PyValue::Bool(false) => "False".to_owned(),
        PyValue::Int(i) => i.to_string(),
        PyValue::Float(x) => float_repr(x),
        PyValue::Str(text) => python::repr(text),
        PyValue::List(items) => {
            let items: Vec<String> = items.iter().map(|item| repr(item.into())).collect();
            format!("[{}]", items.join(", "))
        }
        PyValue::Dict(entries) => {
            let entry = |(key, item): &(String, _)| format!("{}: {}", python::repr(key), repr(PyValue::from(item)));
            let entries: Vec<String> = entries.iter().map(entry).collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// `repr(x)`. Rust's debug format has the same digits and switches to an exponent at the same sizes, but
/// writes `1e16` and `1e-5` for Python's `1e+16` and `1e-05`.
fn float_repr(x: f64) -> String {
    if x.is_nan() {
        return "nan".to_owned();
    }
    let text = format!("{x:?}");
    let Some((digits, exponent)) = text.split_once('e') else {
        return text;
    };
    match exponent.strip_prefix('-') {
        Some(exponent) => format!("{digits}e-{exponent:0>2}"),
        None => format!("{digits}e+{exponent:0>2}"),
    }
}

/// `int(text)`; `None` where Python raises a `ValueError`. What leaves 128 bits saturates.
pub(super) fn parse_int(text: &str) -> Option<i128> {
    python::int(text)
        .or_else(|error| match error.kind() {
            IntErrorKind::PosOverflow => Ok(i128::MAX),
            IntErrorKind::NegOverflow => Ok(i128::MIN),
            _ => Err(error),
        })
        .ok()
}
