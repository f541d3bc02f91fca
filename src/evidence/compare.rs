//! Compares a run's measurements with the estimate of its job.

use super::run::{MeasuredStage, Run};
use crate::config::check;
use crate::config::job::{Config, Module};
use crate::config::raw::RawJob;
use crate::framework_reports::job::reports;
use crate::memory::overhead::{MemoryRange, memory_range};
use crate::memory::{Estimate, JobMoment, RankMemory, estimate_at, rank_memory};
use crate::units::Bytes;

/// The prediction for the pipeline stage on which a run was measured, and its errors.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The stage's pipeline rank.
    pub pp_rank: usize,
    /// Predicted allocated memory after an optimizer step.
    pub steady: Bytes,
    /// Predicted peak of allocated memory.
    pub peak: Bytes,
    /// The error of `steady`; `None` where it was not measured.
    pub steady_error: Option<Error>,
    /// The error of `peak`; `None` where it was not measured, or its measurement is not comparable.
    pub peak_error: Option<Error>,
    /// The memory that the device may show for that peak.
    pub device: MemoryRange,
    /// What the frameworks' own estimators predict.
    pub frameworks: Frameworks,
    /// The prediction for the run's arguments alone; `None` where `steady` and `peak` are that.
    pub unadjusted: Option<Unadjusted>,
}

/// The prediction for a run without its software and its moment: for the software that everything is read from, and for
/// later iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unadjusted {
    /// Predicted allocated memory after an optimizer step.
    pub steady: Bytes,
    /// Predicted peak of allocated memory.
    pub peak: Bytes,
    /// The error of `steady`; `None` where it was not measured.
    pub steady_error: Option<Error>,
    /// The error of `peak`; `None` where it was not measured, or its measurement is not comparable.
    pub peak_error: Option<Error>,
}

/// The predictions of the frameworks' own estimators for a job's peak, on the GPU that they take to be the most loaded
/// one; `None` where they print no total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frameworks {
    /// Megatron-LM's `report_theoretical_memory`.
    pub megatron_lm: Option<Bytes>,
    /// Megatron-Bridge's `estimate_training_memory`.
    pub megatron_bridge: Option<Bytes>,
}

/// The error of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// Predicted minus measured.
    pub bytes: i64,
    /// The difference in millionths of the measured value.
    pub ppm: i64,
}

impl Error {
    /// The error of `predicted`; `None` where the measured value is 0 or the difference does not fit 64 bits.
    #[must_use]
    pub fn new(predicted: Bytes, measured: Bytes) -> Option<Self> {
        let (predicted, measured) = (i128::from(predicted.0), i128::from(measured.0));
        let bytes = predicted - measured;
        let ppm = (bytes * 1_000_000).checked_div(measured)?;
        Some(Self {
            bytes: i64::try_from(bytes).ok()?,
            ppm: i64::try_from(ppm).ok()?,
        })
    }
}

/// Compares a run with the estimate of its job, with its software and at the moment when it was measured; `None` where
/// its job is not known or not modeled, the measured stage is not known, or Megatron would refuse the job.
#[must_use]
pub fn compare(run: &Run) -> Option<Comparison> {
    let compared = compare_with(run, &run.job_with_software()?, run.moment)?;
    if run.stack.is_none() && run.moment == JobMoment::default() {
        return Some(compared);
    }
    let alone = compare_with(run, run.job.as_deref()?, JobMoment::default())?;
    Some(Comparison {
        unadjusted: Some(Unadjusted {
            steady: alone.steady,
            peak: alone.peak,
            steady_error: alone.steady_error,
            peak_error: alone.peak_error,
        }),
        ..compared
    })
}

/// Compares a run with the estimate of a job at a moment.
fn compare_with(run: &Run, job: &RawJob, moment: JobMoment) -> Option<Comparison> {
    let config = check(job).config?;
    let estimate = estimate_at(&config, moment);
    let stages = &estimate.modules.first()?.stages;
    let pp_rank = match run.stage? {
        MeasuredStage::At(pp_rank) => pp_rank,
        MeasuredStage::Last => stages.len().checked_sub(1)?,
        MeasuredStage::Largest => {
            (0..stages.len()).max_by_key(|&pp_rank| stages.get(pp_rank).map(|stage| stage.total))?
        }
    };
    let first = config.modules().first()?;
    let needed = memory_of_stage(&config, &estimate, pp_rank)?;
    let error = |predicted, measured: Option<Bytes>| Error::new(predicted, measured?);
    Some(Comparison {
        pp_rank,
        steady: needed.steady,
        peak: needed.total,
        steady_error: error(needed.steady, run.measured.steady_allocated),
        peak_error: error(
            needed.total,
            run.measured.peak_allocated.filter(|_| run.peak_not_compared.is_none()),
        ),
        device: memory_range(first, config.gpu_memory(), needed.total, needed.graphs),
        frameworks: frameworks(first),
        unadjusted: None,
    })
}

/// The memory of the first rank of a stage of the first module, with all modules that run on it.
pub(super) fn memory_of_stage(config: &Config, estimate: &Estimate, pp_rank: usize) -> Option<RankMemory> {
    let first = config.modules().first()?;
    let stages = estimate.modules.first()?.stages.len() as u64;
    let rank = first.rank_offset() + first.ranks().checked_div(stages)? * pp_rank as u64;
    rank_memory(config, estimate, rank)
}

/// The totals that the frameworks' estimators print.
#[allow(
    clippy::float_arithmetic,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the reports are floats; their totals are rounded down to whole bytes"
)]
fn frameworks(module: &Module) -> Frameworks {
    let reports = reports(module);
    let printed = |bytes: f64| bytes.is_finite().then_some(Bytes(bytes as u64));
    Frameworks {
        megatron_lm: match reports.megatron_lm.report_mb {
            Ok(Some([_, _, total])) => printed(total * 1_048_576.0),
            _ => None,
        },
        megatron_bridge: reports
            .megatron_bridge
            .estimate
            .ok()
            .and_then(|estimate| printed(estimate.total_memory_bytes)),
    }
}
