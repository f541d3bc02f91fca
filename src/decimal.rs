//! Floats to and from decimal text: the same text and the same floats as the standard library's, in a small part of
//! the bytes that its algorithms with their tables take in the page.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "limbs and exponents are masked before they are cut"
)]

mod big;
mod parse;

use core::cmp::Ordering;

pub(crate) use parse::parse;

use big::Big;

/// A finite float's magnitude as a whole number times a power of two.
fn parts(x: f64) -> (u64, i32) {
    let bits = x.to_bits();
    let (fraction, exponent) = (bits & ((1 << 52) - 1), (bits >> 52 & 0x7ff) as i32);
    if exponent == 0 {
        (fraction, -1074)
    } else {
        (fraction | 1 << 52, exponent - 1075)
    }
}

/// The shortest digits that read back as `x`, the nearest of these, and the power of ten of the point before them:
/// Steele and White's algorithm, as Burger and Dybvig have it.
fn shortest(x: f64) -> (String, i32) {
    let (mantissa, exponent) = parts(x);
    if mantissa == 0 {
        return (String::from("0"), 1);
    }
    let inclusive = mantissa.is_multiple_of(2);
    // The next smaller float is only half as far away from a power of two.
    let uneven = u32::from(mantissa == 1 << 52 && exponent > -1074);
    let (up, down) = (
        exponent.max(0).unsigned_abs(),
        exponent.min(0).unsigned_abs(),
    );
    let mut rest = Big::new(mantissa).shifted(up + 1 + uneven);
    let mut unit = Big::new(1).shifted(down + 1 + uneven);
    let mut above = Big::new(1).shifted(up + uneven);
    let mut below = Big::new(1).shifted(up);
    let reaches = |rest: &Big, above: &Big, unit: &Big| match rest.plus(above).compare(unit) {
        Ordering::Greater => true,
        Ordering::Equal => inclusive,
        Ordering::Less => false,
    };
    let mut point = 0;
    while reaches(&rest, &above, &unit) {
        unit.times(10);
        point += 1;
    }
    let mut digits = String::new();
    let mut leading = true;
    loop {
        rest.times(10);
        above.times(10);
        below.times(10);
        let mut digit = 0_u8;
        while rest.compare(&unit).is_ge() {
            rest.minus(&unit);
            digit += 1;
        }
        let high = reaches(&rest, &above, &unit);
        if leading && digit == 0 && !high {
            point -= 1;
            continue;
        }
        leading = false;
        let low = match rest.compare(&below) {
            Ordering::Less => true,
            Ordering::Equal => inclusive,
            Ordering::Greater => false,
        };
        if low || high {
            rest.times(2);
            digit += u8::from(high && (!low || rest.compare(&unit).is_ge()));
        }
        digits.push(char::from(b'0' + digit));
        if low || high {
            return (digits, point);
        }
    }
}

fn sign(x: f64) -> &'static str {
    if x.is_sign_negative() && !x.is_nan() {
        "-"
    } else {
        ""
    }
}

/// What is no number, or none that ends.
fn special(x: f64) -> Option<String> {
    let name = if x.is_nan() { "NaN" } else { "inf" };
    (!x.is_finite()).then(|| [sign(x), name].concat())
}

/// The shortest digits with an exponent, as `{x:e}` writes them.
#[must_use]
pub(crate) fn scientific(x: f64) -> String {
    special(x).unwrap_or_else(|| {
        let (digits, point) = shortest(x);
        let (first, rest) = digits.split_at_checked(1).unwrap_or_default();
        let dot = if rest.is_empty() { "" } else { "." };
        [sign(x), first, dot, rest, "e", &(point - 1).to_string()].concat()
    })
}

