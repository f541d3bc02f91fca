//! How Python words what it refuses, for rules that are checked the way a framework checks them.

use core::fmt;

/// What the framework would raise, with its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The exception's class.
    pub exception: Exception,
    /// The exception's text.
    pub message: String,
}

/// The Python exception classes in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
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

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for Refusal {}

/// The text as a Python literal, as `repr` writes it.
pub(crate) fn repr(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut literal = String::from(quote);
    for c in text.chars() {
        let code = u32::from(c);
        let (escape, digits) = match c {
            '\\' => ("\\\\", 0),
            '\n' => ("\\n", 0),
            '\r' => ("\\r", 0),
            '\t' => ("\\t", 0),
            '\'' if quote == c => ("\\'", 0),
            c if is_printable(c) => {
                literal.push(c);
                continue;
            }
            _ if code <= 0xff => ("\\x", 2),
            _ if code <= 0xffff => ("\\u", 4),
            _ => ("\\U", 8),
        };
        literal.push_str(escape);
        for place in (0..digits).rev() {
            literal.extend(char::from_digit(code >> (4 * place) & 0xf, 16));
        }
    }
    literal.push(quote);
    literal
}

/// A Python list of texts, as `repr` writes it.
pub(crate) fn repr_texts(texts: &[impl AsRef<str>]) -> String {
    let mut list = String::from("[");
    for text in texts {
        if list.len() > 1 {
            list.push_str(", ");
        }
        list.push_str(&repr(text.as_ref()));
    }
    list.push(']');
    list
}

/// `str.isprintable` for one character. Rust's debug escapes follow the same Unicode categories;
/// after another character they leave combining marks alone, as Python does.
fn is_printable(c: char) -> bool {
    let mut buffer = String::from("a");
    buffer.push(c);
    matches!(c, '"' | '\'') || buffer.escape_debug().count() == 2
}

/// `str.strip`: Python counts the four information separators among white space, Rust does not.
pub(crate) fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// `str.isspace` for one character.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Why a text is not a usable whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotAnInt {
    /// `int(text)` raises a `ValueError`.
    Malformed,
    /// Python reads it, but no size is anywhere near that large.
    TooLarge,
}

/// `int(text)`: decimal digits of any script, single underscores between them, one sign, white space
/// around, and no more than 4300 digits.
pub(crate) fn int(text: &str) -> Result<i128, NotAnInt> {
    const MAX_DIGITS: usize = 4300;
    let text = strip(text);
    let (negative, digits) = match (text.strip_prefix('-'), text.strip_prefix('+')) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => (false, text),
    };
    let mut value = Some(0_i128);
    let mut count = 0_usize;
    let mut after_digit = false;
    for c in digits.chars() {
        if c == '_' && after_digit {
            after_digit = false;
            continue;
        }
        let digit = decimal(c).ok_or(NotAnInt::Malformed)?;
        let signed = if negative {
            -i128::from(digit)
        } else {
            i128::from(digit)
        };
        value = value.and_then(|v| v.checked_mul(10)?.checked_add(signed));
        count += 1;
        after_digit = true;
    }
    if !after_digit || count > MAX_DIGITS {
        return Err(NotAnInt::Malformed);
    }
    value.ok_or(NotAnInt::TooLarge)
}

/// The value of a decimal digit of any script (Unicode category Nd, in runs of ten).
fn decimal(c: char) -> Option<u8> {
    let code = u32::from(c);
    let next = ZEROS.partition_point(|zero| *zero <= code);
    let distance = code - ZEROS.get(next.checked_sub(1)?)?;
    u8::try_from(distance).ok().filter(|digit| *digit < 10)
}

/// The digit zero of every script, ascending.
const ZEROS: [u32; 68] = [
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66,
    0xde6, 0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90,
    0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10,
    0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650,
    0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x11f50, 0x16a60, 0x16ac0,
    0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e4f0, 0x1e950,
    0x1fbf0,
];
