//! Imports a text of any known format as a job, with a report row for every key.
//!
//! Front ends have different defaults: a field that the text leaves out gets the default of the front end that the text
//! is written for, and a report row says so.

mod derived;
pub(super) mod draft;
mod error;
pub(super) mod imported;
pub(super) mod key_value;
pub(super) mod keys;
mod missing;
mod options;
mod releases;
pub(super) mod rules;
mod sources;
pub(super) mod tower;
pub(crate) mod towers;
pub(super) mod values;

pub(crate) use draft::python;
pub use error::ImportError;
pub use imported::{Choice, Import, Question, Row};
pub use missing::GPUS;
pub use options::Options;

use super::detect::{Format, is_document, is_link, recognize};
use super::dialects::nemo_rl;
use super::python::{nemo2, recipe};
use super::{frameworks, overrides, paste, shell, yaml};

/// Longest text that is read, in bytes.
pub const MAX_BYTES: usize = 5_000_000;

/// Reads a text. Nothing in it is executed, and nothing is fetched.
///
/// # Errors
/// When the text is too large, of no known format, or broken as a whole. Single keys never fail: their rows say
/// what is wrong.
pub fn import(text: &str, options: &Options<'_>) -> Result<Import, ImportError> {
    if text.len() > MAX_BYTES {
        return Err(ImportError::TooLarge(MAX_BYTES));
    }
    let (pasted, text) = (text, &*paste::clean(text));
    let format = match options.format {
        Some(format) => format,
        None => match frameworks::recognize(text) {
            Some(what) => return Err(ImportError::NotRead(what)),
            None => recognize(text).ok_or(ImportError::NotRecognized)?.format,
        },
    };
    // Links have a message of their own, with their length in characters.
    let (most, read): (usize, Reader) = match format {
        Format::ShareLink => (MAX_BYTES, |text, _, _| sources::link(text)),
        Format::OwnJson => (MAX_BYTES, |text, _, _| sources::own_json(text)),
        Format::HubModel => (MAX_BYTES, |text, _, _| sources::hub_model(text)),
        Format::HfConfig => (MAX_BYTES, |text, _, _| sources::hf_config(text)),
        Format::MegatronFlags | Format::Script | Format::SwiftCommand => (shell::MAX_BYTES, sources::command),
        Format::ModelArgsYaml => (yaml::MAX_BYTES, |text, _, options| sources::model_args(text, options)),
        Format::BridgeYaml | Format::VerlYaml | Format::MegatronYaml | Format::SwiftYaml => {
            (yaml::MAX_BYTES, sources::yaml_tree)
        }
        Format::FrameworkYaml(_) => (yaml::MAX_BYTES, sources::sections),
        // A command names its recipe, or its program, in front of the overrides.
        Format::Overrides if names_program(text) => (overrides::MAX_BYTES, sources::command),
        Format::Overrides => (overrides::MAX_BYTES, |text, _, options| {
            sources::overrides(text, options)
        }),
        Format::BridgePython => (recipe::MAX_BYTES, |text, _, options| sources::python(text, options)),
        Format::Nemo2Python => (nemo2::MAX_BYTES, |text, _, options| sources::nemo2(text, options)),
        Format::TrainingLog => (MAX_BYTES, |text, _, options| sources::training_log(text, options)),
        Format::Arguments => (MAX_BYTES, |text, _, options| sources::arguments(text, options)),
    };
    if text.len() > most {
        return Err(ImportError::TooLarge(most));
    }
    let mut import = read(text, format, options)?;
    if !options.partial {
        releases::apply(&mut import, pasted);
    }
    Ok(import)
}

/// Reads a link or a job document of this calculator, with nothing around it; `None` for any other text. Nothing of the
/// readers of other texts is needed for it.
#[must_use]
pub fn import_own(text: &str) -> Option<Result<Import, ImportError>> {
    let text = text.trim();
    if text.len() > MAX_BYTES {
        return None;
    }
    if is_link(text) {
        Some(sources::link(text))
    } else {
        is_document(text).then(|| sources::own_json(text))
    }
}

/// Whether overrides stand behind a program that knows what they change.
fn names_program(text: &str) -> bool {
    text.contains("--recipe") || text.split_whitespace().any(nemo_rl::is_program)
}

/// Reads a text of a format.
type Reader = fn(&str, Format, &Options<'_>) -> Result<Import, ImportError>;
