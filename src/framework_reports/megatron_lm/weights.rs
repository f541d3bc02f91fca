//! Weights, gradients and optimizer state.
//!
//! Statement by statement in Megatron-LM's order, because the first statement that raises decides the
//! exception; names follow its own.

use super::super::python::{OperationError, PyValue};
use super::Arguments;
use super::layer::Layer;
use super::model::Model;
use super::stdout::{Billions, Stdout};
use crate::python::PythonError;

/// `compute_weight_and_optimizer_memory`: bytes on the fullest rank.
pub(super) fn compute<'a>(args: &Arguments<'a>, stdout: &mut Stdout) -> Result<PyValue<'a>, PythonError> {
    let model = Model::read(args)?;
    let layer = Layer::count(args, &model)?;
    print_totals(&model, &layer, stdout)?;
    Ok(shard(args, &model, &layer, stdout)?)
}

/// The totals of the whole model, which only the verbose lines show.
fn print_totals(model: &Model<'_>, layer: &Layer<'_>, stdout: &mut Stdout) -> Result<(), OperationError> {
    let dense = layer.dense().value()?;
    let moe = layer.moe(layer.routed_expert).value()?;
    let active_moe = layer.moe(layer.active_routed_expert).value()?;
    let block = (dense * model.num_dense_layers + moe * model.num_moe_layers + layer.final_layernorm).value()?;
    let active_block =
        (dense * model.num_dense_layers + active_moe * model.num_moe_layers + layer.final_layernorm).value()?;
    let mtp_block = (dense * model.mtp_num_dense_layers + moe * model.mtp_num_moe_layers).value()?;
    let total = (block + mtp_block + layer.embeddings).value()?;
    let active = (active_block + mtp_block + layer.embeddings).value()?;

    stdout.billions("Number of parameters in transformer block", block, Billions::Spaced)?;
    stdout.billions(
        "Number of active parameters in transformer block",
        active_block,
        Billions::Spaced,
    )?;
    if model.has_mtp {
        stdout.billions("Number of parameters in mtp block", mtp_block, Billions::Spaced)?;
    }
    stdout.billions(
        "Number of parameters in embedding layers",
        layer.embeddings,
        Billions::TwoDecimals,
    )?;
    stdout.billions("Total number of parameters", total, Billions::TwoDecimals)?;
    stdout.billions("Total number of active parameters", active, Billions::TwoDecimals)
}

/// Bytes on the fullest rank: an average pipeline stage, one embedding and every MTP layer.
fn shard<'a>(
    args: &Arguments<'a>,
    model: &Model<'a>,
    layer: &Layer<'a>,
    stdout: &mut Stdout,
) -> Result<PyValue<'a>, OperationError> {
    let pipeline_size = args.pipeline_model_parallel_size;
    let tensor_size = args.tensor_model_parallel_size;
    let expert_tensor_size = args.expert_tensor_parallel_size;
    let expert_size = args.expert_model_parallel_size;
    let expert_model_size = (expert_tensor_size * expert_size * pipeline_size).value()?;
    let expert_data_parallel_size = args.world_size.floor_div(expert_model_size).value()?;

    let (dense, moe) = (model.num_dense_layers, model.num_moe_layers);
    let tp_in_block = layer.sharded(dense, moe).value()?;
    let replicated_in_block = (layer.replicated(dense, moe) + layer.final_layernorm).value()?;
    let experts_in_block = (layer.routed_expert * moe).value()?;
    let (dense, moe) = (model.mtp_num_dense_layers, model.mtp_num_moe_layers);
    let tp_in_mtp = layer.sharded(dense, moe).value()?;
    let replicated_in_mtp = layer.replicated(dense, moe).value()?;
    let experts_in_mtp = (layer.routed_expert * moe).value()?;

    let mut tp = ((((tp_in_block / pipeline_size) + tp_in_mtp) + layer.embedding_size) / tensor_size).value()?;
    let replicated = ((replicated_in_block / pipeline_size) + replicated_in_mtp).value()?;
    let experts =
        (((experts_in_block / pipeline_size) + experts_in_mtp) / (expert_tensor_size * expert_size)).value()?;
    let mut parameters = (tp + replicated + experts).value()?;
    if args.untie_embeddings_and_output_weights.truth()? && pipeline_size.equals(1)? {
        tp.add_assign(layer.embedding_size / tensor_size)?;
        parameters.add_assign(layer.embedding_size / tensor_size)?;
    }
    stdout.billions(
        "Number of parameters in most loaded shard",
        parameters,
        Billions::FourDecimals,
    )?;
    if pipeline_size.exceeds(1)? {
        let elsewhere = tp_in_block / (pipeline_size * tensor_size)
            + replicated_in_block / pipeline_size
            + experts_in_block / (pipeline_size * expert_tensor_size * expert_size);
        stdout.billions(
            "Number of parameters in other shards",
            elsewhere.value()?,
            Billions::FourDecimals,
        )?;
    }

    let bytes = bytes_per_parameter(args, args.data_parallel_size.value()?)?;
    let expert_bytes = bytes_per_parameter(args, expert_data_parallel_size)?;
    let memory = (tp + replicated) * bytes + experts * expert_bytes;
    memory.value()
}

/// `num_bytes_per_parameter`: bf16 weights, fp32 gradients, fp32 main weights and Adam's two states.
fn bytes_per_parameter<'a>(
    args: &Arguments<'a>,
    data_parallel_size: PyValue<'a>,
) -> Result<PyValue<'a>, OperationError> {
    if args.use_distributed_optimizer.truth()? {
        (6 + (12 / data_parallel_size)).value()
    } else {
        Ok(18.into())
    }
}
