//! Imports a text with everything that a user may say about it: answers to its questions, a model that it only names,
//! and the current job that it changes.

mod missing_fields;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::detect::Format;
use super::hf_config;
use super::hub::known;
use super::import::tower::Tower;
use super::import::towers;
use super::import::{self, GPUS, Import, ImportError, Options, Question, Row};
use super::merge;
use super::report::KeyStatus;
use super::state::Setup;
use crate::config::fields::FieldId;
use crate::config::raw::RawJob;
use crate::presets::{self, jobs::JobPreset};
use crate::value::Value;

/// The user's choices and answers about a text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImportOptions {
    /// The format of the text; recognized from the text where it is `None`.
    pub format: Option<Format>,
    /// Answers to [`Question::Variable`]: names and values.
    pub variables: Vec<(String, String)>,
    /// Answers to [`Question::Branch`]: the line of the branch, and the index of the side to take.
    pub branches: Vec<(u32, usize)>,
    /// The number of GPUs. It replaces what the text says.
    pub gpus: Option<u64>,
    /// Answers to [`Question::Field`]: fields and values. They replace what the text says.
    pub fields: Vec<(FieldId, Value)>,
    /// The model, where the text only names one: the text of its `config.json`, or the id of a preset.
    pub model: Option<String>,
    /// The current job, which the text changes. A `config.json` replaces its model and keeps its training settings; a
    /// text without a model sets single settings in it; any other text takes only its GPU, and only where it names
    /// none.
    pub onto: Option<Setup>,
}

/// A text as a job.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedText {
    /// The job, with a report row for every key and the questions that are still open.
    pub import: Import,
    /// The fields of the current job that change, where the text has no model and sets single settings in it; `None`
    /// where the text is a job of its own.
    pub changes: Option<Vec<FieldId>>,
}

/// Why a text was not imported.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ImportTextError {
    /// The text itself cannot be read.
    #[error("{0}")]
    Text(ImportError),
    /// The `config.json` given for the model that the text names cannot be read.
    #[error("The model: {0}")]
    Model(ImportError),
}

/// Reads a text and works the options in. Nothing in the text is executed, and nothing is fetched.
///
/// # Errors
/// When the text, or the `config.json` in the options, cannot be read as a whole. Single keys never fail: their report
/// rows say what is wrong.
pub fn import_text(text: &str, options: &ImportOptions) -> Result<ImportedText, ImportTextError> {
    let read = |partial| {
        let options = Options {
            format: options.format,
            variables: &options.variables,
            branches: &options.branches,
            partial,
        };
        import::import(text, &options).map_err(ImportTextError::Text)
    };
    let mut import = read(false)?;
    let mut model = options.model.as_deref().filter(|model| !model.is_empty());
    let mut changes = None;
    if import.format == Format::HubModel
        && let Some(model) = model.take()
    {
        let model = read_model(model).map_err(ImportTextError::Model)?;
        add_model(&mut import, model);
    }
    let known = published_model(&mut import);
    if model.is_none() {
        model = known;
    }
    match &options.onto {
        // Of a model that is only named, nothing is known yet.
        Some(onto) if import.format == Format::HubModel && !merge::has_model(&import) => {
            import.state.setup = onto.clone();
            changes = Some(Vec::new());
        }
        Some(onto) if is_model(import.format) => {
            merge::replace_model(&mut import, &onto.job);
        }
        Some(_) if merge::is_complete(import.format) => {}
        Some(onto) if model.is_none() && !merge::has_model(&import) => {
            import = read(true)?;
            changes = Some(merge::set_fields(&mut import, onto));
        }
        Some(onto) => merge::keep_gpu(&mut import, &onto.job),
        None => {}
    }
    if let Some(model) = model {
        let model = read_model(model).map_err(ImportTextError::Model)?;
        add_model(&mut import, model);
    }
    set_gpus(&mut import, options.gpus);
    missing_fields::answer(&mut import, &options.fields);
    if changes.is_none() {
        towers::build(&mut import);
        missing_fields::ask(&mut import);
        towers::attach(&mut import);
    }
    Ok(ImportedText { import, changes })
}

/// Whether texts of a format are a model without a job.
fn is_model(format: Format) -> bool {
    matches!(format, Format::HfConfig | Format::HubModel)
}

/// Sets the number of GPUs where the user gives one, and asks for it only where nobody does.
fn set_gpus(import: &mut Import, gpus: Option<u64>) {
    let shared = &mut import.state.setup.job.shared;
    if let Some(gpus) = gpus {
        shared.set(FieldId::world_size, Value::Int(gpus.into()));
        forget_missing_gpus(import);
    } else if shared.get(FieldId::world_size).is_some() {
        import.questions.retain(|asked| *asked != Question::Gpus);
    } else if is_model(import.format) {
        import.questions.push(Question::Gpus);
    }
}

