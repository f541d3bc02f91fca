//! The report of Megatron-Bridge's `training/utils/theoretical_memory_utils.py`.
//!
//! Known to be off as a prediction, which is why it is only ever shown beside the estimate: it knows
//! no multi-latent attention, no router and no real pipeline stages but uneven ones, and counts
//! activations for the first stage alone.

mod activation;
mod estimate;
mod parameters;
mod pattern;
mod shard;
mod stages;

use super::python::{Namespace, Py, PythonError, fixed, int, is_none, raise, run, truth};
use super::{BILLION, GIGABYTE, MEGABYTE};
use crate::value::Value;

pub use estimate::{MemoryComponent, TrainingMemory};

/// What Megatron-Bridge's estimator computes and prints for one job.
#[derive(Clone, Debug, PartialEq)]
pub struct MegatronBridgeReport {
    /// The estimate with or without activations, as asked for.
    pub estimate: Result<TrainingMemory, PythonError>,
    /// The exception of the printed report, which decides by itself whether it needs activations.
    pub report_error: Option<PythonError>,
    /// What the verbose report prints; nothing when it raises an exception.
    pub report_verbose_stdout: String,
}

/// The report for `input`, a map of `model`, `train`, `num_microbatches` and `include_activation`.
///
/// `model` is a map with the names of Megatron-Bridge's model configuration. Without a default,
/// and an `AttributeError` when missing: `hidden_size`, `ffn_hidden_size`, `num_attention_heads`,
/// `num_query_groups` (null or 0 for one per head), `kv_channels`, `seq_length` (for activations),
/// `vocab_size`, `make_vocab_size_divisible_by` and `tensor_model_parallel_size` (unless
/// `should_pad_vocab` is false, which needs `vocab_size` alone), `share_embeddings_and_output_weights`,
/// `sequence_parallel` and `recompute_granularity` (for the printed report). With a default:
///
/// | name | default |
/// | --- | --- |
/// | `num_layers`, `tensor_model_parallel_size`, `pipeline_model_parallel_size`, `context_parallel_size`, `expert_model_parallel_size`, `expert_tensor_parallel_size` | 1, also for null |
/// | `virtual_pipeline_model_parallel_size`, `num_layers_in_first_pipeline_stage`, `num_layers_in_last_pipeline_stage` | null: none |
/// | `should_pad_vocab` | true |
/// | `gated_linear_unit`, `activation_func` | false, null; only `true` with `"silu"` has a third projection |
/// | `num_moe_experts`, `moe_latent_size`, `mtp_num_layers` | null: none |
/// | `moe_layer_freq` | 1; a number or a list of one truth value per layer |
/// | `moe_ffn_hidden_size` | `ffn_hidden_size`, also for null |
/// | `moe_shared_expert_intermediate_size` | 0, also for null |
/// | `moe_router_topk` | `num_experts_routed_to`, else 1, also for null |
///
/// `train` is a map of `micro_batch_size` (no default, for activations), `data_parallel_size`
/// (1, also for null; without context parallelism) and `use_distributed_optimizer` (false).
/// `num_microbatches` is a number, or null for "not given"; `include_activation` is true when
/// missing. A missing `model` or `train` counts as an empty map.
///
/// More than 2²⁰ layers are a `MemoryError` here, where Python's own bound is the machine.
#[must_use]
pub fn report(input: &Value) -> MegatronBridgeReport {
    static NOTHING: Value = Value::Map(Vec::new());
    let section = |name| Namespace(input.get(name).unwrap_or(&NOTHING));
    let job = || Job {
        model: section("model"),
        train: section("train"),
        num_microbatches: input
            .get("num_microbatches")
            .filter(|number| !is_none(number))
            .map(Py::from),
    };
    let include_activation = input.get("include_activation").is_none_or(truth);
    let estimate_with = |activation| run(|| estimate::estimate(job(), activation));
    let estimate = estimate_with(include_activation);
    // The printed report makes an estimate of its own, which nearly always is the same.
    let printed = run(|| prints_activation(job().model)).and_then(|activation| {
        let other = (activation != include_activation).then(|| estimate_with(activation));
        let printed = other.as_ref().unwrap_or(&estimate).as_ref();
        printed.map(print_report).map_err(Clone::clone)
    });
    let (report_error, report_verbose_stdout) = match printed {
        Ok(text) => (None, text),
        Err(error) => (Some(error), String::new()),
    };
    MegatronBridgeReport {
        estimate,
        report_error,
        report_verbose_stdout,
    }
}

/// The inputs of every formula.
#[derive(Clone, Copy)]
struct Job<'a> {
    model: Namespace<'a>,
    train: Namespace<'a>,
    num_microbatches: Option<Py>,
}

/// Whether `report_theoretical_memory` asks for activations.
fn prints_activation(model: Namespace<'_>) -> bool {
    model.truth("sequence_parallel") && model.is_text("recompute_granularity", "selective")
}

/// `report_theoretical_memory`: the verbose text of an estimate.
fn print_report(estimate: &TrainingMemory) -> String {
    let megabytes = |bytes: f64| bytes / f64::from(MEGABYTE);
    let weights = megabytes(estimate.weight_and_optimizer_bytes);
    let mut text = estimate.parameter_summary();
    text += "Theoretical memory footprints: weight and optimizer=";
    text += &fixed(weights, 2);
    if let Some(activation) = &estimate.activation {
        text += " MB, activation=";
        text += &fixed(activation.memory_mb, 2);
        text += " MB, total=";
        text += &fixed(weights + activation.memory_mb, 2);
        text += " MB\n\n";
    } else {
        text += " MB\n";
    }
    text
}

/// The positive integer `config.name`, or `default` where it is missing or null.
fn positive_or(config: Namespace<'_>, name: &str, default: i32) -> Py {
    let Some(value) = config.get_some(name) else {
        return default.into();
    };
    let value = int(value);
    if value.is_at_most(0) {
        raise("ValueError", &[name, " must be positive"]);
    }
    value
}

/// The integer `config.name`, not negative, or `default` where it is missing or null.
fn non_negative_or(config: Namespace<'_>, name: &str, default: Py) -> Py {
    let Some(value) = config.get_some(name) else {
        return default;
    };
    let value = int(value);
    if value.is_below(0) {
        raise("ValueError", &[name, " must be non-negative"]);
    }
    value
}
