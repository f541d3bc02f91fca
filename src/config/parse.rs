//! One raw value to what its field's kind asks for.
//!
//! Text is read as people type numbers: `4096`, `4_096`, `4,096`, ` 4096 `, `1e6`, `128k` (k = 1024).

use core::fmt;

use super::field::{Decimal, Field, Kind};
use super::pattern::{LayerPattern, PatternError};
use crate::decimal::scientific;
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
#[derive(Clone, Debug, PartialEq)]
pub enum ParseError {
    /// Nothing was typed where something is needed.
    Empty,
    /// Not a number at all.
    NotANumber,
    /// A fraction where a whole number is needed.
    NotWhole,
    /// Outside the field's range; the bounds as text.
    OutOfRange {
        /// Smallest legal value.
        min: String,
        /// Largest legal value.
        max: String,
    },
    /// Neither on nor off.
    NotAFlag,
    /// Not one of the names.
    UnknownChoice {
        /// What was given.
        given: String,
        /// The legal names.
        names: &'static [&'static str],
    },
    /// A layer pattern that cannot be read.
    Pattern(PatternError),
    /// Too long.
    TooLong {
        /// Longest legal text in characters.
        max: usize,
    },
    /// A list or a map where a plain value is needed.
    WrongType {
        /// What was given.
        given: &'static str,
    },
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("needs a value"),
            Self::NotANumber => {
                f.write_str("is not a number; write it like 4096, 4_096, 1e6 or 128k")
            }
            Self::NotWhole => f.write_str("must be a whole number"),
            Self::OutOfRange { min, max } => write!(f, "must be between {min} and {max}"),
            Self::NotAFlag => f.write_str("must be true or false"),
            Self::UnknownChoice { given, names } => {
                write!(
                    f,
                    "knows no “{}”; use one of {}",
                    clip(given),
                    names.join(", ")
                )
            }
            Self::Pattern(error) => error.fmt(f),
            Self::TooLong { max } => write!(f, "is longer than {max} characters"),
            Self::WrongType { given } => write!(f, "must be a single value, not a {given}"),
        }
    }
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

fn parse_kind(kind: Kind, value: &Value) -> Result<Parsed, ParseError> {
    match kind {
        Kind::Int { min, max } => {
            let millionths = decimal(value)?;
            let out_of_range = || ParseError::OutOfRange {
                min: min.to_string(),
                max: max.to_string(),
            };
            let Number {
                negative,
                millionths,
            } = millionths;
            if negative {
                return Err(out_of_range());
            }
            if millionths.is_some_and(|m| !m.is_multiple_of(1_000_000)) {
                return Err(ParseError::NotWhole);
            }
            let whole = millionths
                .and_then(|m| u64::try_from(m / 1_000_000).ok())
                .ok_or_else(out_of_range)?;
            if (min..=max).contains(&whole) {
                Ok(Parsed::Int(whole))
            } else {
                Err(out_of_range())
            }
        }
        Kind::Decimal { min, max } => {
            let out_of_range = || ParseError::OutOfRange {
                min: Decimal(min).to_string(),
                max: Decimal(max).to_string(),
            };
            let Number {
                negative,
                millionths,
            } = decimal(value)?;
            let small = millionths
                .and_then(|m| u64::try_from(m).ok())
                .ok_or_else(out_of_range)?;
            if (negative && small > 0) || !(min..=max).contains(&small) {
                return Err(out_of_range());
            }
            Ok(Parsed::Decimal(Decimal(small)))
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
            other => Err(ParseError::WrongType {
                given: other.python_type(),
            }),
        },
    }
}

/// A number as a sign and whole millionths; `None` when it is too large to matter.
struct Number {
    negative: bool,
    millionths: Option<u128>,
}

