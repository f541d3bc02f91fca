//! The measurements in a training log, and `compareLog`, which puts them beside the estimate of a job.

use serde::Serialize;
use tsify::Tsify;
use wasm_bindgen::prelude::*;

use super::job::Given;
use super::{Exact, arguments, to_js};
use megatron_memory::evidence::{self, StageComparison};
use megatron_memory::formats::training_log::{self, LogMeasurements, LoggedOutOfMemory, MemoryReport};
use megatron_memory::memory::JobMoment;
use megatron_memory::units::Bytes;

/// The measurements that a training log contains.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct LogMeasurement {
    /// The parameters that ranks counted when they built the model.
    parameters: Vec<RankParameters>,
    /// The lines of Megatron-LM's own estimator (`theoretical memory footprints`).
    theoretical: Option<Theoretical>,
    /// Reports of memory, in the order of the log.
    memory: Vec<MeasuredRank>,
    iterations: Option<Iterations>,
    /// Errors of ranks that had too little memory.
    out_of_memory: Vec<OutOfMemoryError>,
}

/// The parameters of one rank.
#[derive(Debug, Serialize, Tsify)]
pub struct RankParameters {
    tp_rank: Exact,
    pp_rank: Exact,
    parameters: Exact,
}

/// Bytes that Megatron-LM's own estimator printed.
#[allow(clippy::struct_field_names, reason = "names of bytes end so in the whole API")]
#[derive(Debug, Serialize, Tsify)]
pub struct Theoretical {
    weight_and_optimizer_bytes: Exact,
    activation_bytes: Exact,
    total_bytes: Exact,
}

/// The memory of one rank at one moment.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct MeasuredRank {
    rank: Exact,
    /// The iteration after which it was made, counted from 1; `null` for other moments.
    iteration: Option<Exact>,
    /// When it was made, as far as that changes memory; `null` where the log does not tell.
    #[tsify(
        type = "\"first_iteration\" | \"later_iteration\" | \"first_iteration_after_resume\" | \"skipped_steps\" | null"
    )]
    moment: Option<&'static str>,
    /// When it was made, in the words of the log.
    words: String,
    allocated_bytes: Exact,
    max_allocated_bytes: Exact,
    reserved_bytes: Option<Exact>,
    max_reserved_bytes: Option<Exact>,
    device_bytes: Option<Exact>,
}

/// The times of iterations.
#[derive(Debug, Serialize, Tsify)]
pub struct Iterations {
    /// The iterations that the log reports.
    count: usize,
    last_iteration: Exact,
    /// The median time of one iteration in tenths of milliseconds.
    median_tenth_ms: Exact,
}

/// An error of PyTorch's that the memory of a GPU does not suffice. What its message does not say is `null`.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct OutOfMemoryError {
    rank: Option<Exact>,
    /// The number of the GPU on its node.
    gpu: Option<Exact>,
    /// The iteration that was running.
    iteration: Option<Exact>,
    tried_bytes: Option<Exact>,
    capacity_bytes: Option<Exact>,
    free_bytes: Option<Exact>,
    in_use_bytes: Option<Exact>,
    allocated_bytes: Option<Exact>,
    unallocated_bytes: Option<Exact>,
}

/// The measurements of one pipeline stage beside their predictions. A quantity that the log does not have is `null`.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct MeasuredStage {
    pp_rank: usize,
    predicted_parameters: Exact,
    parameters: Option<Exact>,
    predicted_steady_bytes: Exact,
    predicted_peak_bytes: Exact,
    /// The report of the rank of the stage that needed most, at the last moment that the log has.
    report: Option<MeasuredRank>,
    /// Predicted minus measured, in bytes.
    steady_error_bytes: Option<Exact>,
    peak_error_bytes: Option<Exact>,
    /// Possible reasons for a difference.
    reasons: Vec<DifferenceReason>,
}

/// A possible reason for a difference between a measured and a predicted number.
#[derive(Debug, Serialize, Tsify)]
pub struct DifferenceReason {
    #[tsify(type = "\"parameters\" | \"moment\" | \"checkpoint\" | \"software\" | \"routing\" | \"reserved\"")]
    id: &'static str,
    text: &'static str,
}

