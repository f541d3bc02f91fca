//! NeMo-RL's policies with Megatron-Bridge.

mod bases;

use super::bridge::{
    self, CLASS_DEFAULTS, FUSIONS, HYBRID_DEFAULTS, HYBRID_FUSIONS, LATENT_DEFAULTS, families, together,
};
use super::framework::{Defaults, Files, Framework, Signs};
use super::meaning::KeyMeaning::{self, Field, Irrelevant};
use super::meaning::look_up;
use crate::config::choices::AdapterType;
use crate::config::fields::FieldId;
use crate::config::not_modelled::MemoryEffect;
use crate::config::raw::{RawJob, Settings};
use crate::formats::derivations::{activation, adapters, batch, hybrid, optimizer, packing, precision, vocabulary};
use crate::formats::import::ImportError;
use crate::formats::import::draft::JobDraft;
use crate::formats::import::imported::Import;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::tower::{Frozen, Outcome, Recompute, Tower};
use crate::formats::import::towers::{has_adapters, is_on};
use crate::formats::import::values::{int, is_off, truth};
use crate::formats::report::{KeyStatus, shown};
use crate::value::Value;

/// NeMo-RL's policies with Megatron-Bridge.
pub static NEMO_RL: Framework = Framework {
    name: "NeMo-RL",
    find,
    defaults: &[DEFAULTS, CLASS_DEFAULTS, FUSIONS],
    hybrid_defaults: &[HYBRID_DEFAULTS, HYBRID_FUSIONS],
    latent_defaults: &[LATENT_DEFAULTS],
    with_model,
    files: Some(FILES),
    signs: &[
        Signs {
            refused: None,
            all: &["policy"],
            any: &["megatron_cfg"],
        },
        Signs {
            refused: None,
            all: &["defaults"],
            any: &[
                "policy",
                "cluster",
                "grpo",
                "dpo",
                "sft",
                "distillation",
                "max_total_sequence_length",
                "train_global_batch_size",
            ],
        },
        Signs {
            refused: Some(WITHOUT_MEGATRON),
            all: &["policy"],
            any: &["dtensor_cfg"],
        },
    ],
    begin: |_, _, keys| refuse(keys),
    special,
    derivations: &[
        recomputation,
        fp8_defaults,
        preferences,
        pack,
        gpus,
        together::overlap,
        activation::function,
        adapters,
        precision::mixed,
        vocabulary::given,
        hybrid::layers,
        vocabulary::of_tokenizer,
        optimizer::layer_wise,
        packing::to_length,
    ],
    after_defaults: precision::gradients_as_said,
    tower,
    names_published_models: true,
    ..Framework::PLAIN
};

const WITHOUT_MEGATRON: &str = "a NeMo-RL configuration that does not train with Megatron";

/// The programs that train, and the file that each takes where `--config` names none.
const PROGRAMS: [(&str, &str); 7] = [
    ("run_grpo.py", "grpo_math_1B.yaml"),
    ("run_sft.py", "sft.yaml"),
    ("run_dpo.py", "dpo.yaml"),
    ("run_ppo.py", "ppo_math_1B.yaml"),
    ("run_distillation.py", "distillation_math.yaml"),
    ("run_vlm_grpo.py", "vlm_grpo_3B.yaml"),
    (
        "run_grpo_single_controller.py",
        "grpo_math_1B_megatron_single_controller.yaml",
    ),
];

/// Whether a word of a command is one of the programs that train.
pub(in crate::formats) fn is_program(word: &str) -> bool {
    let name = word.rsplit('/').next();
    PROGRAMS.iter().any(|(program, _)| name == Some(program))
}

/// The key `defaults` that names the file which a command changes; `given` is the value of `--config`, with its line.
pub(in crate::formats) fn config(program: &str, given: Option<(&str, u32)>) -> Option<KeyValue> {
    let name = program.rsplit('/').next().unwrap_or_default();
    let (_, by_default) = PROGRAMS.iter().find(|(known, _)| *known == name)?;
    let (file, line) = given.unwrap_or((by_default, 0));
    Some(KeyValue {
        key: "defaults".to_owned(),
        value: Value::Text(file.to_owned()),
        line,
    })
}

