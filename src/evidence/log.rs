//! Sets what the log of a run measured beside the estimate of its job, stage by stage.

use std::collections::BTreeMap;

use strum::{IntoStaticStr, VariantArray};

use super::compare::Error;
use super::run::{Measured, MeasuredStage, Run};
use super::submission::submission;
use crate::config::check;
use crate::config::job::{Config, Module};
use crate::config::raw::RawJob;
use crate::formats::training_log::{LogMeasurements, MemoryReport};
use crate::memory::{Estimate, JobMoment, estimate_at, rank_memory};
use crate::units::Bytes;

/// The measurements of one pipeline stage beside their predictions.
#[derive(Clone, Debug, PartialEq)]
pub struct StageComparison {
    /// The pipeline rank.
    pub pp_rank: usize,
    /// Predicted parameters of a rank.
    pub predicted_parameters: u64,
    /// Parameters that the ranks of the stage counted: the largest number.
    pub parameters: Option<u64>,
    /// The report of memory that is compared: of the rank of the stage that needed most, at the last moment.
    pub report: Option<MemoryReport>,
    /// The moment that is predicted: that of the report, where the log tells it.
    pub moment: JobMoment,
    /// Predicted allocated memory after an optimizer step.
    pub predicted_steady: Bytes,
    /// Predicted peak of allocated memory.
    pub predicted_peak: Bytes,
    /// The error of the former; `None` where it was not measured.
    pub steady_error: Option<Error>,
    /// The error of the latter; `None` where it was not measured.
    pub peak_error: Option<Error>,
    /// Possible reasons for a difference.
    pub reasons: Vec<Reason>,
}

/// Why a measured number may differ from the predicted one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Reason {
    /// The model of the run has other parameters than the job.
    Parameters,
    /// The log does not tell after which iteration the memory was printed.
    Moment,
    /// A checkpoint was written or read before: its buffers are in the peak.
    Checkpoint,
    /// The software of the run is not known from its log: older versions keep more or fewer tensors.
    Software,
    /// Routing is uneven in real runs.
    Routing,
    /// Reserved memory holds what the allocator cached and did not give back; the prediction is what is allocated.
    Reserved,
}

impl Reason {
    /// All reasons.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Its name in programs.
    #[must_use]
    pub fn id(self) -> &'static str {
        self.into()
    }

    /// The reason in a sentence.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Parameters => {
                "The ranks of this stage have other parameters than the job: its model or its split is another one."
            }
            Self::Moment => {
                "The log does not say after which iteration these numbers were printed. The prediction is for later iterations: after the first one, the peak is lower."
            }
            Self::Checkpoint => "A checkpoint was loaded or saved before: its copies can be in the peak.",
            Self::Software => {
                "The log does not name its software. Versions of Megatron-Core and Transformer Engine differ in the tensors that they keep."
            }
            Self::Routing => {
                "Routers send some ranks more tokens than others; the prediction is for an even distribution unless the job says another."
            }
            Self::Reserved => {
                "Reserved memory has what the allocator cached beside what is allocated; the prediction is for allocated memory."
            }
        }
    }
}

/// When a report of memory was made, as far as that changes memory; `None` where the log does not tell.
#[must_use]
pub fn moment(report: &MemoryReport) -> Option<JobMoment> {
    let done = report.iteration?.saturating_sub(report.resumed_at);
    Some(if report.resumed_at == 0 && report.skipped >= done.max(1) {
        JobMoment::SkippedSteps
    } else if done > 1 {
        JobMoment::LaterIteration
    } else if report.resumed_at > 0 {
        JobMoment::FirstIterationAfterResume
    } else {
        JobMoment::FirstIteration
    })
}

/// The measurements in a training log beside the estimate of its job, a list of stages.
#[derive(Clone, Debug, PartialEq)]
pub struct LogComparison {
    /// The stages for which the log has a number, in order.
    pub stages: Vec<StageComparison>,
}

/// Compares the measurements of a log with the estimate of a job; `None` where Megatron would refuse the job, or the
/// log measured nothing on its stages.
#[must_use]
pub fn compare_log(job: &RawJob, log: &LogMeasurements) -> Option<LogComparison> {
    let config = check(job).config?;
    let module = config.modules().first()?;
    let mut estimates = BTreeMap::new();
    let count = estimate_of(&mut estimates, &config, JobMoment::default())
        .modules
        .first()?
        .stages
        .len();
    let stages: Vec<_> = (0..count)
        .filter_map(|pp_rank| compare_stage(&config, &mut estimates, module, (pp_rank, count), log))
        .collect();
    (!stages.is_empty()).then_some(LogComparison { stages })
}

