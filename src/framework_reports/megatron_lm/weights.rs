//! Weights, gradients and optimizer state.
//!
//! Statement by statement in Megatron-LM's order, because the first statement that fails decides the
//! message; names follow its own.

use super::super::python::{Namespace, Py, PythonError};
use super::layer::Layer;
use super::model::Model;
use super::{Billions, Job, Stdout};

/// `compute_weight_and_optimizer_memory`: bytes on the fullest rank.
pub(super) fn compute(job: Job<'_>, stdout: &mut Stdout) -> Result<Py, PythonError> {
    let args = job.args;
    let model = Model::read(args)?;
    let layer = Layer::count(args, &model)?;
    print_totals(&model, &layer, stdout)?;
    shard(args, &model, &layer, stdout)
}

/// The totals of the whole model, which only the verbose lines show.
fn print_totals(model: &Model, layer: &Layer, stdout: &mut Stdout) -> Result<(), PythonError> {
    let dense = layer.dense().now()?;
    let moe = layer.moe(layer.routed_expert).now()?;
    let active_moe = layer.moe(layer.active_routed_expert).now()?;
    let block =
        (dense * model.num_dense_layers + moe * model.num_moe_layers + layer.final_layernorm)
            .now()?;
    let active_block = (dense * model.num_dense_layers
        + active_moe * model.num_moe_layers
        + layer.final_layernorm)
        .now()?;
    let mtp_block = (dense * model.mtp_num_dense_layers + moe * model.mtp_num_moe_layers).now()?;
    let total = (block + mtp_block + layer.embeddings).now()?;
    let active = (active_block + mtp_block + layer.embeddings).now()?;

    let in_block = "Number of parameters in transformer block";
    stdout.billions(in_block, block, Billions::Spaced)?;
    let in_active_block = "Number of active parameters in transformer block";
    stdout.billions(in_active_block, active_block, Billions::Spaced)?;
    if model.has_mtp {
        let in_mtp_block = "Number of parameters in mtp block";
        stdout.billions(in_mtp_block, mtp_block, Billions::Spaced)?;
    }
    let in_embeddings = "Number of parameters in embedding layers";
    stdout.billions(in_embeddings, layer.embeddings, Billions::Short)?;
    stdout.billions("Total number of parameters", total, Billions::Short)?;
    stdout.billions("Total number of active parameters", active, Billions::Short)?;
    Ok(())
}

/// The fullest rank: an average pipeline stage, one embedding and every MTP layer.
fn shard(
    args: Namespace<'_>,
    model: &Model,
    layer: &Layer,
    stdout: &mut Stdout,
) -> Result<Py, PythonError> {
    let arg = |name| args.get(name);
    let pipeline_size = arg("pipeline_model_parallel_size");
    let tensor_size = arg("tensor_model_parallel_size");
    let expert_tensor_size = arg("expert_tensor_parallel_size");
    let expert_size = arg("expert_model_parallel_size");
    let expert_model_size = (expert_tensor_size * expert_size * pipeline_size).now()?;
    let expert_data_parallel_size = arg("world_size").floor_div(expert_model_size).now()?;

    let dense_sharded = layer.attention + layer.dense_mlp;
    let moe_sharded = layer.attention + layer.shared_expert;
    let tp_in_block =
        (dense_sharded * model.num_dense_layers + moe_sharded * model.num_moe_layers).now()?;
    let replicated_in_block = (layer.layernorm * model.num_dense_layers
        + layer.replicated_in_moe() * model.num_moe_layers
        + layer.final_layernorm)
        .now()?;
    let experts_in_block = (layer.routed_expert * model.num_moe_layers).now()?;
    let tp_in_mtp = (dense_sharded * model.mtp_num_dense_layers
        + moe_sharded * model.mtp_num_moe_layers)
        .now()?;
    let replicated_in_mtp = (layer.layernorm * model.mtp_num_dense_layers
        + layer.replicated_in_moe() * model.mtp_num_moe_layers)
        .now()?;
    let experts_in_mtp = (layer.routed_expert * model.mtp_num_moe_layers).now()?;

    let mut tp = ((((tp_in_block / pipeline_size) + tp_in_mtp) + layer.embedding_size)
        / tensor_size)
        .now()?;
    let replicated = ((replicated_in_block / pipeline_size) + replicated_in_mtp).now()?;
    let experts = (((experts_in_block / pipeline_size) + experts_in_mtp)
        / (expert_tensor_size * expert_size))
        .now()?;
    let mut parameters = (tp + replicated + experts).now()?;
    if args.truth("untie_embeddings_and_output_weights")? && pipeline_size.equals(1)? {
        tp += layer.embedding_size / tensor_size;
        parameters += layer.embedding_size / tensor_size;
    }
    let in_fullest = "Number of parameters in most loaded shard";
    stdout.billions(in_fullest, parameters, Billions::Long)?;
    if pipeline_size.exceeds(1)? {
        let elsewhere = (tp_in_block / (pipeline_size * tensor_size)
            + replicated_in_block / pipeline_size
            + experts_in_block / (pipeline_size * expert_tensor_size * expert_size))
            .now()?;
        let in_others = "Number of parameters in other shards";
        stdout.billions(in_others, elsewhere, Billions::Long)?;
    }

    let state = (tp + replicated) * bytes_per_parameter(args, arg("data_parallel_size"))
        + experts * bytes_per_parameter(args, expert_data_parallel_size);
    Ok(state.now()?)
}

/// `num_bytes_per_parameter`: bf16 weights, fp32 gradients, fp32 main weights and Adam's two states.
fn bytes_per_parameter(args: Namespace<'_>, data_parallel_size: Py) -> Py {
    let sharded = data_parallel_size
        .now()
        .and_then(|_| args.truth("use_distributed_optimizer"));
    match sharded {
        Ok(false) => 18.into(),
        Ok(true) => 6 + (12 / data_parallel_size),
        Err(fault) => fault.into(),
    }
}
