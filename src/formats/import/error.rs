//! Why a text was not imported.

use thiserror::Error;

use crate::formats::hf_config::HfError;
use crate::formats::job_json::JobJsonError;
use crate::formats::json::JsonError;
use crate::formats::share_url::Notice;
use crate::formats::yaml::YamlError;

/// Why a text was not imported at all.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ImportError {
    /// It has more bytes than are read of its format: more than this.
    #[error("This text is larger than {} kB, which is the most for its kind; nothing was read.", .0 / 1_000)]
    TooLarge(usize),
    /// It has more keys or flags than any job.
    #[error("This text has thousands of keys; nothing was read.")]
    TooManyKeys,
    /// It has the marks of no format.
    #[error("This is neither a config.json, a launch script, Megatron flags, YAML, overrides nor a link.")]
    NotRecognized,
    /// It has the form of a format, but none of its keys.
    #[error("No setting of a training job was found in this text.")]
    Nothing,
    /// It is recognized as this, which is not read.
    #[error("This is {0}, which is not read.")]
    NotRead(&'static str),
    /// It has the marks of a format, and most of its keys are no settings of that format.
    #[error("This looks like {label}, but {unread} of its {keys} keys are no settings of it; nothing was read.")]
    Unfit {
        /// The format, with an article.
        label: &'static str,
        /// Keys that the format does not have.
        unread: usize,
        /// All keys.
        keys: usize,
    },
    /// A training log without the arguments of the run.
    #[error(
        "This is a training log without the arguments that Megatron-LM prints when it starts: paste the log from its beginning."
    )]
    NoArguments,
    /// A model configuration that no model can be made of.
    #[error("{0}")]
    Model(HfError),
    /// Broken JSON.
    #[error("{0}")]
    Json(JsonError),
    /// JSON that is no job document.
    #[error("{0}")]
    Job(JobJsonError),
    /// Broken YAML.
    #[error("{0}")]
    Yaml(YamlError),
    /// A link that cannot be read.
    #[error("{0}")]
    Link(Notice),
}
