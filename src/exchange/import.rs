//! Texts to jobs, with what the user adds to them.

use super::data::{Failure, count, count_option, int, map, or_null, text, text_option};
use super::job::{plain, preset, state};
use super::upon;
use crate::config::fields::FieldId;
use crate::formats::detect::{Format, detect};
use crate::formats::import::{self, GPUS, Import, Options, Question, Row};
use crate::formats::report::Fate;
use crate::formats::share_url;
use crate::formats::state::Setup;
use crate::presets;
use crate::value::Value;

/// What the user says beside the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Answers {
    pub(super) format: Option<Format>,
    pub(super) variables: Vec<(String, String)>,
    pub(super) branches: Vec<(u32, usize)>,
    pub(super) gpus: Option<u64>,
    /// The `config.json` of a model that the text only names, or the id of a preset.
    pub(super) model: Option<String>,
    /// The job that the text changes: its training goes on with another model, a text without a model sets single
    /// settings, and its GPU stays where the text names none.
    pub(super) onto: Option<Setup>,
}

/// What was made of a text.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) import: Import,
    /// The settings that a text without a model changes in the job that it is applied to; none for a job of its own.
    pub(super) changes: Option<Vec<FieldId>>,
}

/// Reads a text. `options` may have the `format`, where it is not to be recognized; the answers to the questions of an
/// earlier reading: `variables` by name, `branches` by line, `gpus`, and the `model`'s `config.json` or the id of a
/// preset; and the job (or link) `onto` whose model a `config.json` replaces, and in which a text without a model sets
/// single settings.
///
/// # Errors
/// A [`Failure`] when the text holds no job, or an option has the wrong form.
pub fn import_text(source: &str, options: &Value) -> Result<Value, Failure> {
    let Read { import, changes } = read(source, &answers(options)?)?;
    Ok(map([
        ("format", text(import.format.id())),
        ("format_label", text(import.format.label())),
        (
            "reason",
            or_null(detect(source), |found| text(found.reason)),
        ),
        ("dialect", text(import.dialect)),
        ("job", plain(&import.state.setup.job)),
        ("preset", preset(&import.state.setup)),
        ("link", text(share_url::encode(&import.state))),
        (
            "changes",
            or_null(changes, |changes| {
                let names = changes.into_iter().map(|id| text(id.field().name));
                names.collect()
            }),
        ),
        ("report", import.report.iter().map(row).collect()),
        ("questions", import.questions.iter().map(question).collect()),
    ]))
}

fn answers(options: &Value) -> Result<Answers, Failure> {
    let format = match text_option(options, "format")? {
        None => None,
        Some(id) => Some(
            Format::ALL
                .into_iter()
                .find(|format| format.id() == id)
                .ok_or_else(|| Failure::wrong_type(format!("no format is called {id}")))?,
        ),
    };
    let entries = |key: &str| match options.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Map(entries)) => Ok(entries.clone()),
        Some(_) => Err(Failure::wrong_type(format!("{key} must be an object"))),
    };
    let variables = entries("variables")?.into_iter().map(|(name, value)| {
        let value = match value {
            Value::Text(text) => text,
            other => other.to_string(),
        };
        (name, value)
    });
    let branches = entries("branches")?.into_iter().map(|(line, side)| {
        let side = count(&side).and_then(|side| usize::try_from(side).ok());
        let wrong = || Failure::wrong_type("branches must give a position for a line");
        Ok((
            line.parse().ok().ok_or_else(wrong)?,
            side.ok_or_else(wrong)?,
        ))
    });
    let onto = match options.get("onto") {
        None | Some(Value::Null) => None,
        Some(job) => Some(state(job, &Value::Null)?.setup),
    };
    Ok(Answers {
        format,
        variables: variables.collect(),
        branches: branches.collect::<Result<_, Failure>>()?,
        gpus: count_option(options, "gpus")?,
        model: text_option(options, "model")?.map(str::to_owned),
        onto,
    })
}

