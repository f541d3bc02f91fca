//! Why a text was not imported.

use core::fmt;

use crate::formats::hf_config::HfError;
use crate::formats::job_json::JobJsonError;
use crate::formats::json::JsonError;
use crate::formats::share_url::Notice;
use crate::formats::yaml::YamlError;

/// Why a text was not imported; nothing of it counts then.
#[derive(Clone, Debug, PartialEq)]
pub enum ImportError {
    /// It has more bytes than are read of its kind: more than this.
    TooLarge(usize),
    /// It has more keys or flags than any job.
    TooManyKeys,
    /// Nothing gives its format away.
    NotRecognized,
    /// It has the form of a format, but none of its keys.
    Nothing,
    /// A model configuration that makes no model.
    Model(HfError),
    /// Broken JSON.
    Json(JsonError),
    /// JSON that is no job.
    Job(JobJsonError),
    /// Broken YAML.
    Yaml(YamlError),
    /// A link that cannot be read.
    Link(Notice),
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(most) => {
                let most = most / 1_000;
                write!(f, "This text is larger than {most} kB, which is the most for its kind; nothing was read.")
            }
            Self::TooManyKeys => {
                f.write_str("This text has thousands of keys; nothing was read.")
            }
            Self::NotRecognized => f.write_str(
                "This is neither a config.json, a launch script, Megatron flags, YAML, overrides nor a link.",
            ),
            Self::Nothing => f.write_str("No setting of a training job was found in this text."),
            Self::Model(error) => error.fmt(f),
            Self::Json(error) => error.fmt(f),
            Self::Job(error) => error.fmt(f),
            Self::Yaml(error) => error.fmt(f),
            Self::Link(notice) => notice.fmt(f),
        }
    }
}

impl core::error::Error for ImportError {}
