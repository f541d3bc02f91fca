//! Flags and environment variables that do not change memory, but without which Megatron-LM would refuse the job or
//! fail (`validate_args` in `megatron/training/arguments.py`, unless another place is named).

use crate::config::canonical::{Meaning, is_on, meaning};
use crate::config::choices::{CudaGraphImpl, Launcher};
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

/// Whether Megatron-LM's own launcher starts the job.
pub(super) fn is_own(settings: &Settings) -> bool {
    has_choice(settings, FieldId::launcher, Launcher::MegatronLm.name())
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
        (
            is_on(settings, FieldId::hybrid_context_parallel),
            "calculate-per-token-loss",
        ),
        // `WrappedTorchNorm` has no persistent kernel.
        (
            local && has_choice(settings, FieldId::normalization, "RMSNorm"),
            "no-persist-layer-norm",
        ),
    ];
    needed.into_iter().filter_map(|(needs, name)| needs.then_some(name))
}

/// Flags with values that change no memory, but without which Megatron-LM stops: their names and words.
pub(super) fn values(settings: &Settings) -> impl Iterator<Item = (&'static str, Vec<String>)> {
    let words = |numbers: &[i128]| numbers.iter().map(ToString::to_string).collect();
    let sections = has_choice(settings, FieldId::position_embedding_type, "mrope").then(|| mrope_section(settings));
    let sizes = has_choice(settings, FieldId::cp_comm_type, "a2a+p2p").then(|| context_parallel_levels(settings));
    let all = [
        sections.map(|sections| ("mrope-section", words(&sections))),
        sizes.map(|sizes| ("hierarchical-context-parallel-sizes", words(&sizes))),
    ];
    all.into_iter().flatten()
}

/// Rotary angles of time, height and width. Qwen2-VL gives them 2, 3 and 3 of 8 parts.
fn mrope_section(settings: &Settings) -> [i128; 3] {
    let heads = number(settings, FieldId::num_attention_heads).max(1);
    let width = match meaning(FieldId::kv_channels, settings.get(FieldId::kv_channels)) {
        Meaning::Is(Parsed::Int(width)) => i128::from(width),
        _ => number(settings, FieldId::hidden_size) / heads,
    };
    let angles = width / 2;
    let time = angles / 4;
    let height = (angles - time) / 2;
    [time, height, angles - time - height]
}

/// Context-parallel ranks that exchange heads, and those that exchange blocks of the sequence. As many exchange heads
/// as share the query groups of a tensor-parallel rank evenly.
fn context_parallel_levels(settings: &Settings) -> [i128; 2] {
    let ranks = number(settings, FieldId::context_parallel_size).max(1);
    let groups = if is_on(settings, FieldId::group_query_attention) {
        number(settings, FieldId::num_query_groups)
    } else {
        number(settings, FieldId::num_attention_heads)
    };
    let groups = (groups / number(settings, FieldId::tensor_model_parallel_size).max(1)).max(1);
    let shares = |size: &i128| ranks % size == 0 && groups % size == 0;
    let all = (1..ranks).rev().find(shares).unwrap_or(1);
    [all, ranks / all]
}

/// Comments that name what has to be changed or added by hand.
pub(super) fn comments(settings: &Settings) -> String {
    let needed = [
        (
            has_choice(settings, FieldId::cp_comm_type, "a2a+p2p"),
            "# --hierarchical-context-parallel-sizes: ranks that exchange heads (a2a), and ranks that exchange blocks (p2p). Choose them by nodes.\n",
        ),
        (
            has_choice(settings, FieldId::position_embedding_type, "mrope"),
            "# --mrope-section: how many rotary angles belong to time, height and width. Take the model's own.\n",
        ),
    ];
    let needed = needed.into_iter().filter(|(needs, _)| *needs);
    needed.map(|(_, comment)| comment).collect()
}
