//! The report of Megatron-Bridge's `training/utils/theoretical_memory_utils.py`.
//!
//! Known to be off as a prediction, which is why it is only ever shown beside the estimate: it knows
//! no multi-latent attention, no router and no real pipeline stages but uneven ones, and counts
//! activations for the first stage alone.

mod activation;
mod estimate;
mod input;
mod integers;
mod parameters;
mod pattern;
mod shard;
mod stages;
mod text;

pub use estimate::{MemoryComponent, TrainingMemory};
pub use input::{Input, ModelConfig, TrainConfig};

use super::python::OperationError;
use crate::python::PythonError;

/// The results and the output of Megatron-Bridge's estimator for one job.
#[derive(Clone, Debug, PartialEq)]
pub struct MegatronBridgeReport {
    /// The estimate with or without activations, as asked for.
    pub estimate: Result<TrainingMemory, PythonError>,
    /// The exception of the printed report, which decides by itself whether it needs activations.
    pub report_error: Option<PythonError>,
    /// The text that the verbose report prints; nothing when it raises an exception.
    pub report_verbose_stdout: String,
}

/// The report for a job's configuration.
///
/// More than 2²⁰ layers are a `MemoryError` here, where Python's own bound is the machine.
#[must_use]
pub fn report(input: &Input<'_>) -> MegatronBridgeReport {
    let estimate = estimate::estimate(input, input.include_activation);
    let printed = prints_activation(&input.model)
        .map_err(PythonError::from)
        .and_then(|activation| {
            if activation == input.include_activation {
                estimate.clone()
            } else {
                estimate::estimate(input, activation)
            }
        });
    let (report_error, report_verbose_stdout) = match printed {
        Ok(estimate) => (None, text::report(&estimate)),
        Err(error) => (Some(error), String::new()),
    };
    MegatronBridgeReport {
        estimate,
        report_error,
        report_verbose_stdout,
    }
}

/// Whether `report_theoretical_memory` asks for activations.
fn prints_activation(model: &ModelConfig<'_>) -> Result<bool, OperationError> {
    Ok(model.sequence_parallel.truth()? && model.recompute_granularity.is_text("selective")?)
}
