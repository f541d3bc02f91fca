//! The two divisions that a machine does not do the way Python does.

/// `a / b` of whole numbers: the float nearest to the exact quotient. `None` when `b` is zero.
///
/// Dividing the two as floats would round three times once they pass 2⁵³.
#[allow(
    clippy::cast_precision_loss,
    reason = "either exact, below 2⁵³, or the one rounding that the result is to have"
)]
pub(super) fn int_quotient(a: i128, b: i128) -> Option<f64> {
    const EXACT: u128 = 1 << 53;
    if b == 0 {
        return None;
    }
    let (dividend, divisor) = (a.unsigned_abs(), b.unsigned_abs());
    if dividend <= EXACT && divisor <= EXACT {
        return Some(a as f64 / b as f64);
    }
    if dividend == 0 {
        return Some(if b < 0 { -0.0 } else { 0.0 });
    }
    let (mut quotient, mut rest) = (dividend / divisor, dividend % divisor);
    let mut scale = 1.0_f64;
    // Long division in binary until more bits stand than a float holds; a rest then decides ties.
    while quotient < 1 << 64 {
        rest <<= 1;
        quotient <<= 1;
        if rest >= divisor {
            rest -= divisor;
            quotient |= 1;
        }
        scale *= 0.5;
    }
    let magnitude = (quotient | u128::from(rest != 0)) as f64 * scale;
    Some(if (a < 0) == (b < 0) {
        magnitude
    } else {
        -magnitude
    })
}

/// `a // b` of floats, corrected the way `CPython` corrects it. `None` when `b` is zero.
pub(super) fn float_floor_quotient(a: f64, b: f64) -> Option<f64> {
    if b == 0.0 {
        return None;
    }
    let rest = a % b;
    let mut quotient = (a - rest) / b;
    if rest != 0.0 && (b < 0.0) != (rest < 0.0) {
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return Some(0.0_f64.copysign(a / b));
    }
    let floor = quotient.floor();
    Some(if quotient - floor > 0.5 {
        floor + 1.0
    } else {
        floor
    })
}