/// The shortest digits, with an exponent from 10¹⁶ on and below 10⁻⁴, as `{x:?}` writes them.
#[must_use]
pub(crate) fn general(x: f64) -> String {
    if !x.is_finite() {
        return special(x).unwrap_or_default();
    }
    let (digits, point) = shortest(x);
    if !(-3..=16).contains(&point) {
        return scientific(x);
    }
    let length = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    if point <= 0 {
        return [sign(x), "0.", &zeros(-point), &digits].concat();
    }
    let whole = point.min(length).unsigned_abs() as usize;
    let (whole, fraction) = digits.split_at_checked(whole).unwrap_or_default();
    let fraction = if fraction.is_empty() { "0" } else { fraction };
    [sign(x), whole, &zeros(point - length), ".", fraction].concat()
}

#[cfg(test)]
mod tests {
    use super::{general, parse, scientific};

    fn reads(text: &str) {
        let (ours, theirs) = (parse(text).unwrap(), text.parse::<f64>().unwrap());
        assert_eq!(ours.to_bits(), theirs.to_bits(), "{text}");
    }

    #[test]
    fn the_floats_are_the_standard_librarys() {
        let long = |digit: &str| digit.repeat(800);
        let mut texts: Vec<String> = [
            "0",
            "-0",
            "0.0",
            "1e400",
            "-1e400",
            "1e-400",
            "0e999999999999",
            "1e-999999999999",
        ]
        .into_iter()
        .chain([
            "2.2250738585072011e-308",
            "2.2250738585072014e-308",
            "4.9e-324",
            "2.4703282292062327e-324",
        ])
        .chain([
            "2.4703282292062328e-324",
            "1.7976931348623157e308",
            "1.7976931348623158e308",
        ])
        .chain([
            "1.7976931348623159e308",
            "9007199254740993",
            "9007199254740993.0000000000000000001",
        ])
        .chain([
            "9007199254740992.99999999999999999",
            "0.1",
            "1.05",
            "123456789012345678901234567890",
            "1E5",
            "1e+5",
        ])
        .map(str::to_owned)
        .collect();
        texts.push(format!("{}e-790", long("9")));
        texts.push(format!("0.{}1", "0".repeat(900)));
        texts.push(format!("9007199254740993.{}1", "0".repeat(900)));
        texts.push(format!("{}{}e-900", long("1"), long("7")));
        let mut bits = 1_u64;
        for _ in 0..1_000 {
            bits = bits
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let x = f64::from_bits(bits);
            if x.is_finite() {
                texts.push(format!("{x:e}"));
                texts.push(format!("{x:.3e}"));
                texts.push(format!("{x:.30e}"));
            }
            texts.push(format!("{}.{}", bits >> 50, bits & 0xfff));
        }
        for text in &texts {
            reads(text);
        }
        for wrong in [
            "", "-", ".", "e5", "1e", "1e+", "x", "1x", "1.2.3", "inf", "NaN", "1_0", "+1",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    fn agree(x: f64) {
        assert_eq!(general(x), format!("{x:?}"), "{:x}", x.to_bits());
        assert_eq!(scientific(x), format!("{x:e}"), "{:x}", x.to_bits());
    }

    #[test]
    fn the_text_is_the_standard_librarys() {
        let mut bits = 1_u64;
        for i in 0..2_000_u32 {
            bits = bits
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            agree(f64::from_bits(bits));
            // Few digits, and numbers near one: what jobs have.
            agree(f64::from(i) / 64.0);
            agree(f64::from(i) / 1000.0);
            agree(f64::from((bits >> 33) as u32) / f64::from(1 << 20));
        }
        for exponent in 0..2047_u64 {
            for fraction in [0, 1, (1 << 52) - 1] {
                agree(f64::from_bits(exponent << 52 | fraction));
            }
        }
        for x in [
            0.0,
            f64::INFINITY,
            f64::NAN,
            0.5,
            1.5,
            2.5,
            0.125,
            0.375,
            1e22,
            1e23,
            5e-324,
        ] {
            agree(x);
            agree(-x);
        }
    }
}
