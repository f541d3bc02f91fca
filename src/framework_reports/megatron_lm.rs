//! The report of Megatron-LM's `megatron/training/theoretical_memory_usage.py`.
//!
//! Known to be off as a prediction, which is why it is only ever shown beside the estimate: it takes
//! the average pipeline stage for the fullest one, ignores context parallelism and counts activations
//! for the first stage alone.

mod activations;
mod arguments;
mod layer;
mod model;
mod pattern;
mod stdout;
mod weights;

pub use arguments::Arguments;

use super::MEGABYTE;
use super::python::{PyValue, fixed};
use crate::python::PythonError;
use stdout::Stdout;

/// The results and the output of Megatron-LM's estimator for one job.
#[derive(Clone, Debug, PartialEq)]
pub struct MegatronLmReport {
    /// Weights, gradients and optimizer state on the fullest rank, in bytes.
    pub weight_and_optimizer_bytes: Result<f64, PythonError>,
    /// Activations with sequence parallelism and selective recomputation, in bytes.
    pub activation_bytes: Result<f64, PythonError>,
    /// Activations without sequence parallelism, in bytes.
    pub activation_bytes_without_sp: Result<f64, PythonError>,
    /// What the report returns: weights and optimizer, activations and their sum, in units of 1024²
    /// bytes. `None` for hybrid models, which the estimator refuses.
    pub report_mb: Result<Option<[f64; 3]>, PythonError>,
    /// The text that the verbose report prints, up to its exception where it raises one.
    pub report_verbose_stdout: String,
}

/// The report for a job's arguments at `num_microbatches`, which is Python's `None` where it is not given.
#[must_use]
pub fn report(args: &Arguments<'_>, num_microbatches: PyValue<'_>) -> MegatronLmReport {
    let bytes = |formula: Formula| {
        let value = formula(args, num_microbatches, &mut Stdout::quiet())?;
        Ok(value.float()?)
    };
    let mut stdout = Stdout::verbose();
    let report_mb = print_report(args, num_microbatches, &mut stdout);
    MegatronLmReport {
        weight_and_optimizer_bytes: bytes(weights),
        activation_bytes: bytes(activations::with_sequence_parallelism),
        activation_bytes_without_sp: bytes(activations::without_sequence_parallelism),
        report_mb,
        report_verbose_stdout: stdout.text,
    }
}

/// A number of bytes from the arguments, `num_microbatches` and where to print.
type Formula = for<'a> fn(&Arguments<'a>, PyValue<'a>, &mut Stdout) -> Result<PyValue<'a>, PythonError>;

/// `compute_weight_and_optimizer_memory`, which has no use for `num_microbatches`.
fn weights<'a>(args: &Arguments<'a>, _: PyValue<'a>, stdout: &mut Stdout) -> Result<PyValue<'a>, PythonError> {
    weights::compute(args, stdout)
}

/// `report_theoretical_memory`.
fn print_report(
    args: &Arguments<'_>,
    num_microbatches: PyValue<'_>,
    stdout: &mut Stdout,
) -> Result<Option<[f64; 3]>, PythonError> {
    if !args.hybrid_layer_pattern.is_none()? {
        stdout.line("Theoretical memory footprints not yet supported for hybrid Mamba-Transformer models.");
        return Ok(None);
    }
    let weights = (weights::compute(args, stdout)? / MEGABYTE).value()?;
    let selective = args.sequence_parallel.truth()? && args.recompute_granularity.is_text("selective")?;
    let activations = if selective {
        stdout.line("compute_activation_memory with SP");
        activations::with_sequence_parallelism(args, num_microbatches, stdout)?
    } else {
        stdout.line("compute_activation_memory_without_sp");
        activations::without_sequence_parallelism(args, num_microbatches, stdout)?
    };
    let activations = (activations / MEGABYTE).value()?.float()?;
    let weights = weights.float()?;
    let total = weights + activations;
    stdout.line(&format!(
        "Theoretical memory footprints: weight and optimizer={} MB, activation={} MB, total={} MB\n",
        fixed(weights, 2),
        fixed(activations, 2),
        fixed(total, 2),
    ));
    Ok(Some([weights, activations, total]))
}
