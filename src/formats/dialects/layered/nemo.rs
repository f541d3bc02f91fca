//! Configurations of `NeMo` 1 and of the `NeMo` Framework Launcher for GPT models
//! (`nemo/collections/nlp/models/language_modeling/megatron_gpt_model.py` and `megatron_base_model.py`).

use super::Layout;
use crate::formats::detect::Format;
use crate::formats::dialects::Dialect;
use crate::formats::dialects::meaning::{
    KeyMeaning::{self, Field, Irrelevant, Opposite, Rule},
    KeyRule, look_up,
};
use crate::formats::dialects::{arguments, megatron_lm};

/// The sections of a file. Those of the Launcher stand beside them.
pub(super) const LAYOUT: Layout = Layout {
    format: Format::NemoYaml,
    dialect: Dialect::Nemo,
    keys: &[
        ("trainer.num_nodes", "num_nodes"),
        ("trainer.devices", "devices"),
        ("trainer.precision", "precision"),
        ("model.tokenizer.type", "tokenizer.type"),
        ("model.peft.peft_scheme", "peft_scheme"),
    ],
    places: &[
        ("model.optim.", "optim."),
        ("model.mcore_customization_config.", ""),
        ("model.", ""),
    ],
    ignored: &[
        "name",
        "restore_from_path",
        "defaults",
        "hydra.",
        "run.",
        "trainer.",
        "exp_manager.",
        "s3_checkpointing",
        "cluster_type",
        "model.data.",
        "model.tokenizer.",
        "model.nsys_profile.",
        "model.optim.sched.",
        "model.peft.",
        "model.ub_tp_comm_overlap_cfg",
    ],
    refused: &[
        ("model.encoder", ENCODER_DECODER),
        ("model.mcore_t5", ENCODER_DECODER),
        ("model.share_token_embeddings", ENCODER_DECODER),
        ("model.bert_binary_head", "a NeMo 1 configuration of BERT"),
        ("model.mm_cfg", "a NeMo 1 configuration of a multimodal model"),
        ("model.retro", "a NeMo 1 configuration of RETRO"),
        ("model.unet_config", "a NeMo 1 configuration of a diffusion model"),
    ],
    model: "",
};

const ENCODER_DECODER: &str = "a NeMo 1 configuration of a model with an encoder and a decoder";

/// Names that Megatron-LM does not have, or has with another meaning. Names whose values have to be converted are in
/// `import/sources/layered/nemo.rs`.
const KEYS: &[(&str, KeyMeaning)] = &[
    ("num_nodes", Rule(KeyRule::Nodes)),
    ("devices", Rule(KeyRule::GpusPerNode)),
    ("peft_scheme", KeyMeaning::more(ADAPTERS)),
    // Model.
    ("encoder_seq_length", Field("seq_length")),
    ("bias", Field("add_bias_linear")),
    ("qkv_bias", Field("add_qkv_bias")),
    ("activation", Rule(KeyRule::ActivationFunction)),
    ("layernorm_zero_centered_gamma", Field("apply_layernorm_1p")),
    ("num_query_groups", Rule(KeyRule::QueryGroups)),
    ("num_moe_experts", Field("num_experts")),
    (
        "share_embeddings_and_output_weights",
        Opposite("untie_embeddings_and_output_weights"),
    ),
    ("tokenizer.type", Rule(KeyRule::TokenizerModel)),
    ("override_vocab_size", Field("vocab_size")),
    ("headscale", HEADSCALE),
    // Dropout between the two matrices of the MLP, which Megatron-Core's layers do not have.
    ("ffn_dropout", Irrelevant),
    ("mamba_ssm_ngroups", Field("mamba_num_groups")),
    ("mamba_ngroups", Field("mamba_num_groups")),
    ("megatron_legacy", LEGACY),
    // Precision.
    ("fp8_e4m3", Irrelevant),
    ("fp8_hybrid", Irrelevant),
    ("fp8_params", Field("fp8_param_gather")),
    // Recomputation.
    ("activations_checkpoint_granularity", Field("recompute_granularity")),
    ("activations_checkpoint_method", Field("recompute_method")),
    ("activations_checkpoint_num_layers", Field("recompute_num_layers")),
    (
        "activations_checkpoint_layers_per_pipeline",
        KeyMeaning::more("more layers are recomputed on some pipeline ranks than on others"),
    ),
    (
        "num_micro_batches_with_partial_activation_checkpoints",
        KeyMeaning::more("some micro batches are recomputed less than others"),
    ),
    // Parallelism.
    ("virtual_pipeline_model_parallel_size", Rule(KeyRule::VirtualStages)),
    ("ub_tp_comm_overlap", Field("tp_comm_overlap")),
    (
        "fsdp",
        KeyMeaning::more("PyTorch's FSDP shards parameters, gradients and optimizer states"),
    ),
    // Optimizer.
    ("optim.overlap_grad_sync", Field("overlap_grad_reduce")),
    ("optim.overlap_param_sync", Field("overlap_param_gather")),
];

