//! ROLL's policies that train with Megatron-Core by its own adapter.

use super::bridge::{self, HYBRID_DEFAULTS};
use super::framework::{Defaults, Files, Framework, Signs};
use super::meaning::KeyMeaning::{self, Field, Irrelevant, Role};
use super::meaning::look_up;
use crate::config::fields::FieldId;
use crate::formats::derivations::{activation, hybrid, lengths, optimizer, precision, vocabulary};
use crate::formats::import::ImportError;
use crate::formats::import::draft::JobDraft;
use crate::formats::import::imported::{Import, Question};
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::tower::{Frozen, Outcome, Recompute, Tower};
use crate::formats::import::towers::{has_adapters, said};
use crate::formats::import::values::int;
use crate::formats::report::{KeyStatus, shown};
use crate::value::Value;

/// ROLL's policies with its adapter of Megatron-Core.
pub static ROLL: Framework = Framework {
    name: "ROLL",
    find,
    defaults: &[DEFAULTS],
    hybrid_defaults: &[HYBRID_DEFAULTS],
    files: Some(FILES),
    signs: &[
        Signs {
            refused: None,
            all: &["actor_train"],
            any: &["actor_infer", "strategy_args", "rollout_batch_size"],
        },
        Signs {
            refused: None,
            all: &["student"],
            any: &["strategy_args"],
        },
    ],
    begin: |_, _, keys| refuse(keys),
    special,
    derivations: &[
        activation::function,
        precision::mixed,
        vocabulary::given,
        hybrid::layers,
        vocabulary::of_tokenizer,
        optimizer::layer_wise,
        lengths::of_samples,
        recomputation,
        batch,
    ],
    mtp_only_where_asked: true,
    tower: |import, tower, _| self::tower(import, tower),
    names_published_models: true,
    keeps_vocabulary: true,
    ..Framework::PLAIN
};

/// Refuses files that do not train with Megatron-Core.
fn refuse(keys: &Keys<'_>) -> Result<(), ImportError> {
    let trains = |worker: &str| {
        let name = keys.at(&format!("{worker}.strategy_args.strategy_name"));
        name.is_some_and(|item| shown(&item.value) == "megatron_train")
    };
    if !WORKERS.into_iter().any(trains) {
        let what = "a ROLL configuration that does not train with Megatron";
        return Err(ImportError::NotRead(what));
    }
    Ok(())
}

/// The workers that train; the first that a file has counts.
const WORKERS: [&str; 2] = ["actor_train", "student"];

/// `strategy_config` has arguments of the adapter (`mcore_adapter/training_args.py`), most of them fields of
/// Megatron-Core's `TransformerConfig`.
const FILES: Files = Files {
    id: "roll_yaml",
    label: "a ROLL configuration",
    keys: &[
        ("prompt_length", "prompt"),
        ("response_length", "response"),
        ("sequence_length", "model.seq_length"),
        ("is_offload_optimizer_states_in_train_step", "offloaded_states"),
    ],
    places: &[
        ("actor_train.strategy_args.strategy_config.", "model."),
        ("student.strategy_args.strategy_config.", "model."),
        ("actor_train.", "worker."),
        ("student.", "worker."),
    ],
    ignored: &[
        "action_pattern",
        "actor_infer",
        "actor_train.data_args",
        "actor_train.generating_args",
        "add_token_level_kl",
        "adv_estimator",
        "advantage_clip",
        "agent_",
        "all_response_pattern",
        "answer_key",
        "async_generation_ratio",
        "batch_adjust_mode",
        "beta",
        "checkpoint_config",
        "code_agent",
        "critic",
        "custom_env",
        "default_history_length",
        "difficulty_",
        "distill_",
        "dual_clip_loss",
        "enable_old_logprobs_recompute",
        "entropy_loss_coef",
        "env_manager_cls",
        "episode_reward_weight",
        "error_max_len_clip",
        "eval_steps",
        "exp_name",
        "format_penalty",
        "gamma",
        "global_template",
        "hydra",
        "importance_sampling",
        "init_kl_coef",
        "is_num_return_sequences_expand",
        "is_offload_states",
        "kd_objective",
        "kl_",
        "lambd",
        "length_loss_weight",
        "logging_",
        "logits_",
        "loss_agg_mode",
        "max_actions_per_traj",
        "max_grad_norm",
        "max_len_mask",
        "max_steps",
        "max_tokens_per_step",
        "model_download_type",
        "model_name",
        "norm_",
        "num_gpus_per_node",
        "num_nodes",
        "num_return_sequences_in_group",
        "offload_nccl",
        "output_dir",
        "pg_",
        "positive_loss_coef",
        "ppo_epochs",
        "profiler_",
        "query",
        "question_key",
        "reference",
        "render_save_dir",
        "response_key",
        "resume_from_checkpoint",
        "reward",
        "rl_loss_coef",
        "rollout_",
        "rpc_timeout",
        "save_steps",
        "seed",
        "step_reward",
        "student.data_args",
        "system_envs",
        "tag_to_template",
        "target_kl",
        "teacher",
        "track_with",
        "tracker_kwargs",
        "train_env_manager",
        "train_infer_correction",
        "use_kl_loss",
        "use_topr_neg_loss_coef",
        "val_",
        "validation",
        "value_clip",
        "whiten_",
    ],
    ..Files::NONE
};

