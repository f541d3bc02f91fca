//! The measured runs as data.

use strum::{EnumString, IntoStaticStr};

use crate::config::choices::SoftwareStack;
use crate::config::fields::FieldId;
use crate::config::raw::RawJob;
use crate::memory::JobMoment;
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
    /// The versions of the software, by the names in [`SOFTWARE`].
    pub software: Vec<(&'static str, String)>,
    /// How exact the numbers and arguments are.
    pub confidence: Confidence,
    /// The measured numbers.
    pub measured: Measured,
    /// The stage on which they were measured; `None` where the source does not say.
    pub stage: Option<MeasuredStage>,
    /// The job, or why there is no prediction for it.
    pub job: RunJob,
    /// The moment at which the numbers were printed.
    pub moment: JobMoment,
    /// The software of the run; `None` where it is not known, or the same as the estimate's own.
    pub stack: Option<SoftwareStack>,
    /// Why the published numbers cannot belong to the published arguments; `None` where they can.
    pub stale: Option<String>,
    /// The assumptions of the job beyond the published arguments.
    pub assumed: Option<String>,
    /// Why the measured peak of allocated memory is not compared; `None` where it is.
    pub peak_not_compared: Option<String>,
    /// A remark on the measurement.
    pub note: Option<String>,
    /// The prediction at the time when the record was made; `None` where the record has none.
    pub predicted: Option<Predicted>,
}

/// The names of the software whose versions a run may give.
pub const SOFTWARE: [&str; 8] = [
    "container",
    "cuda",
    "pytorch",
    "transformer_engine",
    "apex",
    "megatron_core",
    "megatron_lm",
    "megatron_bridge",
];

/// What a version of this calculator predicted for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predicted {
    /// The version of this calculator.
    pub version: String,
    /// Allocated memory after an optimizer step.
    pub steady_allocated: Bytes,
    /// The peak of allocated memory.
    pub peak_allocated: Bytes,
}

impl Run {
    /// Why the run, or its measured peak, is not compared; `None` where both are.
    #[must_use]
    pub fn not_compared(&self) -> Option<&str> {
        match &self.job {
            RunJob::OutOfScope(reason) => Some(reason),
            RunJob::Complete(_) => self.peak_not_compared.as_deref(),
        }
    }

    /// The complete job with the run's software; `None` where there is no prediction for it.
    #[must_use]
    pub fn job_with_software(&self) -> Option<RawJob> {
        let mut job = self.job()?.clone();
        if let Some(stack) = self.stack {
            let name = stack.name().to_owned();
            job.shared.set(FieldId::software_stack, Value::Text(name));
        }
        Some(job)
    }

    /// The complete job as published, without the run's software; `None` where there is no prediction for it.
    #[must_use]
    pub fn job(&self) -> Option<&RawJob> {
        match &self.job {
            RunJob::Complete(job) => Some(job),
            RunJob::OutOfScope(_) => None,
        }
    }
}
