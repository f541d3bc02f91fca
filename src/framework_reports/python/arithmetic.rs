//! Python's arithmetic operators.

use core::ops::{Add, Div, Mul, Sub};

use super::value::Number;
use super::{OperationError, PyResult, PyValue};
use crate::python::Exception;

#[derive(Clone, Copy)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
}

/// Implements an operator with a Python value, a result or a literal on either side.
macro_rules! operator {
    ($trait:ident, $method:ident, $operator:ident) => {
        impl<'a, R: Into<PyResult<'a>>> $trait<R> for PyResult<'a> {
            type Output = PyResult<'a>;

            fn $method(self, right: R) -> PyResult<'a> {
                evaluate(self, right.into(), Operator::$operator)
            }
        }

        impl<'a, R: Into<PyResult<'a>>> $trait<R> for PyValue<'a> {
            type Output = PyResult<'a>;

            fn $method(self, right: R) -> PyResult<'a> {
                PyResult::from(self).$method(right)
            }
        }

        operator!(literal $trait, $method, i32, PyResult<'a>);
        operator!(literal $trait, $method, i32, PyValue<'a>);
        operator!(literal $trait, $method, f64, PyResult<'a>);
        operator!(literal $trait, $method, f64, PyValue<'a>);
    };
    (literal $trait:ident, $method:ident, $literal:ty, $right:ty) => {
        impl<'a> $trait<$right> for $literal {
            type Output = PyResult<'a>;

            fn $method(self, right: $right) -> PyResult<'a> {
                PyValue::from(self).$method(right)
            }
        }
    };
}

operator!(Add, add, Add);
operator!(Sub, sub, Subtract);
operator!(Mul, mul, Multiply);
operator!(Div, div, Divide);

impl PyResult<'_> {
    /// `self // other`.
    pub(in super::super) fn floor_div(self, other: impl Into<Self>) -> Self {
        evaluate(self, other.into(), Operator::FloorDivide)
    }
}

/// Assignments with an operator.
impl<'a> PyValue<'a> {
    /// `self += other`.
    pub(in super::super) fn add_assign(&mut self, other: impl Into<PyResult<'a>>) -> Result<(), OperationError> {
        self.assign(other.into(), Operator::Add)
    }

    /// `self *= other`.
    pub(in super::super) fn mul_assign(&mut self, other: impl Into<PyResult<'a>>) -> Result<(), OperationError> {
        self.assign(other.into(), Operator::Multiply)
    }

    /// `self /= other`.
    pub(in super::super) fn div_assign(&mut self, other: impl Into<PyResult<'a>>) -> Result<(), OperationError> {
        self.assign(other.into(), Operator::Divide)
    }

    /// `self //= other`.
    pub(in super::super) fn floor_div_assign(&mut self, other: impl Into<PyResult<'a>>) -> Result<(), OperationError> {
        self.assign(other.into(), Operator::FloorDivide)
    }

    fn assign(&mut self, other: PyResult<'a>, operator: Operator) -> Result<(), OperationError> {
        *self = evaluate((*self).into(), other, operator).0?;
        Ok(())
    }
}

/// Evaluates the operands, left before right, and applies the operator.
fn evaluate<'a>(left: PyResult<'a>, right: PyResult<'a>, operator: Operator) -> PyResult<'a> {
    PyResult(left.0.and_then(|left| apply(left, right.0?, operator)))
}

fn apply<'a>(left: PyValue<'a>, right: PyValue<'a>, operator: Operator) -> Result<PyValue<'a>, OperationError> {
    use PyValue::{List, Str};
    match (operator, left, right) {
        (Operator::Add, Str(_), Str(_)) | (Operator::Add, List(_), List(_)) => Ok(left),
        (Operator::Multiply, Str(_) | List(_), times) => repeat(left, times),
        (Operator::Multiply, times, Str(_) | List(_)) => repeat(right, times),
        _ => match (left.number(), right.number()) {
            (Some(a), Some(b)) => on_numbers(a, b, operator),
            _ => Err(Exception::TypeError.into()),
        },
    }
}

