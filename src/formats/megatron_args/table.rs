//! The flags that matter for memory, in the order of the parser's groups.

use super::{Arity, FlagSpec};

const fn switch(name: &'static str, dest: &'static str) -> FlagSpec {
    FlagSpec {
        name,
        dest,
        arity: Arity::Switch,
        default: "False",
    }
}

const fn inverted(name: &'static str, dest: &'static str) -> FlagSpec {
    FlagSpec {
        name,
        dest,
        arity: Arity::InvertedSwitch,
        default: "True",
    }
}

const fn one(name: &'static str, dest: &'static str, default: &'static str) -> FlagSpec {
    FlagSpec {
        name,
        dest,
        arity: Arity::One,
        default,
    }
}

const fn many(name: &'static str, dest: &'static str, default: &'static str) -> FlagSpec {
    FlagSpec {
        name,
        dest,
        arity: Arity::Many,
        default,
    }
}

/// The flags; several may set one field.
pub const FLAGS: &[FlagSpec] = &[
    // Fields of the transformer configuration
    one(
        "tensor-model-parallel-size",
        "tensor_model_parallel_size",
        "1",
    ),
    one(
        "tensor-parallel-num-weight-shards",
        "tensor_parallel_num_weight_shards",
        "None",
    ),
    one(
        "pipeline-model-parallel-size",
        "pipeline_model_parallel_size",
        "1",
    ),
    switch("sequence-parallel", "sequence_parallel"),
    one("context-parallel-size", "context_parallel_size", "1"),
    many(
        "hierarchical-context-parallel-sizes",
        "hierarchical_context_parallel_sizes",
        "None",
    ),
    one(
        "max-seqlen-per-dp-cp-rank",
        "max_seqlen_per_dp_cp_rank",
        "None",
    ),
    switch("hybrid-context-parallel", "hybrid_context_parallel"),
    one(
        "expert-model-parallel-size",
        "expert_model_parallel_size",
        "1",
    ),
    one(
        "expert-tensor-parallel-size",
        "expert_tensor_parallel_size",
        "None",
    ),
    one(
        "expert-tensor-parallel-num-weight-shards",
        "expert_tensor_parallel_num_weight_shards",
        "None",
    ),
    switch("fp16", "fp16"),
    switch("bf16", "bf16"),
    switch("tp-comm-overlap", "tp_comm_overlap"),
    switch("cross-entropy-loss-fusion", "cross_entropy_loss_fusion"),
    one(
        "cross-entropy-fusion-impl",
        "cross_entropy_fusion_impl",
        "native",
    ),
    switch(
        "overlap-moe-expert-parallel-comm",
        "overlap_moe_expert_parallel_comm",
    ),
    switch("delay-wgrad-compute", "delay_wgrad_compute"),
    switch(
        "overlap-dispatch-backward-with-experts-wgrad",
        "overlap_dispatch_backward_with_experts_wgrad",
    ),
    switch(
        "ep-overlap-early-attn-memory-release",
        "ep_overlap_early_attn_memory_release",
    ),
    switch(
        "defer-embedding-wgrad-compute",
        "defer_embedding_wgrad_compute",
    ),
    one("wgrad-deferral-limit", "wgrad_deferral_limit", "0"),
    switch(
        "overlap-p2p-communication-warmup-flush",
        "overlap_p2p_comm_warmup_flush",
    ),
    one(
        "microbatch-group-size-per-virtual-pipeline-stage",
        "microbatch_group_size_per_vp_stage",
        "None",
    ),
    switch("mtp-standalone", "mtp_standalone"),
    one(
        "cpu-offloading-num-layers",
        "cpu_offloading_num_layers",
        "0",
    ),
    switch(
        "cpu-offloading-retain-pinned-cpu-buffers",
        "cpu_offloading_retain_pinned_cpu_buffers",
    ),
    one("num-layers", "num_layers", "None"),
    one("mtp-num-layers", "mtp_num_layers", "None"),
    switch("mtp-use-repeated-layer", "mtp_use_repeated_layer"),
    one(
        "mtp-hybrid-override-pattern",
        "mtp_hybrid_override_pattern",
        "None",
    ),
    switch(
        "account-for-embedding-in-pipeline-split",
        "account_for_embedding_in_pipeline_split",
    ),
    switch(
        "account-for-loss-in-pipeline-split",
        "account_for_loss_in_pipeline_split",
    ),
    one("hidden-size", "hidden_size", "None"),
    one("num-attention-heads", "num_attention_heads", "None"),
    one("attention-backend", "attention_backend", "auto"),
    one("softmax-type", "softmax_type", "vanilla"),
    one("num-query-groups", "num_query_groups", "1"),
    one("ffn-hidden-size", "ffn_hidden_size", "None"),
    one("kv-channels", "kv_channels", "None"),
    one("hidden-dropout", "hidden_dropout", "0.1"),
    one("attention-dropout", "attention_dropout", "0.1"),
    switch("fp32-residual-connection", "fp32_residual_connection"),
    switch(
        "apply-residual-connection-post-layernorm",
        "apply_residual_connection_post_layernorm",
    ),
    switch("apply-layernorm-1p", "layernorm_zero_centered_gamma"),
    inverted("disable-bias-linear", "add_bias_linear"),
    switch("add-qkv-bias", "add_qkv_bias"),
    one(
        "activation-func-clamp-value",
        "activation_func_clamp_value",
        "None",
    ),
    one("normalization", "normalization", "LayerNorm"),
    switch("qk-layernorm", "qk_layernorm"),
    switch("qk-l2-norm", "qk_l2_norm"),
    switch("attention-output-gate", "attention_output_gate"),
    switch("calculate-per-token-loss", "calculate_per_token_loss"),
    switch("multi-latent-attention", "multi_latent_attention"),
    one(
        "experimental-attention-variant",
        "experimental_attention_variant",
        "None",
    ),
    one("dsa-indexer-n-heads", "dsa_indexer_n_heads", "None"),
    one("dsa-indexer-head-dim", "dsa_indexer_head_dim", "None"),
    one("dsa-indexer-topk", "dsa_indexer_topk", "None"),
    one("dsa-indexer-topk-freq", "dsa_indexer_topk_freq", "1"),
    one(
        "dsa-indexer-skip-topk-offset",
        "dsa_indexer_skip_topk_offset",
        "0",
    ),
    one("dsa-indexer-loss-coeff", "dsa_indexer_loss_coeff", "None"),
    switch("dsa-indexer-use-sparse-loss", "dsa_indexer_use_sparse_loss"),
    one("dsa-kernel-backend", "dsa_kernel_backend", "none"),
    one("linear-conv-kernel-dim", "linear_conv_kernel_dim", "4"),
    one("linear-key-head-dim", "linear_key_head_dim", "128"),
    one("linear-value-head-dim", "linear_value_head_dim", "128"),
    one("linear-num-key-heads", "linear_num_key_heads", "16"),
    one("linear-num-value-heads", "linear_num_value_heads", "32"),
    switch(
        "use-fused-weighted-squared-relu",
        "use_fused_weighted_squared_relu",
    ),
    switch("fused-residual-rmsnorm", "fused_residual_rmsnorm"),
    switch(
        "use-transformer-engine-op-fuser",
        "use_transformer_engine_op_fuser",
    ),
    one("recompute-granularity", "recompute_granularity", "None"),
    one("recompute-method", "recompute_method", "None"),
    one("recompute-num-layers", "recompute_num_layers", "None"),
    switch(
        "distribute-saved-activations",
        "distribute_saved_activations",
    ),
    many("recompute-modules", "recompute_modules", "None"),
    one("fp8-format", "fp8", "None"),
    one("fp8-recipe", "fp8_recipe", "delayed"),
    one("fp8-amax-history-len", "fp8_amax_history_len", "1"),
    inverted("no-fp8-wgrad", "fp8_wgrad"),
    inverted("disable-fp8-wgrad", "fp8_wgrad"),
    switch("fp8-output-proj", "fp8_output_proj"),
    switch("first-last-layers-bf16", "first_last_layers_bf16"),
    one(
        "num-layers-at-start-in-bf16",
        "num_layers_at_start_in_bf16",
        "1",
    ),
    one(
        "num-layers-at-end-in-bf16",
        "num_layers_at_end_in_bf16",
        "1",
    ),
    switch("use-kitchen-attention", "use_kitchen_attention"),
    one(
        "kitchen-attention-backend",
        "kitchen_attention_backend",
        "sdpa",
    ),
    one("fp4-format", "fp4", "None"),
    one("fp4-recipe", "fp4_recipe", "nvfp4"),
    one(
        "moe-shared-expert-intermediate-size",
        "moe_shared_expert_intermediate_size",
        "None",
    ),
    switch("moe-shared-expert-gate", "moe_shared_expert_gate"),
    switch("moe-shared-expert-overlap", "moe_shared_expert_overlap"),
    switch(
        "use-grouped-gemm-for-shared-expert",
        "use_grouped_gemm_for_shared_expert",
    ),
    one("moe-ffn-hidden-size", "moe_ffn_hidden_size", "None"),
    one("moe-router-topk", "moe_router_topk", "2"),
    switch(
        "moe-router-padding-for-quantization",
        "moe_router_padding_for_quantization",
    ),
    switch("moe-router-padding-for-fp8", "moe_router_padding_for_fp8"),
    one("moe-router-num-groups", "moe_router_num_groups", "None"),
    one("moe-router-group-topk", "moe_router_group_topk", "None"),
    one(
        "moe-router-score-function",
        "moe_router_score_function",
        "softmax",
    ),
    one("moe-router-dtype", "moe_router_dtype", "None"),
    switch(
        "moe-router-enable-expert-bias",
        "moe_router_enable_expert_bias",
    ),
    switch(
        "moe-router-force-load-balancing",
        "moe_router_force_load_balancing",
    ),
    switch(
        "use-grouped-gemm-for-dense-mlp",
        "use_grouped_gemm_for_dense_mlp",
    ),
    switch("moe-grouped-gemm", "moe_grouped_gemm"),
    switch("moe-use-grouped-tensor", "moe_use_grouped_tensor"),
    switch("moe-single-grouped-weight", "moe_single_grouped_weight"),
    switch("moe-single-grouped-bias", "moe_single_grouped_bias"),
    one(
        "moe-token-dispatcher-type",
        "moe_token_dispatcher_type",
        "allgather",
    ),
    switch("moe-enable-deepep", "moe_enable_deepep"),
    one(
        "moe-flex-dispatcher-backend",
        "moe_flex_dispatcher_backend",
        "deepep",
    ),
    switch(
        "moe-permute-fusion-into-hybridep",
        "moe_permute_fusion_into_hybridep",
    ),
    one(
        "moe-expert-capacity-factor",
        "moe_expert_capacity_factor",
        "None",
    ),
    switch(
        "moe-pad-expert-input-to-capacity",
        "moe_pad_expert_input_to_capacity",
    ),
    switch("moe-layer-recompute", "moe_layer_recompute"),
    switch("moe-permute-fusion", "moe_permute_fusion"),
    switch("moe-router-fusion", "moe_router_fusion"),
    switch("moe-apply-probs-on-input", "moe_apply_probs_on_input"),
    one("moe-latent-size", "moe_latent_size", "None"),
    many("gtp-remat-opt-in-modules", "gtp_remat_opt_in_modules", ""),
    one("moe-dispatch-fwd-dtype", "moe_dispatch_fwd_dtype", "bf16"),
    one("moe-combine-bwd-dtype", "moe_combine_bwd_dtype", "bf16"),
    one(
        "moe-expert-rank-capacity-factor",
        "moe_expert_rank_capacity_factor",
        "None",
    ),
    switch("enable-cuda-graph", "enable_cuda_graph"),
    one("cuda-graph-warmup-steps", "cuda_graph_warmup_steps", "3"),
    switch("external-cuda-graph", "external_cuda_graph"),
    one("cuda-graph-impl", "cuda_graph_impl", "none"),
    switch("enable-mhc-connections", "enable_mhc_connections"),
    one("mhc-num-residual-streams", "mhc_num_residual_streams", "4"),
    one("mhc-recompute-layer-num", "mhc_recompute_layer_num", "None"),
    switch("use-te-activation-func", "use_te_activation_func"),
    switch("is-hybrid-model", "is_hybrid_model"),
    one("mamba-state-dim", "mamba_state_dim", "128"),
    one("mamba-head-dim", "mamba_head_dim", "64"),
    one("mamba-num-groups", "mamba_num_groups", "8"),
    one("mamba-num-heads", "mamba_num_heads", "None"),
    one("gdp-num-householder", "gdp_num_householder", "3"),
    inverted("disable-mamba-mem-eff-path", "use_mamba_mem_eff_path"),
    one(
        "gdp-num-chunk-states-to-recompute",
        "gdp_num_chunk_states_to_recompute",
        "2",
    ),
    one("mlp-chunks-for-training", "mlp_chunks_for_training", "1"),
    one("transformer-impl", "transformer_impl", "transformer_engine"),
    switch(
        "fine-grained-activation-offloading",
        "fine_grained_activation_offloading",
    ),
    many("offload-modules", "offload_modules", ""),
    one(
        "min-offloaded-tensor-size",
        "min_offloaded_tensor_size",
        "1048576",
    ),
    switch(
        "delay-offload-until-cuda-graph",
        "delay_offload_until_cuda_graph",
    ),
    one(
        "delta-offload-bytes-across-pp-ranks",
        "delta_offload_bytes_across_pp_ranks",
        "0",
    ),
    one(
        "activation-offload-fraction",
        "activation_offload_fraction",
        "1.0",
    ),
    switch("moe-paged-stash", "moe_paged_stash"),
    one(
        "moe-paged-stash-page-size",
        "moe_paged_stash_page_size",
        "64",
    ),
    one(
        "moe-paged-stash-buffer-size-factor-cuda",
        "moe_paged_stash_buffer_size_factor_cuda",
        "1.1",
    ),
    one(
        "moe-paged-stash-buffer-size-factor-cpu",
        "moe_paged_stash_buffer_size_factor_cpu",
        "0.0",
    ),
    one(
        "fine-grained-offloading-max-inflight-offloads",
        "fine_grained_offloading_max_inflight_offloads",
        "None",
    ),
    // Network size
    one("encoder-num-layers", "encoder_num_layers", "None"),
    one("decoder-num-layers", "decoder_num_layers", "None"),
    switch("group-query-attention", "group_query_attention"),
    one("window-size", "window_size", "None"),
    one("window-attn-skip-freq", "window_attn_skip_freq", "None"),
    one("max-position-embeddings", "max_position_embeddings", "None"),
    one(
        "position-embedding-type",
        "position_embedding_type",
        "learned_absolute",
    ),
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
    one(
        "make-vocab-size-divisible-by",
        "make_vocab_size_divisible_by",
        "128",
    ),
    switch("openai-gelu", "openai_gelu"),
    switch("squared-relu", "squared_relu"),
    switch("swiglu", "swiglu"),
    switch("quick-geglu", "quick_geglu"),
    switch(
        "untie-embeddings-and-output-weights",
        "untie_embeddings_and_output_weights",
    ),
    // Regularization
    one("sgd-momentum", "sgd_momentum", "0.9"),
    one("muon-momentum", "muon_momentum", "0.9"),
    inverted("muon-no-split-qkv", "muon_split_qkv"),
    one("muon-tp-mode", "muon_tp_mode", "duplicated"),
    one("muon-scalar-optimizer", "muon_scalar_optimizer", "adam"),
    // Training
    one("micro-batch-size", "micro_batch_size", "None"),
    one("global-batch-size", "global_batch_size", "None"),
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
    inverted("no-masked-softmax-fusion", "masked_softmax_fusion"),
    inverted("no-bias-gelu-fusion", "bias_gelu_fusion"),
    inverted("no-bias-swiglu-fusion", "bias_swiglu_fusion"),
    inverted("no-bias-dropout-fusion", "bias_dropout_fusion"),
    inverted("no-rope-fusion", "apply_rope_fusion"),
    switch("use-flash-attn", "use_flash_attn"),
    one("optimizer", "optimizer", "adam"),
    switch("optimizer-cpu-offload", "optimizer_cpu_offload"),
    switch("optimizer-cuda-graph", "optimizer_cuda_graph"),
    one(
        "optimizer-offload-fraction",
        "optimizer_offload_fraction",
        "1.0",
    ),
    switch(
        "use-torch-optimizer-for-cpu-offload",
        "use_torch_optimizer_for_cpu_offload",
    ),
    switch(
        "overlap-cpu-optimizer-d2h-h2d",
        "overlap_cpu_optimizer_d2h_h2d",
    ),
    switch("no-persist-layer-norm", "no_persist_layer_norm"),
    inverted(
        "no-gradient-accumulation-fusion",
        "gradient_accumulation_fusion",
    ),
    switch("use-mcore-models", "deprecated_use_mcore_models"),
    // Checkpointing
    switch("load-main-params-from-ckpt", "load_main_params_from_ckpt"),
    switch("use-checkpoint-args", "use_checkpoint_args"),
    // Mixed precision
    switch("grad-reduce-in-bf16", "grad_reduce_in_bf16"),
    switch("attention-softmax-in-fp32", "attention_softmax_in_fp32"),
    switch(
        "accumulate-allreduce-grads-in-fp32",
        "accumulate_allreduce_grads_in_fp32",
    ),
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
    one(
        "decoder-first-pipeline-num-layers",
        "decoder_first_pipeline_num_layers",
        "None",
    ),
    one(
        "decoder-last-pipeline-num-layers",
        "decoder_last_pipeline_num_layers",
        "None",
    ),
    one(
        "pipeline-model-parallel-layout",
        "pipeline_model_parallel_layout",
        "None",
    ),
    one("model-parallel-size", "model_parallel_size", "None"),
    one(
        "num-layers-per-virtual-pipeline-stage",
        "num_layers_per_virtual_pipeline_stage",
        "None",
    ),
    one(
        "num-virtual-stages-per-pipeline-rank",
        "num_virtual_stages_per_pipeline_rank",
        "None",
    ),
    inverted("no-overlap-p2p-communication", "overlap_p2p_comm"),
    switch("overlap-grad-reduce", "overlap_grad_reduce"),
    one("ddp-num-buckets", "ddp_num_buckets", "None"),
    one("ddp-bucket-size", "ddp_bucket_size", "None"),
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
    switch("overlap-param-gather", "overlap_param_gather"),
    switch(
        "overlap-param-gather-with-optimizer-step",
        "overlap_param_gather_with_optimizer_step",
    ),
    switch("use-distributed-optimizer", "use_distributed_optimizer"),
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
    one(
        "num-distributed-optimizer-instances",
        "num_distributed_optimizer_instances",
        "1",
    ),
    inverted(
        "torch-fsdp2-no-reshard-after-forward",
        "torch_fsdp2_reshard_after_forward",
    ),
    many("cp-comm-type", "cp_comm_type", "p2p"),
    switch("fake-process-group", "fake_process_group"),
    // Data
    one("seq-length", "seq_length", "None"),
    one("encoder-seq-length", "encoder_seq_length", "None"),
    one("decoder-seq-length", "decoder_seq_length", "None"),
    switch("reset-position-ids", "reset_position_ids"),
    inverted(
        "no-create-attention-mask-in-dataloader",
        "create_attention_mask_in_dataloader",
    ),
    // Tokenizer
    one("vocab-size", "vocab_size", "None"),
    one("padded-vocab-size", "padded_vocab_size", "None"),
    inverted("no-pad-vocab-size", "pad_vocab_size"),
    inverted("disable-pad-vocab-size", "pad_vocab_size"),
    one("vocab-extra-ids", "vocab_extra_ids", "0"),
    one("tokenizer-type", "tokenizer_type", "None"),
    // Mixture of experts
    one("num-experts", "num_experts", "None"),
    one("moe-layer-freq", "moe_layer_freq", "1"),
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
    one("q-lora-rank", "q_lora_rank", "None"),
    one("kv-lora-rank", "kv_lora_rank", "32"),
    one("qk-head-dim", "qk_head_dim", "128"),
    one("qk-pos-emb-head-dim", "qk_pos_emb_head_dim", "64"),
    one("v-head-dim", "v_head_dim", "128"),
    switch("cache-mla-latents", "cache_mla_latents"),
    switch("mla-down-proj-fusion", "mla_down_proj_fusion"),
    // Experimental attention
    one("linear-attention-freq", "linear_attention_freq", "None"),
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
    many("cuda-graph-modules", "cuda_graph_modules", ""),
    // Transformer Engine
    switch("fp4-param-gather", "fp4_param_gather"),
    switch("fp8-param-gather", "fp8_param_gather"),
    one(
        "te-precision-config-file",
        "te_precision_config_file",
        "None",
    ),
    // Experimental
    many("spec", "spec", "None"),
    one("hybrid-layer-pattern", "hybrid_layer_pattern", "None"),
    one("hybrid-override-pattern", "hybrid_override_pattern", "None"),
    one("yaml-cfg", "yaml_cfg", "None"),
    switch(
        "use-precision-aware-optimizer",
        "use_precision_aware_optimizer",
    ),
    one("main-grads-dtype", "main_grads_dtype", "fp32"),
    one("main-params-dtype", "main_params_dtype", "fp32"),
    one("exp-avg-dtype", "exp_avg_dtype", "fp32"),
    one("exp-avg-sq-dtype", "exp_avg_sq_dtype", "fp32"),
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
