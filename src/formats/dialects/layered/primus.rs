//! Primus's trainers with Megatron-LM.

use super::Layout;
use crate::formats::detect::Format;
use crate::formats::dialects::meaning::KeyMeaning::{self, Field, Irrelevant};
use crate::formats::dialects::meaning::look_up;
use crate::formats::dialects::{Dialect, arguments, megatron_lm};

/// Primus overrides Megatron-LM's arguments by the names under which its parser stores them.
pub(super) const LAYOUT: Layout = Layout {
    format: Format::PrimusYaml,
    dialect: Dialect::Primus,
    keys: &[],
    places: &[
        ("modules.pre_trainer.overrides.", ""),
        ("modules.post_trainer.overrides.", ""),
        ("modules.sft_trainer.overrides.", ""),
    ],
    ignored: &[
        "work_group",
        "user_name",
        "exp_name",
        "workspace",
        "platform.",
        "modules.pre_trainer.framework",
        "modules.pre_trainer.config",
        "modules.post_trainer.framework",
        "modules.post_trainer.config",
    ],
    refused: &[],
    model: "modules.pre_trainer.model",
};

/// What `pre_trainer.yaml` and `trainer_base.yaml` in `primus/configs/modules/megatron` have otherwise than
/// Megatron-LM's command line.
pub(in crate::formats::dialects) const DEFAULTS: &[(&str, &str)] = &[
    ("bf16", "True"),
    ("use_distributed_optimizer", "True"),
    ("seq_length", "1024"),
    ("global_batch_size", "16"),
    ("micro_batch_size", "2"),
    ("data_parallel_sharding_strategy", "no_shard"),
    ("gtp_weight_remat_size", "1"),
    ("expert_gtp_weight_remat_size", "1"),
];

/// Arguments of Megatron-LM with their values.
type Arguments = &'static [(&'static str, &'static str)];

/// Models that Primus describes by itself, otherwise than their publishers: arguments of
/// `primus/configs/models/megatron`, with those of the files that they extend. Each is its own arguments and those that
/// it has in common with others.
pub(super) const OWN_MODELS: &[(&str, [Arguments; 2])] = &[
    (
        "grok1",
        [
            &[
                ("hidden_size", "6144"),
                ("ffn_hidden_size", "32768"),
                ("num_attention_heads", "48"),
            ],
            GROK,
        ],
    ),
    (
        "grok2",
        [
            &[
                ("hidden_size", "8192"),
                ("moe_ffn_hidden_size", "16384"),
                ("num_attention_heads", "64"),
                ("router_logit_softcapping", "30.0"),
            ],
            GROK,
        ],
    ),
];

/// The settings that Grok 1 and Grok 2 have in common.
const GROK: Arguments = &[
    ("num_layers", "64"),
    ("max_position_embeddings", "131072"),
    ("masked_softmax_fusion", "false"),
    ("group_query_attention", "true"),
    ("num_query_groups", "8"),
    ("num_experts", "8"),
    ("moe_router_topk", "2"),
    ("moe_grouped_gemm", "true"),
    ("moe_token_dispatcher_type", "alltoall"),
    ("moe_router_load_balancing_type", "none"),
    ("swiglu", "true"),
    ("add_bias_linear", "false"),
    ("attention_softmax_in_fp32", "true"),
    ("untie_embeddings_and_output_weights", "true"),
    ("hidden_dropout", "0.0"),
    ("attention_dropout", "0.0"),
    ("position_embedding_type", "rope"),
    ("normalization", "RMSNorm"),
    ("sequence_parallel", "true"),
    ("tokenizer_type", "MixtralTokenizer"),
    ("tokenizer_model", "mistralai/Mixtral-8x22B-v0.1"),
];

/// Arguments that Primus adds to Megatron-LM's. Those of Primus-Turbo's dispatcher are in
/// `import/sources/layered/primus.rs`.
const KEYS: &[(&str, KeyMeaning)] = &[
    ("disable_delayed_scaling_patches", Irrelevant),
    ("disable_profiler_activity_cpu", Irrelevant),
    ("torch_profiler_record_shapes", Irrelevant),
    ("torch_profiler_use_gzip", Irrelevant),
    ("torch_profiler_with_stack", Irrelevant),
    ("original_max_position_embeddings", Irrelevant),
    ("stderr_sink_level", Irrelevant),
    ("file_sink_level", Irrelevant),
    ("log_avg_skip_iterations", Irrelevant),
    ("log_avg_reset_interval", Irrelevant),
    ("disable_last_saving", Irrelevant),
    ("auto_continue_train", Irrelevant),
    ("disable_wandb", Irrelevant),
    ("disable_mlflow", Irrelevant),
    ("disable_tensorboard", Irrelevant),
    ("dump_pp_data", Irrelevant),
    ("enable_primus_turbo", Irrelevant),
    ("use_rocm_mem_info", Irrelevant),
    ("use_rocm_mem_info_iters", Irrelevant),
    (
        "use_turbo_attention",
        KeyMeaning::nothing("fused attention of another library keeps the same tensors"),
    ),
    (
        "enable_turbo_attention_float8",
        KeyMeaning::more("attention in fp8 of another library"),
    ),
    (
        "use_turbo_parallel_linear",
        KeyMeaning::more("matrices of another library"),
    ),
    (
        "use_turbo_fp8_gemm",
        KeyMeaning::more("matrices in fp8 of another library"),
    ),
    ("use_turbo_gemm", KeyMeaning::less("matrices of another library")),
    (
        "use_turbo_grouped_gemm",
        KeyMeaning::less("matrices of experts of another library"),
    ),
    (
        "use_turbo_grouped_mlp",
        KeyMeaning::less("matrices of experts of another library"),
    ),
    (
        "use_turbo_rms_norm",
        KeyMeaning::nothing("a norm of another library keeps the same tensors"),
    ),
    ("turbo_deepep_num_cu", Irrelevant),
    ("turbo_deepep_use_comm_stream", Irrelevant),
    ("moe_use_fused_router_with_aux_score", Irrelevant),
    (
        "router_logit_softcapping",
        KeyMeaning::nothing("its kernel writes over the router's logits"),
    ),
    ("no_fp8_weight_transpose_cache", Field("no_fp8_weight_transpose_cache")),
    (
        "patch_primus_pipeline",
        KeyMeaning::more("a schedule of the pipeline that is not counted"),
    ),
    (
        "patch_zero_bubble",
        KeyMeaning::more("a schedule of the pipeline that is not counted"),
    ),
    (
        "decoder_pipeline_manual_split_list",
        KeyMeaning::more("layers of pipeline stages by hand"),
    ),
    (
        "recompute_layer_ids",
        KeyMeaning::more("layers to recompute by their numbers"),
    ),
];

/// What an argument means.
pub(in crate::formats::dialects) fn find(key: &str) -> Option<KeyMeaning> {
    look_up(KEYS, key)
        .or_else(|| arguments::find(key))
        .or_else(|| megatron_lm::find(key))
}
