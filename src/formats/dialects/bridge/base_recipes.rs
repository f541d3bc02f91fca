//! The functions of Megatron-Bridge that its recipes begin with or call, and what they set.
//!
//! `recipes/common.py`, `recipes/gpt/h100/vanilla_gpt.py` and `perf_recipes/_common.py` at the pinned revision; only
//! keys that decide memory. The distributed optimizer is on after each of them: Megatron-Bridge turns it on for gradients
//! and states where either asks for it (`_validate_and_sync_distributed_optimizer_settings`), and the optimizer that all
//! of them make does (`distributed_fused_adam_with_cosine_annealing`).

/// Settings as keys of the configuration with their values in Python.
type Settings = &'static [(&'static str, &'static str)];

const VANILLA: Settings = &[
    ("train.global_batch_size", "32"),
    ("train.micro_batch_size", "2"),
    ("dataset.seq_length", "1024"),
    ("ddp.grad_reduce_in_fp32", "True"),
    ("ddp.use_distributed_optimizer", "True"),
    ("mixed_precision", "bf16_mixed"),
];

const PRETRAIN: Settings = &[
    ("train.global_batch_size", "32"),
    ("train.micro_batch_size", "2"),
    ("dataset.seq_length", "4096"),
    ("dataset.skip_getting_attention_mask_from_dataset", "True"),
    ("ddp.grad_reduce_in_fp32", "True"),
    ("ddp.overlap_grad_reduce", "True"),
    ("ddp.overlap_param_gather", "True"),
    ("ddp.data_parallel_sharding_strategy", "optim_grads_params"),
    ("ddp.use_distributed_optimizer", "True"),
    ("mixed_precision", "bf16_mixed"),
];

const FINE_TUNING: Settings = &[
    ("train.global_batch_size", "128"),
    ("train.micro_batch_size", "1"),
    ("dataset.seq_length", "2048"),
    ("ddp.grad_reduce_in_fp32", "True"),
    ("ddp.use_distributed_optimizer", "True"),
    ("mixed_precision", "bf16_mixed"),
];

const FINE_TUNING_OF_IMAGES: Settings = &[
    ("train.global_batch_size", "32"),
    ("train.micro_batch_size", "2"),
    ("dataset.seq_length", "4096"),
    ("ddp.grad_reduce_in_fp32", "True"),
    ("ddp.overlap_grad_reduce", "False"),
    ("ddp.overlap_param_gather", "False"),
    ("ddp.data_parallel_sharding_strategy", "optim_grads_params"),
    ("ddp.use_distributed_optimizer", "True"),
    ("mixed_precision", "bf16_mixed"),
];

/// The settings of a function; `None` for functions that recipes do not begin with.
#[must_use]
pub fn settings(function: &str) -> Option<Settings> {
    Some(match function {
        "vanilla_gpt_pretrain_config" | "vanilla_gpt_pretrain_1gpu_h100_bf16_config" => VANILLA,
        "_pretrain_common" => PRETRAIN,
        "_sft_common" | "_peft_common" => FINE_TUNING,
        "_sft_common_vlm" | "_peft_common_vlm" => FINE_TUNING_OF_IMAGES,
        _ => return None,
    })
}

/// The keys that a helper function sets in the configuration that a recipe calls it with.
#[derive(Clone, Copy, Debug)]
pub struct Changes {
    /// Keys that it always sets, with their values.
    pub settings: Settings,
    /// The parameter of the function whose value becomes that of [`key`](Self::key).
    pub parameter: &'static str,
    /// The value of the parameter where a recipe leaves it out.
    pub default: &'static str,
    /// The key that has the parameter's value.
    pub key: &'static str,
}

/// The keys that `_benchmark_common` sets, which every performance recipe calls.
const BENCHMARK: Changes = Changes {
    settings: &[
        ("ddp.grad_reduce_in_fp32", "False"),
        ("model.apply_rope_fusion", "True"),
        ("model.use_transformer_engine_op_fuser", "False"),
    ],
    parameter: "cross_entropy_impl",
    default: "te",
    key: "model.cross_entropy_fusion_impl",
};

/// The keys that the helper function of this name sets; `None` for names of other functions.
#[must_use]
pub fn changes(function: &str) -> Option<Changes> {
    (function == "_benchmark_common").then_some(BENCHMARK)
}

/// The precision preset that performance recipes ask `_perf_precision` for by a name, and the keys of the preset that
/// this function sets otherwise; `None` for names that it does not know.
#[must_use]
pub fn performance_precision(name: &str) -> Option<(&'static str, Settings)> {
    let in_fp8: Settings = &[GRADIENTS_IN_BF16, ("first_last_layers_bf16", "False")];
    let others: Settings = &[GRADIENTS_IN_BF16];
    Some(match name {
        "bf16" => ("bf16_mixed", others),
        "fp8_cs" => ("bf16_with_fp8_current_scaling_mixed", in_fp8),
        "fp8_ds" => ("bf16_with_fp8_delayed_scaling_mixed", in_fp8),
        "fp8_mx" => ("bf16_with_mxfp8_mixed", others),
        "nvfp4" => ("bf16_with_nvfp4_mixed", others),
        _ => return None,
    })
}

const GRADIENTS_IN_BF16: (&str, &str) = ("grad_reduce_in_fp32", "False");