fn decimal(value: &Value) -> Result<Number, ParseError> {
    match value {
        Value::Int(i) => Ok(Number {
            negative: *i < 0,
            millionths: i.unsigned_abs().checked_mul(1_000_000),
        }),
        Value::Float(x) if x.is_nan() => Err(ParseError::NotANumber),
        // The shortest text that reads back as the same float is what people mean by it.
        Value::Float(x) => decimal_text(&scientific(*x)),
        Value::Text(text) => decimal_text(text),
        other => Err(ParseError::WrongType {
            given: other.python_type(),
        }),
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
    let (text, kilo) = match text.strip_suffix(['k', 'K']) {
        Some(rest) => (rest.trim_end(), 1024),
        None => (text, 1),
    };
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            let exponent: i32 = exponent.parse().map_err(|_| ParseError::NotANumber)?;
            (mantissa, exponent)
        }
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits: u128 = 0;
    let mut seen = 0_i32;
    let mut overflow = false;
    for c in whole
        .chars()
        .filter(|c| !matches!(c, '_' | ',' | '\u{a0}' | '\u{202f}' | '\''))
        .chain(fraction.chars())
    {
        let digit = c.to_digit(10).ok_or(ParseError::NotANumber)?;
        match digits
            .checked_mul(10)
            .and_then(|d| d.checked_add(digit.into()))
        {
            Some(d) => digits = d,
            None => overflow = true,
        }
        seen += 1;
    }
    if seen == 0 {
        return Err(ParseError::NotANumber);
    }
    if overflow {
        return Ok(Number {
            negative,
            millionths: None,
        });
    }
    let fraction_digits = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
    let shift = exponent.saturating_sub(fraction_digits).saturating_add(6);
    let scaled = if digits == 0 {
        Some(0)
    } else if shift >= 0 {
        10_u128
            .checked_pow(shift.unsigned_abs())
            .and_then(|p| digits.checked_mul(p))
    } else {
        // Digits beyond the sixth decimal place: whole numbers must notice them, decimals round.
        match 10_u128.checked_pow(shift.unsigned_abs()) {
            Some(p) if digits.is_multiple_of(p) => Some(digits / p),
            Some(p) => Some((digits / p).max(1) | 1),
            None => Some(1),
        }
    };
    Ok(Number {
        negative,
        millionths: scaled.and_then(|m| m.checked_mul(kilo)),
    })
}

fn flag(value: &Value) -> Result<bool, ParseError> {
    match value {
        Value::Bool(b) => Ok(*b),
        Value::Int(0) => Ok(false),
        Value::Int(1) => Ok(true),
        Value::Text(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Ok(true),
            "false" | "0" | "no" | "off" => Ok(false),
            "" => Err(ParseError::Empty),
            _ => Err(ParseError::NotAFlag),
        },
        _ => Err(ParseError::NotAFlag),
    }
}

fn index_of(names: &[&str], name: &str) -> Option<u8> {
    let wanted = name.trim();
    let position = names.iter().position(|n| n.eq_ignore_ascii_case(wanted));
    position.and_then(|i| u8::try_from(i).ok())
}

fn choice(names: &'static [&'static str], value: &Value) -> Result<u8, ParseError> {
    match value {
        Value::Text(text) if text.trim().is_empty() => Err(ParseError::Empty),
        Value::Text(text) => index_of(names, text).ok_or_else(|| ParseError::UnknownChoice {
            given: text.clone(),
            names,
        }),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => Err(ParseError::UnknownChoice {
            given: value.to_string(),
            names,
        }),
        other => Err(ParseError::WrongType {
            given: other.python_type(),
        }),
    }
}

fn set(names: &'static [&'static str], value: &Value) -> Result<u32, ParseError> {
    let mut bits = 0;
    let mut add = |name: &str| {
        let unknown = || ParseError::UnknownChoice {
            given: name.to_owned(),
            names,
        };
        index_of(names, name)
            .map(|i| bits |= 1 << i)
            .ok_or_else(unknown)
    };
    match value {
        Value::Text(text) => {
            for name in text.split([',', ' ']).filter(|n| !n.is_empty()) {
                add(name)?;
            }
        }
        Value::List(items) => {
            for item in items {
                match item {
                    Value::Text(name) => add(name)?,
                    other => {
                        return Err(ParseError::UnknownChoice {
                            given: other.to_string(),
                            names,
                        });
                    }
                }
            }
        }
        other => {
            return Err(ParseError::WrongType {
                given: other.python_type(),
            });
        }
    }
    Ok(bits)
}