/// Refuses files that do not train with Megatron.
fn refuse(keys: &Keys<'_>) -> Result<(), ImportError> {
    let enabled = keys.at("policy.megatron_cfg.enabled");
    if enabled.is_some_and(|item| shown(&item.value) != "true") {
        return Err(ImportError::NotRead(WITHOUT_MEGATRON));
    }
    Ok(())
}

/// NeMo-RL trains with Megatron-Bridge; `nemo_rl/models/megatron/setup.py` says what becomes of the keys.
const FILES: Files = Files {
    id: "nemo_rl_yaml",
    label: "a NeMo-RL configuration",
    keys: &[
        ("policy.train_global_batch_size", "train.global_batch_size"),
        ("policy.train_micro_batch_size", "train.micro_batch_size"),
        ("policy.max_total_sequence_length", "model.seq_length"),
        ("policy.precision", "model.params_dtype"),
        (
            "policy.megatron_cfg.empty_unused_memory_level",
            "train.empty_unused_memory_level",
        ),
        ("policy.megatron_cfg.defer_fp32_logits", "defer_fp32_logits"),
        ("policy.megatron_cfg.use_fused_linear_logprobs", "logits"),
        ("policy.megatron_cfg.use_linear_ce_fusion_loss", "logits"),
        ("policy.logprob_chunk_size", "logprob_chunk_size"),
        ("policy.megatron_cfg.freeze_moe_router", "frozen_router"),
        ("policy.draft.enabled", "draft_model"),
        ("policy.router_replay.enabled", "router_replay"),
    ],
    places: &[
        ("policy.megatron_cfg.optimizer.", "optimizer."),
        ("policy.megatron_cfg.distributed_data_parallel_config.", "ddp."),
        ("policy.megatron_cfg.model_overrides.", "model."),
        ("policy.megatron_cfg.peft.", "peft."),
        ("policy.megatron_cfg.", "model."),
    ],
    ignored: &[
        "policy.megatron_cfg.scheduler.",
        "policy.megatron_cfg.checkpoint.",
        "policy.megatron_cfg.env_vars.",
        "policy.megatron_cfg.enabled",
        "policy.megatron_cfg.force_",
        "policy.megatron_cfg.converter_type",
        "policy.megatron_cfg.fp8_cfg.",
        "policy.megatron_cfg.fused_linear_logprobs_chunk_size",
        "policy.megatron_cfg.linear_ce_fusion_chunk_size",
        "policy.megatron_cfg.moe_per_layer_logging",
        "policy.megatron_cfg.model_overrides",
        "policy.megatron_cfg.use_fused_weighted_squared_relu",
        "policy.megatron_cfg.use_gloo_process_groups",
        "policy.megatron_cfg.cuda_graph_warmup_steps",
        "policy.hf_config_overrides",
        "policy.sequence_packing",
        "policy.dynamic_batching",
        "policy.make_sequence_length_divisible_by",
        "policy.draft.",
        "policy.router_replay.",
        "policy.offload_optimizer_for_logprob",
        "policy.refit",
        "policy.worker_extension",
        "defaults",
        "teacher",
        "reward_model",
        "rm.",
        "async_rl.",
        "data_plane.",
        "ppo.",
        "value.",
        "s3_checkpointing",
        "policy.tokenizer.",
        "policy.generation",
        "policy.dtensor_cfg",
        "policy.logprob_",
        "policy.optimizer",
        "policy.scheduler",
        "policy.max_grad_norm",
        "grpo.",
        "loss_fn.",
        "sft.",
        "dpo.",
        "distillation.",
        "checkpointing.",
        "data.",
        "env.",
        "logger.",
        "cluster.",
    ],
    model: "policy.model_name",
    complete: bases::add,
    ..Files::NONE
};

