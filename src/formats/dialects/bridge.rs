//! Keys of a Megatron-Bridge configuration (`ConfigContainer`) and the Megatron-LM fields behind them.
//!
//! After Megatron-Bridge's own documents and code: `docs/megatron-lm-to-megatron-bridge.md`,
//! `scripts/translate_mlm_to_bridge.py` and `training/mixed_precision.py` at the pinned revision.

pub mod base_recipes;
pub(in crate::formats) mod families;
pub mod precision;
pub(in crate::formats) mod together;
mod tower;

use super::framework::{Defaults, Framework};
use super::meaning::KeyMeaning::{self, Field, Irrelevant, Opposite, Role};
use super::meaning::{look_up, same_field};
use crate::formats::derivations::precision as dtypes;
use crate::formats::derivations::{activation, adapters, dev_branch, hybrid, model, optimizer, packing, vocabulary};
use crate::formats::megatron_args::{self, Known};

/// Megatron-Bridge's `ConfigContainer`.
pub static BRIDGE: Framework = Framework {
    name: "Megatron-Bridge",
    find,
    defaults: &[DEFAULTS, CLASS_DEFAULTS, FUSIONS],
    hybrid_defaults: &[HYBRID_DEFAULTS, HYBRID_FUSIONS],
    latent_defaults: &[LATENT_DEFAULTS],
    begin: |draft, root, _| together::model_class(draft, root),
    name_of,
    unknown_value: together::partly_followed,
    derivations: &[
        activation::function,
        adapters::of_bridge,
        dtypes::mixed,
        vocabulary::given,
        hybrid::layers_of_bridge,
        vocabulary::of_tokenizer,
        optimizer::layer_wise,
        together::without_what_is_off,
        packing::to_length,
        model::sizes_of_blocks,
        dev_branch::stack,
    ],
    after_defaults: dtypes::gradients_as_said,
    with_model: |_, model, model_type| families::add(model, model_type),
    tower: |import, tower, _| tower::beside_adapters(import, tower),
    names_published_models: true,
    keeps_vocabulary: true,
    ..Framework::PLAIN
};

/// The layers of some models are a part of their own. Without sections, as on its own, a key belongs to the model.
fn name_of(path: &str) -> String {
    match path.strip_prefix("model.transformer.") {
        Some(name) => format!("model.{name}"),
        None if !path.contains('.') && find(path).is_none() => format!("model.{path}"),
        None => path.to_owned(),
    }
}

