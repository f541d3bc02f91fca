//! The mistakes of a YAML text.

use saphyr_parser::ScanError;
use thiserror::Error;

/// Why a text was not read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {kind}")]
pub struct YamlError {
    /// The line, counted from 1.
    pub line: u32,
    /// What is wrong there.
    pub kind: YamlErrorKind,
}

/// The kinds of [`YamlError`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum YamlErrorKind {
    /// The text is longer than [`MAX_BYTES`](super::MAX_BYTES).
    #[error("the text is too large to be a configuration")]
    TooLong,
    /// Lists and maps nest deeper than [`MAX_DEPTH`](super::MAX_DEPTH).
    #[error("lists and maps nest too deep")]
    TooDeep,
    /// The text holds more than [`MAX_VALUES`](super::MAX_VALUES) values.
    #[error("too many values, aliases counted")]
    TooMany,
    /// A tab where blanks must say how deep a line is.
    #[error("indent with blanks, not with tabs")]
    Tab,
    /// A key that is a list or a map.
    #[error("a key must be plain text, not a list or a map")]
    ComplexKey,
    /// An alias without an anchor before it.
    #[error("nothing above is called &{0}")]
    UnknownAlias(String),
    /// Anything else that is not YAML. Mostly in the parser's words, which are those of libyaml and `PyYAML`.
    #[error("{0}")]
    Syntax(String),
}

impl YamlErrorKind {
    /// The parser's error in the words of this module.
    pub(super) fn of_parser(text: &str, error: &ScanError) -> Self {
        match error.info() {
            "recursion limit exceeded" => Self::TooDeep,
            "tabs disallowed within this context (block indentation)"
            | "tabs disallowed in this context"
            | "tab cannot be used as indentation"
            | "while scanning a plain scalar, found a tab" => Self::Tab,
            "while parsing node, found unknown anchor" => {
                let alias = text.chars().skip(error.marker().index());
                let name = alias
                    .skip_while(|&c| c == '*')
                    .take_while(|&c| !c.is_whitespace() && !",[]{}".contains(c));
                Self::UnknownAlias(name.collect())
            }
            info => Self::Syntax(plain_words(info).to_owned()),
        }
    }
}

/// The parser's messages about the most common mistakes, each with words that say what to do.
fn plain_words(info: &str) -> &str {
    match info {
        "mapping values are not allowed in this context" => {
            "no key may stand here: mend the indentation, or put text with a colon in quotes"
        }
        "while parsing a block mapping, did not find expected key" => "expected a key, indented as those above",
        "simple key expected" | "simple key expect ':'" => "expected a key and a colon",
        _ => info,
    }
}
