//! Arguments of `megatron pt`, `megatron sft` and `megatron rlhf` of ms-swift, and the Megatron-LM fields
//! behind them.
//!
//! After ms-swift's `swift/megatron/arguments/megatron_args.py`. Names have underscores, truth values are
//! written out, and several defaults are its own.

use super::keys::{Meaning, Rule, look_up, same_field};

/// Arguments that are not called like Megatron-LM's fields.
const KEYS: &[(&str, Meaning)] = &[
    ("model", Meaning::Rule(Rule::HfModel)),
    ("model_type", Meaning::Irrelevant),
    ("max_length", Meaning::Field("seq_length")),
    ("fp8_format", Meaning::Field("fp8")),
    ("fp4_format", Meaning::Field("fp4")),
    ("torch_dtype", Meaning::Rule(Rule::Dtype)),
    (
        "virtual_pipeline_model_parallel_size",
        Meaning::Rule(Rule::VirtualStages),
    ),
    ("packing", Meaning::Irrelevant),
    ("padding_free", Meaning::Irrelevant),
    ("megatron_extra_kwargs", Meaning::Rule(Rule::Nested)),
    (
        "tuner_type",
        Meaning::NotModelled("adapters change which parameters are trained"),
    ),
    (
        "train_type",
        Meaning::NotModelled("adapters change which parameters are trained"),
    ),
    (
        "lora_rank",
        Meaning::NotModelled("adapters change which parameters are trained"),
    ),
    (
        "target_modules",
        Meaning::NotModelled("adapters change which parameters are trained"),
    ),
    (
        "freeze_llm",
        Meaning::NotModelled("frozen parameters have no gradients"),
    ),
    (
        "freeze_vit",
        Meaning::NotModelled("the vision tower is not counted"),
    ),
    (
        "freeze_aligner",
        Meaning::NotModelled("the vision tower is not counted"),
    ),
    (
        "freeze_parameters",
        Meaning::NotModelled("frozen parameters have no gradients"),
    ),
    (
        "freeze_parameters_ratio",
        Meaning::NotModelled("frozen parameters have no gradients"),
    ),
    (
        "rlhf_type",
        Meaning::NotModelled("reference models and rollouts are not counted"),
    ),
    (
        "ref_model",
        Meaning::NotModelled("reference models are not counted"),
    ),
    (
        "teacher_model",
        Meaning::NotModelled("teacher models are not counted"),
    ),
    (
        "use_vllm",
        Meaning::NotModelled("rollout engines are not counted"),
    ),
    (
        "vllm_mode",
        Meaning::NotModelled("rollout engines are not counted"),
    ),
    (
        "vllm_gpu_memory_utilization",
        Meaning::NotModelled("rollout engines are not counted"),
    ),
    (
        "offload_model",
        Meaning::NotModelled("moves between phases, not during training"),
    ),
    (
        "offload_optimizer",
        Meaning::NotModelled("moves between phases, not during training"),
    ),
    (
        "sleep_level",
        Meaning::NotModelled("rollout engines are not counted"),
    ),
    (
        "mtp_shared_weights",
        Meaning::Field("mtp_use_repeated_layer"),
    ),
    ("manual_gc_steps", Meaning::Irrelevant),
    ("train_epochs", Meaning::Irrelevant),
    ("num_train_epochs", Meaning::Irrelevant),
    ("output_dir", Meaning::Irrelevant),
    ("save_steps", Meaning::Irrelevant),
    ("logging_steps", Meaning::Irrelevant),
    ("eval_steps", Meaning::Irrelevant),
    ("dataset", Meaning::Irrelevant),
    ("dataset_num_proc", Meaning::Irrelevant),
    ("dataloader_num_workers", Meaning::Irrelevant),
    ("split_dataset_ratio", Meaning::Irrelevant),
    ("load_from_cache_file", Meaning::Irrelevant),
    ("save_safetensors", Meaning::Irrelevant),
    ("load_safetensors", Meaning::Irrelevant),
    ("merge_lora", Meaning::Irrelevant),
    ("use_hf", Meaning::Irrelevant),
    ("ddp_timeout", Meaning::Irrelevant),
    ("lora_alpha", Meaning::Irrelevant),
];

/// What the argument means (no leading dashes); none when it is unknown.
#[must_use]
pub fn find(name: &str) -> Option<Meaning> {
    look_up(KEYS, name)
        .or_else(|| same_field(name))
        .or_else(|| {
            // Also under the name of Megatron-LM's flag.
            match super::megatron_args::find(name)? {
                super::megatron_args::Known::Irrelevant(_) => Some(Meaning::Irrelevant),
                super::megatron_args::Known::Relevant(spec) => Some(Meaning::Field(spec.dest)),
                super::megatron_args::Known::Retired { .. }
                | super::megatron_args::Known::Elsewhere { .. } => None,
            }
        })
}

/// Fields whose default differs from that of Megatron-LM's command line.
pub const DEFAULTS: &[(&str, &str)] = &[
    ("micro_batch_size", "1"),
    ("global_batch_size", "16"),
    ("recompute_granularity", "selective"),
    ("recompute_modules", "core_attn"),
    ("use_distributed_optimizer", "True"),
    ("expert_tensor_parallel_size", "1"),
    ("cross_entropy_loss_fusion", "True"),
    ("attention_backend", "flash"),
    ("attention_softmax_in_fp32", "True"),
    ("moe_token_dispatcher_type", "alltoall"),
    ("moe_grouped_gemm", "True"),
    ("moe_router_dtype", "fp32"),
    ("muon_tp_mode", "blockwise"),
    ("fp8_amax_history_len", "1024"),
];
