//! Keys of verl's Megatron back end and the Megatron-LM fields behind them.
//!
//! After verl's `verl/trainer/config/engine/megatron.yaml`, `_generated_ppo_megatron_trainer.yaml` and
//! `sft_trainer_engine.yaml` beside it. The engine's keys stand under `actor_rollout_ref.actor.megatron`; the
//! transformer's own under `override_transformer_config` there. Only the training phase is meant: rollout engines are
//! not. The other models that stay on the GPUs are in
//! `verl/other_models.rs`.

mod other_models;
mod parents;

use super::bridge::{self, families};
use super::framework::{Defaults, Framework};
use super::meaning::KeyMeaning::{self, Field, Irrelevant, Role};
use super::meaning::{Decides, KeyRole, look_up, same_field};
use crate::config::choices::AdapterType;
use crate::config::fields::FieldId;
use crate::config::raw::{RawJob, Settings};
use crate::formats::derivations::lengths::Budget;
use crate::formats::derivations::nested::NESTED;
use crate::formats::derivations::{
    activation, adapters, batch, gpus, hybrid, lengths, model, optimizer, precision, vocabulary,
};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::imported::Import;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::tower::{Outcome, Recompute, Tower};
use crate::formats::import::towers::has_adapters;
use crate::formats::import::values::{int, truth};
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// verl's Megatron back end with mbridge, which builds the model unless `vanilla_mbridge` is off.
pub static VERL: Framework = BY_MBRIDGE;

/// verl's Megatron back end with Megatron-Bridge, where `vanilla_mbridge` is off.
static BY_MEGATRON_BRIDGE: Framework = Framework {
    defaults: &[OF_MEGATRON_BRIDGE, DEFAULTS],
    latent_defaults: &[bridge::LATENT_DEFAULTS],
    after_defaults: precision::gradients_as_said,
    with_model: |_, model, model_type| families::add(model, model_type),
    ..BY_MBRIDGE
};

/// verl's Megatron back end with its own conversion of models, where `use_mbridge` is off.
static BY_VERL: Framework = Framework {
    with_model: of_verl,
    ..BY_MBRIDGE
};

const BY_MBRIDGE: Framework = Framework {
    name: "verl",
    find,
    defaults: &[OF_MBRIDGE, DEFAULTS],
    derivations: &[
        activation::function,
        adapters,
        precision::mixed,
        vocabulary::given,
        hybrid::layers,
        gpus::of_nodes,
        optimizer::layer_wise,
        lengths,
        batch::global,
        other_models::reference,
        other_models::critic,
    ],
    after_defaults: precision::gradients_in_fp32_by_default,
    with_model: of_mbridge,
    mtp_only_where_asked: true,
    tower,
    ..Framework::PLAIN
};

/// `vanilla_mbridge`: whether mbridge builds the model, or Megatron-Bridge, which has other defaults.
const VANILLA_MBRIDGE: KeyRole = KeyRole::read("vanilla_mbridge", Decides::SETTINGS, |draft, _, item| {
    if truth(&item.value) != Some(false) {
        return draft.row(item, KeyStatus::Mapped, None, "mbridge builds the model");
    }
    draft.framework = &BY_MEGATRON_BRIDGE;
    draft.row(item, KeyStatus::Mapped, None, "Megatron-Bridge builds the model");
});

/// `use_mbridge`: whether mbridge builds the model, or verl itself.
const USE_MBRIDGE: KeyRole = KeyRole::read("use_mbridge", Decides::SETTINGS, |draft, _, item| {
    if truth(&item.value) != Some(false) {
        return draft.row(item, KeyStatus::Mapped, None, "mbridge builds the model");
    }
    draft.framework = &BY_VERL;
    draft.row(item, KeyStatus::Mapped, None, "verl builds the model");
});

/// `use_fused_kernels`: the output layer and log-probabilities in one kernel.
const FUSED_KERNELS: KeyRole = KeyRole::read(
    "fused_kernels",
    Decides::field(FieldId::token_loss),
    |draft, _, item| {
        if truth(&item.value) != Some(true) {
            return draft.row(item, KeyStatus::Ignored, None, "switched off");
        }
        let value = Value::Text("verl_fused".to_owned());
        draft.set(item, FieldId::token_loss, value, KeyStatus::Derived, "");
    },
);

/// `use_kl_loss` and `use_kl_in_reward`: a reference model to compare with. [`other_models::reference`] says where it
/// stays on the GPUs.
const REFERENCE_MODEL: KeyRole = KeyRole::read(
    "reference_model",
    Decides::field(FieldId::ref_model),
    |draft, _, item| {
        let note = "no weights of its own stay on the GPUs";
        draft.row(item, KeyStatus::Ignored, None, note);
    },
);

