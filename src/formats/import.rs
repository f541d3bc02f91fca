//! Imports a text of any known format as a job, with a report row for every key.
//!
//! Front ends have different defaults: a field that the text leaves out gets the default of the front end that the text
//! is written for, and a report row says so.

mod adapters;
mod bridge;
mod chatlearn;
mod combined;
mod derived;
mod draft;
mod error;
mod hybrid;
mod mindspeed;
mod missing;
mod precision;
mod rlhf;
mod rules;
mod sources;
mod task_type;
pub(crate) mod towers;
mod values;
mod verl;
mod vocabulary;

use std::borrow::Cow;

pub(crate) use draft::python;
pub use error::ImportError;
pub use missing::GPUS;

use super::detect::{Format, recognize};
use super::python::{nemo2, recipe};
use super::report::KeyStatus;
use super::state::ShareState;
use super::training_log::LogMeasurements;
use super::{frameworks, overrides, paste, shell, yaml};
use crate::config::fields::FieldId;
use crate::config::not_modelled::MemoryEffect;
use towers::Tower;

/// Longest text that is read, in bytes.
pub const MAX_BYTES: usize = 5_000_000;

/// Options of an import.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The format of the text; recognised from the text where it is `None`.
    pub format: Option<Format>,
    /// Answers to [`Question::Variable`]: names and values.
    pub variables: &'a [(String, String)],
    /// Answers to [`Question::Branch`]: lines and positions.
    pub branches: &'a [(u32, usize)],
    /// Whether the text changes single settings of another job. Then no defaults of a front end are added.
    pub partial: bool,
}

/// A text as a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The format that the text was read as.
    pub format: Format,
    /// The program or model family whose defaults count: `Megatron-LM`, `ms-swift`, `Llama`.
    pub dialect: &'static str,
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
    /// The batch, where the text says it for each data-parallel rank. It becomes that of the job when the number of
    /// GPUs is known.
    pub batch: Option<RankBatch>,
    /// What is true of all numbers of the job, and has to be said wherever they are shown.
    pub warning: Option<&'static str>,
}

impl Import {
    /// A job that leaves no question open, with nothing to be said about it.
    fn new(format: Format, dialect: &'static str, state: ShareState, report: Vec<Row>) -> Self {
        Self {
            format,
            dialect,
            state,
            report,
            questions: Vec::new(),
            measured: None,
            towers: Vec::new(),
            batch: None,
            warning: None,
        }
    }
}

/// A batch as `DeepSpeed` has it: micro batches that each data-parallel rank accumulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankBatch {
    /// Samples of a step on all ranks, where the text gives them.
    pub samples: Option<u64>,
    /// Micro batches of a step on each data-parallel rank.
    pub accumulation: u64,
}

/// One row of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The key as the text spells it.
    pub key: String,
    /// Its value, shortened.
    pub value: String,
    /// Its line, counted from 1; none for what the text does not have.
    pub line: Option<u32>,
    /// What the reader did with it.
    pub status: KeyStatus,
    /// The field that it decides, alone or with others.
    pub field: Option<FieldId>,
    /// Why, in a few words; may be empty.
    pub note: Cow<'static, str>,
    /// How much the key changes memory, where the status is [`KeyStatus::NotModelled`].
    pub effect: Option<MemoryEffect>,
}

/// A question that the text leaves open.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The models or jobs that have it, in words; empty where the value says enough.
    pub label: String,
    /// The value.
    pub value: u64,
}

/// Reads a text. Nothing in it is executed, and nothing is fetched.
///
/// # Errors
/// When the text is too large, of no known format, or broken as a whole. Single keys never fail: their rows say
/// what is wrong.
pub fn import(text: &str, options: &Options<'_>) -> Result<Import, ImportError> {
    if text.len() > MAX_BYTES {
        return Err(ImportError::TooLarge(MAX_BYTES));
    }
    let text = &*paste::clean(text);
    let format = match options.format {
        Some(format) => format,
        None => match frameworks::recognize(text) {
            Some(what) => return Err(ImportError::NotRead(what)),
            None => recognize(text).ok_or(ImportError::NotRecognized)?.format,
        },
    };
    let most = most_bytes(format);
    if text.len() > most {
        return Err(ImportError::TooLarge(most));
    }
    match format {
        Format::ShareLink => sources::link(text),
        Format::OwnJson => sources::own_json(text),
        Format::HubModel => sources::hub_model(text),
        Format::HfConfig => sources::hf_config(text),
        Format::MegatronFlags | Format::Script | Format::SwiftCommand => sources::command(text, format, options),
        Format::ModelArgsYaml => sources::model_args(text, options),
        Format::BridgeYaml | Format::VerlYaml | Format::MegatronYaml | Format::SwiftYaml => {
            sources::yaml_tree(text, format, options)
        }
        // A command names its recipe in front of the overrides.
        Format::Overrides if text.contains("--recipe") => sources::command(text, format, options),
        Format::Overrides => sources::overrides(text, options),
        Format::FlagScaleYaml | Format::PrimusYaml | Format::NemoRlYaml | Format::NemoYaml | Format::RollYaml => {
            sources::layered(text, format, options)
        }
        Format::NeoxYaml => sources::neox(text, options),
        Format::BridgePython => sources::python(text, options),
        Format::Nemo2Python => sources::nemo2(text, options),
        Format::TrainingLog => sources::training_log(text, options),
        Format::Arguments => sources::arguments(text, options),
    }
}

/// The longest text of a format, in bytes.
const fn most_bytes(format: Format) -> usize {
    match format {
        // Links have a message of their own, with their length in characters.
        Format::ShareLink
        | Format::OwnJson
        | Format::HubModel
        | Format::HfConfig
        | Format::TrainingLog
        | Format::Arguments => MAX_BYTES,
        Format::MegatronFlags | Format::Script | Format::SwiftCommand => shell::MAX_BYTES,
        Format::BridgePython => recipe::MAX_BYTES,
        Format::Nemo2Python => nemo2::MAX_BYTES,
        Format::Overrides => overrides::MAX_BYTES,
        Format::ModelArgsYaml
        | Format::BridgeYaml
        | Format::VerlYaml
        | Format::MegatronYaml
        | Format::FlagScaleYaml
        | Format::PrimusYaml
        | Format::NemoRlYaml
        | Format::NemoYaml
        | Format::RollYaml
        | Format::NeoxYaml
        | Format::SwiftYaml => yaml::MAX_BYTES,
    }
}