const ADAPTERS: &str = "only adapters are trained: all other weights need no gradients and no optimizer states";
const LEGACY: KeyMeaning = KeyMeaning::more("layers of NeMo's own are counted like those of Megatron-Core");
const HEADSCALE: KeyMeaning = KeyMeaning::less("a scale for each attention head is not counted");

/// Names that change no memory of a training step and that Megatron-LM does not have.
const IRRELEVANT: &[&str] = &[
    "apply_embedding_scaling",
    "barrier",
    "deteministic_mode",
    "cpu_offloading",
    "dist_ckpt_assume_constant_structure",
    "dist_ckpt_load_strictness",
    "dist_ckpt_parallel_dist_opt",
    "gated_linear_unit",
    "dist_ckpt_parallel_load",
    "dist_ckpt_parallel_save_within_dp",
    "dist_ckpt_torch_dist_multiproc",
    "enable_megatron_timers",
    "log_every_n_steps",
    "log_mode",
    "name",
    // The layers of other models do not know these two.
    "new_decoder_architecture",
    "parallel_attention",
    "reset_lr",
    "reset_lr_steps",
    "validation_param_sync_overlap",
    "apex_transformer_log_level",
    "attention_type",
    "batch_p2p_comm",
    "bias_activation_fusion",
    "bias_dropout_add_fusion",
    "dist_ckpt_format",
    "dist_ckpt_load_on_device",
    "dist_ckpt_parallel_save",
    "do_layer_norm_weight_decay",
    "fsdp_grad_reduce_dtype",
    "fsdp_sharded_checkpoint",
    "fsdp_sharding_strategy",
    "gc_interval",
    "get_attention_mask_from_fusion",
    "grad_allreduce_chunk_size_mb",
    "grad_div_ar_fusion",
    "gradient_as_bucket_view",
    "hysteresis",
    "init_method_std",
    "layernorm_epsilon",
    "native_amp_growth_interval",
    "native_amp_init_scale",
    "normalize_attention_scores",
    "onnx_safe",
    "overlap_p2p_comm",
    "persist_layer_norm",
    "post_process",
    "pre_process",
    "reduce_amax",
    "restore_from_ckpt",
    "restore_from_path",
    "resume_from_checkpoint",
    "rotary_base",
    "rotary_percentage",
    "scale_positional_embedding",
    "seq_len_interpolation_factor",
    "sharp",
    "sync_batch_comm",
    "transformer_engine",
    "use_emha",
    "use_flash_attention",
    "use_scaled_init_method",
    "use_te_rng_tracker",
];

/// What a key means; given without its section.
pub(in crate::formats::dialects) fn find(key: &str) -> Option<KeyMeaning> {
    if IRRELEVANT.contains(&key) {
        return Some(Irrelevant);
    }
    if let Some(meaning) = look_up(KEYS, key) {
        return Some(meaning);
    }
    match key.strip_prefix("optim.") {
        Some(_) => Some(Irrelevant),
        None => arguments::find(key).or_else(|| megatron_lm::find(key)),
    }
}

/// What `NeMo` 1 has otherwise than Megatron-LM's command line.
pub(in crate::formats::dialects) const DEFAULTS: &[(&str, &str)] = &[
    ("create_attention_mask_in_dataloader", "False"),
    ("fp8_amax_history_len", "1024"),
];