/// Keys that are not simply `section.field`.
const KEYS: &[(&str, KeyMeaning)] = &[
    // Model.
    ("model.num_moe_experts", Field("num_experts")),
    ("model.num_query_groups", Role(model::QUERY_GROUPS)),
    ("model.enable_hyper_connections", Role(dev_branch::HYPER_CONNECTIONS)),
    ("model.gated_linear_unit", Role(activation::GATED)),
    ("model.bias_activation_fusion", Field("bias_swiglu_fusion")),
    ("model.activation_func", Role(activation::FUNCTION)),
    ("model.vocab_size", Role(vocabulary::SIZE)),
    ("model.should_pad_vocab", Role(vocabulary::PAD)),
    ("tokenizer.vocab_size", Field("vocab_size")),
    (
        "model.share_embeddings_and_output_weights",
        Opposite("untie_embeddings_and_output_weights"),
    ),
    ("model.seq_length", Field("seq_length")),
    ("dataset.seq_length", Field("seq_length")),
    (
        "dataset.skip_getting_attention_mask_from_dataset",
        Opposite("create_attention_mask_in_dataloader"),
    ),
    // The samples of a micro batch in one row, and datasets that are packed before training.
    ("dataset.enable_in_batch_packing", Field("sft")),
    (
        "dataset.offline_packing_specs.packed_sequence_size",
        Role(packing::PACKED),
    ),
    (
        "dataset.packed_sequence_specs.packed_sequence_size",
        Role(packing::PACKED),
    ),
    ("model.attn_logit_softcapping", Field("attn_logit_softcapping")),
    ("model.final_logit_softcapping", Field("final_logit_softcapping")),
    ("rng.seed", Field("seed")),
    ("model.deterministic_mode", Field("deterministic_mode")),
    (
        "dataset.reset_position_ids",
        KeyMeaning::nothing("positions start anew within a sample of the same length"),
    ),
    (
        "checkpoint.use_checkpoint_args",
        KeyMeaning::more("arguments in the checkpoint replace those of the job"),
    ),
    (
        "tokenizer.vocab_extra_ids",
        KeyMeaning::less("the vocabulary has some more tokens"),
    ),
    ("dataset.sequence_length", Field("seq_length")),
    ("tokenizer.tokenizer_model", Role(vocabulary::TOKENIZER_MODEL)),
    ("tokenizer.tokenizer_type", Role(vocabulary::TOKENIZER)),
    ("model.hf_model_id", Role(model::HUGGING_FACE)),
    ("model.params_dtype", Role(dtypes::DTYPE)),
    (
        "model.virtual_pipeline_model_parallel_size",
        Role(model::VIRTUAL_STAGES),
    ),
    (
        "model.num_layers_in_first_pipeline_stage",
        Field("decoder_first_pipeline_num_layers"),
    ),
    (
        "model.num_layers_in_last_pipeline_stage",
        Field("decoder_last_pipeline_num_layers"),
    ),
    (
        "model.heterogeneous_layers_config_encoded_json",
        Role(model::LAYERS_OF_BLOCKS),
    ),
    ("model.heterogeneous_layers_config_path", Role(model::PATH_OF_BLOCKS)),
    ("model.heterogeneous_block_specs", Irrelevant),
    ("model.use_te_rng_tracker", Irrelevant),
    ("rng.te_rng_tracker", Irrelevant),
    ("rerun_state_machine.check_for_nan_in_loss", Irrelevant),
    ("model.pipeline_dtype", Irrelevant),
    ("model.autocast_dtype", Irrelevant),
    ("model.mamba_chunk_size", Role(model::MAMBA_CHUNK_SIZE)),
    ("model.cpu_offloading", Role(together::CPU_OFFLOADING)),
    ("model.cpu_offloading_activations", Irrelevant),
    (
        "model.cpu_offloading_weights",
        KeyMeaning::more("weights are not offloaded"),
    ),
    (
        "model.cpu_offloading_double_buffering",
        KeyMeaning::less("one buffer is counted"),
    ),
    (
        "mixed_precision.fp8_dot_product_attention",
        Field("fp8_dot_product_attention"),
    ),
    (
        "mixed_precision.fp8_multi_head_attention",
        Field("fp8_multi_head_attention"),
    ),
    (
        "model.deallocate_pipeline_outputs",
        Field("deallocate_pipeline_outputs"),
    ),
    ("optimizer.store_param_remainders", KeyMeaning::less("counted as true")),
    (
        "optimizer.use_layer_wise_distributed_optimizer",
        Role(optimizer::LAYER_WISE),
    ),
    // Precision.
    ("mixed_precision", Role(dtypes::PRESET)),
    ("mixed_precision.params_dtype", Role(dtypes::DTYPE)),
    (
        "mixed_precision.grad_reduce_in_fp32",
        Field("accumulate_allreduce_grads_in_fp32"),
    ),
    ("mixed_precision.pipeline_dtype", Irrelevant),
    ("mixed_precision.autocast_dtype", Irrelevant),
    ("mixed_precision.autocast_enabled", Irrelevant),
    // Data parallelism.
    ("ddp.grad_reduce_in_fp32", Role(dtypes::GRADIENTS)),
    ("ddp.bucket_size", Field("ddp_bucket_size")),
    ("ddp.num_buckets", Field("ddp_num_buckets")),
    ("ddp.average_in_collective", Field("ddp_average_in_collective")),
    (
        "ddp.pad_buckets_for_high_nccl_busbw",
        Field("ddp_pad_buckets_for_high_nccl_busbw"),
    ),
    (
        "ddp.reduce_scatter_with_fp32_accumulation",
        Field("ddp_reduce_scatter_with_fp32_accumulation"),
    ),
    (
        "ddp.param_name_patterns_for_fp32_local_accumulation",
        Field("ddp_param_name_patterns_for_fp32_local_accumulation"),
    ),
    ("ddp.check_for_nan_in_grad", Irrelevant),
    ("optimizer.params_dtype", Role(dtypes::DTYPE)),
    // Sections.
    ("peft", Role(adapters::SETTING)),
    ("comm_overlap.tp_comm_overlap_cfg", Irrelevant),
];

