//! What an expression of the estimators comes to.

use core::cmp::Ordering;

use super::{Fault, fixed, text::float_repr};
use crate::value::Value;

/// A Python object as far as arithmetic looks at it: numbers in full, the rest by its type alone.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Object {
    None,
    Bool(bool),
    /// A whole number; one that leaves 128 bits carries on as a float.
    Int(i128),
    Float(f64),
    Str,
    List,
    Dict,
}

/// A number that takes part in arithmetic; truth values count as 0 and 1.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Int(i128),
    Float(f64),
}

impl Object {
    pub(super) fn type_name(self) -> &'static str {
        match self {
            Self::None => "NoneType",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Str => "str",
            Self::List => "list",
            Self::Dict => "dict",
        }
    }

    pub(super) fn number(self) -> Option<Number> {
        match self {
            Self::Bool(b) => Some(Number::Int(b.into())),
            Self::Int(i) => Some(Number::Int(i)),
            Self::Float(x) => Some(Number::Float(x)),
            Self::None | Self::Str | Self::List | Self::Dict => None,
        }
    }

    pub(super) fn is_sequence(self) -> bool {
        matches!(self, Self::Str | Self::List)
    }
}

impl From<&Value> for Object {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::None,
            Value::Bool(b) => Self::Bool(*b),
            Value::Int(i) => Self::Int(*i),
            Value::Float(x) => Self::Float(*x),
            Value::Text(_) => Self::Str,
            Value::List(_) => Self::List,
            Value::Map(_) => Self::Dict,
        }
    }
}

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

    /// Python's order, which compares a whole number with a float without rounding either.
    fn order(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(&b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b),
            (Self::Int(a), Self::Float(b)) => int_against_float(a, b),
            (Self::Float(a), Self::Int(b)) => int_against_float(b, a).map(Ordering::reverse),
        }
    }
}

fn int_against_float(a: i128, b: f64) -> Option<Ordering> {
    if b.is_nan() {
        return None;
    }
    let whole = b.trunc();
    let order =
        truncate(whole).map_or_else(|| 0.0_f64.partial_cmp(&b), |whole| Some(a.cmp(&whole)));
    order.map(|order| order.then_with(|| whole.partial_cmp(&b).unwrap_or(Ordering::Equal)))
}

/// The whole part of a float, still a float where it leaves 128 bits.
pub(super) fn float_to_int(x: f64) -> Result<Object, Fault> {
    match truncate(x) {
        Some(i) => Ok(Object::Int(i)),
        None if x.is_nan() => Err(Fault::NotANumber),
        None if x.is_infinite() => Err(Fault::Infinite),
        None => Ok(Object::Float(x)),
    }
}

/// The whole part of a float, when it fits 128 bits.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the range is checked, and the fraction is what goes"
)]
fn truncate(x: f64) -> Option<i128> {
    /// 2 to the power of 127: one more than the largest.
    const LIMIT: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
    (-LIMIT..LIMIT).contains(&x).then_some(x as i128)
}

/// An expression on its way through a formula: its object, or the first exception it met.
///
/// Operands are evaluated before their operator and left before right, in Python and in Rust, so a
/// formula written with these reports the exception that Python would have raised. Python goes no
/// further than the statement that raised it: every statement ends with [`Py::now`].
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Py(pub(super) Result<Object, Fault>);

impl Py {
    /// Ends a statement: what follows is only reached without an exception.
    #[inline(never)]
    pub(in super::super) fn now(self) -> Result<Self, Fault> {
        self.0.map(|_| self)
    }

    /// The expression as float64.
    pub(in super::super) fn float(self) -> Result<f64, Fault> {
        let object = self.0?;
        let number = object.number().ok_or(Fault::Real(object.type_name()))?;
        Ok(number.float())
    }

    /// The expression where Python takes nothing but a whole number, as `range` does.
    pub(in super::super) fn index(self) -> Result<i128, Fault> {
        match self.0? {
            Object::Bool(b) => Ok(b.into()),
            Object::Int(i) => Ok(i),
            other => Err(Fault::Range(other.type_name())),
        }
    }

