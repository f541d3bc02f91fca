//! Texts to jobs, with what the user adds to them.

use super::data::{Failure, count, count_option, int, map, or_null, text, text_option};
use super::job::{plain, preset, state};
use crate::formats::detect::{Format, detect};
use crate::formats::import::{Question, Row};
use crate::formats::import_text::{self, ImportOptions, ImportedText};
use crate::formats::share_url;
use crate::value::Value;

/// Reads a text. `options` may have the `format`, where it is not to be recognized; the answers to the questions of an
/// earlier reading: `variables` by name, `branches` by line, `gpus`, and the `model`'s `config.json` or the id of a
/// preset; and the job (or link) `onto` whose model a `config.json` replaces, and in which a text without a model sets
/// single settings.
///
/// # Errors
/// A [`Failure`] when the text holds no job, or an option has the wrong form.
pub fn import_text(source: &str, options: &Value) -> Result<Value, Failure> {
    let imported = import_text::import_text(source, &answers(options)?);
    let ImportedText { import, changes } =
        imported.map_err(|error| Failure::new("ImportError", error.to_string()))?;
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

fn answers(options: &Value) -> Result<ImportOptions, Failure> {
    let format = match text_option(options, "format")? {
        None => None,
        Some(id) => Some(
            Format::by_id(id)
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
    Ok(ImportOptions {
        format,
        variables: variables.collect(),
        branches: branches.collect::<Result<_, Failure>>()?,
        gpus: count_option(options, "gpus")?,
        model: text_option(options, "model")?.map(str::to_owned),
        onto,
    })
}

fn row(row: &Row) -> Value {
    map([
        ("key", text(&row.key)),
        ("value", text(&row.value)),
        ("line", or_null(row.line, int)),
        ("fate", text(row.status.id())),
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