/// Reads a text with the answers worked in.
pub(super) fn read(source: &str, answers: &Answers) -> Result<Read, Failure> {
    let options = Options {
        format: answers.format,
        variables: &answers.variables,
        branches: &answers.branches,
        partial: false,
    };
    let read = |options: &Options<'_>| {
        let read = import::import(source, options);
        read.map_err(|error| Failure::new("ImportError", error.to_string()))
    };
    let mut import = read(&options)?;
    let model = answers.model.as_deref().filter(|model| !model.is_empty());
    let mut changes = None;
    match &answers.onto {
        Some(onto) if import.format == Format::HfConfig => upon::train(&mut import, &onto.job),
        Some(onto) if upon::is_complete(import.format) => {}
        Some(onto) if model.is_none() && !upon::says_model(&import) => {
            import = read(&Options {
                partial: true,
                ..options
            })?;
            changes = Some(upon::set(&mut import, onto));
        }
        Some(onto) => upon::keep_gpu(&mut import, &onto.job),
        None => {}
    }
    if let Some(model) = model {
        give_model(&mut import, model)?;
    }
    let job = &mut import.state.setup.job;
    if let Some(gpus) = answers.gpus {
        job.shared.set(FieldId::world_size, Value::Int(gpus.into()));
        has_gpus(&mut import);
    } else if job.shared.get(FieldId::world_size).is_some() {
        import.questions.retain(|asked| *asked != Question::Gpus);
    } else if import.format == Format::HfConfig {
        import.questions.push(Question::Gpus);
    }
    Ok(Read { import, changes })
}

/// Takes back what asks for the number of GPUs.
fn has_gpus(import: &mut Import) {
    import.questions.retain(|asked| *asked != Question::Gpus);
    import
        .report
        .retain(|row| !(row.fate == Fate::Missing && row.key == GPUS));
    for question in &mut import.questions {
        if let Question::Variable { keys, .. } = question {
            keys.retain(|key| key != GPUS);
        }
    }
}

/// Puts the model that a text only names under the settings that it gives.
fn give_model(import: &mut Import, model: &str) -> Result<(), Failure> {
    let settings = if let Some(preset) = presets::by_id(model) {
        preset.contents().map(|contents| contents.model)
    } else {
        let options = Options {
            format: Some(Format::HfConfig),
            ..Options::default()
        };
        let read = import::import(model, &options);
        let read =
            read.map_err(|error| Failure::new("ImportError", format!("The model: {error}")))?;
        Some(read.state.setup.job.shared)
    };
    let Some(settings) = settings else {
        return Ok(());
    };
    // A front end's default is for models of which nothing is known.
    let unsaid = |row: &Row| row.fate == Fate::Defaulted && row.line.is_none();
    let own = &mut import.state.setup.job.shared;
    for row in import.report.iter().filter(|row| unsaid(row)) {
        if let Some(id) = row.field.filter(|id| settings.get(*id).is_some()) {
            own.unset(id);
        }
    }
    import
        .report
        .retain(|row| !(unsaid(row) && row.field.is_some_and(|id| settings.get(id).is_some())));
    let mut joined = settings;
    joined.overlay(own);
    *own = joined;
    import
        .questions
        .retain(|asked| !matches!(asked, Question::Model { .. }));
    Ok(())
}

fn row(row: &Row) -> Value {
    map([
        ("key", text(&row.key)),
        ("value", text(&row.value)),
        ("line", or_null(row.line, int)),
        ("fate", text(row.fate.id())),
        ("field", or_null(row.field, |id| text(id.field().name))),
        ("note", text(row.note.as_ref())),
    ])
}

fn question(question: &Question) -> Value {
    match question {
        Question::Variable {
            name,
            lines,
            default,
            keys,
        } => map([
            ("kind", text("variable")),
            ("name", text(name)),
            ("lines", lines.iter().map(|line| int(*line)).collect()),
            ("default", or_null(default.as_ref(), text)),
            ("keys", keys.iter().map(text).collect()),
        ]),
        Question::Branch {
            line,
            labels,
            taken,
        } => map([
            ("kind", text("branch")),
            ("line", int(*line)),
            ("labels", labels.iter().map(text).collect()),
            ("taken", or_null(*taken, int)),
        ]),
        Question::Gpus => map([("kind", text("gpus"))]),
        Question::Model { name } => map([("kind", text("model")), ("name", text(name))]),
    }
}
