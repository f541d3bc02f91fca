//! Records of measured runs: one JSON object a run, or a list of them.
//!
//! ```json
//! {
//!   "id": "submitted:llama3-8b-8xh100",
//!   "group": "Submitted",
//!   "model": "Llama 3 8B",
//!   "source": "https://github.com/someone/logs/blob/0123abcd/llama3-8b.log",
//!   "hardware": "NVIDIA H100 80GB HBM3",
//!   "gpus": 8,
//!   "software": { "pytorch": "2.8.0", "transformer_engine": "2.9.0", "megatron_core": "0.16.0" },
//!   "confidence": "A",
//!   "measured": { "steady_allocated": 38171500000, "peak_allocated": 57312500000 },
//!   "pp_rank": 0,
//!   "job": { "num_layers": 32, "hidden_size": 4096, "world_size": 8 },
//!   "note": "after 2 iterations",
//!   "predicted": { "version": "0.1.0", "steady_allocated": 38171500000, "peak_allocated": 57312400000 }
//! }
//! ```
//!
//! Amounts are bytes. `pp_rank` is the pipeline rank of the GPU that was measured, or `"last"`, or `"largest"` where
//! the source gives the largest number of all ranks. A run whose job is not known or not modeled has `out_of_scope`,
//! the reason, instead of `job`. `moment` says when the numbers were printed, such as `first_iteration`, and `stack`
//! with which software, by the names of the field `software_stack`. The reader refuses keys that a record does not
//! have: a misspelled one would be lost.

mod fields;

use thiserror::Error;

pub use fields::FieldError;
pub(super) use fields::Fields;

