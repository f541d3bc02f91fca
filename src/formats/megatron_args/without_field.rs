//! The flags that matter for memory although no field has them: other names of fields, and what the estimate does not
//! follow. In the order of the parser's groups.

mod transformer;

use std::borrow::Cow;

use super::{Arity, FlagSpec};

const fn switch(name: &'static str, dest: &'static str) -> FlagSpec {
    FlagSpec {
        name,
        dest,
        arity: Arity::Switch,
        default: Cow::Borrowed("False"),
    }
}

const fn inverted(name: &'static str, dest: &'static str) -> FlagSpec {
    FlagSpec {
        name,
        dest,
        arity: Arity::InvertedSwitch,
        default: Cow::Borrowed("True"),
    }
}

const fn one(name: &'static str, dest: &'static str, default: &'static str) -> FlagSpec {
    FlagSpec {
        name,
        dest,
        arity: Arity::One,
        default: Cow::Borrowed(default),
    }
}

const fn many(name: &'static str, dest: &'static str, default: &'static str) -> FlagSpec {
    FlagSpec {
        name,
        dest,
        arity: Arity::Many,
        default: Cow::Borrowed(default),
    }
}

/// The flags; several may set one destination.
pub(super) fn flags() -> impl Iterator<Item = FlagSpec> {
    transformer::FLAGS.iter().chain(FLAGS).cloned()
}

