//! The fullest GPU's share of parameters and optimizer state.

use super::parameters::{ParameterCounts, sum, vocabulary_size};
use super::stages::{Stages, uneven_stages};
use super::{Namespace, Py, positive_or};

/// Parallel sizes, each at least 1.
pub(super) struct Sizes {
    tensor: Py,
    pipeline: Py,
    context: Py,
    expert: Py,
    expert_tensor: Py,
}

impl Sizes {
    pub(super) fn read(model: Namespace<'_>) -> Self {
        Self {
            tensor: positive_or(model, "tensor_model_parallel_size", 1),
            pipeline: positive_or(model, "pipeline_model_parallel_size", 1),
            context: positive_or(model, "context_parallel_size", 1),
            expert: positive_or(model, "expert_model_parallel_size", 1),
            expert_tensor: positive_or(model, "expert_tensor_parallel_size", 1),
        }
    }

    fn expert_and_tensor(&self) -> Py {
        self.expert * self.expert_tensor
    }
}

/// `_dense_parameters_on_most_loaded_shard`.
pub(super) fn dense_parameters(
    model: Namespace<'_>,
    counts: &ParameterCounts,
    sizes: &Sizes,
) -> Py {
    let Some(stages) = uneven_stages(model, sizes.pipeline.saturating_int()) else {
        let transformer = counts.dense_transformer / (sizes.pipeline * sizes.tensor);
        return transformer + even_embedding_parameters(model, sizes);
    };
    let (layers, mtp) = split(&counts.dense_by_layer, &stages);
    let mut by_stage: Vec<Py> = layers.into_iter().map(Py::from).collect();
    if let Some(last) = by_stage.last_mut() {
        *last += mtp;
        *last += counts.final_layernorm;
    }
    let embedding = model.get("hidden_size") * vocabulary_size(model);
    if let Some(first) = by_stage.first_mut() {
        *first += embedding;
    }
    if let Some(last) = by_stage.last_mut() {
        *last += embedding;
    }
    largest(by_stage) / sizes.tensor
}

/// `_embedding_parameters_on_most_loaded_shard`.
fn even_embedding_parameters(model: Namespace<'_>, sizes: &Sizes) -> Py {
    let embedding = model.get("hidden_size") * vocabulary_size(model);
    let share = embedding / sizes.tensor;
    let is_doubled =
        !model.truth("share_embeddings_and_output_weights") && sizes.pipeline.equals(1);
    if is_doubled { share + share } else { share }
}

/// `_routed_expert_parameters_on_most_loaded_shard`.
pub(super) fn routed_expert_parameters(
    model: Namespace<'_>,
    counts: &ParameterCounts,
    sizes: &Sizes,
) -> Py {
    let Some(stages) = uneven_stages(model, sizes.pipeline.saturating_int()) else {
        let ranks = sizes.pipeline * sizes.expert * sizes.expert_tensor;
        return Py::from(counts.routed_experts) / ranks;
    };
    let (mut by_stage, mtp) = split(&counts.routed_by_layer, &stages);
    if let Some(last) = by_stage.last_mut() {
        *last += mtp;
    }
    let by_stage = by_stage.into_iter().map(Py::from).collect();
    largest(by_stage) / sizes.expert_and_tensor()
}

/// The sum over every stage's layers, and over the MTP layers that belong to none.
fn split(by_layer: &[f64], stages: &Stages) -> (Vec<f64>, f64) {
    let of_range = |range: core::ops::Range<usize>| by_layer.get(range).unwrap_or_default();
    let by_stage = stages
        .iter()
        .map(|ranges| {
            let layers: Vec<f64> = ranges.iter().cloned().flat_map(of_range).copied().collect();
            sum(&layers)
        })
        .collect();
    let num_layers = stages.iter().flatten().map(ExactSizeIterator::len).sum();
    let mtp = sum(by_layer.get(num_layers..).unwrap_or_default());
    (by_stage, mtp)
}

/// `max` of the stages.
fn largest(by_stage: Vec<Py>) -> Py {
    by_stage.into_iter().reduce(Py::max).unwrap_or(0.into())
}

/// Bytes per dense parameter: the optimizer is sharded over data and context ranks.
pub(super) fn dense_bytes_per_parameter(train: Namespace<'_>, sizes: &Sizes) -> f64 {
    let data = positive_or(train, "data_parallel_size", 1);
    bytes_per_parameter(train, data * sizes.context)
}

/// Bytes per routed-expert parameter: the optimizer is sharded over expert-data ranks.
pub(super) fn expert_bytes_per_parameter(train: Namespace<'_>, sizes: &Sizes) -> f64 {
    let data = positive_or(train, "data_parallel_size", 1);
    let ranks = data * sizes.tensor * sizes.context;
    let shards = ranks.floor_div_assigned(Py::from(1).max(sizes.expert_and_tensor()));
    bytes_per_parameter(train, Py::from(1).max(shards))
}

/// `_bytes_per_parameter`.
fn bytes_per_parameter(train: Namespace<'_>, shards: Py) -> f64 {
    if !train.truth_or("use_distributed_optimizer", false) {
        return 18.0;
    }
    (6.0 + (12.0 / Py::from(1).max(shards))).float()
}