/// Where the engine's keys stand, in the order in which they count.
pub const ENGINES: [&str; 4] = [
    "actor_rollout_ref.actor.megatron",
    "actor_rollout_ref.actor.engine",
    "actor.megatron",
    "engine",
];

/// Keys of the engine that are not called like Megatron-LM's fields.
const ENGINE: &[(&str, KeyMeaning)] = &[
    ("virtual_pipeline_model_parallel_size", Role(model::VIRTUAL_STAGES)),
    ("dtype", Role(precision::DTYPE)),
    (
        "param_offload",
        KeyMeaning::nothing("parameters move to the host between phases, not during training"),
    ),
    (
        "grad_offload",
        KeyMeaning::nothing("gradients move to the host between phases, not during training"),
    ),
    (
        "optimizer_offload",
        KeyMeaning::nothing("optimizer states move to the host between phases, not during training"),
    ),
    ("override_ddp_config", Role(NESTED)),
    ("override_transformer_config", Role(NESTED)),
    ("override_mcore_model_config", Role(NESTED)),
    ("bias_activation_fusion", Field("bias_swiglu_fusion")),
    ("persist_layer_norm", Irrelevant),
    ("use_remove_padding", Irrelevant),
    ("strategy", Irrelevant),
    ("use_dist_checkpointing", Irrelevant),
    ("dist_checkpointing_path", Irrelevant),
    ("dist_checkpointing_prefix", Irrelevant),
    ("seed", Irrelevant),
    ("use_mbridge", Role(USE_MBRIDGE)),
    ("vanilla_mbridge", Role(VANILLA_MBRIDGE)),
    ("forward_only", Irrelevant),
    ("_target_", Irrelevant),
    ("variable_seq_lengths", Irrelevant),
];

/// Keys outside the engine.
const OTHERS: &[(&str, KeyMeaning)] = &[
    ("actor_rollout_ref.model.path", Role(model::HUGGING_FACE)),
    ("data.max_prompt_length", Role(lengths::PROMPT)),
    ("data.max_response_length", Role(lengths::RESPONSE)),
    (
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu",
        Field("micro_batch_size"),
    ),
    ("actor_rollout_ref.actor.ppo_mini_batch_size", Role(batch::PROMPTS)),
    (
        "actor_rollout_ref.actor.ppo_max_token_len_per_gpu",
        Role(lengths::TOKENS),
    ),
    ("actor_rollout_ref.actor.use_dynamic_bsz", Role(lengths::DYNAMIC)),
    ("actor_rollout_ref.rollout.n", Role(batch::SAMPLES)),
    // Which engine: all that has its keys here is Megatron's.
    ("engine", Irrelevant),
    // Of fine-tuning, which has the same sections without an actor.
    ("model.path", Role(model::HUGGING_FACE)),
    ("data.micro_batch_size_per_gpu", Field("micro_batch_size")),
    ("data.max_length", Field("seq_length")),
    ("data.max_token_len_per_gpu", Role(lengths::TOKENS)),
    ("data.use_dynamic_bsz", Role(lengths::DYNAMIC)),
    ("data.train_batch_size", Role(batch::LOADED)),
    ("actor_rollout_ref.actor.optim.optimizer", Field("optimizer")),
    ("optim.optimizer", Field("optimizer")),
    ("trainer.nnodes", Role(gpus::NODES)),
    ("trainer.n_gpus_per_node", Role(gpus::PER_NODE)),
];

