//! The functions of Megatron-Bridge that its recipes begin with, and what they set.
//!
//! `recipes/common.py` and `recipes/gpt/h100/vanilla_gpt.py` at the pinned revision; only keys that decide memory. The
//! distributed optimizer is on after each of them: Megatron-Bridge turns it on for gradients and states where either
//! asks for it (`_validate_and_sync_distributed_optimizer_settings`), and the optimizer that all of them make does
//! (`distributed_fused_adam_with_cosine_annealing`).

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
