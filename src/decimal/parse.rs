//! Decimal text to the nearest float.

use super::big::Big;

/// The float nearest to a decimal number in JSON's notation, ties to even; an infinite one beyond the largest. None
/// for what is no such number.
#[must_use]
pub(crate) fn parse(text: &str) -> Option<f64> {
    /// As many digits as can decide which of two floats is nearer; one more stands for all that follow.
    const SIGNIFICANT: usize = 770;
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let mut power = exponent_of(exponent)?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut number = Big(Vec::new());
    let (mut digits, mut sticky) = (0, false);
    for (in_fraction, c) in [(false, whole), (true, fraction)]
        .into_iter()
        .flat_map(|(in_fraction, text)| text.bytes().map(move |c| (in_fraction, c)))
    {
        let digit = c.checked_sub(b'0').filter(|digit| *digit < 10)?;
        let kept = digits < SIGNIFICANT;
        if kept {
            number.times(10);
            number = number.plus(&Big::new(digit.into()));
            digits += usize::from(!number.0.is_empty());
        } else {
            sticky |= digit > 0;
        }
        power = power
            .saturating_add(i32::from(!kept))
            .saturating_sub(i32::from(in_fraction));
    }
    if sticky {
        number.times(10);
        number = number.plus(&Big::new(1));
        power = power.saturating_sub(1);
    }
    let magnitude = exactly(&number, power).unwrap_or_else(|| nearest(number, power));
    Some(magnitude.copysign(if negative { -1.0 } else { 1.0 }))
}

/// The exponent after an `e`, saturated: beyond a million digits every number is zero or infinite.
fn exponent_of(text: &str) -> Option<i32> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut exponent = 0_i32;
    for c in digits.bytes() {
        let digit = c.checked_sub(b'0').filter(|digit| *digit < 10)?;
        exponent = exponent.saturating_mul(10).saturating_add(digit.into());
    }
    let exponent = exponent.min(1 << 30);
    (!digits.is_empty()).then_some(if negative { -exponent } else { exponent })
}

/// The same where both are floats without rounding, so that one operation rounds once.
#[allow(
    clippy::cast_precision_loss,
    clippy::float_arithmetic,
    reason = "exact up to 2⁵³ and 10²²"
)]
fn exactly(number: &Big, power: i32) -> Option<f64> {
    if number.bits() > 53 || power.unsigned_abs() > 22 {
        return None;
    }
    let limbs = number.0.iter().rev();
    let number = limbs.fold(0, |number, limb| number << 32 | u64::from(*limb)) as f64;
    let scale = (0..power.unsigned_abs()).fold(1.0, |scale, _| scale * 10.0);
    Some(if power < 0 {
        number / scale
    } else {
        number * scale
    })
}

/// The float nearest to a number times a power of ten.
fn nearest(number: Big, power: i32) -> f64 {
    // log2(10) is between 3 and 4.
    if number.0.is_empty() || (power < 0 && number.bits() < power.saturating_mul(-3) - 1100) {
        return 0.0;
    }
    if power > 400 {
        return f64::INFINITY;
    }
    let mut dividend = number.times_ten_to(power);
    let divisor = Big::new(1).times_ten_to(-power);
    // A quotient of 54 or 55 bits, and whether anything is left.
    let exponent = dividend.bits() - divisor.bits() - 54;
    dividend = dividend.shifted(exponent.min(0).unsigned_abs());
    let divisor = divisor.shifted(exponent.max(0).unsigned_abs());
    let mut quotient = 0_u64;
    for bit in (0..56).rev() {
        let part = divisor.clone().shifted(bit);
        if dividend.compare(&part).is_ge() {
            dividend.minus(&part);
            quotient |= 1 << bit;
        }
    }
    // What does not fit a float's 53 bits, or lies below the smallest float's last one, is rounded away.
    let excess = 64 - quotient.leading_zeros() as i32 - 53;
    let drop = excess.max(-1074 - exponent).unsigned_abs();
    let kept = quotient.checked_shr(drop).unwrap_or(0);
    let rest = quotient - kept.checked_shl(drop).unwrap_or(0);
    let half = 1_u64.checked_shl(drop - 1).unwrap_or(u64::MAX);
    let is_tie = rest == half && dividend.0.is_empty();
    let up = rest >= half && (!is_tie || !kept.is_multiple_of(2));
    let biased = exponent + drop as i32 + 1074;
    if biased >= 2046 {
        return f64::INFINITY;
    }
    // A carry out of the fraction raises the exponent, as it should.
    f64::from_bits((u64::from(biased.unsigned_abs()) << 52) + kept + u64::from(up))
}
