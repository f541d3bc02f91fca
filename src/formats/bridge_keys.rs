//! Keys of a Megatron-Bridge configuration (`ConfigContainer`) and the Megatron-LM fields behind them.
//!
//! After Megatron-Bridge's own documents and code: `docs/megatron-lm-to-megatron-bridge.md`,
//! `scripts/translate_mlm_to_bridge.py` and `training/mixed_precision.py` at the pinned revision.

use super::keys::{Meaning, Rule, look_up, same_field};

/// Why keys are not followed that neither Megatron-LM's flags of that name are.
const ELSEWHERE: &str = "the estimate does not follow it";

/// Keys that are not simply `section.field`.
const KEYS: &[(&str, Meaning)] = &[
    // Model.
    ("model.num_moe_experts", Meaning::Field("num_experts")),
    ("model.num_query_groups", Meaning::Rule(Rule::QueryGroups)),
    (
        "model.gated_linear_unit",
        Meaning::Rule(Rule::GatedLinearUnit),
    ),
    (
        "model.activation_func",
        Meaning::Rule(Rule::ActivationFunction),
    ),
    ("model.vocab_size", Meaning::Rule(Rule::PaddedVocabulary)),
    ("model.should_pad_vocab", Meaning::Rule(Rule::PadVocabulary)),
    ("tokenizer.vocab_size", Meaning::Field("vocab_size")),
    (
        "model.share_embeddings_and_output_weights",
        Meaning::Opposite("untie_embeddings_and_output_weights"),
    ),
    ("model.seq_length", Meaning::Field("seq_length")),
    ("dataset.seq_length", Meaning::Field("seq_length")),
    (
        "dataset.skip_getting_attention_mask_from_dataset",
        Meaning::Opposite("create_attention_mask_in_dataloader"),
    ),
    ("rng.seed", Meaning::Field("seed")),
    (
        "model.deterministic_mode",
        Meaning::Field("deterministic_mode"),
    ),
    (
        "dataset.reset_position_ids",
        Meaning::NotModelled(ELSEWHERE),
    ),
    (
        "checkpoint.use_checkpoint_args",
        Meaning::NotModelled(ELSEWHERE),
    ),
    ("tokenizer.vocab_extra_ids", Meaning::NotModelled(ELSEWHERE)),
    ("dataset.sequence_length", Meaning::Field("seq_length")),
    ("model.hf_model_id", Meaning::Rule(Rule::HfModel)),
    ("model.params_dtype", Meaning::Rule(Rule::Dtype)),
    (
        "model.virtual_pipeline_model_parallel_size",
        Meaning::Rule(Rule::VirtualStages),
    ),
    (
        "model.num_layers_in_first_pipeline_stage",
        Meaning::Field("decoder_first_pipeline_num_layers"),
    ),
    (
        "model.num_layers_in_last_pipeline_stage",
        Meaning::Field("decoder_last_pipeline_num_layers"),
    ),
    ("model.use_te_rng_tracker", Meaning::Irrelevant),
    ("rng.te_rng_tracker", Meaning::Irrelevant),
    (
        "rerun_state_machine.check_for_nan_in_loss",
        Meaning::Irrelevant,
    ),
    ("model.pipeline_dtype", Meaning::Irrelevant),
    ("model.autocast_dtype", Meaning::Irrelevant),
    ("model.deallocate_pipeline_outputs", Meaning::Irrelevant),
    // Precision.
    ("mixed_precision", Meaning::Rule(Rule::PrecisionPreset)),
    ("mixed_precision.params_dtype", Meaning::Rule(Rule::Dtype)),
    (
        "mixed_precision.grad_reduce_in_fp32",
        Meaning::Field("accumulate_allreduce_grads_in_fp32"),
    ),
    ("mixed_precision.pipeline_dtype", Meaning::Irrelevant),
    ("mixed_precision.autocast_dtype", Meaning::Irrelevant),
    ("mixed_precision.autocast_enabled", Meaning::Irrelevant),
    // Data parallelism.
    ("ddp.grad_reduce_in_fp32", Meaning::Rule(Rule::Gradients)),
    ("ddp.bucket_size", Meaning::Field("ddp_bucket_size")),
    ("ddp.num_buckets", Meaning::Field("ddp_num_buckets")),
    (
        "ddp.average_in_collective",
        Meaning::Field("ddp_average_in_collective"),
    ),
    (
        "ddp.pad_buckets_for_high_nccl_busbw",
        Meaning::Field("ddp_pad_buckets_for_high_nccl_busbw"),
    ),
    (
        "ddp.reduce_scatter_with_fp32_accumulation",
        Meaning::Field("ddp_reduce_scatter_with_fp32_accumulation"),
    ),
    (
        "ddp.param_name_patterns_for_fp32_local_accumulation",
        Meaning::Field("ddp_param_name_patterns_for_fp32_local_accumulation"),
    ),
    ("ddp.check_for_nan_in_grad", Meaning::Irrelevant),
    ("optimizer.params_dtype", Meaning::Rule(Rule::Dtype)),
    // Sections.
    (
        "peft",
        Meaning::NotModelled("adapters change which parameters are trained"),
    ),
    ("comm_overlap.tp_comm_overlap_cfg", Meaning::Irrelevant),
];