/// Names in sections of which other names do matter.
const HARMLESS: &[(&str, &str)] = &[
    (
        "actor_rollout_ref.actor",
        "\
            rollout_n strategy ppo_micro_batch_size clip_ratio clip_ratio_low clip_ratio_high tau_pos tau_neg \
            clip_ratio_c loss_agg_mode loss_scale_factor use_prefix_grouper use_torch_compile \
            kl_loss_coef kl_loss_type ppo_epochs shuffle data_loader_seed ulysses_sequence_parallel_size use_remove_padding load_weight grad_clip _target_",
    ),
    (
        "data",
        "\
            apply_chat_template_kwargs balance_dp_token custom_cls datagen dataloader_num_workers \
            enable_thinking_key filter_overlong_prompts filter_overlong_prompts_workers gen_batch_size \
            ignore_input_ids_mismatch image_key image_patch_size messages_key pad_mode prompt_key \
            return_full_prompt return_multi_modal_inputs return_raw_chat return_raw_input_ids reward_fn_key \
            sampler seed shuffle tokenizer tool_config_path tools_key train_files train_max_samples truncation \
            trust_remote_code use_shm val_batch_size val_files val_max_samples validation_shuffle video_key",
    ),
    (
        "trainer",
        "\
            balance_batch critic_warmup default_hdfs_dir default_local_dir del_local_ckpt_after_load device \
            esi_redundant_time experiment_name log_val_generations logger max_actor_ckpt_to_keep \
            max_ckpt_to_keep max_critic_ckpt_to_keep profile_interval project_name \
            ray_wait_register_center_timeout resume_from_path resume_mode rollout_data_dir save_freq seed \
            test_freq total_epochs total_training_steps controller_nsight_options npu_profile profile_steps n_env_gpus_per_node n_rollout_gpus_per_node validation_data_dir worker_nsight_options use_legacy_worker_impl val_before_train val_only",
    ),
];

/// Sections, and names in them, that mean the same whatever stands in them; the first that holds a key counts.
const SECTIONS: &[(&str, KeyMeaning)] = &[
    ("actor_rollout_ref.rollout.gpu_memory_utilization", ROLLOUT),
    ("actor_rollout_ref.ref.megatron", OTHER_MODELS),
    ("actor_rollout_ref.ref.fsdp_config", OTHER_MODELS),
    ("critic.megatron", OTHER_MODELS),
    ("critic.model", OTHER_MODELS),
    ("reward_model.enable", OTHER_MODELS),
    ("actor_rollout_ref.model.lora", ADAPTERS),
    ("actor_rollout_ref.model.lora_rank", ADAPTERS),
    ("actor_rollout_ref.model.lora_alpha", ADAPTERS),
    ("model.lora", ADAPTERS),
    ("model.lora_rank", ADAPTERS),
    ("actor_rollout_ref.model.target_modules", ADAPTERS),
    ("actor_rollout_ref.model.exclude_modules", ADAPTERS),
    ("actor_rollout_ref.model.mtp.enable", Role(model::MTP)),
    (
        "actor_rollout_ref.model.mtp",
        KeyMeaning::less("whether multi-token prediction trains is not followed"),
    ),
    (
        "actor_rollout_ref.model.override_config.max_position_embeddings",
        Field("max_position_embeddings"),
    ),
    (
        "actor_rollout_ref.model.override_config.model_config.max_position_embeddings",
        Field("max_position_embeddings"),
    ),
    (
        "actor_rollout_ref.model.override_config",
        KeyMeaning::more("changes to the model's config.json are not followed"),
    ),
    ("actor_rollout_ref.model.use_fused_kernels", Role(FUSED_KERNELS)),
    ("actor_rollout_ref.actor.use_kl_loss", Role(REFERENCE_MODEL)),
    ("algorithm.use_kl_in_reward", Role(REFERENCE_MODEL)),
    ("actor_rollout_ref.actor.use_fused_kernels", Role(FUSED_KERNELS)),
    ("actor_rollout_ref.actor.entropy_coeff", LOSS),
    ("actor_rollout_ref.actor.calculate_entropy", LOSS),
    ("actor_rollout_ref.actor.calculate_sum_pi_squared", LOSS),
    ("actor_rollout_ref.actor.entropy_checkpointing", LOSS),
    ("actor_rollout_ref.actor.sum_pi_squared_checkpointing", LOSS),
    ("actor_rollout_ref.actor.entropy_from_logits_with_chunking", LOSS),
    (
        "actor_rollout_ref.actor.freeze_vision_tower",
        KeyMeaning::more("the vision tower is not counted"),
    ),
    ("actor_rollout_ref.actor.fsdp_config", FSDP),
    ("actor_rollout_ref.actor.optim", Irrelevant),
    ("actor_rollout_ref.actor.checkpoint", Irrelevant),
    ("actor_rollout_ref.actor.policy_loss", Irrelevant),
    ("actor_rollout_ref.actor.profile", Irrelevant),
    ("actor_rollout_ref.actor.profiler", Irrelevant),
    ("actor_rollout_ref.actor.router_replay", Irrelevant),
    ("actor_rollout_ref.rollout", Irrelevant),
    ("actor_rollout_ref.ref", Irrelevant),
    ("actor_rollout_ref.model", Irrelevant),
    ("actor_rollout_ref.hybrid_engine", Irrelevant),
    ("actor_rollout_ref.nccl_timeout", Irrelevant),
    ("actor_rollout_ref.profiler", Irrelevant),
    ("algorithm", Irrelevant),
    ("async_training", Irrelevant),
    ("checkpoint", Irrelevant),
    ("critic", Irrelevant),
    ("custom_reward_function", Irrelevant),
    ("defaults", Role(parents::PARENTS)),
    ("env", Irrelevant),
    ("global_profiler", Irrelevant),
    ("hydra", Irrelevant),
    ("model", Irrelevant),
    ("optim", Irrelevant),
    ("profiler", Irrelevant),
    ("ray_init", Irrelevant),
    ("ray_kwargs", Irrelevant),
    ("reward_manager", Irrelevant),
    ("reward_model", Irrelevant),
    ("rollout", Irrelevant),
    ("transfer_queue", Irrelevant),
];

