//! Reading configurations the way the estimators do, attribute by attribute.

use super::exception::type_error;
use super::object::float_to_int;
use super::text::parse_int;
use super::{Object, Py, raise, repr};
use crate::value::Value;

/// The most layers that are laid out one by one. Python's own bound is the machine's memory.
const MOST_LAYERS: usize = 1 << 20;

/// An object whose attributes are a map's entries.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Namespace<'a>(pub(in super::super) &'a Value);

impl<'a> Namespace<'a> {
    /// `self.name`, untouched.
    pub(in super::super) fn raw(self, name: &str) -> &'a Value {
        self.0.get(name).unwrap_or_else(|| {
            let of = match self.0 {
                Value::Map(_) => "types.SimpleNamespace",
                other => other.python_type(),
            };
            raise(
                "AttributeError",
                &["'", of, "' object has no attribute '", name, "'"],
            );
            &Value::Null
        })
    }

    /// `self.name` in a formula.
    pub(in super::super) fn get(self, name: &str) -> Py {
        self.raw(name).into()
    }

    /// `getattr(self, name, None)`, with `None` for Python's.
    pub(in super::super) fn get_some(self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !is_none(value))
    }

    /// Whether `self.name is None`.
    pub(in super::super) fn is_none(self, name: &str) -> bool {
        is_none(self.raw(name))
    }

    /// `bool(self.name)`.
    pub(in super::super) fn truth(self, name: &str) -> bool {
        truth(self.raw(name))
    }

    /// `bool(getattr(self, name, default))`.
    pub(in super::super) fn truth_or(self, name: &str, default: bool) -> bool {
        self.0.get(name).map_or(default, truth)
    }

    /// Whether `self.name == text`.
    pub(in super::super) fn is_text(self, name: &str, text: &str) -> bool {
        matches!(self.raw(name), Value::Text(value) if value == text)
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
pub(in super::super) fn int(value: &Value) -> Py {
    /// As much of the text as Python quotes.
    const QUOTED: usize = 200;
    let Value::Text(text) = value else {
        return Py::from(value).int();
    };
    let int = parse_int(text);
    if int.is_none() {
        let quoted: String = repr(value).chars().take(QUOTED).collect();
        raise(
            "ValueError",
            &["invalid literal for int() with base 10: ", &quoted],
        );
    }
    int.unwrap_or_default().into()
}

impl Py {
    /// `int(self)` of a number; a float that leaves 128 bits carries on as a float.
    pub(in super::super) fn int(self) -> Self {
        match self.object() {
            Object::Bool(b) => Object::Int(b.into()).into(),
            Object::Int(_) => self,
            Object::Float(x) => float_to_int(x).into(),
            other => {
                type_error(&[
                    "int() argument must be a string, a bytes-like object or a real number, not '",
                    other.type_name(),
                    "'",
                ]);
                self
            }
        }
    }

    /// The number of elements of `(element,) * self`, nothing for a negative one.
    pub(in super::super) fn repetitions(self) -> usize {
        let _ = Self::from(Object::List) * self;
        match self.object() {
            Object::Int(times) => count(times),
            object => usize::from(matches!(object, Object::Bool(true))),
        }
    }
}

/// Whether Python takes the value for a key; raises where it does not.
pub(in super::super) fn hashable(value: &Value) {
    if let Value::List(_) | Value::Map(_) = value {
        type_error(&["unhashable type: '", value.python_type(), "'"]);
    }
}

/// A number of layers to lay out, nothing for a negative one.
pub(in super::super) fn count(layers: i128) -> usize {
    match usize::try_from(layers.max(0)) {
        Ok(count) if count <= MOST_LAYERS => count,
        _ => {
            raise("MemoryError", &[]);
            0
        }
    }
}