/// Keys of a worker, and arguments that are not called like those of Megatron-Bridge.
const KEYS: &[(&str, KeyMeaning)] = &[
    ("prompt", Role(lengths::PROMPT)),
    ("response", Role(lengths::RESPONSE)),
    (
        "offloaded_states",
        KeyMeaning::more("optimizer states are on the host during the passes"),
    ),
    ("worker.model_args.dtype", Role(precision::DTYPE)),
    ("worker.model_args.attn_implementation", Irrelevant),
    ("worker.model_args.flash_attn", Irrelevant),
    ("worker.model_args.model_type", Irrelevant),
    // Megatron's own recomputation decides.
    ("worker.model_args.disable_gradient_checkpointing", Irrelevant),
    (
        "worker.model_args.freeze_module_prefix",
        KeyMeaning::more("frozen parameters need no gradients and no optimizer states"),
    ),
    ("worker.model_args.lora_target", KeyMeaning::more("adapters of ROLL")),
    ("worker.model_args.lora_rank", Irrelevant),
    ("worker.model_args.lora_alpha", Irrelevant),
    (
        "worker.training_args.per_device_train_batch_size",
        Field("micro_batch_size"),
    ),
    ("worker.training_args.learning_rate", Irrelevant),
    ("worker.training_args.lr_scheduler_type", Irrelevant),
    ("worker.training_args.max_grad_norm", Irrelevant),
    ("worker.training_args.num_train_epochs", Irrelevant),
    ("worker.training_args.warmup_ratio", Irrelevant),
    ("worker.training_args.warmup_steps", Irrelevant),
    ("worker.training_args.weight_decay", Irrelevant),
    ("worker.infer_batch_size", Irrelevant),
    ("worker.pg_variant", Irrelevant),
    ("worker.system_envs", Irrelevant),
    ("worker.worker_cls", Irrelevant),
    ("worker.offload_nccl", Irrelevant),
    ("worker.strategy_args.strategy_name", Irrelevant),
    (
        "worker.use_sequence_packing",
        KeyMeaning::nothing("at most as many tokens as the samples of a micro batch have"),
    ),
    ("worker.use_dynamic_batching_in_train", Role(lengths::DYNAMIC)),
    ("worker.max_tokens_per_microbatch_in_train", Role(lengths::TOKENS)),
    ("worker.sequence_length_round_in_train", Irrelevant),
    ("worker.use_dynamic_batching_in_infer", Irrelevant),
    ("worker.max_tokens_per_microbatch_in_infer", Irrelevant),
    ("worker.sequence_length_round_in_infer", Irrelevant),
    ("model.use_distributed_optimizer", Field("use_distributed_optimizer")),
    ("model.distrib_optim_fully_reshardable", Irrelevant),
    ("model.overlap_grad_reduce", Field("overlap_grad_reduce")),
    // As in Megatron-LM, `bf16` alone turns it on.
    (
        "model.accumulate_allreduce_grads_in_fp32",
        Field("accumulate_allreduce_grads_in_fp32"),
    ),
    ("model.bias_activation_fusion", Field("bias_swiglu_fusion")),
    ("model.moe_layer_recompute", Field("moe_layer_recompute")),
    ("model.variable_seq_lengths", Irrelevant),
    ("model.mtp_training_mode", Irrelevant),
    ("model.optimization_level", Irrelevant),
];

/// Defaults of ROLL's adapter of Megatron-Core and of Megatron-Core's classes that differ from those of Megatron-LM's
/// command line.
const DEFAULTS: Defaults = &[
    ("bf16", "True"),
    ("create_attention_mask_in_dataloader", "False"),
    ("data_parallel_sharding_strategy", "no_shard"),
    ("optimizer_offload_fraction", "0.0"),
    ("bias_swiglu_fusion", "False"),
];

/// The meaning of a key, once the beginning of its path has been replaced as the layout's `places` say.
fn find(key: &str) -> Option<KeyMeaning> {
    look_up(KEYS, key).or_else(|| {
        let argument = key.starts_with("model.");
        argument.then(|| bridge::find(key)).flatten()
    })
}

