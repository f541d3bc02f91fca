//! The measured runs as data.

use strum::{EnumString, IntoStaticStr};
use thiserror::Error;

use crate::config::raw::RawJob;
use crate::formats::json;
use crate::units::Bytes;
use crate::value::Value;

/// How exact a run's numbers are, and how complete its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, EnumString, IntoStaticStr)]
pub enum Confidence {
    /// Numbers of the allocator, and arguments that reproduce the run.
    A,
    /// Numbers of the allocator, but a small gap in the arguments, or numbers of an older version.
    B,
    /// Rounded numbers, or missing arguments.
    C,
}

impl Confidence {
    /// The letter of the level.
    #[must_use]
    pub fn letter(self) -> &'static str {
        self.into()
    }
}

/// The measurements on one GPU. A quantity that the source does not give is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// `torch.cuda.memory_allocated` after an optimizer step.
    pub steady_allocated: Option<Bytes>,
    /// `torch.cuda.max_memory_allocated`.
    pub peak_allocated: Option<Bytes>,
    /// `torch.cuda.max_memory_reserved`.
    pub peak_reserved: Option<Bytes>,
    /// The peak of used memory that the driver reports.
    pub peak_device: Option<Bytes>,
    /// A peak whose source does not say which quantity it is.
    pub peak_unspecified: Option<Bytes>,
}

/// The pipeline stage on which a run was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasuredStage {
    /// The stage of this pipeline rank.
    At(usize),
    /// The last stage: Megatron-LM logs on the last rank of the job.
    Last,
    /// The stage with the largest peak: the source gives the largest number of all ranks.
    Largest,
}

/// The job of a run, or why there is no prediction for it.
#[derive(Clone, Debug, PartialEq)]
pub enum RunJob {
    /// The complete job.
    Complete(Box<RawJob>),
    /// The reason why there is no prediction.
    OutOfScope(String),
}

/// One measured run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The run's name, which never changes.
    pub id: String,
    /// The group of the run: runs of one source.
    pub group: String,
    /// The model in words.
    pub model: String,
    /// The URL where the numbers are published, with the revision.
    pub source: String,
    /// The GPU's name; `None` where it is not known.
    pub hardware: Option<String>,
    /// The number of GPUs; `None` where it is not known.
    pub gpus: Option<u64>,
    /// Whether the number of GPUs is not published, but was found by matching the steady memory.
    pub gpus_inferred: bool,
    /// How exact the numbers and arguments are.
    pub confidence: Confidence,
    /// The measured numbers.
    pub measured: Measured,
    /// The stage on which they were measured; `None` where the source does not say.
    pub stage: Option<MeasuredStage>,
    /// The job, or why there is no prediction for it.
    pub job: RunJob,
    /// Why the published numbers cannot belong to the published arguments; `None` where they can.
    pub stale: Option<String>,
    /// The assumptions of the job beyond the published arguments.
    pub assumed: Option<String>,
    /// Why the measured peak of allocated memory is not compared; `None` where it is.
    pub peak_not_compared: Option<String>,
    /// A remark on the measurement.
    pub note: Option<String>,
}

/// Why a list of runs could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReadError {
    /// The text is not JSON.
    #[error(transparent)]
    Json(#[from] json::JsonError),
    /// The run at this position, from 0, lacks this key or has a wrong value under it.
    #[error("run {0}: {1}")]
    Run(usize, &'static str),
}

/// Reads a JSON list of runs.
///
/// # Errors
///
/// When the text is not JSON, or a run lacks a required key.
pub fn read(text: &str) -> Result<Vec<Run>, ReadError> {
    let node = json::parse(text)?;
    let Value::List(runs) = node.to_value() else {
        return Err(ReadError::Run(0, "not a list"));
    };
    let runs = runs.iter().enumerate();
    runs.map(|(index, run)| Run::from_value(run).map_err(|key| ReadError::Run(index, key)))
        .collect()
}

impl Run {
    /// The run in `value`, or the key that is missing or has a wrong value.
    fn from_value(value: &Value) -> Result<Self, &'static str> {
        let optional = |key| text(value, key);
        let required = |key| optional(key).ok_or(key);
        Ok(Self {
            id: required("id")?,
            group: required("group")?,
            model: required("model")?,
            source: required("source")?,
            hardware: optional("hardware"),
            gpus: count(value, "gpus"),
            gpus_inferred: value.get("gpus_inferred") == Some(&Value::Bool(true)),
            confidence: required("confidence")?.parse().or(Err("confidence"))?,
            measured: Measured::from_value(value.get("measured").ok_or("measured")?),
            stage: match value.get("pp_rank") {
                None => None,
                Some(Value::Text(word)) if word == "last" => Some(MeasuredStage::Last),
                Some(Value::Text(word)) if word == "largest" => Some(MeasuredStage::Largest),
                Some(Value::Int(rank)) => Some(MeasuredStage::At(
                    usize::try_from(*rank).or(Err("pp_rank"))?,
                )),
                Some(_) => return Err("pp_rank"),
            },
            job: match (value.get("job"), optional("out_of_scope")) {
                (Some(job @ Value::Map(_)), None) => {
                    RunJob::Complete(Box::new(RawJob::from_value(job)))
                }
                (None, Some(reason)) => RunJob::OutOfScope(reason),
                _ => return Err("job or out_of_scope"),
            },
            stale: optional("stale"),
            assumed: optional("assumed"),
            peak_not_compared: optional("peak_not_compared"),
            note: optional("note"),
        })
    }

    /// Why the run, or its measured peak, is not compared; `None` where both are.
    #[must_use]
    pub fn not_compared(&self) -> Option<&str> {
        match &self.job {
            RunJob::OutOfScope(reason) => Some(reason),
            RunJob::Complete(_) => self.peak_not_compared.as_deref(),
        }
    }

    /// The complete job; `None` where there is no prediction for it.
    #[must_use]
    pub fn job(&self) -> Option<&RawJob> {
        match &self.job {
            RunJob::Complete(job) => Some(job),
            RunJob::OutOfScope(_) => None,
        }
    }
}

impl Measured {
    fn from_value(value: &Value) -> Self {
        let bytes = |key| count(value, key).map(Bytes);
        Self {
            steady_allocated: bytes("steady_allocated"),
            peak_allocated: bytes("peak_allocated"),
            peak_reserved: bytes("peak_reserved"),
            peak_device: bytes("peak_device"),
            peak_unspecified: bytes("peak_unspecified"),
        }
    }
}

fn text(value: &Value, key: &str) -> Option<String> {
    match value.get(key) {
        Some(Value::Text(text)) => Some(text.clone()),
        _ => None,
    }
}

fn count(value: &Value, key: &str) -> Option<u64> {
    match value.get(key) {
        Some(Value::Int(count)) => u64::try_from(*count).ok(),
        _ => None,
    }
}