/// The preset of the model that a job is made of, where it is published under the same name; a report row says so.
fn published_model(import: &mut Import) -> Option<&'static str> {
    import.framework.filter(|framework| framework.names_published_models)?;
    let (preset, name) = import.questions.iter().find_map(|asked| match asked {
        Question::Model { name } => {
            let preset = presets::by_id(name).or_else(|| known::preset_of(name))?;
            Some((preset, name.clone()))
        }
        _ => None,
    })?;
    let mut rows = import.report.iter_mut();
    if let Some(row) = rows.find(|row| row.value == name) {
        row.status = KeyStatus::Derived;
        row.effect = None;
        row.note = format!("the model of the preset {}", preset.name).into();
    }
    Some(preset.id)
}

/// Removes all that asks for the number of GPUs: the question, the report rows, and the keys that wait for a variable.
fn forget_missing_gpus(import: &mut Import) {
    import.questions.retain(|asked| *asked != Question::Gpus);
    let asks = |row: &Row| {
        let says_gpus = row.key == GPUS || row.field == Some(FieldId::world_size);
        row.status == KeyStatus::Missing && says_gpus
    };
    let missing: Vec<String> = import
        .report
        .iter()
        .filter(|row| asks(row))
        .map(|row| row.key.clone())
        .collect();
    import.report.retain(|row| !asks(row));
    for question in &mut import.questions {
        if let Question::Variable { keys, .. } = question {
            keys.retain(|key| key != GPUS && !missing.contains(key));
        }
    }
}

/// A model that a text only names.
struct Model {
    /// Its settings, and what of it is not modelled.
    job: RawJob,
    /// The encoders beside its language model.
    towers: Vec<Tower>,
    /// The `model_type` of its file; empty where it has none.
    hf_type: String,
}

/// A model given as the id of a preset, those with encoders too, or as the text of its `config.json`.
fn read_model(model: &str) -> Result<Model, ImportError> {
    let preset = presets::by_id(model).and_then(presets::Preset::contents);
    if let Some(contents) = preset {
        return Ok(Model {
            job: RawJob {
                shared: contents.model,
                ..RawJob::default()
            },
            towers: contents.towers,
            hf_type: contents.model_type,
        });
    }
    let preset = presets::jobs::by_id(model);
    if let Some((shared, towers)) = preset.and_then(towers::of_job) {
        let job = RawJob {
            shared,
            ..RawJob::default()
        };
        let hf_type = preset.and_then(JobPreset::model_type).unwrap_or_default();
        return Ok(Model { job, towers, hf_type });
    }
    let options = Options {
        format: Some(Format::HfConfig),
        ..Options::default()
    };
    let import = import::import(model, &options)?;
    Ok(Model {
        job: import.state.setup.job,
        towers: import.towers,
        hf_type: hf_config::model_type(model).unwrap_or_default(),
    })
}

/// Puts the settings of a model under those of the text, which win. Where the model has a value, the default of the
/// text's front end gives way: it holds for models of which nothing is known.
fn add_model(import: &mut Import, model: Model) {
    for mark in model.job.not_modelled {
        import.state.setup.job.mark(mark);
    }
    if import.towers.is_empty() {
        import.towers = model.towers;
    }
    let mut settings = model.job.shared;
    if let Some(framework) = import.framework {
        if framework.mtp_only_where_asked {
            settings.unset(FieldId::mtp_num_layers);
        }
        (framework.with_model)(&mut import.state.setup.job, &mut settings, &model.hf_type);
    }
    let own = &mut import.state.setup.job.shared;
    // The dtype of the published weights is not that of training, where the text says one.
    let precisions = [FieldId::bf16, FieldId::fp16];
    if precisions.into_iter().any(|id| own.get(id).is_some()) {
        for id in precisions {
            settings.unset(id);
        }
    }
    let is_replaced = |row: &Row| {
        let is_default = row.status == KeyStatus::Defaulted && row.line.is_none();
        is_default && row.field.is_some_and(|id| settings.get(id).is_some())
    };
    for row in import.report.iter().filter(|row| is_replaced(row)) {
        if let Some(id) = row.field {
            own.unset(id);
        }
    }
    import.report.retain(|row| !is_replaced(row));
    let mut joined = settings;
    if import.framework.is_some_and(|framework| framework.keeps_vocabulary)
        && own.get(FieldId::padded_vocab_size).is_none()
        && let Some(size) = joined.get(FieldId::vocab_size).cloned()
    {
        joined.set(FieldId::padded_vocab_size, size);
    }
    joined.overlay(own);
    *own = joined;
    import
        .questions
        .retain(|asked| !matches!(asked, Question::Model { .. }));
    if let Some(framework) = import.framework {
        (framework.after_model)(import);
    }
}
