//! Remarks on statements that the reader did not follow.

use core::fmt;

/// A remark about one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The line, counted from 1.
    pub line: u32,
    /// The remark.
    pub kind: NoteKind,
}

/// The kinds of [`Note`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoteKind {
    /// The text is larger than [`super::MAX_BYTES`]; nothing was read.
    TooLarge,
    /// Something opened here is never closed; what follows was read as part of it.
    Unclosed(&'static str),
    /// Statements nest too deep; the rest was skipped.
    NestedTooDeep,
    /// Expansion grew too large; values from here on are incomplete.
    TooMuch,
    /// Another file is read here.
    Sourced(String),
    /// A here-document was skipped.
    HereDocument,
    /// A loop was not followed.
    Loop,
    /// A construct of bash that no known launch script depends on.
    NotFollowed(&'static str),
    /// An arithmetic expression was not understood.
    Arithmetic(String),
    /// There is no command that starts training; the flags are those of these variables.
    FlagsOfVariables(Vec<String>),
    /// The variable holds flags, and the training command does not use it.
    Unused(String),
    /// Several commands start training; this one was not used.
    AnotherCommand,
}

impl fmt::Display for NoteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => f.write_str("the text is too large to be a launch script"),
            Self::Unclosed(what) => write!(f, "`{what}` is never closed"),
            Self::NestedTooDeep => f.write_str("nested too deep; the rest was skipped"),
            Self::TooMuch => f.write_str("expands to too much text; the rest is incomplete"),
            Self::Sourced(path) if path.is_empty() => f.write_str("reads another file"),
            Self::Sourced(path) => {
                write!(f, "reads {path}: paste that file in front of this one")
            }
            Self::HereDocument => f.write_str("a here-document was skipped"),
            Self::Loop => f.write_str("this loop was not followed"),
            Self::NotFollowed(construct) => write!(f, "`{construct}` is not followed: write the values out"),
            Self::Arithmetic(text) => write!(f, "`{text}` was not understood"),
            Self::FlagsOfVariables(names) => write!(
                f,
                "no command starts training; the flags are those of {}",
                names.join(", ")
            ),
            Self::Unused(name) => write!(f, "{name} holds flags that the command does not use"),
            Self::AnotherCommand => f.write_str("this command was not used; another has more flags"),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.kind)
    }
}