/// `sequence * times`. The contents of the result are never looked at, so that they stay as they are.
fn repeat<'a>(sequence: PyValue<'a>, times: PyValue<'a>) -> Result<PyValue<'a>, OperationError> {
    match times {
        PyValue::Bool(_) => Ok(sequence),
        PyValue::Int(times) => match i64::try_from(times) {
            Ok(_) => Ok(sequence),
            Err(_) => Err(Exception::OverflowError.into()),
        },
        _ => Err(Exception::TypeError.into()),
    }
}

/// Whole numbers stay whole, but for `/`, while they fit 128 bits; everything else is float64.
fn on_numbers(left: Number, right: Number, operator: Operator) -> Result<PyValue<'static>, OperationError> {
    if let (Number::Int(a), Number::Int(b)) = (left, right) {
        let whole = match operator {
            Operator::Add => a.checked_add(b),
            Operator::Subtract => a.checked_sub(b),
            Operator::Multiply => a.checked_mul(b),
            Operator::Divide => return int_quotient(a, b).map(PyValue::Float),
            Operator::FloorDivide => Some(int_floor_quotient(a, b)?),
        };
        if let Some(whole) = whole {
            return Ok(PyValue::Int(whole));
        }
    }
    let (a, b) = (left.float(), right.float());
    Ok(PyValue::Float(match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide if b == 0.0 => {
            return Err(Exception::ZeroDivisionError.into());
        }
        Operator::Divide => a / b,
        Operator::FloorDivide => float_floor_quotient(a, b)?,
    }))
}

/// `a // b` of whole numbers. The one quotient that does not fit 128 bits saturates.
fn int_floor_quotient(a: i128, b: i128) -> Result<i128, OperationError> {
    if b == 0 {
        return Err(Exception::ZeroDivisionError.into());
    }
    let rest = a.wrapping_rem(b);
    let rounded_up = rest != 0 && (rest < 0) != (b < 0);
    Ok(a.saturating_div(b) - i128::from(rounded_up))
}

/// `a / b` of whole numbers: the float nearest to the exact quotient.
///
/// Dividing the two as floats would round three times once they pass 2^53.
#[allow(
    clippy::cast_precision_loss,
    reason = "either exact, below 2^53, or the one rounding that the result is to have"
)]
fn int_quotient(a: i128, b: i128) -> Result<f64, OperationError> {
    const EXACT: u128 = 1 << 53;
    if b == 0 {
        return Err(Exception::ZeroDivisionError.into());
    }
    let (dividend, divisor) = (a.unsigned_abs(), b.unsigned_abs());
    if dividend <= EXACT && divisor <= EXACT {
        return Ok(a as f64 / b as f64);
    }
    let (mut quotient, mut rest) = (dividend / divisor, dividend % divisor);
    let mut scale = 1.0_f64;
    // Long division in binary until more bits stand than a float holds; a rest then decides ties.
    while dividend != 0 && quotient < 1 << 64 {
        rest <<= 1;
        quotient <<= 1;
        if rest >= divisor {
            rest -= divisor;
            quotient |= 1;
        }
        scale *= 0.5;
    }
    let magnitude = (quotient | u128::from(rest != 0)) as f64 * scale;
    Ok(if (a < 0) == (b < 0) { magnitude } else { -magnitude })
}

/// `a // b` of floats, in the steps of `CPython`'s `float_floor_div`.
fn float_floor_quotient(a: f64, b: f64) -> Result<f64, OperationError> {
    if b == 0.0 {
        return Err(Exception::ZeroDivisionError.into());
    }
    let rest = a % b;
    let mut quotient = (a - rest) / b;
    if rest != 0.0 && (b < 0.0) != (rest < 0.0) {
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return Ok(0.0_f64.copysign(a / b));
    }
    let floor = quotient.floor();
    Ok(if quotient - floor > 0.5 { floor + 1.0 } else { floor })
}