/// Second names of fields: read, never written.
const SECOND_NAMES: &[(&str, Meaning)] = &[
    ("model.fp8_param", Meaning::Field("fp8_param_gather")),
    ("model.fp4_param", Meaning::Field("fp4_param_gather")),
    (
        "model.hybrid_override_pattern",
        Meaning::Field("hybrid_layer_pattern"),
    ),
    (
        "model.cuda_graph_scope",
        Meaning::Field("cuda_graph_modules"),
    ),
    (
        "mixed_precision.fp8_param",
        Meaning::Field("fp8_param_gather"),
    ),
    (
        "mixed_precision.fp4_param",
        Meaning::Field("fp4_param_gather"),
    ),
    ("ddp.use_custom_fsdp", Meaning::Field("use_megatron_fsdp")),
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

/// What the dotted key means; none when it is unknown.
#[must_use]
pub fn find(key: &str) -> Option<Meaning> {
    if let Some(meaning) = look_up(KEYS, key).or_else(|| look_up(SECOND_NAMES, key)) {
        return Some(meaning);
    }
    let (section, name) = key.split_once('.').unwrap_or((key, ""));
    if section == "peft" {
        return look_up(KEYS, section);
    }
    if IRRELEVANT_SECTIONS.contains(&section) {
        return Some(Meaning::Irrelevant);
    }
    if !SECTIONS.contains(&section) {
        return None;
    }
    same_field(name).or_else(|| {
        // Known to Megatron-LM and of no consequence there.
        let known = super::megatron_args::find(name);
        matches!(known, Some(super::megatron_args::Known::Irrelevant(_)))
            .then_some(Meaning::Irrelevant)
    })
}

/// Where an export writes a Megatron-LM field; the first of several places. Fields that a rule makes from
/// several keys have none.
#[must_use]
pub fn key_of(field: &str) -> Option<(String, bool)> {
    for (key, meaning) in KEYS {
        match meaning {
            Meaning::Field(dest) if *dest == field => return Some(((*key).to_owned(), false)),
            Meaning::Opposite(dest) if *dest == field => return Some(((*key).to_owned(), true)),
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
        | "use_megatron_fsdp"
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

/// Fields whose default differs from that of Megatron-LM's command line when a configuration is written
/// as classes. Recipes set many more; a dumped configuration names them all.
pub const DEFAULTS: &[(&str, &str)] = &[
    ("seq_length", "1024"),
    ("create_attention_mask_in_dataloader", "False"),
    ("cross_entropy_loss_fusion", "True"),
    ("accumulate_allreduce_grads_in_fp32", "False"),
    ("data_parallel_sharding_strategy", "no_shard"),
    ("optimizer_offload_fraction", "0.0"),
    ("q_lora_rank", "512"),
    ("kv_lora_rank", "512"),
];

/// One precision preset: the fields it sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Precision {
    /// The name, with underscores.
    pub name: &'static str,
    /// Fields with their values.
    pub fields: &'static [(&'static str, &'static str)],
}

const BF16: (&str, &str) = ("bf16", "True");
const FP16: (&str, &str) = ("fp16", "True");
const REDUCE_FP32: (&str, &str) = ("accumulate_allreduce_grads_in_fp32", "True");
const REDUCE_HALF: (&str, &str) = ("accumulate_allreduce_grads_in_fp32", "False");
const HYBRID: (&str, &str) = ("fp8", "hybrid");
const GATHER: (&str, &str) = ("fp8_param_gather", "True");
const ENDS: (&str, &str) = ("first_last_layers_bf16", "True");
const DELAYED: (&str, &str) = ("fp8_recipe", "delayed");
const TENSORWISE: (&str, &str) = ("fp8_recipe", "tensorwise");
const BLOCKWISE: (&str, &str) = ("fp8_recipe", "blockwise");
const HISTORY: (&str, &str) = ("fp8_amax_history_len", "1024");
const MXFP8: [(&str, &str); 4] = [
    ("fp8", "e4m3"),
    ("fp8_recipe", "mxfp8"),
    GATHER,
    ("reuse_grad_buf_for_mxfp8_param_ag", "True"),
];
const START_1: (&str, &str) = ("num_layers_at_start_in_bf16", "1");
const START_2: (&str, &str) = ("num_layers_at_start_in_bf16", "2");
const END_1: (&str, &str) = ("num_layers_at_end_in_bf16", "1");
const END_2: (&str, &str) = ("num_layers_at_end_in_bf16", "2");
const END_14: (&str, &str) = ("num_layers_at_end_in_bf16", "14");
const NVFP4: [(&str, &str); 3] = [
    ("fp4", "e2m1"),
    ("fp4_recipe", "nvfp4"),
    ("fp4_param_gather", "True"),
];

const fn precision(
    name: &'static str,
    fields: &'static [(&'static str, &'static str)],
) -> Precision {
    Precision { name, fields }
}

/// The presets of `mixed_precision`; hyphens in a name count as underscores.
pub const PRECISIONS: &[Precision] = &[
    precision("bf16_mixed", &[BF16, REDUCE_FP32]),
    precision("fp16_mixed", &[FP16, REDUCE_HALF]),
    precision(
        "bf16_with_fp8_delayed_scaling_mixed",
        &[BF16, REDUCE_FP32, HYBRID, DELAYED, HISTORY, GATHER],
    ),
    precision(
        "fp16_with_fp8_delayed_scaling_mixed",
        &[FP16, REDUCE_HALF, HYBRID, DELAYED, HISTORY, GATHER],
    ),
    precision(
        "bf16_with_mxfp8_mixed",
        &[BF16, REDUCE_FP32, MXFP8[0], MXFP8[1], MXFP8[2], MXFP8[3]],
    ),
    precision(
        "fp16_with_mxfp8_mixed",
        &[FP16, REDUCE_HALF, MXFP8[0], MXFP8[1], MXFP8[2], MXFP8[3]],
    ),
    precision(
        "bf16_with_fp8_current_scaling_mixed",
        &[
            BF16,
            REDUCE_FP32,
            HYBRID,
            TENSORWISE,
            ENDS,
            START_1,
            END_1,
            GATHER,
        ],
    ),
    precision(
        "fp16_with_fp8_current_scaling_mixed",
        &[
            FP16,
            REDUCE_HALF,
            HYBRID,
            TENSORWISE,
            ENDS,
            START_1,
            END_1,
            GATHER,
        ],
    ),
    precision(
        "nemotron_h_bf16_with_fp8_current_scaling_mixed",
        &[
            BF16,
            REDUCE_FP32,
            HYBRID,
            TENSORWISE,
            ENDS,
            START_2,
            END_2,
            GATHER,
        ],
    ),
    precision(
        "nanov2_bf16_with_fp8_current_scaling_mixed",
        &[
            BF16,
            REDUCE_FP32,
            HYBRID,
            BLOCKWISE,
            ENDS,
            START_2,
            END_2,
            GATHER,
        ],
    ),
    precision(
        "bf16_with_fp8_subchannel_scaling_mixed",
        &[BF16, REDUCE_FP32, HYBRID, BLOCKWISE],
    ),
    precision(
        "fp16_with_fp8_subchannel_scaling_mixed",
        &[FP16, REDUCE_HALF, HYBRID, BLOCKWISE],
    ),
    precision(
        "bf16_with_nvfp4_mixed",
        &[BF16, REDUCE_FP32, NVFP4[0], NVFP4[1], NVFP4[2]],
    ),
    precision(
        "nemotron_3_super_bf16_with_nvfp4_mixed",
        &[
            BF16,
            REDUCE_FP32,
            NVFP4[0],
            NVFP4[1],
            NVFP4[2],
            ENDS,
            END_14,
        ],
    ),
];

/// The preset called `name`.
#[must_use]
pub fn precision_called(name: &str) -> Option<&'static Precision> {
    let name = name.replace('-', "_");
    let name = match name.as_str() {
        // What the translation script of Megatron-Bridge writes.
        "16_mixed" => "fp16_mixed",
        name => name,
    };
    PRECISIONS.iter().find(|precision| precision.name == name)
}
