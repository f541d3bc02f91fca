//! What a link had that could not be used, in words.

use core::fmt;

use super::{MAX_LINK, MAX_TOKEN, MAX_TOKENS};

/// Something in a link that was not used, or not as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The text is not a link of this calculator.
    NotALink,
    /// The link has more characters than are read.
    TooLong {
        /// Its characters.
        length: usize,
    },
    /// The link is of a version that is not known yet.
    Newer {
        /// The version that it names.
        version: String,
    },
    /// The packed part cannot be read: cut off, changed on the way, or too large.
    Damaged,
    /// There is no such preset.
    UnknownPreset {
        /// The preset that the link names.
        name: String,
    },
    /// The preset exists in another version.
    PresetVersion {
        /// The preset that the link names.
        name: String,
        /// The one that was used.
        used: String,
    },
    /// No field has this key; it is kept for the next link.
    UnknownKey {
        /// The key.
        key: String,
    },
    /// The field cannot take the value.
    BadValue {
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// Why.
        reason: String,
    },
    /// The key occurs more than once; the last one counts.
    Repeated {
        /// The key.
        key: String,
    },
    /// A part of the link is too long.
    TokenTooLong {
        /// How it begins.
        start: String,
    },
    /// The link has too many parts.
    TooManyTokens {
        /// How many were ignored.
        ignored: usize,
    },
}

/// The first characters of text from outside.
pub(super) fn clip(text: &str) -> String {
    let mut clipped: String = text.chars().take(40).collect();
    if clipped.len() < text.len() {
        clipped.push('…');
    }
    clipped
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotALink => f.write_str("This link could not be read and was ignored."),
            Self::TooLong { length } => write!(
                f,
                "This link has {length} characters and was ignored; the limit is {MAX_LINK}."
            ),
            Self::Newer { version } => write!(
                f,
                "This link was made by a newer version of the calculator ({version}) and was ignored."
            ),
            Self::Damaged => {
                f.write_str("This link is damaged or incomplete, and its settings were ignored.")
            }
            Self::UnknownPreset { name } => {
                write!(
                    f,
                    "There is no preset {name}; only the link's own settings were used."
                )
            }
            Self::PresetVersion { name, used } => {
                write!(
                    f,
                    "The preset {name} is not known here; {used} was used instead."
                )
            }
            Self::UnknownKey { key } => {
                write!(
                    f,
                    "“{key}” is not known here. It was ignored, and stays in the link."
                )
            }
            Self::BadValue { key, value, reason } => {
                write!(f, "{key}={value} was ignored: {key} {reason}.")
            }
            Self::Repeated { key } => {
                write!(f, "{key} occurs more than once; the last one was used.")
            }
            Self::TokenTooLong { start } => write!(
                f,
                "“{start}” was ignored: it is longer than {MAX_TOKEN} characters."
            ),
            Self::TooManyTokens { ignored } => write!(
                f,
                "{ignored} settings were ignored: a link may have {MAX_TOKENS}."
            ),
        }
    }
}
