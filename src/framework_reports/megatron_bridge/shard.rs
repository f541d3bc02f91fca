//! The fullest GPU's share of parameters and optimizer state.

use super::super::python::{OperationError, PyValue};
use super::integers::{positive_or, saturating_int};
use super::parameters::{ParameterCounts, sum};
use super::stages::{Stages, uneven_stages};
use super::{ModelConfig, TrainConfig};
use crate::python::PythonError;

/// Parallel sizes, each at least 1.
pub(super) struct Sizes<'a> {
    pub(super) tensor: PyValue<'a>,
    pub(super) pipeline: PyValue<'a>,
    pub(super) context: PyValue<'a>,
    expert: PyValue<'a>,
    expert_tensor: PyValue<'a>,
}

impl<'a> Sizes<'a> {
    pub(super) fn read(model: &ModelConfig<'a>) -> Result<Self, PythonError> {
        Ok(Self {
            tensor: positive_or(model.tensor_model_parallel_size, "tensor_model_parallel_size", 1)?,
            pipeline: positive_or(model.pipeline_model_parallel_size, "pipeline_model_parallel_size", 1)?,
            context: positive_or(model.context_parallel_size, "context_parallel_size", 1)?,
            expert: positive_or(model.expert_model_parallel_size, "expert_model_parallel_size", 1)?,
            expert_tensor: positive_or(model.expert_tensor_parallel_size, "expert_tensor_parallel_size", 1)?,
        })
    }
}

/// `_dense_parameters_on_most_loaded_shard`.
pub(super) fn dense_parameters<'a>(
    model: &ModelConfig<'a>,
    counts: &ParameterCounts<'a>,
    sizes: &Sizes<'a>,
) -> Result<PyValue<'a>, PythonError> {
    let Some(stages) = uneven_stages(model, saturating_int(sizes.pipeline)?)? else {
        let transformer = counts.dense_transformer / (sizes.pipeline * sizes.tensor);
        let transformer = transformer.value()?;
        return Ok((transformer + even_embedding_parameters(model, counts, sizes)?).value()?);
    };
    let (layers, mtp) = sum_by_stage(&counts.dense_by_layer, &stages);
    let mut by_stage: Vec<PyValue<'a>> = layers.into_iter().map(PyValue::from).collect();
    if let Some(last) = by_stage.last_mut() {
        last.add_assign(mtp)?;
        last.add_assign(counts.final_layernorm)?;
    }
    if let Some(first) = by_stage.first_mut() {
        first.add_assign(counts.embedding)?;
    }
    if let Some(last) = by_stage.last_mut() {
        last.add_assign(counts.embedding)?;
    }
    Ok((largest(by_stage)? / sizes.tensor).value()?)
}

/// `_embedding_parameters_on_most_loaded_shard`.
fn even_embedding_parameters<'a>(
    model: &ModelConfig<'a>,
    counts: &ParameterCounts<'a>,
    sizes: &Sizes<'a>,
) -> Result<PyValue<'a>, OperationError> {
    let share = (counts.embedding / sizes.tensor).value()?;
    let is_shared = model.share_embeddings_and_output_weights.truth()?;
    if !is_shared && sizes.pipeline.equals(1) {
        (share + share).value()
    } else {
        Ok(share)
    }
}

/// `_routed_expert_parameters_on_most_loaded_shard`.
pub(super) fn routed_expert_parameters<'a>(
    model: &ModelConfig<'a>,
    counts: &ParameterCounts<'a>,
    sizes: &Sizes<'a>,
) -> Result<PyValue<'a>, PythonError> {
    let Some(stages) = uneven_stages(model, saturating_int(sizes.pipeline)?)? else {
        let ranks = sizes.pipeline * sizes.expert * sizes.expert_tensor;
        return Ok((PyValue::from(counts.routed_experts) / ranks).value()?);
    };
    let (mut by_stage, mtp) = sum_by_stage(&counts.routed_by_layer, &stages);
    if let Some(last) = by_stage.last_mut() {
        *last += mtp;
    }
    let by_stage = by_stage.into_iter().map(PyValue::from).collect();
    Ok((largest(by_stage)? / (sizes.expert * sizes.expert_tensor)).value()?)
}

/// The sum over every stage's layers, and over the MTP layers that belong to none.
fn sum_by_stage(by_layer: &[f64], stages: &Stages) -> (Vec<f64>, f64) {
    let by_stage = stages
        .iter()
        .map(|ranges| {
            let of_range = |range| by_layer.get(range).unwrap_or_default();
            let layers: Vec<f64> = ranges.iter().cloned().flat_map(of_range).copied().collect();
            sum(&layers)
        })
        .collect();
    let num_layers = stages.iter().flatten().map(ExactSizeIterator::len).sum();
    let mtp = sum(by_layer.get(num_layers..).unwrap_or_default());
    (by_stage, mtp)
}

/// `max` of the stages.
fn largest(by_stage: Vec<PyValue<'_>>) -> Result<PyValue<'_>, OperationError> {
    let mut stages = by_stage.into_iter();
    let first = stages.next().unwrap_or(PyValue::Int(0));
    stages.try_fold(first, PyValue::max)
}

/// Bytes per dense parameter: the optimizer is sharded over data and context ranks.
pub(super) fn dense_bytes_per_parameter(train: &TrainConfig<'_>, sizes: &Sizes<'_>) -> Result<f64, PythonError> {
    let data = positive_or(train.data_parallel_size, "data_parallel_size", 1)?;
    bytes_per_parameter(train, (data * sizes.context).value()?)
}

/// Bytes per routed-expert parameter: the optimizer is sharded over expert-data ranks.
pub(super) fn expert_bytes_per_parameter<'a>(train: &TrainConfig<'a>, sizes: &Sizes<'a>) -> Result<f64, PythonError> {
    let data = positive_or(train.data_parallel_size, "data_parallel_size", 1)?;
    let expert_ranks = (sizes.expert * sizes.expert_tensor).value()?;
    let mut shards = (data * sizes.tensor * sizes.context).value()?;
    shards.floor_div_assign(PyValue::from(1).max(expert_ranks)?)?;
    bytes_per_parameter(train, shards)
}

/// `_bytes_per_parameter`, which takes fewer shards than one for one.
fn bytes_per_parameter(train: &TrainConfig<'_>, shards: PyValue<'_>) -> Result<f64, PythonError> {
    let is_distributed = train.use_distributed_optimizer.if_given();
    if !is_distributed.is_some_and(PyValue::truth) {
        return Ok(18.0);
    }
    let bytes = 6.0 + (12.0 / PyValue::from(1).max(shards)?);
    Ok(bytes.value()?.float()?)
}
