//! What can be wrong with a JSON text, in words.

use core::fmt;

use super::{MAX_BYTES, MAX_DEPTH, MAX_VALUES};
use crate::words::quoted;

/// Why a text is not JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// Line of the offending character, counted from 1.
    pub line: u32,
    /// Character within the line, counted from 1.
    pub column: u32,
    /// What is wrong there.
    pub kind: JsonErrorKind,
}

/// What can be wrong with a JSON text. All but the three limits are for the author of the text to mend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonErrorKind {
    /// The text has more than [`MAX_BYTES`] bytes.
    TooLong {
        /// Its size in bytes.
        bytes: usize,
    },
    /// More than [`MAX_DEPTH`] lists and maps are open.
    TooDeep,
    /// The text holds more than [`MAX_VALUES`] values.
    TooManyValues,
    /// Something else was expected.
    Unexpected {
        /// What is there; `None` at the end of the text.
        found: Option<char>,
        /// What would have been right.
        expected: &'static str,
    },
    /// A bare word that another language knows, with what JSON writes instead.
    ForeignWord {
        /// The word.
        word: &'static str,
        /// What to write.
        instead: &'static str,
    },
    /// A comment, which JSON does not have.
    Comment,
    /// A comma before a closing bracket.
    TrailingComma,
    /// A number outside the range of a 64-bit float.
    NumberTooLarge,
    /// An unescaped control character inside a string.
    ControlCharacter,
    /// A backslash before something that JSON does not escape.
    BadEscape,
    /// A `\u` escape that names half of a surrogate pair.
    LoneSurrogate,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {}, column {}: {}",
            self.line, self.column, self.kind
        )
    }
}

impl fmt::Display for JsonErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { bytes } => {
                write!(f, "the text has {bytes} bytes; at most {MAX_BYTES} are read")
            }
            Self::TooDeep => write!(f, "more than {MAX_DEPTH} levels of lists and objects"),
            Self::TooManyValues => write!(f, "more than {MAX_VALUES} values"),
            Self::Unexpected { found: None, expected } => {
                write!(f, "the text ends where {expected} was expected")
            }
            Self::Unexpected { found: Some(c), expected } => {
                write!(f, "found {} where {expected} was expected", quoted(*c))
            }
            Self::ForeignWord { word, instead } => write!(f, "`{word}` is not JSON; {instead}"),
            Self::Comment => f.write_str("JSON has no comments"),
            Self::TrailingComma => f.write_str("JSON has no comma after the last item"),
            Self::NumberTooLarge => f.write_str("the number is too large"),
            Self::ControlCharacter => {
                f.write_str("a line break or control character inside a string; write it as an escape such as \\n")
            }
            Self::BadEscape => f.write_str("not an escape sequence of JSON"),
            Self::LoneSurrogate => f.write_str("half of a surrogate pair"),
        }
    }
}