/// Second names of fields: read, never written.
const SECOND_NAMES: &[(&str, KeyMeaning)] = &[
    // Of Megatron-LM's dev branch.
    ("model.csa_compress_ratios", Role(dev_branch::COMPRESS_RATIOS)),
    ("model.apply_dsa_kernel_fusion", Role(dev_branch::KERNEL_FUSION)),
    ("model.csa_window_size", Field("csa_window_size")),
    ("model.csa_dense_mode", Field("csa_dense_mode")),
    ("model.o_groups", Field("o_groups")),
    ("model.o_lora_rank", Field("o_lora_rank")),
    ("model.moe_n_hash_layers", Field("moe_n_hash_layers")),
    ("model.csa_compress_rotary_base", Irrelevant),
    ("model.actual_vocab_size", Irrelevant),
    ("model.num_residual_streams", Field("mhc_num_residual_streams")),
    ("model.use_fused_mhc", Field("use_fused_mhc")),
    ("model.kimi_attn_res_block_size", Field("kimi_attn_res_block_size")),
    ("model.fp8_dot_product_attention", Field("fp8_dot_product_attention")),
    ("model.fp8_multi_head_attention", Field("fp8_multi_head_attention")),
    ("dataset.pack_sequences_in_batch", Field("sft")),
    ("model.fp8_param", Field("fp8_param_gather")),
    ("model.fp4_param", Field("fp4_param_gather")),
    ("model.cuda_graph_scope", Field("cuda_graph_modules")),
    ("mixed_precision.fp8_param", Field("fp8_param_gather")),
    ("mixed_precision.fp4_param", Field("fp4_param_gather")),
    ("ddp.use_megatron_fsdp", Field("use_megatron_fsdp")),
    ("ddp.use_custom_fsdp", Field("use_megatron_fsdp")),
];

/// Sections whose keys are called like Megatron-LM's fields.
const SECTIONS: [&str; 7] = [
    "model",
    "train",
    "ddp",
    "optimizer",
    "dist",
    "comm_overlap",
    "mixed_precision",
];

/// Sections that do not change the memory of a training step.
const IRRELEVANT_SECTIONS: [&str; 16] = [
    "scheduler",
    "logger",
    "checkpoint",
    "rng",
    "profiling",
    "validation",
    "env_vars",
    "tokenizer",
    "dataset",
    "straggler",
    "nvrx_straggler",
    "rerun_state_machine",
    "inprocess_restart",
    "ft",
    "tensor_inspect",
    "optimizer_config_override_provider",
];

/// Keys of these sections that do not change the memory of a training step, and that Megatron-LM's parser does not
/// have.
const IRRELEVANT: [(&str, &[&str]); 5] = [
    (
        "model",
        &[
            "audio_end_token_id",
            "audio_start_token_id",
            "audio_token_id",
            "batch_p2p_comm",
            "beta_fast",
            "beta_slow",
            "bos_token_id",
            "embedding_init_method_std",
            "eos_token_id",
            "hetereogenous_dist_checkpoint",
            "hf_model_revision",
            "image_token_id",
            "keep_mtp_spec_in_bf16",
            "language_max_sequence_length",
            "layernorm_epsilon",
            "parallel_output",
            "persist_layer_norm",
            "position_id_per_seconds",
            "pretrained_model_name",
            "rope_scaling",
            "rope_scaling_factor",
            "seconds_per_chunk",
            "use_transformer_engine_full_layer_spec",
            "variable_seq_lengths",
            "video_token_id",
            "vision_end_token_id",
            "vision_start_token_id",
        ],
    ),
    ("ddp", &["align_param_gather", "gradient_reduce_div_fusion"]),
    (
        "dist",
        &[
            "enable_megatron_core_experimental",
            "use_decentralized_pg",
            "use_gloo_process_groups",
        ],
    ),
    ("train", &["manual_gc_eval"]),
    ("optimizer", &["timers"]),
];

/// Whether a key of the model is one of a rotary embedding, or repeats what the Hugging Face model says of itself.
fn repeats(name: &str) -> bool {
    let beginnings = [
        "yarn_",
        "hf_text_config",
        "hf_config",
        "thinker_config",
        "talker_config",
        "token2wav_config",
    ];
    beginnings.iter().any(|beginning| name.starts_with(beginning))
}

/// The meaning of a key, given with its sections before it and dots between them; `None` for a key that is not known.
#[must_use]
pub fn find(key: &str) -> Option<KeyMeaning> {
    if let Some(meaning) = look_up(KEYS, key).or_else(|| look_up(SECOND_NAMES, key)) {
        return Some(meaning);
    }
    let (section, name) = key.split_once('.').unwrap_or((key, ""));
    if section == "peft" {
        return look_up(KEYS, section);
    }
    if IRRELEVANT_SECTIONS.contains(&section) {
        return Some(Irrelevant);
    }
    if !SECTIONS.contains(&section) {
        return None;
    }
    let irrelevant = IRRELEVANT
        .iter()
        .any(|(known, names)| *known == section && names.contains(&name));
    if irrelevant || section == "model" && repeats(name) {
        return Some(Irrelevant);
    }
    let of_hybrid = (section == "model").then(|| hybrid::find(name)).flatten();
    of_hybrid.or_else(|| same_field(name)).or_else(|| {
        // Known to Megatron-LM and of no consequence there.
        let known = megatron_args::find(name);
        matches!(known, Some(Known::Irrelevant(_))).then_some(Irrelevant)
    })
}

