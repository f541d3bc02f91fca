//! One reader for each kind of text, from the text to an [`Import`].

mod arguments;
mod documents;
mod model_zoo;
mod nemo2;
mod script;
mod sections;
mod trees;

pub(super) use arguments::{arguments, training_log};
pub(super) use documents::{hf_config, hub_model, link, own_json};
pub(super) use nemo2::nemo2;
pub(super) use script::command;
pub(super) use sections::sections;
pub(super) use trees::{model_args, overrides, python, yaml_tree};

use super::draft::JobDraft;
use super::imported::{Import, Question};
use super::keys::Keys;
use super::{ImportError, Options, rules};
use crate::config::fields::FieldId;
use crate::formats::detect::Format;
use crate::formats::report::KeyStatus;

/// The most keys that are read; configurations have hundreds. Every key is looked up in tables from end to end.
const MAX_KEYS: usize = 2_000;

/// Refuses more keys than any job has.
fn limit_keys(keys: usize) -> Result<(), ImportError> {
    if keys > MAX_KEYS {
        return Err(ImportError::TooManyKeys);
    }
    Ok(())
}

/// Refuses a text that is read as another kind of file than it is: more than a third of its keys are no settings of the
/// format.
fn fits(draft: &JobDraft, format: Format) -> Result<(), ImportError> {
    let mut rows = draft.report.iter();
    let unread = rows.by_ref().filter(|row| row.status == KeyStatus::Unknown).count();
    let keys = draft.report.len();
    // Of a few keys, one more or less says nothing.
    if unread > 3 && unread.saturating_mul(3) > keys {
        let label = format.label();
        return Err(ImportError::Unfit { label, unread, keys });
    }
    Ok(())
}

/// Sets what several keys decide, once all keys were read.
fn derive(draft: &mut JobDraft, keys: &Keys<'_>) {
    for derivation in draft.framework.derivations {
        derivation(draft, keys);
    }
}

/// Completes a draft whose keys were all read: the defaults of the front end, the notes of keys without a value, and
/// the question for the number of GPUs.
fn finish(mut draft: JobDraft, format: Format, options: &Options<'_>) -> Result<Import, ImportError> {
    let names_model = |asked: &Question| matches!(asked, Question::Model { .. });
    let says = draft.settings.iter().next().is_some() || !draft.missing.is_empty();
    if !says && !draft.questions.iter().any(names_model) {
        return Err(ImportError::Nothing);
    }
    rules::graphs(&mut draft);
    if !options.partial {
        draft.defaults();
        (draft.framework.after_defaults)(&mut draft);
    }
    draft.explain_missing(options.partial);
    if !draft.has(FieldId::world_size) {
        draft.questions.push(Question::Gpus);
    }
    Ok(draft.finish(format))
}
