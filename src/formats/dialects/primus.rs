//! Primus's trainers with Megatron-LM.

use super::framework::{Defaults, Files, Framework, Signs};
use super::meaning::KeyMeaning::{self, Field, Irrelevant};
use super::meaning::look_up;
use super::{arguments, megatron_lm};
use crate::config::fields::FieldId;
use crate::config::not_modelled::MemoryEffect;
use crate::formats::derivations::{activation, hybrid, optimizer, vocabulary};
use crate::formats::import::ImportError;
use crate::formats::import::draft::JobDraft;
use crate::formats::import::imported::Question;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::values::{int, is_off, truth};
use crate::formats::report::{KeyStatus, shown};
use crate::formats::yaml;
use crate::value::Value;

/// Primus's trainers with Megatron-LM.
pub static PRIMUS: Framework = Framework {
    name: "Primus",
    find,
    defaults: &[DEFAULTS],
    files: Some(FILES),
    signs: &[Signs {
        refused: None,
        all: &["work_group", "modules"],
        any: &["pre_trainer", "post_trainer", "framework"],
    }],
    begin: |_, _, keys| refuse(keys),
    special,
    derivations: &[hybrid::layers, vocabulary::of_tokenizer, optimizer::layer_wise],
    names_published_models: true,
    after_defaults: activation::quick_geglu_of_arguments,
    ..Framework::PLAIN
};

/// The key that names the model.
const MODEL: &str = "modules.pre_trainer.model";

/// Primus overrides Megatron-LM's arguments by the names under which its parser stores them.
const FILES: Files = Files {
    id: "primus_yaml",
    label: "a Primus configuration",
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
    model: MODEL,
    complete: |leaves| {
        add_model(leaves);
        Ok(())
    },
    ..Files::NONE
};

/// Refuses files that do not train a model of Megatron-LM's layers with it.
fn refuse(keys: &Keys<'_>) -> Result<(), ImportError> {
    let trainer = keys.at("modules.pre_trainer.framework");
    if trainer.is_some_and(|item| shown(&item.value) != "megatron") {
        let what = "a Primus configuration that does not train with Megatron-LM";
        return Err(ImportError::NotRead(what));
    }
    let model = keys.at(MODEL).map(|item| shown(&item.value)).unwrap_or_default();
    if model.starts_with("mamba_") || model.starts_with("zebra_llama_") {
        let what = "a Primus configuration of Mamba or Zebra-Llama, whose layers are Primus's own";
        return Err(ImportError::NotRead(what));
    }
    Ok(())
}

