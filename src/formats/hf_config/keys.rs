//! Keys of `config.json`: which are synonyms, and which do not change memory.

/// Other spellings of a key, in the order in which they are looked for.
///
/// They come from the alias tables of transformers, under which one family can be saved either way, and
/// from files older than those.
const ALIASES: &[(&str, &[&str])] = &[
    ("num_hidden_layers", &["n_layer", "num_layers", "n_layers"]),
    ("hidden_size", &["n_embd", "d_model"]),
    ("num_attention_heads", &["n_head", "n_heads"]),
    (
        "num_key_value_heads",
        &["num_attention_groups", "multi_query_group_num", "kv_n_heads"],
    ),
    ("head_dim", &["attention_head_dim", "kv_channels"]),
    ("intermediate_size", &["n_inner", "ffn_dim", "ffn_hidden_size"]),
    (
        "max_position_embeddings",
        &["n_positions", "n_ctx", "seq_length", "max_seq_len"],
    ),
    ("vocab_size", &["padded_vocab_size"]),
    (
        "hidden_act",
        &["hidden_activation", "activation_function", "mlp_hidden_act"],
    ),
    ("hidden_dropout", &["resid_pdrop", "residual_dropout", "dropout"]),
    ("attention_dropout", &["attn_pdrop"]),
    ("torch_dtype", &["dtype"]),
    ("hybrid_override_pattern", &["layers_block_type", "layer_types"]),
    ("mtp_hybrid_override_pattern", &["mtp_layers_block_type"]),
    ("layer_types", &["layers_block_type"]),
    ("ssm_state_size", &["mamba_d_state"]),
    ("n_groups", &["mamba_n_groups"]),
    ("mamba_num_heads", &["mamba_n_heads"]),
    ("mamba_head_dim", &["mamba_d_head"]),
    ("conv_kernel", &["mamba_d_conv"]),
    (
        "num_experts",
        &["num_local_experts", "n_routed_experts", "moe_num_experts"],
    ),
    (
        "num_experts_per_tok",
        &[
            "moe_k",
            "moe_top_k",
            "moe_topk",
            "num_experts_per_token",
            "top_k_experts",
        ],
    ),
    (
        "n_shared_experts",
        &["num_shared_experts", "num_shared_expert", "moe_num_shared_experts"],
    ),
    ("first_k_dense_replace", &["num_dense_layers"]),
    ("share_expert_dim", &["share_expert_dims"]),
    (
        "shared_expert_intermediate_size",
        &["moe_shared_expert_intermediate_size"],
    ),
    (
        "scoring_func",
        &["score_function", "moe_router_activation", "moe_router_activation_func"],
    ),
    ("num_nextn_predict_layers", &["num_mtp_layers", "mtp_num_hidden_layers"]),
];

/// Keys that a family keeps in a map: the key, the map and the key in it.
const INNER: &[(&str, &str, &str)] = &[
    ("linear_num_value_heads", "linear_attn_config", "num_heads"),
    ("linear_value_head_dim", "linear_attn_config", "head_dim"),
    ("linear_conv_kernel_dim", "linear_attn_config", "short_conv_kernel_size"),
    ("kda_layers", "linear_attn_config", "kda_layers"),
    ("num_key_value_heads", "attn_config", "kv_n_heads"),
    ("num_experts", "ffn_config", "moe_num_experts"),
    ("num_experts_per_tok", "ffn_config", "moe_top_k"),
    ("intermediate_size", "ffn_config", "ffn_hidden_size"),
];

/// The map that may hold `key`, and the key in it.
pub(super) fn inner(key: &str) -> Option<(&'static str, &'static str)> {
    let entry = INNER.iter().find(|(outer, ..)| *outer == key);
    entry.map(|(_, map, inner)| (*map, *inner))
}

/// Whether some keys are looked for in the map under `key`.
pub(super) fn is_map(key: &str) -> bool {
    INNER.iter().any(|(_, map, _)| *map == key)
}

