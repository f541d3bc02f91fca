//! Python values and the results of Python expressions.

use super::OperationError;
use super::text::parse_int;
use crate::python::Exception;
use crate::value::Value;

/// A value that an estimator finds in a configuration or computes.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the variants are Python's own types")]
pub enum PyValue<'a> {
    None,
    Bool(bool),
    /// Whole numbers beyond 128 bits, which Python has too, go on as floats.
    Int(i128),
    Float(f64),
    Str(&'a str),
    List(&'a [Value]),
    Dict(&'a [(String, Value)]),
}

/// A number in arithmetic, where truth values count as 0 and 1.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Int(i128),
    Float(f64),
}

/// What evaluating a Python expression comes to: a value or an exception.
#[derive(Clone, Copy, Debug)]
pub struct PyResult<'a>(pub(super) Result<PyValue<'a>, OperationError>);

impl Number {
    #[allow(
        clippy::cast_precision_loss,
        reason = "Python rounds a whole number to the nearest float, ties to even, as this cast does"
    )]
    pub(super) fn float(self) -> f64 {
        match self {
            Self::Int(i) => i as f64,
            Self::Float(x) => x,
        }
    }
}

impl PyValue<'_> {
    pub(super) fn number(self) -> Option<Number> {
        match self {
            Self::Bool(b) => Some(Number::Int(b.into())),
            Self::Int(i) => Some(Number::Int(i)),
            Self::Float(x) => Some(Number::Float(x)),
            Self::None | Self::Str(_) | Self::List(_) | Self::Dict(_) => None,
        }
    }

    /// `value is None`.
    pub(in super::super) fn is_none(self) -> bool {
        matches!(self, Self::None)
    }

    /// `bool(value)`.
    pub(in super::super) fn truth(self) -> bool {
        match self {
            Self::None => false,
            Self::Bool(b) => b,
            Self::Int(i) => i != 0,
            Self::Float(x) => x != 0.0,
            Self::Str(text) => !text.is_empty(),
            Self::List(items) => !items.is_empty(),
            Self::Dict(entries) => !entries.is_empty(),
        }
    }

    /// The number as float64.
    pub(in super::super) fn float(self) -> Result<f64, OperationError> {
        let number = self.number().map(Number::float);
        number.ok_or(OperationError::Raised(Exception::TypeError))
    }

    /// `int(value)`.
    pub(in super::super) fn int(self) -> Result<Self, OperationError> {
        match self {
            Self::Bool(b) => Ok(Self::Int(b.into())),
            Self::Int(_) => Ok(self),
            Self::Float(x) => float_to_int(x),
            Self::Str(text) => parse_int(text).map(Self::Int).ok_or(Exception::ValueError.into()),
            Self::None | Self::List(_) | Self::Dict(_) => Err(Exception::TypeError.into()),
        }
    }

    /// The value where Python accepts nothing but a whole number, as `range` does.
    pub(in super::super) fn index(self) -> Result<i128, OperationError> {
        match self {
            Self::Bool(b) => Ok(b.into()),
            Self::Int(i) => Ok(i),
            _ => Err(Exception::TypeError.into()),
        }
    }

    /// `math.ceil(value)`.
    pub(in super::super) fn ceil(self) -> Result<Self, OperationError> {
        float_to_int(self.float()?.ceil())
    }

    /// `hash(value)`, of which only the exception matters.
    pub(in super::super) fn hash(self) -> Result<(), OperationError> {
        match self {
            Self::List(_) | Self::Dict(_) => Err(Exception::TypeError.into()),
            _ => Ok(()),
        }
    }
}

/// The whole part of a float; still a float where that leaves 128 bits.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the range is checked, and the fraction is what is to be dropped"
)]
fn float_to_int(x: f64) -> Result<PyValue<'static>, OperationError> {
    /// 2 to the power of 127.
    const LIMIT: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
    if x.is_nan() {
        Err(Exception::ValueError.into())
    } else if x.is_infinite() {
        Err(Exception::OverflowError.into())
    } else if (-LIMIT..LIMIT).contains(&x) {
        Ok(PyValue::Int(x as i128))
    } else {
        Ok(PyValue::Float(x))
    }
}

impl<'a> PyResult<'a> {
    /// The value, at the end of a statement.
    pub(in super::super) fn value(self) -> Result<PyValue<'a>, OperationError> {
        self.0
    }

    /// `expression is None`.
    pub(in super::super) fn is_none(self) -> Result<bool, OperationError> {
        self.0.map(PyValue::is_none)
    }

    /// `bool(expression)`.
    pub(in super::super) fn truth(self) -> Result<bool, OperationError> {
        self.0.map(PyValue::truth)
    }

    /// `expression == text`.
    pub(in super::super) fn is_text(self, text: &str) -> Result<bool, OperationError> {
        Ok(matches!(self.0?, PyValue::Str(value) if value == text))
    }

    /// `getattr(object, name, default)` for the attribute that this is: `None` where it is missing.
    pub(in super::super) fn if_present(self) -> Option<PyValue<'a>> {
        self.0.ok()
    }

    /// The attribute that this is: `None` where it is missing or Python's `None`.
    pub(in super::super) fn if_given(self) -> Option<PyValue<'a>> {
        self.0.ok().filter(|value| !value.is_none())
    }
}

impl<'a> From<&'a Value> for PyValue<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::None,
            Value::Bool(b) => Self::Bool(*b),
            Value::Int(i) => Self::Int(*i),
            Value::Float(x) => Self::Float(*x),
            Value::Text(text) => Self::Str(text),
            Value::List(items) => Self::List(items),
            Value::Map(entries) => Self::Dict(entries),
        }
    }
}

impl From<i32> for PyValue<'_> {
    fn from(i: i32) -> Self {
        Self::Int(i.into())
    }
}

impl From<f64> for PyValue<'_> {
    fn from(x: f64) -> Self {
        Self::Float(x)
    }
}

impl From<u64> for PyValue<'_> {
    fn from(i: u64) -> Self {
        Self::Int(i.into())
    }
}

impl From<bool> for PyValue<'_> {
    fn from(b: bool) -> Self {
        Self::Bool(b)
    }
}

impl<'a> From<&'a str> for PyValue<'a> {
    fn from(text: &'a str) -> Self {
        Self::Str(text)
    }
}

/// `None` is Python's.
impl<'a, T: Into<PyValue<'a>>> From<Option<T>> for PyValue<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::None, T::into)
    }
}

impl<'a, T: Into<PyValue<'a>>> From<T> for PyResult<'a> {
    fn from(value: T) -> Self {
        Self(Ok(value.into()))
    }
}
