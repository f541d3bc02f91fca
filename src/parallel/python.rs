//! Python's exceptions and literals, for rules that are checked the way a framework checks them.

use core::num::ParseIntError;

/// What the framework would raise, with its message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The exception's class.
    pub exception: Exception,
    /// The exception's text.
    pub message: String,
}

/// The Python exception classes in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[expect(missing_docs, reason = "the names are Python's own")]
pub enum Exception {
    AssertionError,
    KeyError,
    OverflowError,
    RuntimeError,
    TypeError,
    ValueError,
    ZeroDivisionError,
}

impl Exception {
    /// The refusal of this class with that text.
    pub(crate) fn with(self, message: impl Into<String>) -> Refusal {
        Refusal {
            exception: self,
            message: message.into(),
        }
    }
}

/// The text as a Python string literal, as `repr` writes it.
pub(crate) fn repr(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let escape = |c: char| match c {
        '\\' => "\\\\".to_owned(),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        '\'' if quote == c => "\\'".to_owned(),
        c if c.is_control() => format!("\\x{:02x}", u32::from(c)),
        c => c.to_string(),
    };
    let escaped: String = text.chars().map(escape).collect();
    format!("{quote}{escaped}{quote}")
}

/// The texts as a Python list, as `repr` writes it.
pub(crate) fn repr_texts(texts: &[impl AsRef<str>]) -> String {
    let literals: Vec<String> = texts.iter().map(|text| repr(text.as_ref())).collect();
    format!("[{}]", literals.join(", "))
}

/// Python's `int(text)` in 128 bits: white space around the number, one sign, single underscores between its
/// digits. Of the digits beyond ASCII it knows the full-width ones, which East Asian keyboards enter.
pub(crate) fn int(text: &str) -> Result<i128, ParseIntError> {
    let text: String = text.trim().chars().map(half_width).collect();
    let between_digits = |part: &str| part.ends_with(|c: char| c.is_ascii_digit());
    if text.split('_').all(between_digits) {
        text.replace('_', "").parse()
    } else {
        text.parse()
    }
}

/// The ASCII digit for a full-width digit; other characters as they are.
fn half_width(c: char) -> char {
    match c {
        '０'..='９' => char::from_digit(u32::from(c) - u32::from('０'), 10).unwrap_or(c),
        _ => c,
    }
}
