//! Weights, gradients and optimizer state.
//!
//! Statement by statement in Megatron-LM's order, because the first statement that fails decides the
//! message; names follow its own.

use super::super::python::{Namespace, Py};
use super::layer::Layer;
use super::model::Model;
use super::{Billions, Job, Stdout};

/// `compute_weight_and_optimizer_memory`: bytes on the fullest rank.
pub(super) fn compute(job: Job<'_>, stdout: &mut Stdout) -> Py {
    let args = job.args;
    let model = Model::read(args);
    let layer = Layer::count(args, &model);
    print_totals(&model, &layer, stdout);
    shard(args, &model, &layer, stdout)
}

/// The totals of the whole model, which only the verbose lines show.
fn print_totals(model: &Model, layer: &Layer, stdout: &mut Stdout) {
    let dense = layer.dense();
    let moe = layer.moe(layer.routed_expert);
    let active_moe = layer.moe(layer.active_routed_expert);
    let block = dense * model.num_dense_layers + moe * model.num_moe_layers + layer.final_layernorm;
    let active_block =
        dense * model.num_dense_layers + active_moe * model.num_moe_layers + layer.final_layernorm;
    let mtp_block = dense * model.mtp_num_dense_layers + moe * model.mtp_num_moe_layers;
    let total = block + mtp_block + layer.embeddings;
    let active = active_block + mtp_block + layer.embeddings;

    let in_block = "Number of parameters in transformer block";
    stdout.billions(in_block, block, Billions::Spaced);
    let in_active_block = "Number of active parameters in transformer block";
    stdout.billions(in_active_block, active_block, Billions::Spaced);
    if model.has_mtp {
        let in_mtp_block = "Number of parameters in mtp block";
        stdout.billions(in_mtp_block, mtp_block, Billions::Spaced);
    }
    let in_embeddings = "Number of parameters in embedding layers";
    stdout.billions(in_embeddings, layer.embeddings, Billions::Short);
    stdout.billions("Total number of parameters", total, Billions::Short);
    stdout.billions("Total number of active parameters", active, Billions::Short);
}

/// The fullest rank: an average pipeline stage, one embedding and every MTP layer.
fn shard(args: Namespace<'_>, model: &Model, layer: &Layer, stdout: &mut Stdout) -> Py {
    let arg = |name| args.get(name);
    let pipeline_size = || arg("pipeline_model_parallel_size");
    let tensor_size = || arg("tensor_model_parallel_size");
    let expert_tensor_size = || arg("expert_tensor_parallel_size");
    let expert_size = || arg("expert_model_parallel_size");
    let expert_model_size = expert_tensor_size() * expert_size() * pipeline_size();
    let expert_data_parallel_size = arg("world_size").floor_div(expert_model_size);

    let (dense, moe) = (model.num_dense_layers, model.num_moe_layers);
    let tp_in_block = layer.sharded(dense, moe);
    let replicated_in_block = layer.replicated(dense, moe) + layer.final_layernorm;
    let experts_in_block = layer.routed_expert * moe;
    let (dense, moe) = (model.mtp_num_dense_layers, model.mtp_num_moe_layers);
    let tp_in_mtp = layer.sharded(dense, moe);
    let replicated_in_mtp = layer.replicated(dense, moe);
    let experts_in_mtp = layer.routed_expert * moe;

    let mut tp =
        (((tp_in_block / pipeline_size()) + tp_in_mtp) + layer.embedding_size) / tensor_size();
    let replicated = (replicated_in_block / pipeline_size()) + replicated_in_mtp;
    let experts = ((experts_in_block / pipeline_size()) + experts_in_mtp)
        / (expert_tensor_size() * expert_size());
    let mut parameters = tp + replicated + experts;
    if args.truth("untie_embeddings_and_output_weights") && pipeline_size().equals(1) {
        tp += layer.embedding_size / tensor_size();
        parameters += layer.embedding_size / tensor_size();
    }
    let in_fullest = "Number of parameters in most loaded shard";
    stdout.billions(in_fullest, parameters, Billions::Long);
    if pipeline_size().exceeds(1) {
        let elsewhere = tp_in_block / (pipeline_size() * tensor_size())
            + replicated_in_block / pipeline_size()
            + experts_in_block / (pipeline_size() * expert_tensor_size() * expert_size());
        let in_others = "Number of parameters in other shards";
        stdout.billions(in_others, elsewhere, Billions::Long);
    }

    (tp + replicated) * bytes_per_parameter(args, arg("data_parallel_size"))
        + experts * bytes_per_parameter(args, expert_data_parallel_size)
}

/// `num_bytes_per_parameter`: bf16 weights, fp32 gradients, fp32 main weights and Adam's two states.
fn bytes_per_parameter(args: Namespace<'_>, data_parallel_size: Py) -> Py {
    if args.truth("use_distributed_optimizer") {
        6 + (12 / data_parallel_size)
    } else {
        18.into()
    }
}