/// The flags that the parser's own groups have.
const FLAGS: &[FlagSpec] = &[
    // Network size
    one("encoder-num-layers", "encoder_num_layers", "None"),
    one("decoder-num-layers", "decoder_num_layers", "None"),
    one("window-size", "window_size", "None"),
    one("window-attn-skip-freq", "window_attn_skip_freq", "None"),
    one(
        "relative-attention-num-buckets",
        "relative_attention_num_buckets",
        "32",
    ),
    switch(
        "use-rotary-position-embeddings",
        "use_rotary_position_embeddings",
    ),
    inverted("no-position-embedding", "add_position_embedding"),
    switch("openai-gelu", "openai_gelu"),
    // Regularization
    one("muon-momentum", "muon_momentum", "0.9"),
    inverted("muon-no-split-qkv", "muon_split_qkv"),
    one("muon-tp-mode", "muon_tp_mode", "duplicated"),
    one("muon-scalar-optimizer", "muon_scalar_optimizer", "adam"),
    // Training
    many("rampup-batch-size", "rampup_batch_size", "None"),
    one(
        "step-batch-size-schedule",
        "step_batch_size_schedule",
        "None",
    ),
    switch(
        "decrease-batch-size-if-needed",
        "decrease_batch_size_if_needed",
    ),
    one(
        "empty-unused-memory-level",
        "empty_unused_memory_level",
        "0",
    ),
    switch("recompute-activations", "recompute_activations"),
    switch("checkpoint-activations", "checkpoint_activations"),
    switch("use-flash-attn", "use_flash_attn"),
    switch("optimizer-cuda-graph", "optimizer_cuda_graph"),
    switch(
        "use-torch-optimizer-for-cpu-offload",
        "use_torch_optimizer_for_cpu_offload",
    ),
    switch(
        "overlap-cpu-optimizer-d2h-h2d",
        "overlap_cpu_optimizer_d2h_h2d",
    ),
    switch("no-persist-layer-norm", "no_persist_layer_norm"),
    switch("use-mcore-models", "deprecated_use_mcore_models"),
    // Checkpointing
    switch("load-main-params-from-ckpt", "load_main_params_from_ckpt"),
    switch("use-checkpoint-args", "use_checkpoint_args"),
    // Mixed precision
    switch("fp16-lm-cross-entropy", "fp16_lm_cross_entropy"),
    one("output-logit-dtype", "logit_dtype", "None"),
    switch(
        "reuse-grad-buf-for-mxfp8-param-ag",
        "reuse_grad_buf_for_mxfp8_param_ag",
    ),
    one(
        "mamba-training-ssm-states-dtype",
        "mamba_training_ssm_states_dtype",
        "None",
    ),
    // Distribution
    switch("use-megatron-fsdp", "use_megatron_fsdp"),
    switch("use-torch-fsdp2", "use_torch_fsdp2"),
    switch("use-tp-pp-dp-mapping", "use_tp_pp_dp_mapping"),
    one("model-parallel-size", "model_parallel_size", "None"),
    inverted("no-overlap-p2p-communication", "overlap_p2p_comm"),
    one("ddp-num-buckets", "ddp_num_buckets", "None"),
    switch(
        "ddp-pad-buckets-for-high-nccl-busbw",
        "ddp_pad_buckets_for_high_nccl_busbw",
    ),
    switch(
        "ddp-reduce-scatter-with-fp32-accumulation",
        "ddp_reduce_scatter_with_fp32_accumulation",
    ),
    switch(
        "gtp-remat-reduce-scatter-with-fp32-accumulation",
        "gtp_remat_reduce_scatter_with_fp32_accumulation",
    ),
    many(
        "ddp-param-name-patterns-for-fp32-local-accumulation",
        "ddp_param_name_patterns_for_fp32_local_accumulation",
        "",
    ),
    switch(
        "overlap-param-gather-with-optimizer-step",
        "overlap_param_gather_with_optimizer_step",
    ),
    one("megatron-fsdp-version", "megatron_fsdp_version", "1"),
    inverted(
        "no-use-layer-wise-param-layout",
        "use_layer_wise_param_layout",
    ),
    switch("use-nccl-ub", "nccl_ub"),
    switch(
        "disable-symmetric-registration",
        "disable_symmetric_registration",
    ),
    switch("gtp-remat-nccl-ub", "gtp_remat_nccl_ub"),
    switch("gtp-expert-remat-nccl-ub", "gtp_expert_remat_nccl_ub"),
    switch("fsdp-manual-registration", "fsdp_manual_registration"),
    switch("create-all-gather-group", "create_all_gather_group"),
    one(
        "data-parallel-sharding-strategy",
        "data_parallel_sharding_strategy",
        "optim_grads_params",
    ),
    one(
        "outer-dp-sharding-strategy",
        "outer_dp_sharding_strategy",
        "no_shard",
    ),
    switch("fsdp-double-buffer", "fsdp_double_buffer"),
    one(
        "suggested-communication-unit-size",
        "suggested_communication_unit_size",
        "None",
    ),
    switch("keep-fp8-transpose-cache", "keep_fp8_transpose_cache"),
    switch(
        "enable-full-sharding-in-hsdp",
        "enable_full_sharding_in_hsdp",
    ),
    inverted(
        "torch-fsdp2-no-reshard-after-forward",
        "torch_fsdp2_reshard_after_forward",
    ),
    switch("fake-process-group", "fake_process_group"),
    // Data
    one("encoder-seq-length", "encoder_seq_length", "None"),
    one("decoder-seq-length", "decoder_seq_length", "None"),
    switch("reset-position-ids", "reset_position_ids"),
    // Tokenizer
    inverted("no-pad-vocab-size", "pad_vocab_size"),
    inverted("disable-pad-vocab-size", "pad_vocab_size"),
    one("vocab-extra-ids", "vocab_extra_ids", "0"),
    one("tokenizer-type", "tokenizer_type", "None"),
    // Mixture of experts
    switch("moe-use-upcycling", "moe_use_upcycling"),
    many(
        "moe-router-load-balancing-type",
        "moe_router_load_balancing_type",
        "aux_loss",
    ),
    one(
        "moe-upcycling-granularity",
        "moe_upcycling_granularity",
        "1",
    ),
    // Multi-latent attention
    switch("cache-mla-latents", "cache_mla_latents"),
    switch("mla-down-proj-fusion", "mla_down_proj_fusion"),
    // Experimental attention
    // Heterogeneous layers
    one(
        "heterogeneous-layers-config-path",
        "heterogeneous_layers_config_path",
        "None",
    ),
    one(
        "heterogeneous-layers-config-encoded-json",
        "heterogeneous_layers_config_encoded_json",
        "None",
    ),
    // CUDA graphs
    many("cuda-graph-scope", "cuda_graph_scope_deprecated", "None"),
    // Transformer Engine
    switch("fp4-param-gather", "fp4_param_gather"),
    one(
        "te-precision-config-file",
        "te_precision_config_file",
        "None",
    ),
    // Experimental
    one("hybrid-override-pattern", "hybrid_layer_pattern", "None"),
    one("yaml-cfg", "yaml_cfg", "None"),
    one(
        "megatron-fsdp-main-params-dtype",
        "megatron_fsdp_main_params_dtype",
        "fp32",
    ),
    one(
        "megatron-fsdp-main-grads-dtype",
        "megatron_fsdp_main_grads_dtype",
        "auto",
    ),
    one(
        "megatron-fsdp-grad-comm-dtype",
        "megatron_fsdp_grad_comm_dtype",
        "auto",
    ),
    switch(
        "megatron-fsdp-enable-fine-grained-param-gather",
        "megatron_fsdp_enable_fine_grained_param_gather",
    ),
    switch(
        "megatron-fsdp-max-pool-double-buffer",
        "megatron_fsdp_max_pool_double_buffer",
    ),
    switch(
        "fsdp-db-use-persist-buf-on-alloc-fail",
        "fsdp_db_use_persist_buf_on_alloc_fail",
    ),
    // sft
    switch("sft", "sft"),
];
