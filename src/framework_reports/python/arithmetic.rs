//! Python's operators.

use core::ops::{Add, AddAssign, Div, Mul, MulAssign, Sub};

use super::division::{float_floor_quotient, int_quotient};
use super::exception::{overflow, type_error, zero_division};
use super::object::Number;
use super::{Object, Py, has_raised};

/// An operator. The ones that assign differ in their messages alone.
#[derive(Clone, Copy)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    AddAssign,
    MultiplyAssign,
    DivideAssign,
    FloorDivideAssign,
}

impl Operator {
    fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::FloorDivide => "//",
            Self::AddAssign => "+=",
            Self::MultiplyAssign => "*=",
            Self::DivideAssign => "/=",
            Self::FloorDivideAssign => "//=",
        }
    }
}

impl Py {
    /// `self // other`.
    pub(in super::super) fn floor_div(self, other: impl Into<Self>) -> Self {
        apply(self, other.into(), Operator::FloorDivide)
    }

    /// `self //= other`, which differs in its messages.
    pub(in super::super) fn floor_div_assigned(self, other: impl Into<Self>) -> Self {
        apply(self, other.into(), Operator::FloorDivideAssign)
    }

    /// `self /= other`, which differs in its messages.
    pub(in super::super) fn div_assigned(self, other: impl Into<Self>) -> Self {
        apply(self, other.into(), Operator::DivideAssign)
    }
}

/// An operator for `Py` and whatever becomes one on either side.
macro_rules! operator {
    ($trait:ident, $method:ident, $operator:ident) => {
        impl<R: Into<Py>> $trait<R> for Py {
            type Output = Py;

            fn $method(self, right: R) -> Py {
                apply(self, right.into(), Operator::$operator)
            }
        }

        impl $trait<Py> for i32 {
            type Output = Py;

            fn $method(self, right: Py) -> Py {
                apply(self.into(), right, Operator::$operator)
            }
        }

        impl $trait<Py> for f64 {
            type Output = Py;

            fn $method(self, right: Py) -> Py {
                apply(self.into(), right, Operator::$operator)
            }
        }
    };
}

operator!(Add, add, Add);
operator!(Sub, sub, Subtract);
operator!(Mul, mul, Multiply);
operator!(Div, div, Divide);

impl<R: Into<Py>> AddAssign<R> for Py {
    fn add_assign(&mut self, right: R) {
        *self = apply(*self, right.into(), Operator::AddAssign);
    }
}

impl<R: Into<Py>> MulAssign<R> for Py {
    fn mul_assign(&mut self, right: R) {
        *self = apply(*self, right.into(), Operator::MultiplyAssign);
    }
}

/// Applies an operator; what it comes to after an exception is never looked at.
fn apply(left: Py, right: Py, operator: Operator) -> Py {
    if has_raised() {
        return left;
    }
    let (a, b) = (left.object(), right.object());
    match operator {
        Operator::Add | Operator::AddAssign => add(operator, a, b),
        Operator::Multiply | Operator::MultiplyAssign if a.is_sequence() => repeat(a, b),
        Operator::Multiply | Operator::MultiplyAssign if b.is_sequence() => repeat(b, a),
        _ => numeric(operator, a, b),
    }
    .into()
}

fn add(operator: Operator, left: Object, right: Object) -> Object {
    match (left, right) {
        (Object::Str, Object::Str) | (Object::List, Object::List) => left,
        (Object::Str | Object::List, _) => {
            let (sequence, other) = (left.type_name(), right.type_name());
            type_error(&[
                "can only concatenate ",
                sequence,
                " (not \"",
                other,
                "\") to ",
                sequence,
            ]);
            left
        }
        _ => numeric(operator, left, right),
    }
}

/// `sequence * times`, of which only the type is ever looked at again.
fn repeat(sequence: Object, times: Object) -> Object {
    match times {
        Object::Bool(_) => {}
        Object::Int(times) if i64::try_from(times).is_ok() => {}
        Object::Int(_) => overflow("cannot fit 'int' into an index-sized integer"),
        other => type_error(&[
            "can't multiply sequence by non-int of type '",
            other.type_name(),
            "'",
        ]),
    }
    sequence
}

/// An operator on numbers: exact on whole numbers while they fit, on floats otherwise.
fn numeric(operator: Operator, left: Object, right: Object) -> Object {
    let (Some(a), Some(b)) = (left.number(), right.number()) else {
        type_error(&[
            "unsupported operand type(s) for ",
            operator.symbol(),
            ": '",
            left.type_name(),
            "' and '",
            right.type_name(),
            "'",
        ]);
        return left;
    };
    if let (Number::Int(a), Number::Int(b)) = (a, b)
        && let Some(exact) = on_integers(operator, a, b)
    {
        return exact;
    }
    Object::Float(on_floats(operator, a.float(), b.float()))
}

/// The operator on whole numbers; `None` where the result is too large for one.
fn on_integers(operator: Operator, a: i128, b: i128) -> Option<Object> {
    let exact = match operator {
        Operator::Add | Operator::AddAssign => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply | Operator::MultiplyAssign => a.checked_mul(b),
        Operator::Divide | Operator::DivideAssign => {
            let quotient = int_quotient(a, b);
            if quotient.is_none() {
                zero_division("division by zero");
            }
            return quotient.map(Object::Float).or(Some(Object::None));
        }
        Operator::FloorDivide | Operator::FloorDivideAssign => {
            if b == 0 {
                zero_division("integer division or modulo by zero");
            }
            // Truncated, then one lower where that rounded a negative quotient up. The smallest
            // whole number over -1 is the one quotient that does not fit, and it saturates.
            let rounded_up = a.checked_rem(b).is_some_and(|rest| rest != 0) && (a < 0) != (b < 0);
            let truncated = a.checked_div(b).unwrap_or(i128::MAX);
            Some(truncated - i128::from(rounded_up))
        }
    };
    exact.map(Object::Int)
}

fn on_floats(operator: Operator, a: f64, b: f64) -> f64 {
    match operator {
        Operator::Add | Operator::AddAssign => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply | Operator::MultiplyAssign => a * b,
        Operator::Divide | Operator::DivideAssign => {
            if b == 0.0 {
                zero_division("float division by zero");
            }
            a / b
        }
        Operator::FloorDivide | Operator::FloorDivideAssign => float_floor_quotient(a, b)
            .unwrap_or_else(|| {
                zero_division("float floor division by zero");
                0.0
            }),
    }
}
