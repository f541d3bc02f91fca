//! The parts of a link that could not be used.

use thiserror::Error;

use super::{MAX_LINK, MAX_TOKEN, MAX_TOKENS};
use crate::formats::state::MAX_PINNED;
use crate::presets;

/// Something in a link that was not used, or not as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Notice {
    /// The text is not a link of this calculator.
    #[error("This link could not be read and was ignored.")]
    NotALink,
    /// The link has more characters than are read.
    #[error("This link has {length} characters and was ignored; the limit is {MAX_LINK}.")]
    TooLong {
        /// Its characters.
        length: usize,
    },
    /// The link is of a version that is not known yet.
    #[error("This link was made by a newer version of the calculator ({version}) and was ignored.")]
    Newer {
        /// The version that it names.
        version: String,
    },
    /// The packed part cannot be read: cut off, changed on the way, or too large.
    #[error("This link is damaged or incomplete, and its settings were ignored.")]
    Damaged,
    /// There is no such preset. Without it, the settings of the link are those of another job.
    #[error("There is no preset {name}{}, and the link was ignored.", did_you_mean(*.nearest))]
    UnknownPreset {
        /// The preset that the link names.
        name: String,
        /// The id of the preset that was probably meant.
        nearest: Option<&'static str>,
    },
    /// The preset exists in another version.
    #[error("The preset {name} is not known here; {used} was used instead.")]
    PresetVersion {
        /// The preset that the link names.
        name: String,
        /// The one that was used.
        used: String,
    },
    /// No field has this key; it is kept for the next link.
    #[error("“{key}” is not known here. It was ignored, and stays in the link.")]
    UnknownKey {
        /// The key.
        key: String,
    },
    /// The field cannot take the value. The job has it nevertheless, and cannot run with it.
    #[error("{key}={value} cannot be used: {key} {reason}.")]
    BadValue {
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// Why.
        reason: String,
    },
    /// The key occurs more than once; the last one counts.
    #[error("{key} occurs more than once; the last one was used.")]
    Repeated {
        /// The key.
        key: String,
    },
    /// A token of the link is too long.
    #[error("“{start}” was ignored: it is longer than {MAX_TOKEN} characters.")]
    TokenTooLong {
        /// Its first characters.
        start: String,
    },
    /// The link has too many tokens.
    #[error("This link was ignored: it has {ignored} settings more than the {MAX_TOKENS} that a link may have.")]
    TooManyTokens {
        /// How many too many.
        ignored: usize,
    },
    /// The link has too many pinned jobs.
    #[error("{ignored} of the pinned jobs of this link were left out: a page compares with at most {MAX_PINNED}.")]
    TooManyPinned {
        /// How many were left out.
        ignored: usize,
    },
}

/// The end of a sentence about an unknown preset.
fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |id| format!(" (did you mean {id}?)"))
}

impl Notice {
    /// The notice about a preset that does not exist.
    pub(super) fn unknown_preset(name: &str) -> Self {
        let id = name.split('@').next().unwrap_or_default();
        Self::UnknownPreset {
            name: clip(name),
            nearest: presets::nearest(id),
        }
    }
}

/// The first characters of text from outside.
pub(super) fn clip(text: &str) -> String {
    let mut clipped: String = text.chars().take(40).collect();
    if clipped.len() < text.len() {
        clipped.push('…');
    }
    clipped
}