/// Sets what a training log measured beside the estimate of a job, stage by stage: an empty list where the log measured
/// nothing, or Megatron would refuse the job.
///
/// # Errors
/// Throws a `TypeError` for arguments of the wrong kind.
#[wasm_bindgen(js_name = compareLog, unchecked_return_type = "MeasuredStage[]")]
pub fn compare_log(
    #[wasm_bindgen(js_name = job, unchecked_param_type = "Job | string")] given: &JsValue,
    #[wasm_bindgen(unchecked_param_type = "string")] log: &JsValue,
) -> Result<JsValue, JsValue> {
    let log = arguments::text(log, "log")?;
    let setup = Given::read(given, None)?.state.setup;
    let log = training_log::read(&log).measured;
    let compared = evidence::compare_log(&setup.job, &log);
    let stages = compared.map(|compared| compared.stages).unwrap_or_default();
    let stages: Vec<MeasuredStage> = stages.into_iter().map(MeasuredStage::from).collect();
    to_js(&stages)
}

fn exact(bytes: Option<Bytes>) -> Option<Exact> {
    bytes.map(|bytes| bytes.0.into())
}

impl From<StageComparison> for MeasuredStage {
    fn from(stage: StageComparison) -> Self {
        let bytes = |error: Option<evidence::Error>| error.map(|error| error.bytes.into());
        let reason = |reason: &evidence::Reason| DifferenceReason {
            id: reason.id(),
            text: reason.text(),
        };
        Self {
            pp_rank: stage.pp_rank,
            predicted_parameters: stage.predicted_parameters.into(),
            parameters: stage.parameters.map(Exact::from),
            predicted_steady_bytes: stage.predicted_steady.0.into(),
            predicted_peak_bytes: stage.predicted_peak.0.into(),
            report: stage.report.as_ref().map(MeasuredRank::from),
            steady_error_bytes: bytes(stage.steady_error),
            peak_error_bytes: bytes(stage.peak_error),
            reasons: stage.reasons.iter().map(reason).collect(),
        }
    }
}

impl From<&MemoryReport> for MeasuredRank {
    fn from(report: &MemoryReport) -> Self {
        Self {
            rank: report.rank.into(),
            iteration: report.iteration.map(Exact::from),
            moment: evidence::moment(report).map(JobMoment::name),
            words: report.words.clone(),
            allocated_bytes: report.allocated.0.into(),
            max_allocated_bytes: report.max_allocated.0.into(),
            reserved_bytes: exact(report.reserved),
            max_reserved_bytes: exact(report.max_reserved),
            device_bytes: exact(report.device),
        }
    }
}

impl From<&LoggedOutOfMemory> for OutOfMemoryError {
    fn from(error: &LoggedOutOfMemory) -> Self {
        Self {
            rank: error.rank.map(Exact::from),
            gpu: error.gpu.map(Exact::from),
            iteration: error.iteration.map(Exact::from),
            tried_bytes: exact(error.tried),
            capacity_bytes: exact(error.capacity),
            free_bytes: exact(error.free),
            in_use_bytes: exact(error.in_use),
            allocated_bytes: exact(error.allocated),
            unallocated_bytes: exact(error.unallocated),
        }
    }
}

impl From<LogMeasurements> for LogMeasurement {
    fn from(log: LogMeasurements) -> Self {
        Self {
            parameters: log
                .parameters
                .iter()
                .map(|count| RankParameters {
                    tp_rank: count.tp_rank.into(),
                    pp_rank: count.pp_rank.into(),
                    parameters: count.parameters.into(),
                })
                .collect(),
            theoretical: log.theoretical.map(|printed| Theoretical {
                weight_and_optimizer_bytes: printed.weight_and_optimizer.0.into(),
                activation_bytes: printed.activation.0.into(),
                total_bytes: printed.total.0.into(),
            }),
            memory: log.memory.iter().map(MeasuredRank::from).collect(),
            iterations: log.iterations.map(|times| Iterations {
                count: times.count,
                last_iteration: times.last_iteration.into(),
                median_tenth_ms: times.median_tenth_ms.into(),
            }),
            out_of_memory: log.out_of_memory.iter().map(OutOfMemoryError::from).collect(),
        }
    }
}