/// Where an export writes a Megatron-LM field; the first of several places. Fields that a rule makes from
/// several keys have none.
#[must_use]
pub fn key_of(field: &str) -> Option<(String, bool)> {
    for (key, meaning) in KEYS {
        match meaning {
            Field(dest) if *dest == field => return Some(((*key).to_owned(), false)),
            Opposite(dest) if *dest == field => return Some(((*key).to_owned(), true)),
            _ => {}
        }
    }
    same_field(field)?;
    let section = match field {
        "micro_batch_size"
        | "global_batch_size"
        | "rampup_batch_size"
        | "decrease_batch_size_if_needed"
        | "empty_unused_memory_level" => "train",
        "overlap_grad_reduce"
        | "overlap_param_gather"
        | "use_distributed_optimizer"
        | "num_distributed_optimizer_instances"
        | "data_parallel_sharding_strategy"
        | "outer_dp_sharding_strategy"
        | "nccl_ub"
        | "fsdp_double_buffer"
        | "keep_fp8_transpose_cache"
        | "megatron_fsdp_main_params_dtype"
        | "megatron_fsdp_main_grads_dtype"
        | "megatron_fsdp_grad_comm_dtype"
        | "megatron_fsdp_max_pool_double_buffer"
        | "fsdp_db_use_persist_buf_on_alloc_fail"
        | "suggested_communication_unit_size" => "ddp",
        "optimizer"
        | "optimizer_cpu_offload"
        | "optimizer_offload_fraction"
        | "use_precision_aware_optimizer"
        | "main_grads_dtype"
        | "main_params_dtype"
        | "exp_avg_dtype"
        | "exp_avg_sq_dtype"
        | "overlap_param_gather_with_optimizer_step" => "optimizer",
        "fp8"
        | "fp8_recipe"
        | "fp8_param_gather"
        | "fp8_amax_history_len"
        | "fp4"
        | "fp4_recipe"
        | "fp4_param_gather"
        | "first_last_layers_bf16"
        | "num_layers_at_start_in_bf16"
        | "num_layers_at_end_in_bf16"
        | "reuse_grad_buf_for_mxfp8_param_ag" => "mixed_precision",
        "use_torch_fsdp2" | "use_tp_pp_dp_mapping" => "dist",
        _ => "model",
    };
    Some((format!("{section}.{field}"), false))
}

/// `GPTModelProvider` has a length where Megatron-LM's command line has none.
pub const DEFAULTS: Defaults = &[("seq_length", "1024")];

/// What Megatron-Core's classes of configurations have otherwise than Megatron-LM's command line. Recipes set many
/// more; a dumped configuration names them all.
pub const CLASS_DEFAULTS: Defaults = &[
    ("create_attention_mask_in_dataloader", "False"),
    ("cross_entropy_loss_fusion", "True"),
    ("accumulate_allreduce_grads_in_fp32", "False"),
    ("data_parallel_sharding_strategy", "no_shard"),
    ("optimizer_offload_fraction", "0.0"),
    ("q_lora_rank", "512"),
    ("kv_lora_rank", "512"),
];

/// The same for hybrid models: what `HybridModelProvider` has otherwise than `GPTModelProvider`.
pub const HYBRID_DEFAULTS: Defaults = &[
    ("seq_length", "8192"),
    ("position_embedding_type", "none"),
    ("normalization", "RMSNorm"),
    ("add_bias_linear", "False"),
    ("untie_embeddings_and_output_weights", "True"),
    ("hidden_dropout", "0.0"),
    ("attention_dropout", "0.0"),
    ("attention_backend", "flash"),
];

/// Fused kernels that are off in `GPTModelProvider`, as in `TransformerConfig`, and on in Megatron-LM's command line.
pub const FUSIONS: Defaults = &[
    ("apply_rope_fusion", "False"),
    ("bias_dropout_fusion", "False"),
    ("bias_swiglu_fusion", "False"),
];

/// Fused kernels of hybrid models that are on or off in `HybridModelProvider` otherwise than in `GPTModelProvider`.
pub const HYBRID_FUSIONS: Defaults = &[
    ("apply_rope_fusion", "True"),
    ("bias_dropout_fusion", "True"),
    ("masked_softmax_fusion", "False"),
];

/// Settings of `MLAModelProvider`, the class of models with latent attention, that are off in it and on in
/// `GPTModelProvider`. The class derives from both `MLATransformerConfig` and `GPTModelProvider`; the defaults of the
/// first count.
pub const LATENT_DEFAULTS: Defaults = &[
    ("cross_entropy_loss_fusion", "False"),
    ("deallocate_pipeline_outputs", "False"),
    ("gradient_accumulation_fusion", "False"),
    ("masked_softmax_fusion", "False"),
];
