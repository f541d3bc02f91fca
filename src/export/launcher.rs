//! Flags and environment variables that do not change memory, but without which Megatron-LM would refuse the job or
//! fail (`validate_args` in `megatron/training/arguments.py`, unless another place is named).

use crate::config::canonical::{Meaning, is_on, meaning};
use crate::config::choices::CudaGraphImpl;
use crate::config::fields::FieldId;
use crate::config::gpus::{self, GpuGeneration};
use crate::config::parse::Parsed;
use crate::config::raw::Settings;
use crate::formats::environment;
use crate::value::Value;

/// Whether a field has this value, set or by default.
fn is(settings: &Settings, id: FieldId, value: &Value) -> bool {
    meaning(id, settings.get(id)).to_value(id) == *value
}

/// Whether a field has this choice, set or by default.
fn has_choice(settings: &Settings, id: FieldId, name: &str) -> bool {
    is(settings, id, &Value::Text(name.to_owned()))
}

/// The whole number of a field, set or by default; 1 where it has none.
fn number(settings: &Settings, id: FieldId) -> i128 {
    match meaning(id, settings.get(id)).to_value(id) {
        Value::Int(number) => number,
        _ => 1,
    }
}

/// The generation of the GPU.
fn gpu_generation(settings: &Settings) -> GpuGeneration {
    let value = |id| meaning(id, settings.get(id));
    let given = match value(FieldId::gpu_generation) {
        Meaning::Is(Parsed::Choice(index)) => GpuGeneration::at(index),
        _ => None,
    };
    let chosen = || match value(FieldId::gpu) {
        Meaning::Is(Parsed::Text(name)) => gpus::generation(&name),
        _ => None,
    };
    given.or_else(chosen).unwrap_or(GpuGeneration::ASSUMED)
}

/// The environment variables that the job needs, with their values.
pub(super) fn variables(settings: &Settings) -> Vec<(&'static str, String)> {
    let mut all = environment::variables(settings);
    let mut one = |name| all.push((name, String::from("1")));
    let generation = gpu_generation(settings);
    let sizes = [FieldId::tensor_model_parallel_size, FieldId::context_parallel_size];
    if sizes.iter().any(|id| number(settings, *id) > 1)
        && generation.major() < 10
        && !is_on(settings, FieldId::overlap_moe_expert_parallel_comm)
        // `validate_args` refuses it.
        && !is_on(settings, FieldId::use_megatron_fsdp)
        && !is_on(settings, FieldId::use_torch_fsdp2)
    {
        one("CUDA_DEVICE_MAX_CONNECTIONS");
    }
    if is_on(settings, FieldId::fine_grained_activation_offloading) {
        one("NVTE_CPU_OFFLOAD_V1");
    }
    // `TEDotProductAttention.__init__`.
    if is_on(settings, FieldId::apply_query_key_layer_scaling) {
        one("NVTE_APPLY_QK_LAYER_SCALING");
    }
    all
}

/// The names of the flags without a value that the job needs.
pub(super) fn switches(settings: &Settings) -> impl Iterator<Item = &'static str> {
    let graphs = environment::captures(settings);
    let local = has_choice(settings, FieldId::transformer_impl, "local");
    let [experts, k] = [FieldId::num_experts, FieldId::moe_router_topk];
    let softmax = has_choice(settings, FieldId::moe_router_score_function, "softmax");
    let needed = [
        // A CUDA graph of the whole iteration cannot copy a value to the CPU, which the check for NaN does.
        (
            graphs == Some(CudaGraphImpl::FullIteration),
            "no-check-for-nan-in-loss-and-grad",
        ),
        // A softmax over a single chosen expert has no gradient (`TransformerConfig.__post_init__`).
        (
            settings.get(experts).is_some() && is(settings, k, &Value::Int(1)) && softmax,
            "moe-router-pre-softmax",
        ),
        // `WrappedTorchNorm` has no persistent kernel.
        (
            local && has_choice(settings, FieldId::normalization, "RMSNorm"),
            "no-persist-layer-norm",
        ),
    ];
    needed.into_iter().filter_map(|(needs, name)| needs.then_some(name))
}

/// Comments that name what has to be changed or added by hand.
pub(super) fn comments(settings: &Settings) -> String {
    let needed = [
        (
            is_on(settings, FieldId::cross_entropy_loss_fusion)
                && has_choice(settings, FieldId::cross_entropy_fusion_impl, "te"),
            "\
# The launcher of Megatron-LM stops at --cross-entropy-loss-fusion with --cross-entropy-fusion-impl te; Megatron-Bridge warns.
# Set it to native before a launch, here and in the calculator: the native loss needs another amount of memory.
",
        ),
        (
            has_choice(settings, FieldId::cp_comm_type, "a2a+p2p"),
            "# Add --hierarchical-context-parallel-sizes with two numbers: ranks that exchange heads (a2a), and ranks that exchange blocks (p2p).\n",
        ),
        (
            has_choice(settings, FieldId::position_embedding_type, "mrope"),
            "# Add --mrope-section: how many rotary dimensions belong to time, height and width.\n",
        ),
    ];
    let needed = needed.into_iter().filter(|(needs, _)| *needs);
    needed.map(|(_, comment)| comment).collect()
}