use super::run::{Measured, MeasuredStage, Predicted, Run, RunJob, SOFTWARE};
use crate::config::choices::SoftwareStack;
use crate::config::raw::RawJob;
use crate::formats::{job_json, json};
use crate::memory::JobMoment;
use crate::units::Bytes;
use crate::value::Value;

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
    let records = match json::parse(text)?.to_value() {
        Value::List(records) => records,
        record @ Value::Map(_) => vec![record],
        _ => return Err(ReadError::NotARecord),
    };
    let records = records.iter().zip(1..);
    let read = records.map(|(record, number)| {
        Run::from_value(record).map_err(|error| ReadError::Field {
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

/// Writes a run as a file with one record, one field a line. [`read`] gives the run back.
#[must_use]
pub fn write(run: &Run) -> String {
    job_json::file(&run.to_value())
}

impl Run {
    /// The run of a record.
    ///
    /// # Errors
    ///
    /// The first field that is missing, unknown or wrong.
    pub fn from_value(record: &Value) -> Result<Self, FieldError> {
        let fields = Fields::of(record, "", &KEYS)?;
        Ok(Self {
            id: fields.required_text("id", "submitted:llama3-8b-8xh100")?,
            group: fields.required_text("group", "Submitted")?,
            model: fields.required_text("model", "Llama 3 8B")?,
            source: source(&fields)?,
            hardware: fields.text("hardware", "H100")?,
            gpus: fields.count("gpus", "a whole number, such as 8")?,
            gpus_inferred: fields.flag("gpus_inferred")?,
            software: software(&fields)?,
            confidence: match fields.required_text("confidence", "A")?.parse() {
                Ok(confidence) => confidence,
                Err(_) => return Err(fields.error("confidence", CONFIDENCE_RULE)),
            },
            measured: Measured::from_value(fields.required("measured", "{\"peak_allocated\": 57312500000}")?)?,
            stage: fields.get("pp_rank").map(|rank| stage(&fields, rank)).transpose()?,
            job: job(&fields)?,
            moment: match fields.text("moment", "first_iteration")? {
                None => JobMoment::default(),
                Some(name) => JobMoment::named(&name).ok_or_else(|| {
                    let names: Vec<_> = JobMoment::ALL.iter().map(|moment| moment.name()).collect();
                    fields.must_be("moment", &format!("one of {}", names.join(", ")))
                })?,
            },
            stack: fields
                .text("stack", "core_0_14_te_2_3")?
                .map(|name| {
                    let wrong = || {
                        let names = SoftwareStack::NAMES.join(", ");
                        fields.must_be("stack", &format!("one of {names}"))
                    };
                    SoftwareStack::named(&name).ok_or_else(wrong)
                })
                .transpose()?,
            stale: fields.text("stale", "The file is a copy of another recording.")?,
            assumed: fields.text("assumed", "The optimizer is Adam.")?,
            peak_not_compared: fields.text("peak_not_compared", "It is that of the validation.")?,
            note: fields.text("note", "after 2 iterations")?,
            predicted: fields.get("predicted").map(Predicted::from_value).transpose()?,
        })
    }

    /// The run as a record.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut record = Vec::new();
        let mut put = |key: &str, value: Option<Value>| {
            record.extend(value.map(|value| (key.to_owned(), value)));
        };
        let optional = |text: &Option<String>| text.as_deref().map(text_value);
        let software = self.software.iter();
        let software = software.map(|(name, version)| ((*name).to_owned(), text_value(version)));
        let software: Vec<_> = software.collect();
        put("id", Some(text_value(&self.id)));
        put("group", Some(text_value(&self.group)));
        put("model", Some(text_value(&self.model)));
        put("source", Some(text_value(&self.source)));
        put("hardware", optional(&self.hardware));
        put("gpus", self.gpus.map(|gpus| Value::Int(gpus.into())));
        put("gpus_inferred", self.gpus_inferred.then_some(Value::Bool(true)));
        put("software", (!software.is_empty()).then_some(Value::Map(software)));
        put("confidence", Some(text_value(self.confidence.letter())));
        put("measured", Some(self.measured.to_value()));
        put("pp_rank", self.stage.map(MeasuredStage::to_value));
        match &self.job {
            RunJob::Complete(job) => put("job", Some(job.to_value())),
            RunJob::OutOfScope(reason) => put("out_of_scope", Some(text_value(reason))),
        }
        let moment = (self.moment != JobMoment::default()).then(|| text_value(self.moment.name()));
        put("moment", moment);
        put("stack", self.stack.map(|stack| text_value(stack.name())));
        put("stale", optional(&self.stale));
        put("assumed", optional(&self.assumed));
        put("peak_not_compared", optional(&self.peak_not_compared));
        put("note", optional(&self.note));
        put("predicted", self.predicted.as_ref().map(Predicted::to_value));
        Value::Map(record)
    }
}

/// The keys of a record.
const KEYS: [&str; 20] = [
    "id",
    "group",
    "model",
    "source",
    "hardware",
    "gpus",
    "gpus_inferred",
    "software",
    "confidence",
    "measured",
    "pp_rank",
    "job",
    "out_of_scope",
    "moment",
    "stack",
    "stale",
    "assumed",
    "peak_not_compared",
    "note",
    "predicted",
];

const CONFIDENCE_RULE: &str = "must be A (the allocator's own numbers and arguments that reproduce the run), \
     B (a small gap in the arguments) or C (rounded numbers, or arguments missing)";
const STAGE_RULE: &str = "must be the pipeline rank that was measured, such as 0, or \"last\", or \"largest\" for the \
     largest number of all ranks";
/// The rule for amounts of memory.
const BYTES_RULE: &str = "a whole number of bytes, such as 57312500000; 1 MiB is 1048576 bytes";

/// The source. It may be empty: a new record has none until somebody publishes the numbers.
fn source(fields: &Fields<'_>) -> Result<String, FieldError> {
    let example = "https://github.com/someone/logs";
    fields.required("source", &format!("\"{example}\""))?;
    Ok(fields.text("source", example)?.unwrap_or_default())
}

fn software(fields: &Fields<'_>) -> Result<Vec<(&'static str, String)>, FieldError> {
    let Some(versions) = fields.get("software") else {
        return Ok(Vec::new());
    };
    let versions = Fields::of(versions, "software", &SOFTWARE)?;
    let mut software = Vec::new();
    for name in SOFTWARE {
        let version = versions.text(name, "2.8.0")?;
        software.extend(version.map(|version| (name, version)));
    }
    Ok(software)
}

fn stage(fields: &Fields<'_>, value: &Value) -> Result<MeasuredStage, FieldError> {
    let wrong = || fields.error("pp_rank", STAGE_RULE);
    match value {
        Value::Text(word) if word == "last" => Ok(MeasuredStage::Last),
        Value::Text(word) if word == "largest" => Ok(MeasuredStage::Largest),
        Value::Int(rank) => usize::try_from(*rank).map(MeasuredStage::At).map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}

fn job(fields: &Fields<'_>) -> Result<RunJob, FieldError> {
    let reason = fields.text("out_of_scope", "Not Megatron: PyTorch FSDP2")?;
    match (fields.get("job"), reason) {
        (Some(job @ Value::Map(_)), None) => Ok(RunJob::Complete(Box::new(RawJob::from_value(job)))),
        (None, Some(reason)) => Ok(RunJob::OutOfScope(reason)),
        (Some(_), Some(_)) => Err(fields.error("out_of_scope", "must not stand beside job: leave one of them out")),
        _ => Err(fields.error(
            "job",
            "must be an object with Megatron's arguments, such as {\"num_layers\": 32, …}",
        )),
    }
}

impl MeasuredStage {
    fn to_value(self) -> Value {
        match self {
            Self::At(pp_rank) => Value::Int(i128::try_from(pp_rank).unwrap_or(i128::MAX)),
            Self::Last => text_value("last"),
            Self::Largest => text_value("largest"),
        }
    }
}

/// The keys of `measured`.
const MEASURED_KEYS: [&str; 5] = [
    "steady_allocated",
    "peak_allocated",
    "peak_reserved",
    "peak_device",
    "peak_unspecified",
];

impl Measured {
    /// The measurements in `measured` of a record.
    ///
    /// # Errors
    ///
    /// The first key that is unknown or whose value is not a whole number of bytes.
    pub fn from_value(value: &Value) -> Result<Self, FieldError> {
        let fields = Fields::of(value, "measured", &MEASURED_KEYS)?;
        let bytes = |key| Ok(fields.count(key, BYTES_RULE)?.map(Bytes));
        Ok(Self {
            steady_allocated: bytes("steady_allocated")?,
            peak_allocated: bytes("peak_allocated")?,
            peak_reserved: bytes("peak_reserved")?,
            peak_device: bytes("peak_device")?,
            peak_unspecified: bytes("peak_unspecified")?,
        })
    }

    fn to_value(self) -> Value {
        let amounts = [
            self.steady_allocated,
            self.peak_allocated,
            self.peak_reserved,
            self.peak_device,
            self.peak_unspecified,
        ];
        let amounts = MEASURED_KEYS.into_iter().zip(amounts);
        let given = amounts.filter_map(|(key, bytes)| Some((key.to_owned(), bytes_value(bytes?))));
        Value::Map(given.collect())
    }
}

impl Predicted {
    fn from_value(value: &Value) -> Result<Self, FieldError> {
        let keys = ["version", "steady_allocated", "peak_allocated"];
        let fields = Fields::of(value, "predicted", &keys)?;
        let bytes = |key| {
            let bytes = fields.count(key, BYTES_RULE)?;
            bytes.map(Bytes).ok_or_else(|| fields.must_be(key, BYTES_RULE))
        };
        Ok(Self {
            version: fields.required_text("version", "0.1.0")?,
            steady_allocated: bytes("steady_allocated")?,
            peak_allocated: bytes("peak_allocated")?,
        })
    }

    fn to_value(&self) -> Value {
        let entries = [
            ("version", text_value(&self.version)),
            ("steady_allocated", bytes_value(self.steady_allocated)),
            ("peak_allocated", bytes_value(self.peak_allocated)),
        ];
        Value::Map(entries.map(|(key, value)| (key.to_owned(), value)).into())
    }
}

fn text_value(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn bytes_value(bytes: Bytes) -> Value {
    Value::Int(bytes.0.into())
}
