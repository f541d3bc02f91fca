//! The memory of a job with other settings.

use crate::config::job::Config;
use crate::config::problem::Problem;
use crate::config::raw::RawJob;
use crate::config::validate;
use crate::memory::overhead::memory_range;
use crate::memory::{StageRef, estimate};
use crate::units::Bytes;

/// The memory of a job that Megatron runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The peak of the rank that needs most.
    pub peak: Bytes,
    /// The least memory that its device shows.
    pub low: Bytes,
    /// The most memory that its device shows.
    pub high: Bytes,
    /// The stage with the largest peak.
    pub worst: StageRef,
    /// The memory of the GPU; `None` where none is chosen.
    pub gpu: Option<Bytes>,
    /// Whether the GPU has at least `high`: the job fits even with the largest overheads. False where no GPU is chosen.
    pub fits: bool,
    /// Whether the job is marked with what is not modelled, so that these are the numbers of another one.
    pub of_another_job: bool,
}

impl Measured {
    pub(super) fn new(config: &Config) -> Option<Self> {
        let estimate = estimate(config);
        let rank = &estimate.worst_rank;
        let module = config.modules().get(estimate.worst.module)?;
        let range = memory_range(module, rank.total, rank.graphs);
        Some(Self {
            peak: rank.total,
            low: range.low,
            high: range.high,
            worst: estimate.worst,
            gpu: config.gpu_memory(),
            fits: config.gpu_memory().is_some_and(|gpu| range.high <= gpu),
            of_another_job: !config.not_modelled().is_empty(),
        })
    }

    /// The memory of a job; `None` where Megatron refuses it, before training or when it starts.
    pub(super) fn of(job: &RawJob) -> Option<Self> {
        Self::new(&runnable(job)?)
    }
}

/// The checked job; `None` where Megatron refuses it, before training or when it starts.
fn runnable(job: &RawJob) -> Option<Config> {
    let checked = validate(job);
    let mut problems = checked.problems.iter();
    checked.config.filter(|_| !problems.any(Problem::keeps_from_training))
}
