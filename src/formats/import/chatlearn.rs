//! The other models of `ChatLearn`'s reinforcement learning, which share the GPUs with the trained one
//! (`runtime_args.colocation` in `template/grpo_megatron.yaml`).

use super::ImportError;
use super::draft::{JobDraft, KeyValue};
use super::values::{is_off, truth};
use crate::config::fields::FieldId;
use crate::config::not_modelled::{MemoryEffect, NotModelled};
use crate::formats::report::{KeyStatus, shown};
use crate::value::Value;

/// Settings that the trainer has with FSDP alone (`chatlearn/configs/fsdp_config.py`).
const OF_FSDP: [&str; 5] = [
    "models.policy_trainer.fsdp_size",
    "models.policy_trainer.gradient_checkpointing",
    "models.policy_trainer.groupgemm",
    "models.policy_trainer.meta_init",
    "models.policy_trainer.ulysses_sequence_parallel_size",
];

/// Why jobs that do not train with Megatron-Core are refused.
pub(super) const FSDP: &str = "a job of ChatLearn that trains with FSDP";

/// Refuses jobs that do not train with Megatron-Core.
pub(super) fn refuse(leaves: &[KeyValue]) -> Result<(), ImportError> {
    let is_fsdp = |item: &KeyValue| {
        let names_it = item.key == "runtime_args.train_backend" && shown(&item.value) == "fsdp";
        names_it || OF_FSDP.contains(&item.key.as_str())
    };
    if leaves.iter().any(is_fsdp) {
        return Err(ImportError::NotRead(FSDP));
    }
    Ok(())
}

/// Marks settings of the trainer that are not read, and counts what stays on the GPUs beside it.
pub(super) fn settle(draft: &mut JobDraft, leaves: &[KeyValue]) {
    let unread = leaves.iter().filter(|item| !is_off(&item.value));
    for item in unread {
        let mut rows = draft.report.iter();
        if rows.any(|row| row.key == item.key && row.status == KeyStatus::Unknown) {
            let reason = "a setting that is not read";
            draft.marks.push(NotModelled::new(&item.key, reason));
        }
    }
    others(draft, leaves);
}

/// Counts what stays on the GPUs while the policy is trained. The template moves all of it to the host.
fn others(draft: &mut JobDraft, leaves: &[KeyValue]) {
    let stays = |model: &str| {
        let key = format!("models.{model}.free_gpu_memory.offload_weights");
        let item = leaves.iter().rev().find(|item| item.key == key);
        item.filter(|item| truth(&item.value) == Some(false))
    };
    if let Some(item) = stays("policy") {
        let reason = "the weights of the rollout engine stay on the same GPUs";
        say(draft, item, None, reason);
    }
    let Some(item) = stays("ref_policy") else {
        return;
    };
    let is_own = |item: &KeyValue| item.key.starts_with("models.ref_policy.") && item.key.contains("_parallel_size");
    if leaves.iter().any(is_own) {
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
