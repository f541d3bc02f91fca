//! How much the flags change memory that matter although no field has them, and that are no
//! [feature](crate::config::not_modelled::Feature) by themselves.

use crate::config::not_modelled::MemoryEffect;

const FSDP: &str = "only with Megatron FSDP";
const GROUPED: &str = "the same tensors in another order of memory";
const ENCODER_DECODER: &str = "only for models with an encoder and a decoder";

/// Destinations that change no memory of a training step by themselves, and why.
const NOTHING: &[(&str, &str)] = &[
    ("window_size", "fused attention saves as much for a window"),
    ("window_attn_skip_freq", "fused attention saves as much for a window"),
    ("relative_attention_num_buckets", ENCODER_DECODER),
    ("muon_momentum", "the momentum is there anyway"),
    ("muon_split_qkv", "the same momentum"),
    ("step_batch_size_schedule", "the full batch is what counts"),
    ("decrease_batch_size_if_needed", "the full batch is what counts"),
    ("use_torch_optimizer_for_cpu_offload", "memory of the host"),
    ("load_main_params_from_ckpt", "the same parameters with other values"),
    ("use_tp_pp_dp_mapping", "another order of ranks"),
    ("create_all_gather_group", "another communicator"),
    ("overlap_p2p_comm", "the same buffers"),
    ("megatron_fsdp_version", FSDP),
    ("data_parallel_sharding_strategy", FSDP),
    ("outer_dp_sharding_strategy", FSDP),
    ("fsdp_double_buffer", FSDP),
    ("fsdp_manual_registration", FSDP),
    ("suggested_communication_unit_size", FSDP),
    ("keep_fp8_transpose_cache", FSDP),
    ("enable_full_sharding_in_hsdp", FSDP),
    ("megatron_fsdp_main_params_dtype", FSDP),
    ("megatron_fsdp_main_grads_dtype", FSDP),
    ("megatron_fsdp_grad_comm_dtype", FSDP),
    ("megatron_fsdp_enable_fine_grained_param_gather", FSDP),
    ("megatron_fsdp_max_pool_double_buffer", FSDP),
    ("fsdp_db_use_persist_buf_on_alloc_fail", FSDP),
    (
        "gtp_remat_reduce_scatter_with_fp32_accumulation",
        "only with generalized tensor parallelism",
    ),
    ("gtp_remat_nccl_ub", "only with generalized tensor parallelism"),
    ("gtp_expert_remat_nccl_ub", "only with generalized tensor parallelism"),
    ("gtp_remat_opt_in_modules", "only with generalized tensor parallelism"),
    (
        "reuse_grad_buf_for_mxfp8_param_ag",
        "counted so for parameters in mxfp8",
    ),
    ("reset_position_ids", "samples have the same length"),
    ("tokenizer_type", "the vocabulary's size counts"),
    ("moe_use_upcycling", "the checkpoint is converted before training"),
    (
        "moe_upcycling_granularity",
        "the checkpoint is converted before training",
    ),
    ("moe_router_force_load_balancing", "experts are counted as balanced"),
    ("cache_mla_latents", "only for inference"),
    ("fp4_recipe", "only with fp4"),
    ("kitchen_attention_backend", "only with Kitchen's kernels"),
    ("moe_paged_stash_buffer_size_factor_cpu", "memory of the host"),
    ("cpu_offloading_retain_pinned_cpu_buffers", "memory of the host"),
    ("mtp_standalone", "the pipeline layout decides"),
    ("disable_symmetric_registration", "the same buffers"),
    ("apply_residual_connection_post_layernorm", "the same tensors are saved"),
    ("vocab_extra_ids", "the vocabulary's size counts"),
    ("moe_enable_deepep", "moe_token_dispatcher_type decides"),
    (
        "mtp_hybrid_override_pattern",
        "only for models with a hybrid_layer_pattern",
    ),
];

/// Destinations that change memory by less than 2 %, and what they change.
const LESS: &[(&str, &str)] = &[
    ("muon_tp_mode", "the buffers of one optimizer step"),
    ("optimizer_cuda_graph", "the buffers of one optimizer step"),
    ("overlap_cpu_optimizer_d2h_h2d", "the buffers of one optimizer step"),
    ("no_persist_layer_norm", "buffers of norms"),
    (
        "mamba_training_ssm_states_dtype",
        "the states between blocks of Mamba's scan",
    ),
    ("ddp_num_buckets", "the padding of gradient buffers"),
    ("ddp_pad_buckets_for_high_nccl_busbw", "the padding of gradient buffers"),
    ("ddp_reduce_scatter_with_fp32_accumulation", "a buffer of one bucket"),
    (
        "hierarchical_context_parallel_sizes",
        "buffers of one exchange of keys and values",
    ),
    ("use_layer_wise_param_layout", "the padding of parameter buffers"),
    ("nccl_ub", "the padding of buffers that NCCL registers"),
    ("pad_vocab_size", "the padding of the vocabulary"),
    (
        "overlap_dispatch_backward_with_experts_wgrad",
        "inputs and output gradients of one layer",
    ),
    (
        "ep_overlap_early_attn_memory_release",
        "activations of one layer's attention",
    ),
    ("fused_residual_rmsnorm", "residuals of one norm"),
    ("use_te_activation_func", "buffers of one activation function"),
    ("fp8_wgrad", "buffers of one weight gradient"),
    ("use_grouped_gemm_for_shared_expert", GROUPED),
    ("use_grouped_gemm_for_dense_mlp", GROUPED),
    ("moe_use_grouped_tensor", GROUPED),
    ("moe_single_grouped_weight", GROUPED),
    ("moe_single_grouped_bias", GROUPED),
    ("moe_router_padding_for_fp8", "the padding of each expert's tokens"),
    ("moe_permute_fusion_into_hybridep", "buffers of one permutation"),
    ("moe_apply_probs_on_input", "one probability for each token"),
    ("gdp_num_chunk_states_to_recompute", "states of one gated delta product"),
    (
        "delay_offload_until_cuda_graph",
        "activations of one layer on their way to the host",
    ),
    (
        "fine_grained_offloading_max_inflight_offloads",
        "activations on their way to the host",
    ),
];

/// How much a destination changes memory, and why; `None` for destinations that nothing is known of.
#[must_use]
pub fn effect(destination: &str) -> Option<(MemoryEffect, &'static str)> {
    let find = |table: &[(&str, &'static str)]| {
        let mut rows = table.iter();
        rows.find(|(name, _)| *name == destination).map(|(_, reason)| *reason)
    };
    let nothing = find(NOTHING).map(|reason| (MemoryEffect::Nothing, reason));
    nothing.or_else(|| Some((MemoryEffect::BelowTwoPercent, find(LESS)?)))
}