/// What `pre_trainer.yaml` and `trainer_base.yaml` in `primus/configs/modules/megatron` have otherwise than
/// Megatron-LM's command line.
const DEFAULTS: Defaults = &[
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
const OWN_MODELS: &[(&str, [Arguments; 2])] = &[
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

/// Arguments that Primus adds to Megatron-LM's, but for those of Primus-Turbo's dispatcher.
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

/// The meaning of an argument.
fn find(key: &str) -> Option<KeyMeaning> {
    look_up(KEYS, key)
        .or_else(|| arguments::find(key))
        .or_else(|| megatron_lm::find(key))
}

/// Reads the key of the model and those of the dispatcher of Primus-Turbo. Returns whether the key is one of them.
///
/// `use_turbo_deepep` puts it in the place of Megatron's flex dispatcher, whose tensors it keeps
/// (`patch_moe_dispatcher`, `DeepEPTokenDispatcher`). The first stage of `turbo_sync_free_moe_stage` turns the fused
/// permutation on (`_get_sync_free_moe_options`); from the second on, tokens arrive in tensors with rows for all that
/// could come (`num_worst_tokens`).
fn special(draft: &mut JobDraft, keys: &mut Keys<'_>, item: &KeyValue, name: &str) -> bool {
    if item.key == MODEL {
        model(draft, item);
        return true;
    }
    if !matches!(name, "use_turbo_deepep" | "turbo_sync_free_moe_stage") {
        return false;
    }
    let turbo = keys.at("modules.pre_trainer.overrides.enable_primus_turbo");
    if turbo.is_none_or(|turbo| truth(&turbo.value) != Some(true)) {
        draft.row(item, KeyStatus::Ignored, None, "only with enable_primus_turbo");
    } else if is_off(&item.value) {
        draft.row(item, KeyStatus::Ignored, None, "switched off");
    } else if name == "use_turbo_deepep" {
        let flex = Value::Text(String::from("flex"));
        let id = FieldId::moe_token_dispatcher_type;
        draft.set(item, id, flex, KeyStatus::Derived, "");
    } else if int(item) == Some(1) {
        let id = FieldId::moe_permute_fusion;
        draft.set(item, id, Value::Bool(true), KeyStatus::Derived, "");
    } else {
        let reason = "tokens arrive in tensors with rows for all that could come";
        draft.not_modelled(item, MemoryEffect::More, reason);
    }
    true
}

/// Reads the model: one that Primus describes by itself, or one of the Hub.
fn model(draft: &mut JobDraft, item: &KeyValue) {
    let name = shown(&item.value);
    if own_model(&name).is_some() {
        let note = "the arguments of this model in Primus";
        return draft.row(item, KeyStatus::Derived, None, note);
    }
    let name = hub_name(&name).to_owned();
    draft.questions.push(Question::Model { name });
    let note = "the architecture is in the model's own file";
    draft.not_modelled(item, MemoryEffect::Nothing, note);
}

/// Adds the arguments of a model that Primus describes by itself, where the text has no others.
fn add_model(leaves: &mut Vec<KeyValue>) {
    let Some(model) = leaves.iter().find(|item| item.key == MODEL) else {
        return;
    };
    let line = model.line;
    for (argument, value) in own_model(&shown(&model.value)).into_iter().flatten() {
        let key = format!("modules.pre_trainer.overrides.{argument}");
        if leaves.iter().all(|item| item.key != key) {
            leaves.push(KeyValue {
                key,
                value: yaml::plain_scalar(value).to_value(),
                line,
            });
        }
    }
}

/// The models of Primus, by the names of their files: what the model is called on the Hugging Face Hub.
const MODELS: &[(&str, &str)] = &[
    (
        "deepseek_r1_distill_qwen_1.5B",
        "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B",
    ),
    ("deepseek_v2", "deepseek-ai/DeepSeek-V2"),
    ("deepseek_v2_lite", "deepseek-ai/DeepSeek-V2-Lite"),
    ("deepseek_v3", "deepseek-ai/DeepSeek-V3"),
    ("glm4_7", "zai-org/GLM-4.7"),
    ("glm5", "zai-org/GLM-5"),
    ("gpt_oss_120B", "openai/gpt-oss-120b"),
    ("gpt_oss_20B", "openai/gpt-oss-20b"),
    ("kimi_k2", "moonshotai/Kimi-K2-Instruct"),
    ("llama2_13B", "meta-llama/Llama-2-13b-hf"),
    ("llama2_70B", "meta-llama/Llama-2-70b-hf"),
    ("llama2_7B", "meta-llama/Llama-2-7b-hf"),
    ("llama3.1_405B", "meta-llama/Llama-3.1-405B"),
    ("llama3.1_70B", "meta-llama/Llama-3.1-70B"),
    ("llama3.1_8B", "meta-llama/Llama-3.1-8B"),
    ("llama3.2_1B", "meta-llama/Llama-3.2-1B"),
    ("llama3.2_3B", "meta-llama/Llama-3.2-3B"),
    ("llama3.3_70B", "meta-llama/Llama-3.1-70B"),
    ("llama3_70B", "meta-llama/Meta-Llama-3-70B"),
    ("llama3_8B", "meta-llama/Meta-Llama-3-8B"),
    ("llama4_17B128E", "meta-llama/Llama-4-Maverick-17B-128E"),
    ("llama4_17B16E", "meta-llama/Llama-4-Scout-17B-16E"),
    ("minimax_m2.5", "MiniMaxAI/MiniMax-M2.5"),
    ("mixtral_8x22B_v0.1", "mistralai/Mixtral-8x22B-v0.1"),
    ("mixtral_8x7B_v0.1", "mistralai/Mixtral-8x7B-v0.1"),
    ("qwen2.5_14B", "Qwen/Qwen2.5-14B"),
    ("qwen2.5_32B", "Qwen/Qwen2.5-32B"),
    ("qwen2.5_3B", "Qwen/Qwen2.5-3B"),
    ("qwen2.5_72B", "Qwen/Qwen2.5-72B"),
    ("qwen2.5_7B", "Qwen/Qwen2.5-7B"),
    ("qwen3_14B", "Qwen/Qwen3-14B"),
    ("qwen3_235B_A22B", "Qwen/Qwen3-235B-A22B"),
    ("qwen3_30B_A3B", "Qwen/Qwen3-30B-A3B"),
    ("qwen3_32B", "Qwen/Qwen3-32B"),
    ("qwen3_4B", "Qwen/Qwen3-4B"),
    ("qwen3_5_35B_A3B", "Qwen/Qwen3.5-35B-A3B"),
    ("qwen3_8B", "Qwen/Qwen3-8B"),
];

/// The model's name on the Hub, where the framework has names of its own.
fn hub_name(model: &str) -> &str {
    let file = model.trim_end_matches(".yaml");
    let found = MODELS.iter().find(|(known, _)| *known == file);
    found.map_or(model, |(_, name)| *name)
}

/// The arguments of a model that Primus describes by itself; `None` for models of the Hub.
fn own_model(model: &str) -> Option<impl Iterator<Item = (&'static str, &'static str)> + use<>> {
    let file = model.trim_end_matches(".yaml");
    let mut models = OWN_MODELS.iter();
    let (_, arguments) = models.find(|(known, _)| *known == file)?;
    Some(arguments.iter().copied().flatten().copied())
}
