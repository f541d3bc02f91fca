//! One raw value to what its field's kind asks for.
//!
//! Text is read as people type numbers: `4096`, `4_096`, `4,096`, ` 4096 `, `1e6`, `128k`, `1M` (k = 1024, M = 1024 k).

use super::field::{Decimal, Default, Field, Kind};
use super::pattern::{LayerPattern, PatternError};
use crate::value::Value;

/// A value of the right kind and within its field's range.
#[derive(Clone, Debug, PartialEq)]
pub enum Parsed {
    /// A whole number.
    Int(u64),
    /// On or off.
    Flag(bool),
    /// Index into the field's list of names.
    Choice(u8),
    /// Bit `i` is set when name `i` is in.
    Set(u32),
    /// Millionths.
    Decimal(Decimal),
    /// A layer pattern.
    Pattern(LayerPattern),
    /// Text.
    Text(String),
}

/// Why a raw value does not fit its field.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParseError {
    /// An empty text where something is needed.
    #[error("needs a value")]
    Empty,
    /// Not a number at all.
    #[error("is not a number; write it like 4096, 4_096, 1e6 or 128k")]
    NotANumber,
    /// A fraction where a whole number is needed.
    #[error("must be a whole number")]
    NotWhole,
    /// Outside the field's range; the bounds as text.
    #[error("must be between {min} and {max}")]
    OutOfRange {
        /// Smallest legal value.
        min: String,
        /// Largest legal value.
        max: String,
    },
    /// Neither on nor off.
    #[error("must be true or false")]
    NotAFlag,
    /// Not one of the names.
    #[error("knows no “{}”; use one of {}", clip(given), names.join(", "))]
    UnknownChoice {
        /// The unknown name.
        given: String,
        /// The legal names.
        names: &'static [&'static str],
    },
    /// A layer pattern that cannot be read.
    #[error(transparent)]
    Pattern(PatternError),
    /// Too long.
    #[error("is longer than {max} characters")]
    TooLong {
        /// Longest legal text in characters.
        max: usize,
    },
    /// A list or a map where a plain value is needed.
    #[error("must be a single value, not a {given}")]
    WrongType {
        /// The type of the value, as Python calls it.
        given: &'static str,
    },
}

/// The first characters of text from outside, for messages.
fn clip(text: &str) -> String {
    let mut clipped: String = text.chars().take(40).collect();
    if clipped.len() < text.len() {
        clipped.push('…');
    }
    clipped
}

/// Reads `value` as `field`'s kind; `Ok(None)` where the value says "nothing" (null).
///
/// # Errors
/// [`ParseError`] when the value is of the wrong kind or out of range.
pub fn parse(field: &Field, value: &Value) -> Result<Option<Parsed>, ParseError> {
    if *value == Value::Null {
        return Ok(None);
    }
    if let Value::Text(text) = value
        && matches!(text.trim(), "None" | "null")
    {
        return Ok(None);
    }
    parse_kind(field.kind, value).map(Some)
}

/// The value of a field that was not given; none where it is required, derived or absent.
pub(super) fn default_value(field: &Field) -> Option<Parsed> {
    let position = |names: &[&str], name: &str| {
        let position = names.iter().position(|n| *n == name);
        position.and_then(|i| u8::try_from(i).ok())
    };
    match (field.kind, field.default) {
        (Kind::LayerPattern, Default::Int(n)) => Some(Parsed::Pattern(LayerPattern::Every(n))),
        (_, Default::Int(i)) => Some(Parsed::Int(i)),
        (_, Default::Flag(b)) => Some(Parsed::Flag(b)),
        (_, Default::Decimal(d)) => Some(Parsed::Decimal(Decimal(d))),
        (Kind::Choice(names), Default::Choice(name)) => position(names, name).map(Parsed::Choice),
        (Kind::Set(names), Default::Set(list)) => {
            let bits = list.split(',').filter_map(|name| position(names, name));
            Some(Parsed::Set(bits.fold(0, |set, bit| set | 1 << bit)))
        }
        _ => None,
    }
}

