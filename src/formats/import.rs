//! Any text that holds a job, to the job: recognised by itself, with a row for every key.
//!
//! Every front end has defaults of its own; what the text leaves out gets the value that *its* front end gives,
//! and the report says so.

mod combined;
mod draft;
mod error;
mod missing;
mod precision;
mod rules;
mod sources;
mod values;
mod vocabulary;

use std::borrow::Cow;

pub(crate) use draft::python;
pub use error::ImportError;
pub use missing::GPUS;

use super::detect::{Format, detect};
use super::report::KeyStatus;
use super::state::ShareState;
use super::{overrides, shell, yaml};
use crate::config::fields::FieldId;

/// Longest text that is read, in bytes.
pub const MAX_BYTES: usize = 5_000_000;

/// What the user says beside the text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The format, where it is not to be recognised.
    pub format: Option<Format>,
    /// Answers to [`Question::Variable`]: names and values.
    pub variables: &'a [(String, String)],
    /// Answers to [`Question::Branch`]: lines and positions.
    pub branches: &'a [(u32, usize)],
    /// Whether the text changes another job, which has a value for all that it leaves out: no front end's defaults then.
    pub partial: bool,
}

/// What a text says.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The format as which it was read.
    pub format: Format,
    /// Whose defaults hold: `Megatron-LM`, `ms-swift`, a model family.
    pub dialect: &'static str,
    /// The job, and what a link or file of our own says beside it.
    pub state: ShareState,
    /// What became of every key: those of the text by line, then the defaults.
    pub report: Vec<Row>,
    /// What the text does not say.
    pub questions: Vec<Question>,
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
    /// What became of it.
    pub status: KeyStatus,
    /// The field that it decides, alone or with others.
    pub field: Option<FieldId>,
    /// Why, in a few words; may be empty.
    pub note: Cow<'static, str>,
}

/// Something that the text leaves open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// A variable of a script that nobody sets.
    Variable {
        /// Its name.
        name: String,
        /// The lines that read it.
        lines: Vec<u32>,
        /// What the script falls back to; then it need not be answered.
        default: Option<String>,
        /// The keys that have no value without an answer, or with the one that was given.
        keys: Vec<String>,
    },
    /// A branch of a script that depends on such a variable.
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
    let format = match options.format {
        Some(format) => format,
        None => detect(text).ok_or(ImportError::NotRecognized)?.format,
    };
    let most = most_bytes(format);
    if text.len() > most {
        return Err(ImportError::TooLarge(most));
    }
    match format {
        Format::ShareLink => sources::link(text),
        Format::OwnJson => sources::own_json(text),
        Format::HfConfig => sources::hf_config(text),
        Format::MegatronFlags | Format::Script | Format::SwiftCommand => {
            sources::command(text, format, options)
        }
        Format::ModelArgsYaml => sources::model_args(text, options),
        Format::BridgeYaml | Format::VerlYaml | Format::MegatronYaml | Format::SwiftYaml => {
            sources::yaml_tree(text, format, options)
        }
        Format::Overrides => sources::overrides(text, options),
        Format::BridgePython => sources::python(text, options),
    }
}

/// The longest text of a format, in bytes.
const fn most_bytes(format: Format) -> usize {
    match format {
        // Links have a message of their own, with their length in characters.
        Format::ShareLink | Format::OwnJson | Format::HfConfig => MAX_BYTES,
        Format::MegatronFlags | Format::Script | Format::SwiftCommand => shell::MAX_BYTES,
        Format::Overrides | Format::BridgePython => overrides::MAX_BYTES,
        Format::ModelArgsYaml
        | Format::BridgeYaml
        | Format::VerlYaml
        | Format::MegatronYaml
        | Format::SwiftYaml => yaml::MAX_BYTES,
    }
}
