//! Python's operators.

use core::ops::{Add, AddAssign, Div, Mul, MulAssign, Sub};

use super::division::{float_floor_quotient, int_quotient};
use super::object::Number;
use super::{Fault, Object, Py};

impl Py {
    /// `self // other`.
    pub(in super::super) fn floor_div(self, other: impl Into<Self>) -> Self {
        apply(self, other.into(), "//", floor_divide)
    }

    /// `self //= other`, which differs in its messages.
    pub(in super::super) fn floor_div_assigned(self, other: impl Into<Self>) -> Self {
        apply(self, other.into(), "//=", floor_divide)
    }

    /// `self /= other`, which differs in its messages.
    pub(in super::super) fn div_assigned(self, other: impl Into<Self>) -> Self {
        apply(self, other.into(), "/=", divide)
    }
}

/// An operator with its symbol, for `Py` and whatever becomes one on either side.
macro_rules! operator {
    ($trait:ident, $method:ident, $symbol:literal, $function:ident) => {
        impl<R: Into<Py>> $trait<R> for Py {
            type Output = Py;

            fn $method(self, right: R) -> Py {
                apply(self, right.into(), $symbol, $function)
            }
        }

        impl $trait<Py> for i32 {
            type Output = Py;

            fn $method(self, right: Py) -> Py {
                apply(self.into(), right, $symbol, $function)
            }
        }

        impl $trait<Py> for f64 {
            type Output = Py;

            fn $method(self, right: Py) -> Py {
                apply(self.into(), right, $symbol, $function)
            }
        }
    };
}

operator!(Add, add, "+", add);
operator!(Sub, sub, "-", subtract);
operator!(Mul, mul, "*", multiply);
operator!(Div, div, "/", divide);

impl<R: Into<Py>> AddAssign<R> for Py {
    fn add_assign(&mut self, right: R) {
        *self = apply(*self, right.into(), "+=", add);
    }
}

impl<R: Into<Py>> MulAssign<R> for Py {
    fn mul_assign(&mut self, right: R) {
        *self = apply(*self, right.into(), "*=", multiply);
    }
}

/// What an operator does with two objects; its symbol is for the message.
type Operator = fn(&'static str, Object, Object) -> Result<Object, Fault>;

/// Applies an operator, unless an operand has failed already: then the first failure stays.
#[inline(never)] // The reports are made of these; one copy keeps the page small.
fn apply(left: Py, right: Py, symbol: &'static str, operator: Operator) -> Py {
    let result = match (left.0, right.0) {
        (Ok(a), Ok(b)) => operator(symbol, a, b),
        (Err(fault), _) | (_, Err(fault)) => Err(fault),
    };
    Py(result)
}

fn unsupported(symbol: &'static str, left: Object, right: Object) -> Fault {
    Fault::Operands {
        symbol,
        left: left.type_name(),
        right: right.type_name(),
    }
}

/// An operator on numbers: exact on whole numbers while they fit, on floats otherwise.
fn numeric(
    symbol: &'static str,
    left: Object,
    right: Object,
    exact: impl Fn(i128, i128) -> Option<i128>,
    float: impl Fn(f64, f64) -> f64,
) -> Result<Object, Fault> {
    match (left.number(), right.number()) {
        (Some(Number::Int(a)), Some(Number::Int(b))) => {
            let rounded = || Object::Float(float(Number::Int(a).float(), Number::Int(b).float()));
            Ok(exact(a, b).map_or_else(rounded, Object::Int))
        }
        (Some(a), Some(b)) => Ok(Object::Float(float(a.float(), b.float()))),
        _ => Err(unsupported(symbol, left, right)),
    }
}

fn add(symbol: &'static str, left: Object, right: Object) -> Result<Object, Fault> {
    match (left, right) {
        (Object::Str, Object::Str) | (Object::List, Object::List) => Ok(left),
        (Object::Str | Object::List, _) => Err(Fault::Concatenation {
            sequence: left.type_name(),
            other: right.type_name(),
        }),
        _ => numeric(symbol, left, right, i128::checked_add, |a, b| a + b),
    }
}

fn subtract(symbol: &'static str, left: Object, right: Object) -> Result<Object, Fault> {
    numeric(symbol, left, right, i128::checked_sub, |a, b| a - b)
}

fn multiply(symbol: &'static str, left: Object, right: Object) -> Result<Object, Fault> {
    if left.is_sequence() {
        return repeat(left, right);
    }
    if right.is_sequence() {
        return repeat(right, left);
    }
    numeric(symbol, left, right, i128::checked_mul, |a, b| a * b)
}

/// `sequence * times`, of which only the type is ever looked at again.
fn repeat(sequence: Object, times: Object) -> Result<Object, Fault> {
    match times {
        Object::Bool(_) => Ok(sequence),
        Object::Int(times) if i64::try_from(times).is_ok() => Ok(sequence),
        Object::Int(_) => Err(Fault::IndexSize),
        other => Err(Fault::Repetition {
            factor: other.type_name(),
        }),
    }
}

fn divide(symbol: &'static str, left: Object, right: Object) -> Result<Object, Fault> {
    match (left.number(), right.number()) {
        (Some(Number::Int(a)), Some(Number::Int(b))) => int_quotient(a, b)
            .map(Object::Float)
            .ok_or(Fault::ZeroDivision("division by zero")),
        (Some(a), Some(b)) => match b.float() {
            0.0 => Err(Fault::ZeroDivision("float division by zero")),
            divisor => Ok(Object::Float(a.float() / divisor)),
        },
        _ => Err(unsupported(symbol, left, right)),
    }
}

fn floor_divide(symbol: &'static str, left: Object, right: Object) -> Result<Object, Fault> {
    match (left.number(), right.number()) {
        (Some(Number::Int(_)), Some(Number::Int(0))) => {
            Err(Fault::ZeroDivision("integer division or modulo by zero"))
        }
        (Some(Number::Int(a)), Some(Number::Int(b))) => {
            // Truncated, then one lower where that rounded a negative quotient up. The smallest
            // whole number over -1 is the one quotient that does not fit, and it saturates.
            let truncated = a.saturating_div(b);
            let rounded_up = a.checked_rem(b).is_some_and(|rest| rest != 0) && (a < 0) != (b < 0);
            Ok(Object::Int(truncated - i128::from(rounded_up)))
        }
        (Some(a), Some(b)) => float_floor_quotient(a.float(), b.float())
            .map(Object::Float)
            .ok_or(Fault::ZeroDivision("float floor division by zero")),
        _ => Err(unsupported(symbol, left, right)),
    }
}