fn parse_kind(kind: Kind, value: &Value) -> Result<Parsed, ParseError> {
    match kind {
        Kind::Int { min, max } => {
            let whole = match value {
                Value::Int(whole) => u64::try_from(*whole).ok(),
                _ => whole(decimal(value)?)?,
            };
            match whole.filter(|whole| (min..=max).contains(whole)) {
                Some(whole) => Ok(Parsed::Int(whole)),
                None => Err(out_of_range(min.to_string(), max.to_string())),
            }
        }
        Kind::Decimal { min, max } => {
            let number = decimal(value)?;
            let small = number.millionths.and_then(|m| u64::try_from(m).ok());
            let negative = number.negative && small != Some(0);
            match small.filter(|small| !negative && (min..=max).contains(small)) {
                Some(small) => Ok(Parsed::Decimal(Decimal(small))),
                None => Err(out_of_range(Decimal(min).to_string(), Decimal(max).to_string())),
            }
        }
        Kind::Flag => flag(value).map(Parsed::Flag),
        Kind::Choice(names) => choice(names, value).map(Parsed::Choice),
        Kind::Set(names) => set(names, value).map(Parsed::Set),
        Kind::LayerPattern => LayerPattern::read(value)
            .map(Parsed::Pattern)
            .map_err(ParseError::Pattern),
        Kind::Text { max } => match value {
            Value::Text(text) if text.trim().is_empty() => Err(ParseError::Empty),
            Value::Text(text) if text.chars().count() > max => Err(ParseError::TooLong { max }),
            Value::Text(text) => Ok(Parsed::Text(text.trim().to_owned())),
            other => Err(wrong_type(other)),
        },
    }
}

/// A whole number; `None` when it is negative or too large to matter.
fn whole(number: Number) -> Result<Option<u64>, ParseError> {
    let Some(millionths) = number.millionths.filter(|_| !number.negative) else {
        return Ok(None);
    };
    if !millionths.is_multiple_of(MILLION) {
        return Err(ParseError::NotWhole);
    }
    Ok(u64::try_from(millionths / MILLION).ok())
}

fn out_of_range(min: String, max: String) -> ParseError {
    ParseError::OutOfRange { min, max }
}

fn wrong_type(value: &Value) -> ParseError {
    ParseError::WrongType {
        given: value.python_type(),
    }
}

/// A number as a sign and whole millionths; `None` when it is too large to matter.
#[derive(Clone, Copy)]
struct Number {
    negative: bool,
    millionths: Option<u128>,
}

const MILLION: u128 = 1_000_000;

fn decimal(value: &Value) -> Result<Number, ParseError> {
    match value {
        Value::Int(i) => Ok(Number {
            negative: *i < 0,
            millionths: i.unsigned_abs().checked_mul(1_000_000),
        }),
        Value::Float(x) if x.is_nan() => Err(ParseError::NotANumber),
        // The shortest text that reads back as the same float is what people mean by it.
        Value::Float(x) => decimal_text(&format!("{x:e}")),
        Value::Text(text) => decimal_text(text),
        other => Err(wrong_type(other)),
    }
}

fn decimal_text(text: &str) -> Result<Number, ParseError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(ParseError::Empty);
    }
    if text.len() > 64 {
        return Err(ParseError::NotANumber);
    }
    let (negative, text) = match text.strip_prefix(['-', '−']) {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if text.eq_ignore_ascii_case("inf") || text.eq_ignore_ascii_case("infinity") {
        return Ok(Number {
            negative,
            millionths: None,
        });
    }
    let (text, kilo) = match (text.strip_suffix(['k', 'K']), text.strip_suffix(['m', 'M'])) {
        (Some(rest), _) => (rest.trim_end(), 1 << 10),
        (None, Some(rest)) => (rest.trim_end(), 1 << 20),
        (None, None) => (text, 1),
    };
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            let exponent: i32 = exponent.parse().map_err(|_| ParseError::NotANumber)?;
            (mantissa, exponent)
        }
        None => (text, 0),
    };
    // A space is a separator only where three digits follow, as in `4 096`.
    let mut groups = mantissa.split('.').next().unwrap_or_default().split(' ');
    let in_thousands = groups.next().is_some_and(|first| !first.is_empty()) && groups.all(|group| group.len() == 3);
    let mut digits = Some(0_u128);
    let mut seen = 0_i32;
    let mut before_point = None;
    for c in mantissa.chars() {
        match c {
            '.' if before_point.is_none() => before_point = Some(seen),
            '_' | ',' | '\u{a0}' | '\u{202f}' | '\'' if before_point.is_none() => {}
            ' ' if before_point.is_none() && in_thousands => {}
            _ => {
                let digit = c.to_digit(10).ok_or(ParseError::NotANumber)?;
                digits = digits
                    .and_then(|digits| times(digits, 10))
                    .and_then(|digits| digits.checked_add(digit.into()));
                seen += 1;
            }
        }
    }
    if seen == 0 {
        return Err(ParseError::NotANumber);
    }
    let fraction_digits = seen - before_point.unwrap_or(seen);
    let shift = exponent.saturating_sub(fraction_digits).saturating_add(6);
    Ok(Number {
        negative,
        millionths: digits
            .and_then(|digits| shifted(digits, shift))
            .and_then(|millionths| times(millionths, kilo)),
    })
}

