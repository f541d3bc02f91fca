//! Values as Python writes them.

use core::fmt::Write;

use crate::decimal;
use crate::value::Value;

/// `f"{x:.{digits}f}"`: correctly rounded, ties to even, never an exponent.
pub(in super::super) fn fixed(x: f64, digits: usize) -> String {
    if x.is_nan() {
        return "nan".to_owned();
    }
    decimal::fixed(x, digits)
}

/// `str(value)`.
pub(in super::super) fn str(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        _ => repr(value),
    }
}

/// `repr(value)`.
pub(in super::super) fn repr(value: &Value) -> String {
    let mut out = String::new();
    write_repr(&mut out, value);
    out
}

fn write_repr(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Int(i) => out.push_str(&i.to_string()),
        Value::Float(x) => out.push_str(&float_repr(*x)),
        Value::Text(text) => write_text_repr(out, text),
        Value::List(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_repr(out, item);
            }
            out.push(']');
        }
        Value::Map(entries) => {
            out.push('{');
            for (i, (key, item)) in entries.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_text_repr(out, key);
                out.push_str(": ");
                write_repr(out, item);
            }
            out.push('}');
        }
    }
}

fn write_text_repr(out: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if c < ' ' || ('\u{7f}'..='\u{a0}').contains(&c) || c == '\u{ad}' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push(quote);
}

/// `repr(x)`: the shortest digits that read back as `x`, with an exponent from 10¹⁶ on and below 10⁻⁴.
pub(super) fn float_repr(x: f64) -> String {
    if !x.is_finite() {
        return fixed(x, 0);
    }
    let scientific = decimal::scientific(x);
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(e) if !(-4..16).contains(&e) => {
            let sign = if e < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", e.unsigned_abs())
        }
        _ => decimal::general(x),
    }
}

/// `int(text)`: decimal digits with a sign, single underscores between digits and blanks around.
///
/// What leaves 128 bits saturates. `None` for anything else.
pub(super) fn parse_int(text: &str) -> Option<i128> {
    let text = text.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut magnitude = 0_i128;
    for group in digits.split('_') {
        if group.is_empty() {
            return None;
        }
        for c in group.chars() {
            let digit = i128::from(c.to_digit(10)?);
            magnitude = magnitude.saturating_mul(10).saturating_add(digit);
        }
    }
    Some(sign * magnitude)
}
