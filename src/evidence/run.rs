//! The measured runs as data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::config::choices::SoftwareStack;
use crate::config::fields::FieldId;
use crate::config::raw::RawJob;
use crate::memory::JobMoment;
use crate::units::Bytes;
use crate::value::Value;

/// How exact a run's numbers are, and how complete its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// `torch.cuda.memory_allocated` after an optimizer step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady_allocated: Option<Bytes>,
    /// `torch.cuda.max_memory_allocated`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_allocated: Option<Bytes>,
    /// `torch.cuda.max_memory_reserved`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_reserved: Option<Bytes>,
    /// The peak of used memory that the driver reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_device: Option<Bytes>,
    /// A peak whose source does not say which quantity it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_unspecified: Option<Bytes>,
}

/// The pipeline stage on which a run was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MeasuredStage {
    /// The last stage: Megatron-LM logs on the last rank of the job.
    Last,
    /// The stage with the largest peak: the source gives the largest number of all ranks.
    Largest,
    /// The stage of this pipeline rank.
    #[serde(untagged)]
    At(usize),
}

/// One measured run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware: Option<String>,
    /// The number of GPUs; `None` where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpus: Option<u64>,
    /// Whether the number of GPUs is not published, but was found by matching the steady memory.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub gpus_inferred: bool,
    /// The versions of the software.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub software: BTreeMap<Software, String>,
    /// How exact the numbers and arguments are.
    pub confidence: Confidence,
    /// The measured numbers.
    pub measured: Measured,
    /// The stage on which they were measured; `None` where the source does not say.
    #[serde(rename = "pp_rank", skip_serializing_if = "Option::is_none")]
    pub stage: Option<MeasuredStage>,
    /// The complete job as published, without the run's software; `None` where there is no prediction for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<Box<RawJob>>,
    /// Why there is no prediction for the run, where it has no job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out_of_scope: Option<String>,
    /// The moment at which the numbers were printed.
    #[serde(default, skip_serializing_if = "JobMoment::is_default")]
    pub moment: JobMoment,
    /// The software of the run; `None` where it is not known, or the same as the estimate's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<SoftwareStack>,
    /// Why the published numbers cannot belong to the published arguments; `None` where they can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<String>,
    /// The assumptions of the job beyond the published arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assumed: Option<String>,
    /// Why the measured peak of allocated memory is not compared; `None` where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_not_compared: Option<String>,
    /// A remark on the measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The prediction at the time when the record was made; `None` where the record has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Predicted>,
}

/// Software whose version a run may give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are those of the packages")]
pub enum Software {
    Container,
    Cuda,
    Pytorch,
    TransformerEngine,
    Apex,
    MegatronCore,
    MegatronLm,
    MegatronBridge,
}

/// What a version of this calculator predicted for a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
        self.out_of_scope.as_deref().or(self.peak_not_compared.as_deref())
    }

    /// The complete job with the run's software; `None` where there is no prediction for it.
    #[must_use]
    pub fn job_with_software(&self) -> Option<RawJob> {
        let mut job = RawJob::clone(self.job.as_deref()?);
        if let Some(stack) = self.stack {
            let name = stack.name().to_owned();
            job.shared.set(FieldId::software_stack, Value::Text(name));
        }
        Some(job)
    }
}