/// `digits` times that power of ten. Of what lies beyond the sixth decimal place there remains a trace: whole numbers
/// must notice it, decimals round.
fn shifted(digits: u128, power: i32) -> Option<u128> {
    if digits == 0 {
        return Some(0);
    }
    let mut scale = Some(1);
    for _ in 0..power.unsigned_abs() {
        scale = times(scale?, 10);
        if scale.is_none() && power < 0 {
            return Some(1);
        }
    }
    let scale = scale?;
    if power >= 0 {
        times(digits, scale)
    } else if digits.is_multiple_of(scale) {
        Some(digits / scale)
    } else {
        Some((digits / scale).max(1) | 1)
    }
}

fn times(a: u128, b: u128) -> Option<u128> {
    a.checked_mul(b)
}

fn flag(value: &Value) -> Result<bool, ParseError> {
    const WORDS: [&str; 8] = ["false", "true", "0", "1", "no", "yes", "off", "on"];
    match value {
        Value::Bool(b) => Ok(*b),
        Value::Int(0) => Ok(false),
        Value::Int(1) => Ok(true),
        Value::Text(text) => match index_of(&WORDS, text) {
            Some(word) => Ok(word % 2 == 1),
            None if text.trim().is_empty() => Err(ParseError::Empty),
            None => Err(ParseError::NotAFlag),
        },
        _ => Err(ParseError::NotAFlag),
    }
}

fn index_of(names: &[&str], name: &str) -> Option<u8> {
    let wanted = match name.trim() {
        // As Megatron's help spells it where it means the other.
        "allgather" if names.contains(&"all_gather") => "all_gather",
        name => name,
    };
    let position = names.iter().position(|n| n.eq_ignore_ascii_case(wanted));
    position.and_then(|i| u8::try_from(i).ok())
}

fn choice(names: &'static [&'static str], value: &Value) -> Result<u8, ParseError> {
    match value {
        Value::Text(text) if text.trim().is_empty() => Err(ParseError::Empty),
        Value::Text(text) => index_of(names, text).ok_or_else(|| unknown(text.clone(), names)),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => Err(unknown(value.to_string(), names)),
        other => Err(wrong_type(other)),
    }
}

fn set(names: &'static [&'static str], value: &Value) -> Result<u32, ParseError> {
    let mut bits = 0;
    let mut add = |name: &str| match index_of(names, name) {
        Some(i) => {
            bits |= 1 << i;
            Ok(())
        }
        None => Err(unknown(name.to_owned(), names)),
    };
    match value {
        Value::Text(text) => {
            for name in text.split([',', ' ']) {
                if !name.is_empty() {
                    add(name)?;
                }
            }
        }
        Value::List(items) => {
            for item in items {
                match item {
                    Value::Text(name) => add(name)?,
                    other => return Err(unknown(other.to_string(), names)),
                }
            }
        }
        other => return Err(wrong_type(other)),
    }
    Ok(bits)
}

fn unknown(given: String, names: &'static [&'static str]) -> ParseError {
    ParseError::UnknownChoice { given, names }
}
