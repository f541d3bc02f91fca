//! Overrides of `ChatLearn` that decide how its policy is trained with Megatron-Core.
//!
//! After `template/grpo_megatron.yaml` and `chatlearn/configs` of `alibaba/ChatLearn` at b7af31a9. The names below
//! `policy_trainer` and its `megatron_model_cfg` are arguments of Megatron-LM, which `MegatronModule.init` sets. The
//! other models of its reinforcement learning share the GPUs (`runtime_args.colocation` in the template).

use super::framework::{Defaults, Framework, Signs};
use super::meaning::KeyMeaning::{self, Field, Irrelevant, Role};
use super::meaning::look_up;
use super::megatron_lm;
use crate::config::fields::FieldId;
use crate::config::not_modelled::{MemoryEffect, NotModelled};
use crate::formats::derivations::lengths::Budget;
use crate::formats::derivations::{activation, hybrid, lengths, model, vocabulary};
use crate::formats::import::ImportError;
use crate::formats::import::draft::JobDraft;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::values::{is_off, truth};
use crate::formats::report::{KeyStatus, shown};
use crate::value::Value;

/// `ChatLearn`'s policies with Megatron-Core.
pub static CHATLEARN: Framework = Framework {
    name: "ChatLearn",
    find,
    defaults: &[DEFAULTS],
    signs: &[Signs {
        refused: Some("the template of a ChatLearn job (paste the script with its overrides)"),
        all: &["runtime_args", "models"],
        any: &["policy_trainer"],
    }],
    begin: |_, _, keys| refuse(keys),
    derivations: &[
        hybrid::layers,
        vocabulary::of_tokenizer,
        lengths,
        unread_settings,
        other_models,
    ],
    names_published_models: true,
    keeps_vocabulary: true,
    after_defaults: activation::quick_geglu_of_arguments,
    ..Framework::PLAIN
};

/// Where the settings of the training stand.
const TRAINER: &str = "models.policy_trainer.";
/// Where the architecture stands below them, which `ChatLearn` reads from the Hugging Face model unless it is given.
const ARCHITECTURE: &str = "megatron_model_cfg.";

/// Keys outside the trainer, by their whole path.
const OTHERS: &[(&str, KeyMeaning)] = &[
    ("models.policy.load", Role(model::HUGGING_FACE)),
    ("models.policy.max_prompt_tokens_length", Role(lengths::PROMPT)),
    ("models.policy.max_response_tokens_length", Role(lengths::RESPONSE)),
    ("runtime_args.train_global_batch_size", Field("global_batch_size")),
    ("runtime_args.train_micro_batch_size", Field("micro_batch_size")),
];

/// Keys of the trainer that are not called like Megatron-LM's arguments.
const KEYS: &[(&str, KeyMeaning)] = &[
    ("num_gpu", Field("world_size")),
    ("model_provider_module", Role(model::PROVIDER)),
    ("packing", Role(lengths::DYNAMIC)),
    ("max_token_in_packing", Role(lengths::TOKENS)),
    ("max_prompt_tokens_length", Role(lengths::PROMPT)),
    ("max_response_tokens_length", Role(lengths::RESPONSE)),
    ("train_micro_batch_size", Field("micro_batch_size")),
    ("use_expandable_segments", Field("expandable_segments")),
    ("num_query_groups", Role(model::QUERY_GROUPS)),
    ("hybrid_override_pattern", Role(hybrid::OLDER_PATTERN)),
    ("virtual_pipeline_model_parallel_size", Role(model::VIRTUAL_STAGES)),
    ("freeze_LM", FROZEN),
    ("freeze_ViT", FROZEN),
    ("freeze_VP", FROZEN),
    ("free_gpu_memory.offload_weights", BETWEEN_PHASES),
    ("free_gpu_memory.offload_optimizer_states", BETWEEN_PHASES),
    ("free_gpu_memory.free_grad_buffers", BETWEEN_PHASES),
];

const FROZEN: KeyMeaning = KeyMeaning::more("frozen parameters need no gradients and no optimizer states");
const BETWEEN_PHASES: KeyMeaning = KeyMeaning::nothing("moved to the host between phases, not during training");

/// Names of the trainer that change no memory of a training step.
const HARMLESS: &str = "\
    batch_p2p_comm cpu_per_process diff_clip_ratio enable_thinking entropy_coef \
    final_clip_ratio generation_batch_size gpu_per_process is_hybrid_model kl_coef load neg_clip_ratio no_load_scheduler \
    num_cpu num_inference_per_prompt overlap_p2p_comm pos_clip_ratio rerun_mode sync_frequency tokenizer_model tokenizer_type \
    trainable trust_remote_code use_group_sequence_policy variable_seq_lengths";

/// The meaning of a dotted key; none when it is unknown.
fn find(key: &str) -> Option<KeyMeaning> {
    if let Some(meaning) = look_up(OTHERS, key) {
        return Some(meaning);
    }
    let Some(name) = key.strip_prefix(TRAINER) else {
        let is_other = ["runtime_args.", "models."].iter().any(|start| key.starts_with(start));
        return is_other.then_some(Irrelevant);
    };
    let name = name.strip_prefix(ARCHITECTURE).unwrap_or(name);
    let is_harmless = HARMLESS.split_ascii_whitespace().any(|known| known == name);
    if is_harmless || name.starts_with("optimizer.") {
        return Some(Irrelevant);
    }
    look_up(KEYS, name).or_else(|| megatron_lm::find(name))
}

