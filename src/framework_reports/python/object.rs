//! What an expression of the estimators comes to.

use core::cmp::Ordering;

use super::exception::{overflow, type_error};
use super::text::float_repr;
use super::{fixed, raise};
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
pub(super) fn float_to_int(x: f64) -> Object {
    if x.is_nan() {
        raise("ValueError", &["cannot convert float NaN to integer"]);
    } else if x.is_infinite() {
        overflow("cannot convert float infinity to integer");
    }
    truncate(x).map_or(Object::Float(x), Object::Int)
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

/// An object of the [run](super::run), small enough to be handed around by value.
///
/// Operands are evaluated before their operator and left before right, in Python and in Rust, so that a
/// formula raises the exception that Python would have raised.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Py(pub(super) usize);

impl Py {
    /// The number as float64.
    pub(in super::super) fn float(self) -> f64 {
        let object = self.object();
        object.number().map_or_else(
            || {
                type_error(&["must be real number, not ", object.type_name()]);
                f64::NAN
            },
            Number::float,
        )
    }

    /// The object where Python takes nothing but a whole number, as `range` does.
    pub(in super::super) fn index(self) -> i128 {
        match self.object() {
            Object::Bool(b) => b.into(),
            Object::Int(i) => i,
            other => {
                type_error(&[
                    "'",
                    other.type_name(),
                    "' object cannot be interpreted as an integer",
                ]);
                0
            }
        }
    }

    /// A whole number, where a float stands for one that leaves 128 bits.
    pub(in super::super) fn saturating_int(self) -> i128 {
        match self.object() {
            Object::Float(x) if x < 0.0 => i128::MIN,
            Object::Float(_) => i128::MAX,
            _ => self.index(),
        }
    }

    /// `self > other`.
    pub(in super::super) fn exceeds(self, other: impl Into<Self>) -> bool {
        order(">", self, other.into()) == Some(Ordering::Greater)
    }

    /// `self < other`.
    pub(in super::super) fn is_below(self, other: impl Into<Self>) -> bool {
        order("<", self, other.into()) == Some(Ordering::Less)
    }

    /// `self <= other`.
    pub(in super::super) fn is_at_most(self, other: impl Into<Self>) -> bool {
        order("<=", self, other.into()).is_some_and(Ordering::is_le)
    }

    /// `self == other`, where one of them is a number.
    pub(in super::super) fn equals(self, other: impl Into<Self>) -> bool {
        let (a, b) = (self.object().number(), other.into().object().number());
        matches!((a, b), (Some(a), Some(b)) if a.order(b) == Some(Ordering::Equal))
    }

    /// `min(self, other)`: the first unless the second is smaller.
    pub(in super::super) fn min(self, other: Self) -> Self {
        if other.is_below(self) { other } else { self }
    }

    /// `max(self, other)`: the first unless the second is larger.
    pub(in super::super) fn max(self, other: Self) -> Self {
        if other.exceeds(self) { other } else { self }
    }

    /// `math.ceil(self)`.
    pub(in super::super) fn ceil(self) -> Self {
        float_to_int(self.float().ceil()).into()
    }

    /// `math.ceil(self)` as text, with every digit.
    pub(in super::super) fn ceil_text(self) -> String {
        let whole = self.ceil();
        match whole.object() {
            Object::Float(whole) => fixed(whole, 0),
            _ => whole.text(),
        }
    }

    /// `str(self)` of a number.
    pub(in super::super) fn text(self) -> String {
        match self.object() {
            Object::Bool(b) => String::from(if b { "True" } else { "False" }),
            Object::Int(i) => i.to_string(),
            Object::Float(x) => float_repr(x),
            other => {
                type_error(&["must be real number, not ", other.type_name()]);
                String::new()
            }
        }
    }

    /// `f"{self:.{digits}f}"`.
    pub(in super::super) fn fixed(self, digits: usize) -> String {
        fixed(self.float(), digits)
    }
}

fn order(symbol: &str, left: Py, right: Py) -> Option<Ordering> {
    let (left, right) = (left.object(), right.object());
    let (Some(a), Some(b)) = (left.number(), right.number()) else {
        type_error(&[
            "'",
            symbol,
            "' not supported between instances of '",
            left.type_name(),
            "' and '",
            right.type_name(),
            "'",
        ]);
        return None;
    };
    a.order(b)
}

impl From<&Value> for Py {
    fn from(value: &Value) -> Self {
        Object::from(value).into()
    }
}

impl From<i32> for Py {
    fn from(i: i32) -> Self {
        Object::Int(i.into()).into()
    }
}

impl From<i128> for Py {
    fn from(i: i128) -> Self {
        Object::Int(i).into()
    }
}

impl From<f64> for Py {
    fn from(x: f64) -> Self {
        Object::Float(x).into()
    }
}