/// Reads the keys that name the model, the GPUs, and the micro batches of a step; of the first `actor_train` comes
/// before `student`. Returns whether the key is one of them.
fn special(draft: &mut JobDraft, keys: &mut Keys<'_>, item: &KeyValue, _: &str) -> bool {
    match item.key.as_str() {
        "pretrain" | "student_pretrain" => {
            let name = shown(&item.value);
            draft.questions.push(Question::Model { name });
            let note = "the architecture is in the model's own file";
            draft.row(item, KeyStatus::Derived, None, note);
        }
        "actor_train.device_mapping" | "student.device_mapping" => {
            let Some(gpus) = devices(&shown(&item.value)) else {
                return false;
            };
            let value = Value::Int(gpus.into());
            let note = "the devices of the workers that train";
            draft.set(item, FieldId::world_size, value, KeyStatus::Derived, note);
        }
        "actor_train.training_args.gradient_accumulation_steps"
        | "student.training_args.gradient_accumulation_steps" => {
            let id = FieldId::global_batch_size;
            draft.row(item, KeyStatus::Derived, Some(id), "micro batches of a step");
        }
        // The sequence length of RL is that of a prompt and its response.
        "sequence_length" if keys.at("response_length").is_some() => {
            draft.row(item, KeyStatus::Ignored, None, "prompt and response are given");
        }
        _ => return false,
    }
    true
}

/// The number of devices in an expression: `list(range(0,8))`, sums of such, or a list of numbers.
fn devices(text: &str) -> Option<u64> {
    let ranges = text.split("range(").skip(1);
    let counts = ranges.map(|range| {
        let (inside, _) = range.split_once(')')?;
        let mut ends = inside.split(',').map(|end| end.trim().parse::<u64>().ok());
        let (first, second) = (ends.next()??, ends.next());
        match second {
            Some(end) => end?.checked_sub(first),
            None => Some(first),
        }
    });
    let total = counts.sum::<Option<u64>>().filter(|total| *total > 0);
    total.or_else(|| {
        let inside = text.trim().strip_prefix('[')?.strip_suffix(']')?;
        let count = inside.split(',').filter(|number| !number.trim().is_empty());
        u64::try_from(count.count()).ok()
    })
}

/// Recomputes layers one at a time where whole ones are recomputed.
fn recomputation(draft: &mut JobDraft, _: &Keys<'_>) {
    let full = Value::Text("full".to_owned());
    if draft.settings.get(FieldId::recompute_granularity) != Some(&full) {
        return;
    }
    for (id, value) in [
        (FieldId::recompute_method, Value::Text("uniform".to_owned())),
        (FieldId::recompute_num_layers, Value::Int(1)),
    ] {
        if !draft.has(id) {
            draft.default(id, value);
        }
    }
}

/// Sets the global batch.
fn batch(draft: &mut JobDraft, keys: &Keys<'_>) {
    let steps = WORKERS.into_iter().find_map(|worker| {
        let path = format!("{worker}.training_args.gradient_accumulation_steps");
        keys.at(&path).and_then(int)
    });
    let size = |id: FieldId| draft.number(id).unwrap_or(1).max(1);
    let parallel = size(FieldId::tensor_model_parallel_size)
        .saturating_mul(size(FieldId::pipeline_model_parallel_size))
        .saturating_mul(size(FieldId::context_parallel_size));
    let replicas = draft.number(FieldId::world_size).unwrap_or(0) / parallel;
    if let Some(steps) = steps.filter(|_| replicas > 0) {
        let batch = steps
            .saturating_mul(size(FieldId::micro_batch_size))
            .saturating_mul(replicas);
        draft.settings.set(FieldId::global_batch_size, Value::Int(batch.into()));
    }
}

/// ROLL runs the towers of Hugging Face, that of images checkpointed where the language model is recomputed in full
/// (`mcore_adapter/models/*/modeling_*.py`), and freezes what begins with one of the names in `freeze_module_prefix`
/// (`freeze_model`).
fn tower(import: &Import, mut tower: Tower) -> Outcome {
    /// The modules beside the language model.
    const MODULES: [&str; 4] = ["vision_model", "audio_model", "talker", "code2wav"];
    let own = if tower.is_audio() {
        "audio_model"
    } else {
        "vision_model"
    };
    if has_adapters(import) || said(import, "lora_target").is_some() {
        return Outcome::NotFollowed;
    }
    let shared = &import.state.setup.job.shared;
    let full = Value::Text(String::from("full"));
    let is_full = shared.get(FieldId::recompute_granularity) == Some(&full);
    let recompute = if is_full && !tower.is_audio() {
        Recompute::Full
    } else {
        Recompute::Nothing
    };
    tower.is_of_hugging_face(recompute);
    let prefixes = said(import, "freeze_module_prefix").unwrap_or_default();
    for prefix in prefixes.split(',').map(str::trim) {
        match prefix {
            "" | "null" => {}
            name if name == own => tower.freeze(Frozen::WHOLE),
            other if MODULES.contains(&other) => {}
            _ => return Outcome::NotFollowed,
        }
    }
    tower.honoured = &["freeze_module_prefix"];
    Outcome::Built(tower)
}
