//! Keys of GPT-NeoX and the Megatron-LM fields behind them.
//!
//! After `megatron/neox_arguments/neox_args.py` and `deepspeed_args.py` of EleutherAI/gpt-neox at ea7aefd8, with
//! underscores for dashes. Keys whose values have to be converted are in `import/sources/neox`.

use super::meaning::KeyMeaning::{self, Field, Irrelevant, Rule};
use super::meaning::{KeyRule, look_up};

/// What is said of every number of such a job.
pub const WARNING: &str = "GPT-NeoX trains with DeepSpeed. The numbers are those of Megatron-LM for the same model, layout, batch and \
    precision: DeepSpeed has other buffers and keeps other gradients.";

/// The same where the text has no batch, and so can be a part of the job alone.
pub const PART: &str = "This is a part of a GPT-NeoX job: batch and precision are in other files that its launcher merges. Paste them \
    together, one below the other. GPT-NeoX trains with DeepSpeed; the numbers will be those of Megatron-LM for the same job.";

const KEYS: &[(&str, KeyMeaning)] = &[
    // Model.
    ("num_layers", Field("num_layers")),
    ("hidden_size", Field("hidden_size")),
    ("num_attention_heads", Field("num_attention_heads")),
    ("num_kv_heads", Rule(KeyRule::QueryGroups)),
    ("seq_length", Field("seq_length")),
    ("max_position_embeddings", Field("max_position_embeddings")),
    ("no_weight_tying", Field("untie_embeddings_and_output_weights")),
    ("make_vocab_size_divisible_by", Field("make_vocab_size_divisible_by")),
    ("padded_vocab_size", Field("padded_vocab_size")),
    ("use_qk_layernorm", Field("qk_layernorm")),
    ("moe_top_k", Field("moe_router_topk")),
    // Layout.
    ("model_parallel_size", Field("tensor_model_parallel_size")),
    ("sequence_parallel", Field("sequence_parallel")),
    ("num_nodes", Rule(KeyRule::Nodes)),
    ("num_gpus", Rule(KeyRule::GpusPerNode)),
    // Kernels.
    ("attention_dropout", Field("attention_dropout")),
    ("hidden_dropout", Field("hidden_dropout")),
    ("attention_softmax_in_fp32", Field("attention_softmax_in_fp32")),
    ("apply_query_key_layer_scaling", Field("apply_query_key_layer_scaling")),
    (
        "scaled_upper_triang_masked_softmax_fusion",
        Field("masked_softmax_fusion"),
    ),
    ("bias_gelu_fusion", Field("bias_gelu_fusion")),
    ("bias_dropout_fusion", Field("bias_dropout_fusion")),
    ("use_flashattn_swiglu", Field("bias_swiglu_fusion")),
    ("rope_fusion", Field("apply_rope_fusion")),
    // What Megatron-LM has otherwise, or not at all.
    (
        "checkpoint_in_cpu",
        KeyMeaning::more("the inputs of recomputed layers are on the host"),
    ),
    ("use_bnb_optimizer", KeyMeaning::more(EIGHT_BITS)),
    (
        "soft_prompt_tuning.enabled",
        KeyMeaning::more("only a soft prompt is trained: all other weights need no gradients"),
    ),
    ("te_fp8_mha", KeyMeaning::more("attention in fp8")),
    (
        "amp.enabled",
        KeyMeaning::more("Apex keeps other weights and gradients"),
    ),
    (
        "opt_pos_emb_offset",
        KeyMeaning::less("a few more rows of learned positions are not counted"),
    ),
    (
        "log_gradient_noise_scale",
        KeyMeaning::more("gradients of several micro batches are kept to compare them"),
    ),
    (
        "contiguous_checkpointing",
        KeyMeaning::less("buffers for the inputs of recomputed layers are not counted"),
    ),
];

const EIGHT_BITS: &str = "bitsandbytes keeps optimizer states in 8 bits";

/// Sections in which nothing changes the memory of a training step.
const SECTIONS: &[&str] = &[
    "autotuning",
    "autotuning_config",
    "checkpoint",
    "comms_logger",
    "csv_monitor",
    "curriculum_learning",
    "data_efficiency",
    "elasticity",
    "flops_profiler",
    "optimizer",
    "scheduler",
    "soft_prompt_tuning",
    "sparse_attention",
    "sparsity_config",
    "tensorboard",
    "wandb",
    "activation_checkpointing",
    "deepspeed_extra_args",
    "s3",
];

