//! Remarks about a YAML text that was read.

use core::fmt;

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

impl fmt::Display for YamlNoteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => write!(f, "the tag {tag} was passed over"),
            Self::TextForPython(text) => {
                write!(f, "{text} is text for PyYAML; write it with a point, as in 1.0e-5")
            }
            Self::MoreDocuments => f.write_str("only the first document was read"),
            Self::Unquoted(text) => write!(f, "{text} was read as text; put it in quotes"),
        }
    }
}
