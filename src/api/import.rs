//! `importText`: reads a job from text.

use serde::{Deserialize, Serialize};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use super::error::{self, type_error};
use super::job::Given;
use super::measured::LogMeasurement;
use super::plain_data::{Entries, PlainData};
use super::{arguments, job, to_ts};
use megatron_memory::config::fields::FieldId;
use megatron_memory::formats::detect::{Format, detect};
use megatron_memory::formats::import::{Choice, Question, Row};
use megatron_memory::formats::import_text::{self, ImportedText};
use megatron_memory::formats::share_url;
use megatron_memory::value::Value;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** The formats of texts. `importText` recognizes them by itself. */
export type ImportFormat =
  | "link" | "json" | "hub" | "hf_config" | "megatron_args" | "script" | "model_args" | "bridge_yaml" | "bridge_python"
  | "verl_yaml" | "flag_scale_yaml" | "primus_yaml" | "nemo_rl_yaml" | "nemo_yaml" | "roll_yaml"
  | "nemo2_python" | "megatron_yaml" | "swift" | "swift_yaml" | "overrides" | "log"
  | "arguments";
"#;

/// The options of `importText`.
#[derive(Debug, Default, Deserialize, Tsify)]
#[serde(default)]
#[tsify(missing_as_null)]
pub struct ImportOptions {
    /// The text's format; recognized from the text by default.
    #[tsify(type = "ImportFormat | null")]
    format: Option<String>,
    /// Values of variables that a script reads and never sets, by the variables' names.
    #[tsify(type = "Record<string, string> | null")]
    variables: Option<Entries<Value>>,
    /// Branches that a script takes: the index of the side, by the line of the branch.
    #[tsify(type = "Record<number, number> | null")]
    branches: Option<Entries<u32>>,
    /// The number of GPUs.
    gpus: Option<u64>,
    /// Values of the arguments that questions of the kind `field` ask for, by their names. They replace what the text
    /// says.
    #[tsify(type = "Record<string, number> | null")]
    fields: Option<Entries<Value>>,
    /// For a text that only names its model: the text of the model's `config.json`, or the id of a preset.
    model: Option<String>,
    /// A job, or a link to one, that the text changes. A `config.json` replaces the job's model; its parallelism, batch
    /// and precision stay as far as the new model can be trained with them. A text without a model overrides single
    /// settings. Any other text replaces the job, except that the GPU stays where the text names none.
    #[serde(with = "serde_wasm_bindgen::preserve")]
    #[tsify(type = "Job | string | null")]
    onto: JsValue,
}

/// The job that a text holds, and how it was read.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct Import {
    #[tsify(type = "ImportFormat")]
    format: &'static str,
    format_label: &'static str,
    /// What the format was recognized by, as the end of a sentence that starts with "because"; `null` where it was
    /// given.
    reason: Option<&'static str>,
    /// The framework whose defaults fill what the text leaves out, such as `Megatron-LM`.
    dialect: &'static str,
    #[tsify(type = "Job")]
    job: PlainData,
    /// The preset that the imported link or file starts from, such as `deepseek-v3@1`.
    preset: Option<String>,
    /// The fragment of the job's link, from its `#` on.
    link: String,
    /// The names of the arguments of `onto` that a text without a model changes; `null` where the text is a whole job.
    changes: Option<Vec<&'static str>>,
    /// One row for every key of the text, then one for every default that fills what the text leaves out.
    report: Vec<ImportRow>,
    questions: Vec<ImportQuestion>,
    /// The measurements in the text, where it is a training log.
    measured: Option<LogMeasurement>,
}

/// How one key of an imported text was used.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct ImportRow {
    key: String,
    value: String,
    /// The key's line, counted from 1; `null` for a default, which has none.
    line: Option<u32>,
    #[tsify(
        type = "\"mapped\" | \"defaulted\" | \"derived\" | \"ignored\" | \"not_modelled\" | \"conflicting\" | \"unknown\" | \"missing\""
    )]
    fate: &'static str,
    /// How much the key changes memory, where its fate is `not_modelled`: nothing, by less than 2 %, or by more. With
    /// `more` it is an entry of the job's `not_modelled`.
    #[tsify(type = "\"nothing\" | \"below_two_percent\" | \"more\" | null")]
    effect: Option<&'static str>,
    /// The argument that the key sets, alone or with other keys.
    field: Option<&'static str>,
    note: String,
}

/// A question that an imported text leaves open.
#[derive(Debug, Serialize, Tsify)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[tsify(missing_as_null)]
pub enum ImportQuestion {
    /// The value of a variable that a script reads and never sets.
    Variable {
        /// The variable's name.
        name: String,
        /// The lines that read the variable, counted from 1.
        lines: Vec<u32>,
        /// The script's default for the variable. With a default the question need not be answered.
        default: Option<String>,
        /// The keys that have no usable value without an answer, or with the answer that was given. Their rows are
        /// `missing`.
        keys: Vec<String>,
    },
    /// The side of a branch that a script takes.
    Branch {
        /// The branch's line, counted from 1.
        line: u32,
        /// The conditions of the sides, as written.
        labels: Vec<String>,
        /// Index of the side that was taken; `null` where none was.
        taken: Option<usize>,
    },
    /// The number of GPUs.
    Gpus,
    /// The `config.json` of a model that the text only names.
    Model {
        /// The model's name or path.
        name: String,
    },
    /// An argument that a job needs and the text does not give. `fields` answers it.
    Field {
        /// The argument's name, such as `vocab_size`.
        field: &'static str,
        /// Values that jobs often have.
        choices: Vec<ImportChoice>,
    },
}

/// A value that a question offers.
#[derive(Debug, Serialize, Tsify)]
pub struct ImportChoice {
    /// The models that have it; empty where the value says enough.
    label: String,
    value: u64,
}

/// Reads any text that holds a job: a `config.json`, a launch script, flags, YAML, overrides, a recipe in Python, JSON,
/// a link, a training log. Nothing in it is run, and nothing is fetched.
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
    /// Checks the options and converts them to those of the core.
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
        let fields = self.fields.unwrap_or_default().0.into_iter();
        let fields = fields.map(|(name, value)| {
            let unknown = || type_error(&format!("fields: there is no argument {name}"));
            let id = FieldId::by_name(&name).ok_or_else(unknown)?;
            Ok((id, value))
        });
        let onto = Some(self.onto).filter(|onto| !onto.is_null() && !onto.is_undefined());
        let onto = onto.map(|onto| Ok::<_, JsValue>(Given::read(&onto, None)?.state.setup));
        Ok(import_text::ImportOptions {
            format: self.format.map(format).transpose()?,
            variables: variables.collect(),
            branches: branches.collect::<Result<_, JsValue>>()?,
            gpus: self.gpus,
            fields: fields.collect::<Result<_, JsValue>>()?,
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
            questions: import.questions.into_iter().map(ImportQuestion::from).collect(),
            measured: import.measured.map(LogMeasurement::from),
        }
    }
}

impl From<Choice> for ImportChoice {
    fn from(choice: Choice) -> Self {
        Self {
            label: choice.label,
            value: choice.value,
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
            effect: row.effect.map(Into::into),
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
            Question::Branch { line, labels, taken } => Self::Branch { line, labels, taken },
            Question::Gpus => Self::Gpus,
            Question::Model { name } => Self::Model { name },
            Question::Field { field, choices } => Self::Field {
                field: field_name(field),
                choices: choices.into_iter().map(ImportChoice::from).collect(),
            },
        }
    }
}