/// The estimate of a job at a moment, made once.
fn estimate_of<'a>(made: &'a mut BTreeMap<JobMoment, Estimate>, config: &Config, at: JobMoment) -> &'a Estimate {
    made.entry(at).or_insert_with(|| estimate_at(config, at))
}

/// Compares a stage, by its pipeline rank and their number, at the moment of its own report.
fn compare_stage(
    config: &Config,
    estimates: &mut BTreeMap<JobMoment, Estimate>,
    module: &Module,
    (pp_rank, count): (usize, usize),
    log: &LogMeasurements,
) -> Option<StageComparison> {
    let is_here = |rank: u64| stage_of(module, count, rank) == Some(pp_rank);
    let parameters = log
        .parameters
        .iter()
        .filter(|count| count.pp_rank == pp_rank as u64)
        .map(|count| count.parameters)
        .max();
    let of_stage = log.memory.iter().filter(|report| is_here(report.rank));
    // The last moment at which the ranks of the stage reported, and of them the one that needed most.
    let report = of_stage.max_by_key(|report| (report.iteration, report.max_allocated));
    if parameters.is_none() && report.is_none() {
        return None;
    }
    let at = report.and_then(moment);
    let estimate = estimate_of(estimates, config, at.unwrap_or_default());
    let stage = estimate.modules.first()?.stages.get(pp_rank)?;
    let first = module.rank_offset() + module.ranks() / count as u64 * pp_rank as u64;
    let needed = rank_memory(config, estimate, first)?;
    let predicted_parameters = stage.chunks.iter().map(|chunk| chunk.parameters.total()).sum();
    let error = |predicted, measured| Error::new(predicted, measured);
    let mut reasons = Vec::new();
    if parameters.is_some_and(|parameters| parameters != predicted_parameters) {
        reasons.push(Reason::Parameters);
    }
    if let Some(report) = report {
        if at.is_none() {
            reasons.push(Reason::Moment);
        }
        if report.iteration.is_none() || log.memory.iter().any(|report| report.iteration.is_none()) {
            reasons.push(Reason::Checkpoint);
        }
        reasons.push(Reason::Software);
        if module.args().num_experts.is_some_and(|experts| experts > 0) {
            reasons.push(Reason::Routing);
        }
        if report.max_reserved.is_some() {
            reasons.push(Reason::Reserved);
        }
    }
    Some(StageComparison {
        pp_rank,
        predicted_parameters,
        parameters,
        report: report.cloned(),
        moment: at.unwrap_or_default(),
        predicted_steady: needed.steady,
        predicted_peak: needed.total,
        steady_error: report.and_then(|report| error(needed.steady, report.allocated)),
        peak_error: report.and_then(|report| error(needed.total, report.max_allocated)),
        reasons,
    })
}

/// The pipeline rank of a rank of the job. Pipeline stages are the slowest axis of Megatron's rank order.
fn stage_of(module: &Module, stages: usize, rank: u64) -> Option<usize> {
    let inside = rank.checked_sub(module.rank_offset())?;
    let of_stage = module.ranks().checked_div(stages as u64)?;
    usize::try_from(inside.checked_div(of_stage)?)
        .ok()
        .filter(|stage| *stage < stages)
}

/// The runs that a log is evidence for, one for each stage whose memory was measured after a later iteration.
#[must_use]
pub fn submissions(job: &RawJob, log: &LogMeasurements) -> Vec<Run> {
    let Some(comparison) = compare_log(job, log) else {
        return Vec::new();
    };
    let stages = comparison.stages.into_iter();
    stages
        .filter_map(|stage| {
            let report = stage.report?;
            let moment = moment(&report)?;
            let measured = Measured {
                steady_allocated: Some(report.allocated),
                peak_allocated: Some(report.max_allocated),
                peak_reserved: report.max_reserved,
                peak_device: report.device,
                peak_unspecified: None,
            };
            let mut run = submission(job.clone(), measured, MeasuredStage::At(stage.pp_rank));
            run.moment = moment;
            Some(run)
        })
        .collect()
}