/// Keys that Megatron-Bridge does not have.
const KEYS: &[(&str, KeyMeaning)] = &[
    (
        "logits",
        KeyMeaning::more("log-probabilities are computed without logits"),
    ),
    (
        "frozen_router",
        KeyMeaning::less("frozen parameters need no gradients and no optimizer states"),
    ),
    ("draft_model", KeyMeaning::more("draft models are not counted")),
    ("defer_fp32_logits", Field("token_loss")),
    ("logprob_chunk_size", Field("logprob_chunk_size")),
    ("router_replay", Irrelevant),
    ("model.freeze_config.freeze_language_model", FROZEN),
    ("model.freeze_config.freeze_vision_model", FROZEN),
    ("model.freeze_config.freeze_vision_projection", FROZEN),
];

const FROZEN: KeyMeaning = KeyMeaning::more("frozen parameters need no gradients and no optimizer states");

/// The meaning of a key, once the beginning of its path has been replaced as the layout's `places` say.
fn find(key: &str) -> Option<KeyMeaning> {
    look_up(KEYS, key).or_else(|| bridge::find(key))
}

/// NeMo-RL's losses are of log-probabilities, of logits that `Float16Module` returns in fp32. All of its own files turn
/// the fusion off, and Megatron-Bridge's providers group the matrices of experts.
const DEFAULTS: Defaults = &[
    ("token_loss", "nemo_rl"),
    ("gradient_accumulation_fusion", "False"),
    ("moe_grouped_gemm", "True"),
];

/// A model comes with what its bridge sets, but for what all files of NeMo-RL say themselves.
fn with_model(_: &mut RawJob, model: &mut Settings, model_type: &str) {
    families::add(model, model_type);
    model.unset(FieldId::gradient_accumulation_fusion);
}

/// The switch without which nothing is recomputed.
const SWITCH: &str = "policy.megatron_cfg.activation_checkpointing";

/// Whether the loss converts logits to fp32, and not the model.
const DEFER: &str = "policy.megatron_cfg.defer_fp32_logits";
/// Tokens whose logits are converted at a time.
const CHUNK: &str = "policy.logprob_chunk_size";

/// The scaling of rotary angles that replaces the model's own.
const ROPE_SCALING: [&str; 2] = [
    "policy.hf_config_overrides.rope_scaling.rope_type",
    "policy.hf_config_overrides.rope_parameters.rope_type",
];

/// Whether [`DEFER`] is on.
fn is_deferred(keys: &Keys<'_>) -> bool {
    keys.at(DEFER).is_some_and(|item| truth(&item.value) == Some(true))
}

/// Whether layers are recomputed.
fn recomputes(keys: &Keys<'_>) -> bool {
    keys.at(SWITCH).is_some_and(|item| truth(&item.value) == Some(true))
}

/// The keys of training in fp8.
const FP8: &str = "policy.megatron_cfg.fp8_cfg.";

/// Whether training is in fp8.
fn is_fp8(keys: &Keys<'_>) -> bool {
    let switch = keys.at(&format!("{FP8}enabled"));
    switch.is_some_and(|item| truth(&item.value) == Some(true))
}

/// Reads one of the keys of training in fp8. Only parameters in mxfp8 are gathered in it (`fp8_param_gather` follows
/// from the recipe in `_create_megatron_config`).
fn fp8(draft: &mut JobDraft, keys: &Keys<'_>, item: &KeyValue, name: &str) {
    let recipe = keys.at(&format!("{FP8}fp8_recipe"));
    let is_mxfp8 = recipe.is_some_and(|item| shown(&item.value) == "mxfp8");
    let id = match name {
        "enabled" | "fp8" => FieldId::fp8_format,
        "fp8_recipe" => FieldId::fp8_recipe,
        "fp8_param" => FieldId::fp8_param_gather,
        _ => return draft.row(item, KeyStatus::Ignored, None, "does not change memory"),
    };
    if !is_fp8(keys) {
        draft.row(item, KeyStatus::Ignored, None, "not in fp8");
    } else if name == "enabled" {
        draft.row(item, KeyStatus::Derived, Some(id), "");
    } else if name == "fp8_param" && !is_off(&item.value) && !is_mxfp8 {
        let reason = "parameters in fp8 beside gradients that are not reduced for them";
        draft.not_modelled(item, MemoryEffect::More, reason);
    } else {
        draft.set(item, id, item.value.clone(), KeyStatus::Mapped, "");
    }
}

