//! Texts to jobs.

use serde::{Deserialize, Serialize};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use super::error::{self, type_error};
use super::plain_data::{Entries, PlainData};
use super::{arguments, job, to_ts};
use crate::config::fields::FieldId;
use crate::formats::detect::{Format, detect};
use crate::formats::import::{Question, Row};
use crate::formats::import_text::{self, ImportedText};
use crate::formats::share_url;
use crate::value::Value;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** Formats that are told apart by themselves. */
export type ImportFormat =
  | "link" | "json" | "hf_config" | "megatron_args" | "script" | "model_args" | "bridge_yaml" | "bridge_python"
  | "verl_yaml" | "megatron_yaml" | "swift" | "swift_yaml" | "overrides";
"#;

/// What the caller says about a text.
#[derive(Debug, Default, Deserialize, Tsify)]
#[serde(default)]
#[tsify(missing_as_null)]
pub struct ImportOptions {
    /// The format, where it is not to be recognized.
    #[tsify(type = "ImportFormat | null")]
    format: Option<String>,
    /// Answers to questions about variables, by name.
    #[tsify(type = "Record<string, string> | null")]
    variables: Option<Entries<Value>>,
    /// Answers to questions about branches: positions by line.
    #[tsify(type = "Record<number, number> | null")]
    branches: Option<Entries<u32>>,
    /// The number of GPUs.
    gpus: Option<u64>,
    /// The `config.json` of a model that the text only names, as text, or the id of a preset.
    model: Option<String>,
    /// A job, or a link to one, that the text changes. A `config.json` replaces its model, and of its parallelism, batch and
    /// precision stays what the model can be trained with. A text that says nothing of a model sets single settings in it.
    /// Of other texts it only lends the GPU, where they name none.
    #[serde(with = "serde_wasm_bindgen::preserve")]
    #[tsify(type = "Job | string | null")]
    onto: JsValue,
}

/// A text as a job.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct Import {
    #[tsify(type = "ImportFormat")]
    format: &'static str,
    format_label: &'static str,
    /// What gave the format away, as the end of a sentence that starts with "because".
    reason: Option<&'static str>,
    /// Whose defaults hold, such as `Megatron-LM`.
    dialect: &'static str,
    #[tsify(type = "Job")]
    job: PlainData,
    /// The preset that a link or file starts from, such as `deepseek-v3@1`.
    preset: Option<String>,
    /// The link of the job, from its `#` on.
    link: String,
    /// The arguments of `onto` that a text without a model changes; `null` where the text is a job of its own.
    changes: Option<Vec<&'static str>>,
    /// A row for every key of the text, then the defaults that fill what it leaves out.
    report: Vec<ImportRow>,
    questions: Vec<ImportQuestion>,
}

/// What became of a key of an imported text.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct ImportRow {
    key: String,
    value: String,
    /// Counted from 1; `null` for what the text does not have.
    line: Option<u32>,
    #[tsify(
        type = "\"mapped\" | \"defaulted\" | \"derived\" | \"ignored\" | \"not_modelled\" | \"conflicting\" | \"unknown\" | \"missing\""
    )]
    fate: &'static str,
    /// The argument that it decides.
    field: Option<&'static str>,
    note: String,
}

/// What an imported text leaves open.
#[derive(Debug, Serialize, Tsify)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[tsify(missing_as_null)]
pub enum ImportQuestion {
    /// The value of a variable that a script reads and never sets.
    Variable {
        /// Its name.
        name: String,
        /// The lines that read it, counted from 1.
        lines: Vec<u32>,
        /// What the script falls back to; then it need not be answered.
        default: Option<String>,
        /// The keys that have no value without an answer, or with the one that was given: their rows are `missing`.
        keys: Vec<String>,
    },
    /// The side of a branch that a script takes.
    Branch {
        /// Its line, counted from 1.
        line: u32,
        /// Its sides, as written.
        labels: Vec<String>,
        /// Index of the side that was taken for now.
        taken: Option<usize>,
    },
    /// The number of GPUs.
    Gpus,
    /// The `config.json` of a model that the text only names.
    Model {
        /// Its name or path.
        name: String,
    },
}

