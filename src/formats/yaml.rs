//! YAML text to plain data with lines.
//!
//! `saphyr-parser` reads the text to events; what a scalar means is decided here. Scalars mean what `PyYAML` makes of
//! them, which is YAML 1.1: `yes` and `off` are truth values, `010` is eight. One difference: `1e-5`, which `PyYAML`
//! takes for text, is read as the number that people mean, and noted. Keys that are lists or maps are refused.
//! Base-60 numbers such as `1:30` stay text. Size, depth and number of values are bounded, with aliases counted as
//! often as they are used.

mod alias;
mod document;
mod error;
mod note;
mod scalar;
mod tag;
mod unquoted;

pub use error::{YamlError, YamlErrorKind};
pub use note::{YamlNote, YamlNoteKind};

use super::node::{Data, Node};

/// Longest text that [`parse`] looks at, in bytes.
pub const MAX_BYTES: usize = 400_000;
/// How many lists and maps may be open at once.
pub const MAX_DEPTH: usize = 64;
/// How many values one text may hold, those of aliases included.
pub const MAX_VALUES: usize = 100_000;
/// How many notes are kept.
const MAX_NOTES: usize = 500;

/// What a text holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Yaml {
    /// The first document.
    pub root: Node,
    /// What is worth knowing about it, in order of lines.
    pub notes: Vec<YamlNote>,
}

/// The value of an unquoted scalar.
#[must_use]
pub fn plain_scalar(text: &str) -> Data {
    scalar::resolve(text).0
}

/// Reads the first document of a text.
///
/// # Errors
///
/// The first thing that is not YAML, or the limit that the text exceeds.
pub fn parse(text: &str) -> Result<Yaml, YamlError> {
    if text.len() > MAX_BYTES {
        return Err(YamlError {
            line: 1,
            kind: YamlErrorKind::TooLong,
        });
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut yaml = unquoted::read(text, document::read)?;
    yaml.notes.sort_by_key(|note| note.line);
    yaml.notes.truncate(MAX_NOTES);
    Ok(yaml)
}