/// Reads the keys of recomputation, of fp8 and of the loss. Returns whether the key is one of them.
fn special(draft: &mut JobDraft, keys: &mut Keys<'_>, item: &KeyValue, _: &str) -> bool {
    if let Some(name) = item.key.strip_prefix(FP8) {
        fp8(draft, keys, item, name);
        return true;
    }
    if item.key == SWITCH {
        let id = FieldId::recompute_granularity;
        draft.row(item, KeyStatus::Derived, Some(id), "");
        return true;
    }
    if item.key == DEFER {
        let id = FieldId::token_loss;
        let value = Value::Text("nemo_rl_deferred".to_owned());
        if is_deferred(keys) {
            draft.set(item, id, value, KeyStatus::Derived, "");
        } else {
            draft.row(item, KeyStatus::Mapped, Some(id), "logits in fp32");
        }
        return true;
    }
    if ROPE_SCALING.contains(&item.key.as_str()) && shown(&item.value) == "yarn" {
        // Megatron-Bridge's providers of models without latent attention build YaRN's embedding.
        let id = FieldId::position_embedding_type;
        draft.set(item, id, item.value.clone(), KeyStatus::Derived, "");
        return true;
    }
    if item.key == CHUNK && (!is_deferred(keys) || is_off(&item.value)) {
        let note = "logits are converted all at once";
        draft.row(item, KeyStatus::Ignored, None, note);
        return true;
    }
    if item.key.starts_with("policy.megatron_cfg.recompute_") && !recomputes(keys) {
        let note = "activation_checkpointing is off";
        draft.row(item, KeyStatus::Ignored, None, note);
        return true;
    }
    false
}

/// Recomputes whole layers, one at a time, unless the file names parts of them.
fn recomputation(draft: &mut JobDraft, keys: &Keys<'_>) {
    let granularity = FieldId::recompute_granularity;
    let full = Value::Text("full".to_owned());
    if !recomputes(keys) {
        return;
    }
    if !draft.has(granularity) {
        draft.default(granularity, full.clone());
    }
    if draft.settings.get(granularity) == Some(&full) {
        draft.default(FieldId::recompute_method, Value::Text("uniform".to_owned()));
        draft.default(FieldId::recompute_num_layers, Value::Int(1));
    }
}

/// Trains in the fp8 that all of NeMo-RL's own files have.
fn fp8_defaults(draft: &mut JobDraft, keys: &Keys<'_>) {
    if !is_fp8(keys) {
        return;
    }
    for (id, value) in [(FieldId::fp8_format, "e4m3"), (FieldId::fp8_recipe, "blockwise")] {
        if !draft.has(id) {
            draft.default(id, Value::Text(value.to_owned()));
        }
    }
}

/// Preferences come in pairs, and both of a pair go through the model.
fn preferences(draft: &mut JobDraft, keys: &Keys<'_>) {
    let changes_preference = |item: &KeyValue| {
        let file = shown(&item.value);
        let name = file.rsplit('/').next().unwrap_or_default();
        item.key == "defaults" && name.starts_with("dpo")
    };
    let mut all = keys.all().iter();
    if !all.any(|item| item.key.starts_with("dpo.") || changes_preference(item)) {
        return;
    }
    batch::with_rows_of_samples(draft, 2);
}

/// Counts the GPUs of `cluster`.
fn gpus(draft: &mut JobDraft, keys: &Keys<'_>) {
    let nodes = keys.at("cluster.num_nodes");
    let each = keys.at("cluster.gpus_per_node");
    let (Some(nodes), Some(each)) = (nodes, each) else {
        return;
    };
    if let (Some(n), Some(g)) = (int(nodes), int(each)) {
        let (n, g) = without_generation(keys, n, g);
        let value = Value::Int(n.saturating_mul(g).into());
        let note = "nodes · GPUs per node";
        draft.set(each, FieldId::world_size, value, KeyStatus::Derived, note);
    }
}

