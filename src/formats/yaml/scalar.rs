//! The value that a plain scalar stands for.

use crate::formats::node::Data;

/// The value of an unquoted scalar, and whether `PyYAML` would leave it text where this does not.
pub(super) fn resolve(text: &str) -> (Data, bool) {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return (Data::Null, false),
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => {
            return (Data::Bool(true), false);
        }
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => {
            return (Data::Bool(false), false);
        }
        _ => {}
    }
    if let Some(data) = whole(text) {
        return (data, false);
    }
    match fraction(text) {
        Some((number, for_python)) => (Data::Float(number), !for_python),
        None => (Data::Text(text.to_owned()), false),
    }
}

/// Decimal, `0x`, `0b` and `0…` octal, all with underscores between digits.
fn whole(text: &str) -> Option<Data> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (digits, radix) = match digits.as_bytes() {
        [b'0', b'x', ..] => (digits.get(2..)?, 16),
        [b'0', b'b', ..] => (digits.get(2..)?, 2),
        [b'0', _, ..] => (digits.get(1..)?, 8),
        _ => (digits, 10),
    };
    if !digits.chars().all(|c| c == '_' || c.is_digit(radix)) {
        return None;
    }
    let digits = digits.replace('_', "");
    let Ok(number) = i128::from_str_radix(&digits, radix) else {
        // Too large to be whole is still a number.
        let sign = if negative { "-" } else { "" };
        let number = format!("{sign}{digits}").parse().ok();
        return number.filter(|_| radix == 10).map(Data::Float);
    };
    Some(Data::Int(if negative { -number } else { number }))
}

/// A number with a point or an exponent, and whether `PyYAML` sees it as one.
fn fraction(text: &str) -> Option<(f64, bool)> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let sign = if text.starts_with('-') { "-" } else { "" };
    match unsigned {
        ".inf" | ".Inf" | ".INF" => return format!("{sign}inf").parse().ok().map(|x| (x, true)),
        ".nan" | ".NaN" | ".NAN" => return Some((f64::NAN, true)),
        _ => {}
    }
    let first = unsigned.chars().next()?;
    let digits = first.is_ascii_digit() || first == '.' && unsigned.len() > 1;
    let characters = |c: char| c.is_ascii_digit() || matches!(c, '.' | '_' | 'e' | 'E' | '+' | '-');
    if !digits || !unsigned.chars().all(characters) {
        return None;
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    // `1_000`-like things that are no whole number, such as `08`, stay text.
    if exponent.is_none() && !mantissa.contains('.') {
        return None;
    }
    let for_python = mantissa.contains('.') && exponent.is_none_or(|exponent| exponent.starts_with(['-', '+']));
    let number = text.replace('_', "").parse().ok()?;
    Some((number, for_python))
}
