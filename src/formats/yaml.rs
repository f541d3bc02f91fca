//! The subset of YAML that training configurations use, to plain data with lines.
//!
//! Scalars mean what `PyYAML` makes of them, which is YAML 1.1: `yes` and `off` are truth values, `010` is
//! eight. One difference: `1e-5`, which `PyYAML` takes for text, is read as the number that people mean, and
//! noted. Not supported, and refused: complex keys (`? …`). Base-60 numbers such as `1:30` stay text.
//! The work is linear in the size of the text, and size, depth and number of values are bounded, with
//! aliases counted as often as they are used.

mod parser;
mod scalar;

use core::fmt;

use super::node::Node;

/// Longest text that [`parse`] looks at, in bytes.
pub const MAX_BYTES: usize = 400_000;
/// How many lists and maps may be open at once.
pub const MAX_DEPTH: usize = 64;
/// How many values one text may hold, those of aliases included.
pub const MAX_VALUES: usize = 100_000;

/// What a text holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Yaml {
    /// The first document.
    pub root: Node,
    /// What is worth knowing about it, in order of lines.
    pub notes: Vec<YamlNote>,
}

/// A remark about one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlNote {
    /// The line, counted from 1.
    pub line: u32,
    /// The remark.
    pub kind: YamlNoteKind,
}

/// The kinds of [`YamlNote`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum YamlNoteKind {
    /// A tag that has no meaning here, such as `!!python/object:…`; the value under it was read.
    Tag(String),
    /// A number without a point or without a sign in its exponent, which `PyYAML` reads as text.
    TextForPython(String),
    /// More documents follow; only the first counts.
    MoreDocuments,
    /// A value that starts like a list or a map and is none, read as text: `[0]*3+[1]*58`.
    Unquoted(String),
}

/// Why a text was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlError {
    /// The line, counted from 1.
    pub line: u32,
    /// What is wrong there.
    pub kind: YamlErrorKind,
}

/// The kinds of [`YamlError`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum YamlErrorKind {
    /// The text is longer than [`MAX_BYTES`].
    TooLong,
    /// Lists and maps nest deeper than [`MAX_DEPTH`].
    TooDeep,
    /// The text holds more than [`MAX_VALUES`] values.
    TooMany,
    /// A tab where blanks must say how deep a line is.
    Tab,
    /// The line is indented like no line above it.
    Indentation,
    /// Something else was needed; what.
    Expected(&'static str),
    /// An alias without an anchor before it.
    UnknownAlias(String),
    /// What starts here never ends.
    Unclosed(&'static str),
}

/// Reads the first document of a text.
///
/// # Errors
///
/// The first thing that is not in the subset, or the limit that the text exceeds.
pub fn parse(text: &str) -> Result<Yaml, YamlError> {
    if text.len() > MAX_BYTES {
        return Err(YamlError {
            line: 1,
            kind: YamlErrorKind::TooLong,
        });
    }
    parser::document(text)
}

/// Reads text that is one value in flow style, such as the right side of an override: `[1, 2]`, `{a: b}`,
/// `true`, `some text`. Line numbers start at `line`.
///
/// # Errors
///
/// As for [`parse`].
pub fn parse_value(text: &str, line: u32) -> Result<Node, YamlError> {
    if text.len() > MAX_BYTES {
        return Err(YamlError {
            line,
            kind: YamlErrorKind::TooLong,
        });
    }
    parser::value(text, line)
}

impl fmt::Display for YamlNoteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => write!(f, "the tag {tag} was passed over"),
            Self::TextForPython(text) => {
                write!(
                    f,
                    "{text} is text for PyYAML; write it with a point, as in 1.0e-5"
                )
            }
            Self::MoreDocuments => f.write_str("only the first document was read"),
            Self::Unquoted(text) => write!(f, "{text} was read as text; put it in quotes"),
        }
    }
}

impl fmt::Display for YamlErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => f.write_str("the text is too large to be a configuration"),
            Self::TooDeep => f.write_str("lists and maps nest too deep"),
            Self::TooMany => f.write_str("too many values, aliases counted"),
            Self::Tab => f.write_str("indent with blanks, not with tabs"),
            Self::Indentation => f.write_str("the indentation fits no line above"),
            Self::Expected(what) => write!(f, "expected {what}"),
            Self::UnknownAlias(name) => write!(f, "nothing above is called &{name}"),
            Self::Unclosed(what) => write!(f, "this {what} never ends"),
        }
    }
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.kind)
    }
}

impl core::error::Error for YamlError {}