/// Fields whose default differs from that of Megatron-LM's command line.
const DEFAULTS: Defaults = &[
    ("bf16", "True"),
    ("sequence_parallel", "True"),
    ("use_distributed_optimizer", "True"),
    ("attention_dropout", "0.0"),
    ("hidden_dropout", "0.0"),
    ("gradient_accumulation_fusion", "False"),
    ("moe_token_dispatcher_type", "alltoall"),
    ("moe_grouped_gemm", "True"),
    ("token_loss", "chatlearn"),
];

/// Settings that the trainer has with FSDP alone (`chatlearn/configs/fsdp_config.py`).
const OF_FSDP: [&str; 5] = [
    "models.policy_trainer.fsdp_size",
    "models.policy_trainer.gradient_checkpointing",
    "models.policy_trainer.groupgemm",
    "models.policy_trainer.meta_init",
    "models.policy_trainer.ulysses_sequence_parallel_size",
];

/// Why jobs that do not train with Megatron-Core are refused.
pub(in crate::formats) const FSDP: &str = "a job of ChatLearn that trains with FSDP";

/// Refuses jobs that do not train with Megatron-Core.
fn refuse(keys: &Keys<'_>) -> Result<(), ImportError> {
    let is_fsdp = |item: &KeyValue| {
        let names_it = item.key == "runtime_args.train_backend" && shown(&item.value) == "fsdp";
        names_it || OF_FSDP.contains(&item.key.as_str())
    };
    if keys.all().iter().any(is_fsdp) {
        return Err(ImportError::NotRead(FSDP));
    }
    Ok(())
}

/// Sets the sequence length and the tokens of a micro batch. Micro batches are filled up to a number of tokens unless
/// `packing` is off; the number is of all ranks of context parallelism, and by default that of one sample.
fn lengths(draft: &mut JobDraft, keys: &Keys<'_>) {
    let ranks = draft.number(FieldId::context_parallel_size).unwrap_or(1).max(1);
    let dynamic = keys.get(lengths::DYNAMIC);
    let packs = dynamic.is_none_or(|item| truth(&item.value) == Some(true));
    let budget = keys.get(lengths::TOKENS).filter(|_| packs).and_then(Budget::of);
    let budget = budget.map(|budget| Budget {
        tokens: budget.tokens.div_ceil(ranks),
        ..budget
    });
    let is_given = budget.is_some();
    lengths::with_budget(draft, keys, budget);
    if packs
        && !is_given
        && let Some(length) = draft.number(FieldId::seq_length)
    {
        let tokens = Value::Int(length.div_ceil(ranks).into());
        draft.settings.set(FieldId::micro_batch_size, Value::Int(1));
        draft.default(FieldId::max_seqlen_per_dp_cp_rank, tokens);
    }
    lengths::report(draft, keys);
}

/// Marks settings of the trainer that are not read.
fn unread_settings(draft: &mut JobDraft, keys: &Keys<'_>) {
    for item in keys.all().iter().filter(|item| !is_off(&item.value)) {
        let mut rows = draft.report.iter();
        if rows.any(|row| row.key == item.key && row.status == KeyStatus::Unknown) {
            let reason = "a setting that is not read";
            draft.marks.push(NotModelled::new(&item.key, reason));
        }
    }
}

/// Counts what stays on the GPUs while the policy is trained. The template moves all of it to the host.
fn other_models(draft: &mut JobDraft, keys: &Keys<'_>) {
    let stays = |model: &str| {
        let key = format!("models.{model}.free_gpu_memory.offload_weights");
        keys.last_at(&key).filter(|item| truth(&item.value) == Some(false))
    };
    if let Some(item) = stays("policy") {
        let reason = "the weights of the rollout engine stay on the same GPUs";
        say(draft, item, None, reason);
    }
    let Some(item) = stays("ref_policy") else {
        return;
    };
    let is_own = |item: &KeyValue| item.key.starts_with("models.ref_policy.") && item.key.contains("_parallel_size");
    if keys.all().iter().any(is_own) {
        let reason = "a reference model with parallel sizes of its own is not counted";
        return say(draft, item, None, reason);
    }
    let id = FieldId::ref_model;
    draft.settings.set(id, Value::Bool(true));
    let note = "the reference model stays beside the policy";
    say(draft, item, Some(id), note);
}

/// Changes the report row of a key: to one that decides a field, or to one that marks the job.
fn say(draft: &mut JobDraft, item: &KeyValue, field: Option<FieldId>, note: &'static str) {
    let mut rows = draft.report.iter_mut();
    if let Some(row) = rows.find(|row| row.key == item.key) {
        row.field = field;
        row.note = note.into();
        (row.status, row.effect) = match field {
            Some(_) => (KeyStatus::Derived, None),
            None => (KeyStatus::NotModelled, Some(MemoryEffect::More)),
        };
    }
    if field.is_none() {
        draft.marks.push(NotModelled::new(&item.key, note));
    }
}
