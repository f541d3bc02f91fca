//! Records of measured runs: one JSON object a run, or a list of them. `src/evidence/record/example.json` is one.
//!
//! Amounts are bytes. `pp_rank` is the pipeline rank of the GPU that was measured, or `"last"`, or `"largest"` where
//! the source gives the largest number of all ranks. A run whose job is not known or not modeled has `out_of_scope`,
//! the reason, instead of `job`. `moment` says when the numbers were printed, such as `first_iteration`, and `stack`
//! with which software, by the names of the field `software_stack`. The reader refuses keys that a record does not
//! have: a misspelled one would be lost.

use serde::de::DeserializeOwned;
use thiserror::Error;

use super::run::Run;
use crate::formats::{job_json, json};
use crate::value::Value;

/// A whole record: the values that errors offer as examples.
const EXAMPLE: &str = include_str!("record/example.json");

/// A field that is missing, unknown or has a wrong value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field} {rule}")]
pub struct FieldError {
    /// The field with the objects that it is in, such as `measured.peak_allocated`.
    pub field: String,
    /// What holds for the field, with a value that would do.
    pub rule: String,
}

/// Why records could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReadError {
    /// The text is not JSON.
    #[error(transparent)]
    Json(#[from] json::JsonError),
    /// The JSON is neither a record nor a list of records.
    #[error(
        "a record is a JSON object, such as {{\"id\": \"submitted:llama3-8b\", …}}, and several are a list of them"
    )]
    NotARecord,
    /// A field of a record is missing or has a wrong value.
    #[error("record {number}{}: {error}", .id.as_ref().map(|id| format!(" ({id})")).unwrap_or_default())]
    Field {
        /// The record's position, from 1.
        number: usize,
        /// The record's id, where it has one.
        id: Option<String>,
        /// The field and its rule.
        error: FieldError,
    },
}

/// Reads a record, or a list of records.
///
/// # Errors
///
/// When the text is not JSON, or a field of a record is missing or has a wrong value.
pub fn read(text: &str) -> Result<Vec<Run>, ReadError> {
    read_records(text, Run::has_a_job_or_a_reason)
}

/// Reads a record of any type, or a list of them, and checks each.
pub(super) fn read_records<T: DeserializeOwned>(
    text: &str,
    check: fn(&T) -> Result<(), FieldError>,
) -> Result<Vec<T>, ReadError> {
    let records = match json::parse(text)?.to_value() {
        Value::List(records) => records,
        record @ Value::Map(_) => vec![record],
        _ => return Err(ReadError::NotARecord),
    };
    let records = records.iter().zip(1..);
    let read = records.map(|(record, number)| {
        let read = from_value(record);
        let checked = read.and_then(|record| check(&record).map(|()| record));
        checked.map_err(|error| ReadError::Field {
            number,
            id: match record.get("id") {
                Some(Value::Text(id)) => Some(id.clone()),
                _ => None,
            },
            error,
        })
    });
    read.collect()
}

fn from_value<T: DeserializeOwned>(record: &Value) -> Result<T, FieldError> {
    let unreadable = |path: String, message: String| FieldError {
        rule: format!("cannot be read: {message}{}", example(&path, &message)),
        // The path to a key that cannot be read ends in a question mark.
        field: match path.trim_end_matches(".?") {
            "." => "the record".to_owned(),
            path => path.to_owned(),
        },
    };
    let record = serde_json::to_value(record).map_err(|error| unreadable(".".to_owned(), error.to_string()))?;
    serde_path_to_error::deserialize(record)
        .map_err(|error| unreadable(error.path().to_string(), error.inner().to_string()))
}

/// The value in the example for the field at a path, or for the field that the message names as missing; empty where
/// the example has none.
fn example(path: &str, message: &str) -> String {
    let missing = message.strip_prefix("missing field `");
    let missing = missing.map(|rest| rest.trim_end_matches('`'));
    let mut value = serde_json::from_str(EXAMPLE).ok();
    for key in path.split('.').filter(|key| !key.is_empty()).chain(missing) {
        value = value.as_ref().and_then(|value: &Value| value.get(key)).cloned();
    }
    match value {
        Some(value) if path != "." || missing.is_some() => format!("; an example is {value}"),
        _ => String::new(),
    }
}

/// Writes a run as a file with one record, one field a line. [`read`] gives the run back.
#[must_use]
pub fn write(run: &Run) -> String {
    job_json::file(&run.to_value())
}

impl Run {
    /// The run as a record.
    #[must_use]
    pub fn to_value(&self) -> Value {
        // No field of a run refuses to be written, and plain data reads every JSON.
        let text = serde_json::to_string(self).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// A run has a job, or the reason why it has none; and it has a name, a group and a model.
    fn has_a_job_or_a_reason(&self) -> Result<(), FieldError> {
        let named = [("id", &self.id), ("group", &self.group), ("model", &self.model)];
        let nameless = named.iter().find(|(_, text)| text.trim().is_empty());
        let (field, rule) = match (&self.job, &self.out_of_scope) {
            (Some(_), Some(_)) => ("out_of_scope", "must not stand beside job: leave one of them out".to_owned()),
            (None, None) => (
                "job",
                "must be an object with Megatron's arguments, such as {\"num_layers\": 32, …}, unless out_of_scope says \
                 why there is none"
                    .to_owned(),
            ),
            _ => match nameless {
                Some((field, _)) => (*field, format!("must not be empty{}", example(field, ""))),
                None => return Ok(()),
            },
        };
        Err(FieldError {
            field: field.to_owned(),
            rule,
        })
    }
}
