//! The mistakes of a JSON text.

use jsonc_parser::ParseStringErrorKind;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use thiserror::Error;

use super::{MAX_BYTES, MAX_DEPTH, MAX_VALUES};

/// Why a text is not JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}, column {column}: {kind}")]
pub struct JsonError {
    /// Line of the offending character, counted from 1.
    pub line: u32,
    /// Character within the line, counted from 1.
    pub column: u32,
    /// The kind of mistake.
    pub kind: JsonErrorKind,
}

/// The kinds of mistakes of a JSON text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JsonErrorKind {
    /// The text has more than [`MAX_BYTES`] bytes.
    #[error("the text has {bytes} bytes; at most {MAX_BYTES} are read")]
    TooLong {
        /// Its size in bytes.
        bytes: usize,
    },
    /// More than [`MAX_DEPTH`] lists and maps are open.
    #[error("more than {MAX_DEPTH} levels of lists and objects")]
    TooDeep,
    /// The text holds more than [`MAX_VALUES`] values.
    #[error("more than {MAX_VALUES} values")]
    TooManyValues,
    /// Something else was expected.
    #[error("{} where {expected} was expected", found_text(*found))]
    Unexpected {
        /// What is there; `None` at the end of the text.
        found: Option<char>,
        /// The text that would have been right.
        expected: &'static str,
    },
    /// A list, an object or a string without its end.
    #[error("this {0} is never closed")]
    Unclosed(&'static str),
    /// A bare word that another language knows, with what JSON writes instead.
    #[error("`{word}` is not JSON; {instead}")]
    ForeignWord {
        /// The word.
        word: &'static str,
        /// What to write.
        instead: &'static str,
    },
    /// A comment, which JSON does not have.
    #[error("JSON has no comments")]
    Comment,
    /// A comma before a closing bracket.
    #[error("JSON has no comma after the last item")]
    TrailingComma,
    /// A number that JSON writes in another way.
    #[error("not a number of JSON: {0}")]
    Number(&'static str),
    /// A number outside the range of a 64-bit float.
    #[error("the number is too large")]
    NumberTooLarge,
    /// An unescaped control character inside a string.
    #[error("a line break or control character inside a string; write it as an escape such as \\n")]
    ControlCharacter,
    /// A backslash before something that JSON does not escape, or half of a surrogate pair.
    #[error("not an escape sequence of JSON")]
    BadEscape,
}

fn found_text(found: Option<char>) -> String {
    match found {
        Some(c) => format!("found {c:?}"),
        None => "the text ends".to_owned(),
    }
}

/// Bare words of Python and JavaScript that people paste, and what JSON writes instead.
const FOREIGN_WORDS: &[(&str, &str)] = &[
    ("NaN", "it has no spelling there, use null"),
    ("Infinity", "it has no spelling there, use null"),
    ("-NaN", "it has no spelling there, use null"),
    ("-Infinity", "it has no spelling there, use null"),
    ("None", "write null"),
    ("True", "write true"),
    ("False", "write false"),
    ("undefined", "write null"),
];

impl JsonErrorKind {
    /// The parser's error in the words of this module, with its byte offset.
    pub(super) fn of_parser(text: &str, error: &ParseError) -> (usize, Self) {
        let at = match error.kind() {
            // The parser points behind the last value; the reader looks for what follows it.
            ParseErrorKind::ExpectedComma => {
                let end = error.range().start;
                let rest = text.get(end..).unwrap_or_default();
                end + (rest.len() - rest.trim_start().len())
            }
            _ => error.range().start,
        };
        let rest = text.get(at..).unwrap_or_default();
        let unexpected = |expected| Self::Unexpected {
            found: rest.chars().next(),
            expected,
        };
        let foreign = FOREIGN_WORDS.iter().find(|(word, _)| rest.starts_with(word));
        if let Some(&(word, instead)) = foreign {
            return (at, Self::ForeignWord { word, instead });
        }
        if rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with('#') {
            return (at, Self::Comment);
        }
        let kind = match error.kind() {
            ParseErrorKind::CommentsNotAllowed | ParseErrorKind::UnterminatedCommentBlock => Self::Comment,
            ParseErrorKind::TrailingCommasNotAllowed => Self::TrailingComma,
            ParseErrorKind::NestingDepthExceeded => Self::TooDeep,
            ParseErrorKind::UnterminatedArray => Self::Unclosed("list"),
            ParseErrorKind::UnterminatedObject => Self::Unclosed("object"),
            ParseErrorKind::String(ParseStringErrorKind::UnterminatedStringLiteral) => Self::Unclosed("string"),
            ParseErrorKind::String(_) => Self::BadEscape,
            ParseErrorKind::BareDecimalPointNumbersNotAllowed => {
                Self::Number("digits must stand on both sides of the point")
            }
            ParseErrorKind::ExpectedDigit | ParseErrorKind::ExpectedPlusMinusOrDigitInNumberLiteral => {
                Self::Number("the exponent needs a digit")
            }
            ParseErrorKind::ExpectedDigitFollowingNegativeSign => unexpected("a digit"),
            ParseErrorKind::HexadecimalNumbersNotAllowed => Self::Number("write it in decimal digits"),
            ParseErrorKind::UnaryPlusNumbersNotAllowed => Self::Number("leave out the plus sign"),
            ParseErrorKind::ExpectedColonAfterObjectKey => unexpected("`:` after the key"),
            ParseErrorKind::ExpectedComma => unexpected("`,` or a closing bracket"),
            ParseErrorKind::ExpectedStringObjectProperty | ParseErrorKind::UnexpectedTokenInObject => {
                unexpected("a key in double quotes")
            }
            ParseErrorKind::SingleQuotedStringsNotAllowed => unexpected("a double quote"),
            ParseErrorKind::MultipleRootJsonValues => unexpected("the end of the text"),
            ParseErrorKind::UnexpectedToken
            | ParseErrorKind::UnexpectedWord
            | ParseErrorKind::UnexpectedCloseBrace
            | ParseErrorKind::UnexpectedCloseBracket
            | ParseErrorKind::UnexpectedColon
            | ParseErrorKind::UnexpectedComma
            | ParseErrorKind::ExpectedObjectValue
            | ParseErrorKind::NonFiniteNumbersNotAllowed => unexpected("a value"),
        };
        (at, kind)
    }
}