const ROLLOUT: KeyMeaning = KeyMeaning::nothing("rollout engines on the same GPUs sleep while the model is trained");
const OTHER_MODELS: KeyMeaning =
    KeyMeaning::nothing("reference, reward and value models are not of the training of the actor");
const ADAPTERS: KeyMeaning = Role(adapters::SETTING);
const LOSS: KeyMeaning = KeyMeaning::more("the loss is counted as Megatron's cross entropy");
const FSDP: KeyMeaning = KeyMeaning::more("the FSDP engine shards parameters, gradients and optimizer states");

/// The meaning of a key, given with its sections before it and dots between them; `None` for a key that is not known.
#[must_use]
pub fn find(key: &str) -> Option<KeyMeaning> {
    if let Some(meaning) = look_up(OTHERS, key) {
        return Some(meaning);
    }
    if let Some((_, name)) = key.split_once("optim.override_optimizer_config.") {
        return bridge::find(&format!("optimizer.{name}"));
    }
    let engine = ENGINES.iter().find_map(|engine| inside(key, engine));
    let Some(engine) = engine else {
        return elsewhere(key);
    };
    if let Some(name) = engine.strip_prefix("override_transformer_config.") {
        return transformer(name);
    }
    if let Some(name) = engine.strip_prefix("override_ddp_config.") {
        return bridge::find(&format!("ddp.{name}"));
    }
    if let Some(name) = engine.strip_prefix("override_mcore_model_config.") {
        return transformer(name);
    }
    look_up(ENGINE, engine).or_else(|| same_field(engine))
}

/// The meaning of a key outside the engine.
fn elsewhere(key: &str) -> Option<KeyMeaning> {
    let harmless = HARMLESS.iter().any(|(section, names)| {
        let first = inside(key, section).and_then(|name| name.split('.').next());
        first.is_some_and(|first| names.split_ascii_whitespace().any(|name| name == first))
    });
    if harmless {
        return Some(Irrelevant);
    }
    let section = SECTIONS
        .iter()
        .find(|(section, _)| key == *section || inside(key, section).is_some());
    section.map(|(_, meaning)| *meaning)
}

/// The rest of a key in a section.
fn inside<'a>(key: &'a str, section: &str) -> Option<&'a str> {
    key.strip_prefix(section)?.strip_prefix('.')
}

/// A field of Megatron's transformer configuration.
fn transformer(name: &str) -> Option<KeyMeaning> {
    look_up(ENGINE, name).or_else(|| bridge::find(&format!("model.{name}")))
}

/// Fields whose default differs from that of Megatron-LM's command line.
pub const DEFAULTS: Defaults = &[
    // `set_expandable_segments(True)` before training, in `verl/workers/megatron_workers.py`.
    ("expandable_segments", "True"),
    ("sequence_parallel", "True"),
    ("use_distributed_optimizer", "True"),
    ("bf16", "True"),
    ("recompute_modules", "core_attn"),
    ("attention_backend", "flash"),
    ("moe_token_dispatcher_type", "alltoall"),
];

/// The defaults of Megatron-Core's classes that mbridge keeps.
const OF_MBRIDGE: Defaults = &[
    ("apply_rope_fusion", "False"),
    ("gradient_accumulation_fusion", "False"),
    ("bias_dropout_fusion", "False"),
    ("bias_swiglu_fusion", "False"),
    ("deallocate_pipeline_outputs", "False"),
    ("moe_grouped_gemm", "True"),
];

/// The defaults of Megatron-Bridge: `GPTModelProvider` and its providers of models.
const OF_MEGATRON_BRIDGE: Defaults = &[
    ("apply_rope_fusion", "False"),
    ("bias_dropout_fusion", "False"),
    ("bias_swiglu_fusion", "False"),
    ("cross_entropy_loss_fusion", "True"),
    ("attention_softmax_in_fp32", "False"),
    ("moe_grouped_gemm", "True"),
    ("moe_permute_fusion", "True"),
];

