//! Python's exceptions and literals, for what is checked or printed exactly as a framework written in Python does it.

use core::fmt;
use core::num::ParseIntError;

/// An exception that a framework would raise: the class and the message that its user would see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonError {
    /// The exception's class.
    pub exception: Exception,
    /// The exception's message; empty for an `assert` without one, and where the class says enough.
    pub message: String,
}

/// As the last line of a Python traceback: `ValueError: message`, or the class alone where there is no message.
impl fmt::Display for PythonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.exception)?;
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        Ok(())
    }
}

impl core::error::Error for PythonError {}

/// The classes of Python's exceptions that the frameworks raise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::IntoStaticStr)]
#[expect(missing_docs, reason = "the names are Python's own")]
pub enum Exception {
    AssertionError,
    AttributeError,
    IndexError,
    KeyError,
    MemoryError,
    OverflowError,
    RuntimeError,
    TypeError,
    UnboundLocalError,
    ValueError,
    ZeroDivisionError,
}

impl Exception {
    /// The error of this class with that message.
    pub(crate) fn with(self, message: impl Into<String>) -> PythonError {
        PythonError {
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