/// Reads any text that holds a job: a `config.json`, a launch script, flags, YAML, overrides, a recipe in Python, JSON, a
/// link. Nothing in it is run, and nothing is fetched.
///
/// # Errors
/// Throws an `ImportError` where the text holds no job.
#[wasm_bindgen(js_name = importText)]
pub fn import_text(
    #[wasm_bindgen(unchecked_param_type = "string")] text: &JsValue,
    options: Option<Ts<ImportOptions>>,
) -> Result<Ts<Import>, JsValue> {
    let text = arguments::text(text, "text")?;
    let options = arguments::options(options)?.checked()?;
    let imported = import_text::import_text(&text, &options);
    let imported = imported.map_err(|error| error::import(&error.to_string()))?;
    let mut import = Import::from(imported);
    import.reason = detect(&text).map(|found| found.reason);
    to_ts(&import)
}

impl ImportOptions {
    /// The same options as the core takes them.
    fn checked(self) -> Result<import_text::ImportOptions, JsValue> {
        let format = |id: String| {
            let found = Format::by_id(&id);
            found.ok_or_else(|| type_error(&format!("no format is called {id}")))
        };
        let variables = self.variables.unwrap_or_default().0.into_iter();
        let variables = variables.map(|(name, value)| match value {
            Value::Text(text) => (name, text),
            other => (name, other.to_string()),
        });
        let branches = self.branches.unwrap_or_default().0.into_iter();
        let branches = branches.map(|(line, side)| {
            let wrong = |_| type_error(&format!("branches: {line} is no line"));
            let line = line.parse().map_err(wrong)?;
            Ok((line, usize::try_from(side).unwrap_or(usize::MAX)))
        });
        let onto = Some(self.onto).filter(|onto| !onto.is_null() && !onto.is_undefined());
        let onto = onto.map(|onto| Ok::<_, JsValue>(job::read_state(&onto, None)?.setup));
        Ok(import_text::ImportOptions {
            format: self.format.map(format).transpose()?,
            variables: variables.collect(),
            branches: branches.collect::<Result<_, JsValue>>()?,
            gpus: self.gpus,
            model: self.model,
            onto: onto.transpose()?,
        })
    }
}

impl From<ImportedText> for Import {
    fn from(imported: ImportedText) -> Self {
        let ImportedText { import, changes } = imported;
        let setup = &import.state.setup;
        let names = |changes: Vec<_>| changes.into_iter().map(field_name).collect();
        Self {
            format: import.format.id(),
            format_label: import.format.label(),
            reason: None,
            dialect: import.dialect,
            job: job::canonical(&setup.job),
            preset: job::preset(setup),
            link: share_url::encode(&import.state),
            changes: changes.map(names),
            report: import.report.into_iter().map(ImportRow::from).collect(),
            questions: import
                .questions
                .into_iter()
                .map(ImportQuestion::from)
                .collect(),
        }
    }
}

fn field_name(id: FieldId) -> &'static str {
    id.field().name
}

impl From<Row> for ImportRow {
    fn from(row: Row) -> Self {
        Self {
            key: row.key,
            value: row.value,
            line: row.line,
            fate: row.status.id(),
            field: row.field.map(field_name),
            note: row.note.into_owned(),
        }
    }
}

impl From<Question> for ImportQuestion {
    fn from(question: Question) -> Self {
        match question {
            Question::Variable {
                name,
                lines,
                default,
                keys,
            } => Self::Variable {
                name,
                lines,
                default,
                keys,
            },
            Question::Branch {
                line,
                labels,
                taken,
            } => Self::Branch {
                line,
                labels,
                taken,
            },
            Question::Gpus => Self::Gpus,
            Question::Model { name } => Self::Model { name },
        }
    }
}