    /// A whole number, where a float stands for one that leaves 128 bits.
    pub(in super::super) fn saturating_int(self) -> Result<i128, Fault> {
        match self.0? {
            Object::Float(x) => Ok(if x < 0.0 { i128::MIN } else { i128::MAX }),
            _ => self.index(),
        }
    }

    /// `self > other`.
    pub(in super::super) fn exceeds(self, other: impl Into<Self>) -> Result<bool, Fault> {
        Ok(order(">", self.0?, other.into().0?)? == Some(Ordering::Greater))
    }

    /// `self < other`.
    pub(in super::super) fn is_below(self, other: impl Into<Self>) -> Result<bool, Fault> {
        Ok(order("<", self.0?, other.into().0?)? == Some(Ordering::Less))
    }

    /// `self <= other`.
    pub(in super::super) fn is_at_most(self, other: impl Into<Self>) -> Result<bool, Fault> {
        Ok(order("<=", self.0?, other.into().0?)?.is_some_and(Ordering::is_le))
    }

    /// `self == other`, where one of them is a number.
    pub(in super::super) fn equals(self, other: impl Into<Self>) -> Result<bool, Fault> {
        let (a, b) = (self.0?, other.into().0?);
        Ok(match (a.number(), b.number()) {
            (Some(a), Some(b)) => a.order(b) == Some(Ordering::Equal),
            _ => false,
        })
    }

    /// `min(self, other)`: the first unless the second is smaller.
    pub(in super::super) fn min(self, other: impl Into<Self>) -> Self {
        let other = other.into();
        match other.is_below(self) {
            Ok(true) => other,
            Ok(false) => self,
            Err(fault) => Self(Err(fault)),
        }
    }

    /// `max(self, other)`: the first unless the second is larger.
    pub(in super::super) fn max(self, other: impl Into<Self>) -> Self {
        let other = other.into();
        match other.exceeds(self) {
            Ok(true) => other,
            Ok(false) => self,
            Err(fault) => Self(Err(fault)),
        }
    }

    /// `math.ceil(self)`.
    pub(in super::super) fn ceil(self) -> Self {
        Self(self.float().and_then(|x| float_to_int(x.ceil())))
    }

    /// `math.ceil(self)` as text, with every digit.
    pub(in super::super) fn ceil_text(self) -> Result<String, Fault> {
        match self.ceil().0? {
            Object::Float(whole) => Ok(fixed(whole, 0)),
            _ => self.ceil().text(),
        }
    }

    /// `str(self)` of a number.
    pub(in super::super) fn text(self) -> Result<String, Fault> {
        match self.0? {
            Object::Bool(b) => Ok((if b { "True" } else { "False" }).to_owned()),
            Object::Int(i) => Ok(i.to_string()),
            Object::Float(x) => Ok(float_repr(x)),
            other => Err(Fault::Real(other.type_name())),
        }
    }

    /// `f"{self:.{digits}f}"`.
    pub(in super::super) fn fixed(self, digits: usize) -> Result<String, Fault> {
        Ok(fixed(self.float()?, digits))
    }
}

#[inline(never)]
fn order(symbol: &'static str, left: Object, right: Object) -> Result<Option<Ordering>, Fault> {
    match (left.number(), right.number()) {
        (Some(a), Some(b)) => Ok(a.order(b)),
        _ => Err(Fault::Order {
            symbol,
            left: left.type_name(),
            right: right.type_name(),
        }),
    }
}

impl From<Object> for Py {
    fn from(object: Object) -> Self {
        Self(Ok(object))
    }
}

impl From<&Value> for Py {
    fn from(value: &Value) -> Self {
        Self(Ok(value.into()))
    }
}

impl From<i32> for Py {
    fn from(i: i32) -> Self {
        Self(Ok(Object::Int(i.into())))
    }
}

impl From<i128> for Py {
    fn from(i: i128) -> Self {
        Self(Ok(Object::Int(i)))
    }
}

impl From<f64> for Py {
    fn from(x: f64) -> Self {
        Self(Ok(Object::Float(x)))
    }
}

impl From<Fault> for Py {
    fn from(fault: Fault) -> Self {
        Self(Err(fault))
    }
}
