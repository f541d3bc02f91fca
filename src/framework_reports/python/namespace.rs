//! Reading configurations the way the estimators do, attribute by attribute.

use super::object::float_to_int;
use super::text::parse_int;
use super::{Fault, Object, Py, PythonError, repr};
use crate::value::Value;

/// The most layers that are laid out one by one. Python's own bound is the machine's memory.
pub(super) const MOST_LAYERS: usize = 1 << 20;

/// An object whose attributes are a map's entries.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Namespace<'a>(pub(in super::super) &'a Value);

impl<'a> Namespace<'a> {
    /// `self.name`, untouched.
    #[inline(never)]
    pub(in super::super) fn raw(self, name: &'static str) -> Result<&'a Value, Fault> {
        self.0.get(name).ok_or(Fault::Attribute {
            of: match self.0 {
                Value::Map(_) => "types.SimpleNamespace",
                other => other.python_type(),
            },
            name,
        })
    }

    /// `self.name` in a formula.
    #[inline(never)]
    pub(in super::super) fn get(self, name: &'static str) -> Py {
        self.raw(name).map_or_else(Py::from, Py::from)
    }

    /// `getattr(self, name, None)`, with `None` for Python's.
    pub(in super::super) fn get_some(self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !is_none(value))
    }

    /// Whether `self.name is None`.
    pub(in super::super) fn is_none(self, name: &'static str) -> Result<bool, Fault> {
        self.raw(name).map(is_none)
    }

    /// `bool(self.name)`.
    pub(in super::super) fn truth(self, name: &'static str) -> Result<bool, Fault> {
        self.raw(name).map(truth)
    }

    /// `bool(getattr(self, name, default))`.
    pub(in super::super) fn truth_or(self, name: &str, default: bool) -> bool {
        self.0.get(name).map_or(default, truth)
    }

    /// Whether `self.name == text`.
    pub(in super::super) fn is_text(self, name: &'static str, text: &str) -> Result<bool, Fault> {
        Ok(matches!(self.raw(name)?, Value::Text(value) if value == text))
    }
}

/// `value is None`.
pub(in super::super) fn is_none(value: &Value) -> bool {
    matches!(value, Value::Null)
}

/// `bool(value)`.
pub(in super::super) fn truth(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(b) => *b,
        Value::Int(i) => *i != 0,
        Value::Float(x) => *x != 0.0,
        Value::Text(text) => !text.is_empty(),
        Value::List(items) => !items.is_empty(),
        Value::Map(entries) => !entries.is_empty(),
    }
}

/// `int(value)`; a float or a text that leaves 128 bits carries on as a float or saturates.
pub(in super::super) fn int(value: &Value) -> Result<Py, PythonError> {
    /// As much of the text as Python quotes.
    const QUOTED: usize = 200;
    match value {
        Value::Text(text) => parse_int(text).map(Py::from).ok_or_else(|| {
            let quoted: String = repr(value).chars().take(QUOTED).collect();
            PythonError::value(format!("invalid literal for int() with base 10: {quoted}"))
        }),
        _ => Ok(Py::from(value).int().now()?),
    }
}

impl Py {
    /// `int(self)` of a number; a float that leaves 128 bits carries on as a float.
    pub(in super::super) fn int(self) -> Self {
        Self(self.0.and_then(|object| match object {
            Object::Bool(b) => Ok(Object::Int(b.into())),
            Object::Int(i) => Ok(Object::Int(i)),
            Object::Float(x) => float_to_int(x),
            other => Err(Fault::Integer(other.type_name())),
        }))
    }

    /// The number of elements of `(element,) * self`, nothing for a negative one.
    pub(in super::super) fn repetitions(self) -> Result<usize, Fault> {
        match (Self::from(Object::List) * self).0.and(self.0)? {
            Object::Int(times) => count(times),
            object => Ok(usize::from(matches!(object, Object::Bool(true)))),
        }
    }
}

/// Whether Python takes the value for a key.
pub(in super::super) fn hashable(value: &Value) -> Result<(), Fault> {
    match value {
        Value::List(_) | Value::Map(_) => Err(Fault::Unhashable(value.python_type())),
        _ => Ok(()),
    }
}

/// A number of layers to lay out, nothing for a negative one.
pub(in super::super) fn count(layers: i128) -> Result<usize, Fault> {
    match usize::try_from(layers.max(0)) {
        Ok(count) if count <= MOST_LAYERS => Ok(count),
        _ => Err(Fault::Memory),
    }
}
