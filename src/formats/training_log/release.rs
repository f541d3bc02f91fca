//! The release of Megatron-Core that printed a log: every release adds arguments, and a log prints all of them.

use std::collections::BTreeSet;

use crate::config::choices::SoftwareStack;

/// A release of Megatron-Core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreRelease {
    /// Its version, such as `0.14`; `main` for the revision that everything here is read from.
    pub version: &'static str,
    /// The software of its time.
    pub stack: SoftwareStack,
    /// Some of the arguments that it is the first to have, by their names in Megatron-LM's parser
    /// (`megatron/training/arguments.py`). All later releases have them too.
    added: [&'static str; 5],
}

/// So many of a release's own arguments date a log: forks leave out a few.
const ENOUGH: usize = 4;
/// A log with fewer arguments does not print all of them, and cannot be dated: Megatron-Core 0.4 has 251.
const FEWEST_ARGUMENTS: usize = 200;

/// Declares the releases, newest first: version, software of its time, and arguments that it is the first to have.
macro_rules! releases {
    ($($version:literal $stack:ident: $added:expr;)+) => {
        /// The releases, newest first.
        const RELEASES: &[CoreRelease] = &[$(CoreRelease {
            version: $version,
            stack: SoftwareStack::$stack,
            added: $added,
        }),+];
    };
}

releases! {
    "main" MegatronMain: [
        "batch_invariant_backend", "gdp_cutedsl_kernel", "logit_dtype", "moe_combine_bwd_dtype", "otel_span_groups",
    ];
    "0.19" MegatronMain: [
        "activation_offload_fraction", "dsa_kernel_backend", "logits_load_ignore_errors",
        "moe_flex_dispatcher_num_sms", "override_ckpt_iteration",
    ];
    "0.18" MegatronLm018: [
        "async_ckpt_use_cpu_shm", "fault_injector_fault_types", "inference_cuda_graph_scope",
        "moe_paged_stash_buffer_size_factor_cpu", "record_shapes",
    ];
    "0.17" Core015Te210: [
        "async_ckpt_cpu_priority", "flight_recorder_extra_dump_on_exec",
        "inference_dynamic_batching_prefix_caching_mamba_gb", "megatron_fsdp_main_grads_dtype", "mup_width_mult",
    ];
    "0.16" Core015Te210: [
        "allow_ambiguous_pad_tokens", "fake_process_group", "inference_dynamic_batching_max_tokens",
        "moe_hybridep_num_sms", "rl_default_temperature",
    ];
    "0.15" Core015Te210: [
        "activation_func_clamp_value", "distributed_timeout_seconds_after_init", "grpo_group_size",
        "moe_pad_experts_for_cuda_graph_inference", "rl_sequence_packing_algo",
    ];
    "0.14" Core014Te23: [
        "cache_mla_latents", "full_validation", "load_main_params_from_ckpt", "padded_vocab_size",
        "sharp_enabled_group",
    ];
    "0.13" Core012Te23: [
        "delay_wgrad_compute", "inprocess_empty_cuda_cache", "inprocess_progress_watchdog_interval",
        "mlp_chunks_for_prefill", "object_storage_cache_path",
    ];
    "0.12" Core012Te23: [
        "check_for_large_grads", "fp8_recipe", "is_hybrid_model", "mtp_loss_scaling_factor", "pin_cpu_params",
    ];
    "0.11" Core09Te113: [
        "account_for_embedding_in_pipeline_split", "enable_cuda_graph", "moe_permute_fusion",
        "moe_router_topk_scaling_factor", "replication",
    ];
    "0.10" Core09Te113: [
        "check_for_spiky_loss", "flash_decode", "moe_ffn_hidden_size", "per_split_data_args_path",
        "rotary_scaling_factor",
    ];
    "0.9" Core08Te1: [
        "align_grad_reduce", "ckpt_convert_update_legacy_dist_opt_format", "decrease_batch_size_if_needed",
        "moe_use_upcycling", "non_persistent_save_interval",
    ];
    "0.8" Core08Te1: [
        "app_tag_run_name", "ddp_average_in_collective", "dist_ckpt_strictness", "lr_wsd_decay_samples",
        "rotary_base",
    ];
    "0.7" MegatronLm2023: [
        "async_save", "ckpt_assume_constant_structure", "log_straggler", "moe_pad_expert_input_to_capacity",
        "straggler_ctrlr_port",
    ];
    "0.6" MegatronLm2023: [
        "auto_detect_ckpt_format", "create_attention_mask_in_dataloader", "mmap_bin_files", "pretrained_checkpoint",
        "tp_comm_overlap_ag",
    ];
    "0.5" MegatronLm2023: [
        "add_qkv_bias", "enable_one_logger", "mock_data", "moe_input_jitter_eps", "moe_z_loss_coeff",
    ];
    "0.4" MegatronLm2023: [
        "accumulate_allreduce_grads_in_fp32", "dino_warmup_teacher_temp_epochs", "iter_per_epoch",
        "num_attention_heads", "squared_relu",
    ];
}

/// The newest release whose own arguments are among these; `None` where they are not all of a run's arguments, or no
/// release's.
#[must_use]
pub fn release_of(names: &BTreeSet<&str>) -> Option<CoreRelease> {
    if names.len() < FEWEST_ARGUMENTS {
        return None;
    }
    let mut releases = RELEASES.iter().copied();
    releases.find(|release| release.added.iter().filter(|name| names.contains(*name)).count() >= ENOUGH)
}