/// Keys that a multimodal file may state outside its text part and that hold for the text part too.
pub(super) const SHARED_WITH_OUTER: &[&str] = &["torch_dtype", "tie_word_embeddings"];

/// Where multimodal files keep the language model.
pub(super) const NESTED: &[&[&str]] = &[
    &["text_config"],
    &["llm_config"],
    &["language_config"],
    &["thinker_config", "text_config"],
];

/// Parts of multimodal files that have parameters of their own.
pub(super) const OTHER_TOWERS: &[&str] = &[
    "vision_config",
    "audio_config",
    "speech_config",
    "talker_config",
    "code2wav_config",
    "projector_config",
];

/// The other spellings of `key`.
pub(super) fn aliases(key: &str) -> &'static [&'static str] {
    ALIASES
        .iter()
        .find(|(canonical, _)| *canonical == key)
        .map_or(&[], |(_, others)| others)
}

/// Why `key` does not change memory; `None` for keys that may.
pub(super) fn ignored(key: &str) -> Option<&'static str> {
    if key.starts_with('_') {
        return Some(IDENTITY);
    }
    IGNORED
        .iter()
        .find(|(keys, _)| keys.contains(&key))
        .map(|(_, reason)| *reason)
}

const IDENTITY: &str = "says where the file comes from";