/// Fields that mbridge sets in the language models of Qwen3-VL, Qwen3.5 and Qwen3-Omni to other values than in those
/// without towers (`mbridge/models/qwen3_vl`, `qwen3_5` and `qwen3_omni_moe`).
const OF_QWEN3_WITH_TOWERS: [(FieldId, bool); 4] = [
    (FieldId::bias_swiglu_fusion, true),
    (FieldId::bias_dropout_fusion, true),
    (FieldId::masked_softmax_fusion, false),
    (FieldId::deallocate_pipeline_outputs, true),
];

/// Applies the arguments that mbridge sets for models with towers, and for models with experts
/// (`mbridge/models/qwen2moe.py`, `qwen3moe.py` and `deepseek_v3.py`). Qwen2's, which have biases of queries, keys and
/// values, are built without the gate of shared experts.
fn of_mbridge(job: &mut RawJob, model: &mut Settings, model_type: &str) {
    of_verl(job, model, model_type);
    if model_type.starts_with("qwen3_vl") || model_type.starts_with("qwen3_5") || model_type == "qwen3_omni_moe" {
        for (field, value) in OF_QWEN3_WITH_TOWERS {
            model.set(field, Value::Bool(value));
        }
    }
    let has_shared = model.get(FieldId::moe_shared_expert_intermediate_size).is_some();
    if has_shared && model.get(FieldId::add_qkv_bias) == Some(&Value::Bool(true)) {
        model.set(FieldId::moe_shared_expert_gate, Value::Bool(false));
    }
}

/// The settings that verl makes of a Hugging Face model itself (`config_converter.py`), and mbridge too.
fn of_verl(_: &mut RawJob, model: &mut Settings, _: &str) {
    if model.get(FieldId::num_experts).is_none() {
        return;
    }
    model.set(FieldId::bias_swiglu_fusion, Value::Bool(true));
    model.set(FieldId::bias_dropout_fusion, Value::Bool(true));
    if model.get(FieldId::moe_shared_expert_intermediate_size).is_some() {
        model.set(FieldId::moe_shared_expert_overlap, Value::Bool(true));
    }
}

/// The adapters of `lora`, which are there where they have a rank.
fn adapters(draft: &mut JobDraft, keys: &Keys<'_>) {
    let ranks = ["rank", "lora_rank"].map(|name| adapters::find(keys, name).and_then(int));
    let on = ranks.into_iter().flatten().any(|rank| rank > 0);
    let given = adapters::find(keys, "type").map(|item| item.value.clone());
    let kind = on.then(|| given.unwrap_or_else(|| adapters::named(AdapterType::Lora)));
    adapters::set(draft, keys, Ok(kind), &[]);
}

/// Sets the sequence length and the tokens of a micro batch. Fine-tuning fills micro batches up to a number of tokens
/// unless it is told otherwise. There are defaults for the number (`ppo_max_token_len_per_gpu` and
/// `max_token_len_per_gpu` in `trainer/config`).
fn lengths(draft: &mut JobDraft, keys: &Keys<'_>) {
    let tokens = keys.get(lengths::TOKENS);
    let by_default = tokens.filter(|item| keys.get(lengths::DYNAMIC).is_none() && item.key.starts_with("data."));
    let budget = lengths::switch(keys)
        .or(by_default)
        .map(|switch| tokens.and_then(Budget::of).unwrap_or_else(|| default_budget(switch)));
    lengths::with_budget(draft, keys, budget);
    lengths::report(draft, keys);
}

fn default_budget(key: &KeyValue) -> Budget<'_> {
    let (tokens, note) = if key.key.starts_with("data.") {
        (8192, "verl's default: 8192 tokens of a micro batch on each GPU")
    } else {
        (16_384, "verl's default: 16384 tokens of a micro batch on each GPU")
    };
    Budget { key, tokens, note }
}

/// verl trains the whole model that Megatron-Bridge builds, or mbridge before it; `freeze_vision_tower` is of other
/// engines.
fn tower(import: &Import, mut tower: Tower, has_sounds: bool) -> Outcome {
    if has_sounds || has_adapters(import) {
        return Outcome::NotFollowed;
    }
    if tower.is_qwen2_5() {
        tower.is_of_hugging_face(Recompute::Nothing);
    }
    Outcome::Built(tower)
}