/// The nodes that train and the GPUs of each: those that only generate are taken off where generation has GPUs of its
/// own.
fn without_generation(keys: &Keys<'_>, nodes: u64, gpus: u64) -> (u64, u64) {
    let place = "policy.generation.colocated";
    let shares = keys.at(&format!("{place}.enabled"));
    if shares.is_none_or(|item| truth(&item.value) != Some(false)) {
        return (nodes, gpus);
    }
    let own = |key: &str| keys.at(&format!("{place}.resources.{key}")).and_then(int);
    if nodes == 1 {
        (1, gpus.saturating_sub(own("gpus_per_node").unwrap_or(0)))
    } else {
        (nodes.saturating_sub(own("num_nodes").unwrap_or(0)), gpus)
    }
}

/// Packs the samples of a micro batch into one row of as many tokens as they may have together.
fn pack(draft: &mut JobDraft, keys: &Keys<'_>) {
    let packs = keys.at("policy.sequence_packing.enabled");
    if packs.is_none_or(|item| truth(&item.value) != Some(true)) {
        // `nemo_rl/models/megatron/setup.py` asserts that samples are packed where sequences are split.
        let split = FieldId::context_parallel_size;
        let splits = draft.number(split).is_some_and(|ranks| ranks > 1);
        for row in draft.report.iter_mut().filter(|row| splits && row.field == Some(split)) {
            row.status = KeyStatus::Conflicting;
            row.note = "NeMo-RL stops here: it needs policy.sequence_packing.enabled beside it".into();
        }
        return;
    }
    let samples = draft.number(FieldId::micro_batch_size).unwrap_or(1);
    let longest = draft.number(FieldId::seq_length);
    let given = keys.at("policy.sequence_packing.train_mb_tokens").and_then(int);
    let Some(longest) = longest else {
        return;
    };
    let tokens = given.unwrap_or(longest.saturating_mul(samples));
    for (id, number) in [
        (FieldId::micro_batch_size, 1),
        (FieldId::seq_length, tokens),
        (FieldId::longest_sample_length, longest),
    ] {
        draft.settings.set(id, Value::Int(number.into()));
    }
    draft.settings.set(FieldId::sft, Value::Bool(true));
}

/// The adapters of `peft`, which is `LoRA` where it is enabled.
fn adapters(draft: &mut JobDraft, keys: &Keys<'_>) {
    let enabled = adapters::find(keys, "enabled").is_some_and(|on| !is_off(&on.value));
    let kind = enabled.then(|| adapters::named(AdapterType::Lora));
    adapters::set(draft, keys, Ok(kind), &[]);
    let names = [FieldId::peft_target_modules, FieldId::peft_exclude_modules];
    if enabled && !names.into_iter().any(|id| draft.has(id)) {
        // Lists of no names, which it writes down, mean all linear layers (`ModuleMatcher.match`).
        let none = Value::Text("no_module".to_owned());
        draft.default(FieldId::peft_exclude_modules, none);
    }
}

/// NeMo-RL trains the model that Megatron-Bridge builds, and gives `freeze_config` to its `freeze`
/// (`nemo_rl/models/megatron/setup.py`).
fn tower(import: &Import, mut tower: Tower, has_sounds: bool) -> Outcome {
    const KEYS: [&str; 3] = [
        "freeze_language_model",
        "freeze_vision_model",
        "freeze_vision_projection",
    ];
    if has_sounds || has_adapters(import) {
        return Outcome::NotFollowed;
    }
    let [language, layers, projector] = KEYS.map(|key| is_on(import, key, false));
    tower.freeze(Frozen { layers, projector });
    tower.language_frozen = language;
    if tower.is_qwen2_5() {
        tower.is_of_hugging_face(Recompute::Nothing);
    }
    tower.honoured = &KEYS;
    Outcome::Built(tower)
}
