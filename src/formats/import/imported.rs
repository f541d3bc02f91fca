//! A text as a job: what an import returns.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::tower::Tower;
use crate::config::fields::FieldId;
use crate::config::not_modelled::MemoryEffect;
use crate::formats::dialects::framework::Framework;
use crate::formats::format::Format;
use crate::formats::report::KeyStatus;
use crate::formats::state::ShareState;
use crate::formats::training_log::LogMeasurements;

/// A text as a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The format that the text was read as.
    pub format: Format,
    /// The program or model family whose defaults count: `Megatron-LM`, `ms-swift`, `Llama`.
    pub dialect: &'static str,
    /// The program whose defaults count, where the text has keys of a front end.
    pub framework: Option<&'static Framework>,
    /// The job; for links and job documents also the pinned job and the chosen tab.
    pub state: ShareState,
    /// A row for every key: those of the text by line, then the defaults.
    pub report: Vec<Row>,
    /// Questions whose answers the text does not hold.
    pub questions: Vec<Question>,
    /// The measurements in the text, where it is a training log.
    pub measured: Option<LogMeasurements>,
    /// The encoders beside the language model. They become modules of the job when the number of GPUs is known.
    pub towers: Vec<Tower>,
}

impl Import {
    /// A job that leaves no question open, with nothing to be said about it.
    pub(super) fn new(format: Format, dialect: &'static str, state: ShareState, report: Vec<Row>) -> Self {
        Self {
            format,
            dialect,
            framework: None,
            state,
            report,
            questions: Vec::new(),
            measured: None,
            towers: Vec::new(),
        }
    }
}

/// One row of the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The key as the text spells it.
    pub key: String,
    /// Its value, shortened.
    pub value: String,
    /// Its line, counted from 1; none for what the text does not have.
    pub line: Option<u32>,
    /// How the reader used it.
    pub status: KeyStatus,
    /// The field that it decides, alone or with others.
    pub field: Option<FieldId>,
    /// Why, in a few words; may be empty.
    pub note: Cow<'static, str>,
    /// How much the key changes memory, where the status is [`KeyStatus::NotModelled`].
    pub effect: Option<MemoryEffect>,
}

/// A question that the text leaves open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Question {
    /// The value of a variable that the script reads and does not set.
    Variable {
        /// Its name.
        name: String,
        /// The lines that read it.
        lines: Vec<u32>,
        /// The script's default for it. With a default the question need not be answered.
        default: Option<String>,
        /// The keys that have no usable value without an answer, or with the answer that was given.
        keys: Vec<String>,
    },
    /// The side to take at a branch of a script that depends on such a variable.
    Branch {
        /// Its line.
        line: u32,
        /// Its sides, as written.
        labels: Vec<String>,
        /// The side that was taken for now.
        taken: Option<usize>,
    },
    /// The number of GPUs.
    Gpus,
    /// The `config.json` of a model that is only named.
    Model {
        /// Its name or path.
        name: String,
    },
    /// The value of a field that a job needs and the text does not give.
    Field {
        /// The field.
        field: FieldId,
        /// Values that jobs often have.
        choices: Vec<Choice>,
    },
}

/// A value that a question offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The models or jobs that have it, in words; empty where the value says enough.
    pub label: String,
    /// The value.
    pub value: u64,
}
