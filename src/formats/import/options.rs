//! The options of an import: the format of the text, and the answers to its questions.

use crate::formats::format::Format;

/// Options of an import.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The format of the text; recognised from the text where it is `None`.
    pub format: Option<Format>,
    /// Answers to [`Question::Variable`](super::Question::Variable): names and values.
    pub variables: &'a [(String, String)],
    /// Answers to [`Question::Branch`](super::Question::Branch): lines and positions.
    pub branches: &'a [(u32, usize)],
    /// Whether the text changes single settings of another job. Then no defaults of a front end are added.
    pub partial: bool,
}