/// Names that change no memory of a training step.
const NAMES: &str = "\
    account adlr_autoresume adlr_autoresume_interval allow_chopped autotuning_run base_shapes_file char_level_ppl checkpoint_factor \
    checkpoint_scale checkpoint_validation_with_forward_pass clip_grad comet_experiment_name comet_others comet_project comet_tags \
    comet_workspace comment communication_data_type config_files coord_check curriculum_seqlen data_impl data_path dataset_impl decay_lr_to \
    deepscale deepscale_config deepspeed deepspeed_activation_checkpointing deepspeed_mpi deepspeed_slurm detect_nvlink_pairs \
    distributed_backend do_test do_train do_valid dpo_beta dpo_fp32 dpo_reference_free dump_state dynamic_loss_scale eod_mask_loss \
    eval_interval eval_iters eval_results_prefix eval_tasks exclude exit_interval extra_save_iters finetune force_multi \
    fp32_allreduce fp32_reinforce fused_kernels_build_path git_hash gradient_clipping gradient_noise_scale_cpu_offload \
    gradient_noise_scale_n_batches gradient_predivide_factor head_size hostfile hysteresis include init_method init_method_std \
    iteration keep_last_n_checkpoints kl_div_beta kl_impl kto_beta kto_desirable_weight kto_fp32 kto_undesirable_weight launcher \
    layernorm_epsilon layernorm_fusion lazy_mpu_init load local_rank log_dir log_grad_norm log_grad_pct_zeros log_interval \
    log_optimizer_states log_param_norm loss_scale loss_scale_window lr lr_decay_fraction lr_decay_iters lr_decay_style \
    mamba_causal_conv_fusion mamba_inner_func_fusion mamba_selective_fp32_params mamba_selective_scan_fusion \
    mamba_use_bias_in_conv mamba_use_bias_in_linears master_addr master_port maximum_tokens memory_profiling \
    memory_profiling_path merge_file min_lr min_scale mmap_warmup moe_jitter_eps moe_lbl_in_fp32 moe_router_type \
    mup_attn_temp mup_embedding_mult mup_init_scale mup_output_temp mup_rp_embedding_mult mup_width_scale no_load_optim \
    no_load_rng no_save_optim no_save_rng no_ssh_check num_samples num_unique_layers num_workers onnx_safe \
    output_layer_init_method output_layer_parallelism override_lr_scheduler pack_impl param_sharing_style \
    peak_theoretical_tflops precompute_model_name prescale_gradients profile profile_backward profile_step_start \
    profile_step_stop prompt_end rank recompute reinforce_leave_one_out return_logits rms_norm_epsilon rmsnorm_fusion \
    rotary_emb_base rotary_pct rotary_save_freqs_buffer rpe_max_distance rpe_num_buckets s3_chunk_size s3_path \
    sample_input_file sample_output_file save save_base_shapes save_interval save_iters scaled_masked_softmax_fusion scalenorm_epsilon seed \
    serve_model_weights short_seq_prob sliding_window_width sparse_gradients split steps_per_print synchronize_each_layer \
    te_columnparallel te_fp8_amax_compute_algo te_fp8_amax_history_len te_fp8_format te_fp8_margin te_fp8_wgrad \
    te_layernorm_mlp te_mha te_rowparallel temperature tensorboard_dir text_gen_type top_k top_p train_epochs train_iters \
    use_bias_in_norms use_checkpoint_lr_scheduler use_comet use_cpu_initialization use_mup use_shared_fs use_wandb user_script \
    wall_clock_breakdown wandb_group wandb_host wandb_init_all_ranks wandb_project wandb_run_name wandb_team warmup warmup_iters \
    weight_by_num_documents weight_decay weight_server_port weighted_sampler_alpha z_loss";

/// What a key means; given with underscores.
pub(super) fn find(key: &str) -> Option<KeyMeaning> {
    if let Some(meaning) = look_up(KEYS, key) {
        return Some(meaning);
    }
    let (section, inside) = key.split_once('.').map_or((key, ""), |(section, _)| (section, key));
    let is_data = ["data_paths", "data_weights", "dataserver_ips", "dataserver_ports"]
        .into_iter()
        .any(|end| key.ends_with(end));
    let is_harmless = is_data
        || SECTIONS.contains(&section)
        || inside.is_empty() && NAMES.split_ascii_whitespace().any(|name| name == key);
    is_harmless.then_some(Irrelevant)
}

/// Fields whose default differs from that of Megatron-LM's command line.
pub(super) const DEFAULTS: &[(&str, &str)] = &[
    ("attention_dropout", "0.0"),
    ("hidden_dropout", "0.0"),
    ("masked_softmax_fusion", "False"),
    ("bias_gelu_fusion", "False"),
    ("bias_dropout_fusion", "False"),
    ("bias_swiglu_fusion", "False"),
    ("apply_rope_fusion", "False"),
    ("moe_router_topk", "1"),
];