const IGNORED: &[(&[&str], &str)] = &[
    (
        &[
            "architectures",
            "auto_map",
            "custom_pipelines",
            "id2label",
            "label2id",
            "model_version",
            "name_or_path",
            "problem_type",
            "task_specific_params",
            "transformers_version",
            "unsloth_fixed",
            "unsloth_version",
        ],
        IDENTITY,
    ),
    (
        &[
            "bos_token_id",
            "decoder_start_token_id",
            "eos_token_id",
            "image_token_id",
            "image_token_index",
            "pad_token_id",
            "sep_token_id",
            "tokenizer_class",
            "video_token_id",
            "vision_end_token_id",
            "vision_start_token_id",
            "vision_token_id",
        ],
        "a property of the tokenizer",
    ),
    (
        &[
            "bad_words_ids",
            "begin_suppress_tokens",
            "cache_implementation",
            "diversity_penalty",
            "do_sample",
            "early_stopping",
            "encoder_no_repeat_ngram_size",
            "exponential_decay_length_penalty",
            "forced_bos_token_id",
            "forced_eos_token_id",
            "length_penalty",
            "min_length",
            "no_repeat_ngram_size",
            "num_beam_groups",
            "num_beams",
            "num_return_sequences",
            "output_scores",
            "remove_invalid_values",
            "repetition_penalty",
            "return_dict_in_generate",
            "suppress_tokens",
            "typical_p",
            "initial_context_length",
            "max_length",
            "num_logits_to_keep",
            "output_attentions",
            "output_hidden_states",
            "return_dict",
            "temperature",
            "top_k",
            "top_p",
            "use_cache",
        ],
        "for inference",
    ),
    (
        &[
            "initializer_factor",
            "initializer_range",
            "layer_norm_epsilon",
            "layernorm_epsilon",
            "norm_eps",
            "query_pre_attn_scalar",
            "attn_logit_softcapping",
            "final_logit_softcapping",
            "logits_scaling",
            "scale_attn_weights",
            "scale_attn_by_inverse_layer_idx",
            "reorder_and_upcast_attn",
            "rms_norm_eps",
            "router_jitter_noise",
            "swiglu_alpha",
            "swiglu_limit",
            "swiglu_limits",
            "swiglu_limits_shared",
            "attention_scale",
            "attn_scale",
            "attn_temperature_tuning",
            "floor_scale",
            "clip_qkv",
            "mscale",
            "moe_norm_min",
            "embedding_multiplier",
            "lm_head_multiplier",
            "key_multiplier",
            "attention_in_multiplier",
            "attention_out_multiplier",
            "ssm_in_multiplier",
            "ssm_out_multiplier",
            "ssm_multipliers",
            "mlp_multipliers",
            "zero_centered",
            "qk_norm_type",
            "use_rmsnorm",
            "norm_head",
            "norm_softmax",
            "use_bidirectional_attention",
            "attention_k_eq_v",
            "rope_interleave",
        ],
        "a number in the computation that changes no size",
    ),
    (
        &[
            "original_max_position_embeddings",
            "partial_rotary_factor",
            "partial_rotary_factors",
            "rope_local_base_freq",
            "rope_parameters",
            "rope_percent",
            "rope_scaling",
            "rope_theta",
            "rotary_dim",
            "rope_traditional",
            "no_rope_layers",
            "no_rope_layer_interval",
            "yarn_only_types",
        ],
        "rotary positions have no parameters",
    ),
    (
        &[
            "attention_chunk_size",
            "layer_types",
            "max_window_layers",
            "sliding_window",
            "sliding_window_pattern",
            "sliding_windows",
            "use_sliding_window",
            "window_attn_skip_freq",
            "attn_type_list",
            "interleaved_sliding_window",
        ],
        "the window of attention changes time, and with fused attention no memory",
    ),
    (
        &[
            "aux_loss_alpha",
            "enable_moe_fp32_combine",
            "ep_size",
            "expert_dtype",
            "experts_per_token",
            "moe_router_scaling_factor",
            "latent_moe_use_norm",
            "moe_renormalize",
            "n_group",
            "num_expert_group",
            "use_grouped_topk",
            "need_fp32_gate",
            "norm_expert_weight",
            "norm_topk_prob",
            "output_router_logits",
            "routed_scaling_factor",
            "router_aux_loss_coef",
            "router_aux_loss_coeff",
            "router_dtype",
            "router_scaling_factor",
            "seq_aux",
            "topk_group",
            "topk_method",
            "use_routing_bias",
            "moe_router_enable_expert_bias",
            "use_moe_router_bias",
            "mtp_loss_scaling_factor",
            "router_bias",
        ],
        "a rule of routing that changes no size",
    ),
    (
        &[
            "chunk_size",
            "mamba_ssm_dtype",
            "output_gate_type",
            "expand",
            "keep_mtp_spec_in_bf16",
            "mamba_chunk_size",
            "mamba_conv_bias",
            "mamba_dt_init_floor",
            "mamba_dt_max",
            "mamba_dt_min",
            "mamba_expand",
            "mamba_hidden_act",
            "mamba_ssm_cache_dtype",
            "mamba_use_mlp",
            "mlp_expansion_factor",
            "attn_layer_indices",
            "moe_shared_expert_overlap",
            "normalization_function",
            "rescale_prenorm_residual",
            "time_step_floor",
            "time_step_limit",
            "time_step_max",
            "time_step_min",
            "time_step_rank",
            "use_conv_bias",
            "use_mamba_kernels",
        ],
        "Megatron-LM's Mamba layers have sizes and rules of their own for it",
    ),
    (
        &["pretraining_tp"],
        "splits matrices in the original code; the job's own TP counts",
    ),
    (
        &["embd_pdrop", "embedding_dropout", "output_dropout"],
        "Megatron-LM takes one dropout for embeddings and residuals",
    ),
    (
        &["quantization_config", "compression_config"],
        "describes the weights as published, not the training",
    ),
    (
        &[
            "summary_activation",
            "summary_first_dropout",
            "summary_proj_to_labels",
            "summary_type",
            "summary_use_proj",
            "add_cross_attention",
            "cross_attention_hidden_size",
            "finetuning_task",
            "prefix",
            "tie_encoder_decoder",
            "n_special",
            "predict_special_tokens",
            "is_decoder",
            "is_encoder_decoder",
            "chunk_size_feed_forward",
            "gradient_checkpointing",
            "tf_legacy_loss",
            "use_bfloat16",
            "torchscript",
            "pruned_heads",
        ],
        "a general option of the library",
    ),
];
