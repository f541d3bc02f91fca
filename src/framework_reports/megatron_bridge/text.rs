//! The output of the estimator.

use super::super::python::fixed;
use super::super::{BILLION, GIGABYTE, MEGABYTE};
use super::{MemoryComponent, TrainingMemory};

/// The output of `report_theoretical_memory` when it is verbose.
pub(super) fn report(estimate: &TrainingMemory) -> String {
    let weights = estimate.weight_and_optimizer_bytes / f64::from(MEGABYTE);
    let summary = parameter_summary(estimate);
    let total = match &estimate.activation {
        Some(activation) => format!(
            ", activation={} MB, total={} MB\n",
            fixed(activation.memory_mb, 2),
            fixed(weights + activation.memory_mb, 2)
        ),
        None => String::new(),
    };
    format!(
        "{summary}Theoretical memory footprints: weight and optimizer={} MB{total}\n",
        fixed(weights, 2)
    )
}

/// `_print_parameter_summary`.
fn parameter_summary(estimate: &TrainingMemory) -> String {
    let line = |what: &str, count: f64, digits| {
        let billions = fixed(count / f64::from(BILLION), digits);
        format!("{what} in billions: {billions}\n")
    };
    let whole = by_kind(estimate).map(|(kind, part)| {
        let what = format!("Number of {kind} parameters");
        line(&what, part.parameter_count, 2)
    });
    let total = line("Total number of parameters", estimate.total_parameters, 2);
    let fullest = by_kind(estimate).map(|(kind, part)| {
        let what = format!("Number of {kind} parameters in most loaded shard");
        line(&what, part.parameter_count_per_gpu, 4)
    });
    whole.chain([total]).chain(fullest).collect()
}

/// The components of weights and states with the words for their parameters.
fn by_kind(estimate: &TrainingMemory) -> impl Iterator<Item = (&'static str, &MemoryComponent)> {
    ["dense and embedding", "routed expert"]
        .into_iter()
        .zip(&estimate.components)
}

/// `format_training_memory_estimate` in MB.
pub(super) fn in_megabytes(estimate: &TrainingMemory) -> String {
    formatted(estimate, "MB", MEGABYTE)
}

/// `format_training_memory_estimate` in GB.
pub(super) fn in_gigabytes(estimate: &TrainingMemory) -> String {
    formatted(estimate, "GB", GIGABYTE)
}

fn formatted(estimate: &TrainingMemory, unit: &str, scale: i32) -> String {
    let amount = |name: &str, bytes: f64| {
        let amount = fixed(bytes / f64::from(scale), 2);
        format!("{name}={amount} {unit}")
    };
    let parts = estimate.components.iter().chain(&estimate.activation);
    let mut amounts: Vec<String> = parts.map(|part| amount(part.name, part.memory_bytes)).collect();
    amounts.push(amount("total", estimate.total_memory_bytes));
    format!("Theoretical memory footprints: {}", amounts.join(", "))
}
