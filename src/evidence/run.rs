//! The measured runs as data.

use core::fmt;

use crate::config::raw::RawJob;
use crate::formats::json;
use crate::units::Bytes;
use crate::value::Value;

/// How exact a number is, and how complete the arguments are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// The allocator's own number, and arguments that reproduce the run.
    A,
    /// The allocator's own number, with a small gap in the arguments or not kept current.
    B,
    /// Rounded, or with arguments missing.
    C,
}

impl Confidence {
    /// The letter.
    #[must_use]
    pub const fn letter(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
        }
    }
}

/// What was measured on one GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// `torch.cuda.memory_allocated` after an optimizer step.
    pub steady_allocated: Option<Bytes>,
    /// `torch.cuda.max_memory_allocated`.
    pub peak_allocated: Option<Bytes>,
    /// `torch.cuda.max_memory_reserved`.
    pub peak_reserved: Option<Bytes>,
    /// What the driver reports as used.
    pub peak_device: Option<Bytes>,
    /// A peak of which the source does not say what it counts.
    pub peak_unspecified: Option<Bytes>,
}

/// The pipeline rank on which a run was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// This one.
    At(usize),
    /// The last one: Megatron-LM logs on the last rank of the job.
    Last,
    /// Whichever needs most: the source gives the largest number of all ranks.
    Largest,
}

/// The job of a run, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// The complete job.
    Job(Box<RawJob>),
    /// Why no prediction is made.
    OutOfScope(String),
}

/// One measured run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// A name that stays.
    pub id: String,
    /// Where the run belongs: one source of runs.
    pub group: String,
    /// The model in words.
    pub model: String,
    /// Where the number was published, with the revision.
    pub source: String,
    /// The GPU, where it is known.
    pub hardware: Option<String>,
    /// GPUs of the job, where they are known.
    pub gpus: Option<u64>,
    /// The number of GPUs is not published and was found by matching the steady memory.
    pub gpus_inferred: bool,
    /// Exactness.
    pub confidence: Confidence,
    /// The measured numbers.
    pub measured: Measured,
    /// Where in the pipeline they were measured; `None` when the source does not say.
    pub stage: Option<Stage>,
    /// The job, or why there is none.
    pub subject: Subject,
    /// Why the published numbers cannot belong to the published arguments.
    pub stale: Option<String>,
    /// What the job takes for granted beyond the published arguments.
    pub assumed: Option<String>,
    /// Why the peak of allocated memory says nothing about the prediction, where it does not.
    pub peak_not_compared: Option<String>,
    /// A remark on the measurement.
    pub note: Option<String>,
}

/// Why a list of runs could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// It is not JSON.
    Json(json::JsonError),
    /// The run at this position, from 0, lacks something or has it in another form.
    Run(usize, &'static str),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => error.fmt(f),
            Self::Run(index, key) => write!(f, "run {index}: {key}"),
        }
    }
}

impl core::error::Error for ReadError {}

/// Reads a JSON list of runs.
///
/// # Errors
///
/// When the text is not JSON, or a run lacks something that every run has.
pub fn read(text: &str) -> Result<Vec<Run>, ReadError> {
    let node = json::parse(text).map_err(ReadError::Json)?;
    let Value::List(runs) = node.to_value() else {
        return Err(ReadError::Run(0, "not a list"));
    };
    let runs = runs.iter().enumerate();
    runs.map(|(index, run)| Run::from_value(run).map_err(|key| ReadError::Run(index, key)))
        .collect()
}

impl Run {
    /// The run in `value`, or the key that is missing or unfit.
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
            confidence: match required("confidence")?.as_str() {
                "A" => Confidence::A,
                "B" => Confidence::B,
                "C" => Confidence::C,
                _ => return Err("confidence"),
            },
            measured: Measured::from_value(value.get("measured").ok_or("measured")?),
            stage: match value.get("pp_rank") {
                None => None,
                Some(Value::Text(word)) if word == "last" => Some(Stage::Last),
                Some(Value::Text(word)) if word == "largest" => Some(Stage::Largest),
                Some(Value::Int(rank)) => {
                    Some(Stage::At(usize::try_from(*rank).or(Err("pp_rank"))?))
                }
                Some(_) => return Err("pp_rank"),
            },
            subject: match (value.get("job"), optional("out_of_scope")) {
                (Some(job @ Value::Map(_)), None) => {
                    Subject::Job(Box::new(RawJob::from_value(job)))
                }
                (None, Some(reason)) => Subject::OutOfScope(reason),
                _ => return Err("job or out_of_scope"),
            },
            stale: optional("stale"),
            assumed: optional("assumed"),
            peak_not_compared: optional("peak_not_compared"),
            note: optional("note"),
        })
    }

    /// What of it is not compared although it was measured, and why.
    #[must_use]
    pub fn not_compared(&self) -> Option<&str> {
        match &self.subject {
            Subject::OutOfScope(reason) => Some(reason),
            Subject::Job(_) => self.peak_not_compared.as_deref(),
        }
    }

    /// The job, when the run is within what is modeled.
    #[must_use]
    pub fn job(&self) -> Option<&RawJob> {
        match &self.subject {
            Subject::Job(job) => Some(job),
            Subject::OutOfScope(_) => None,
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
