//! The head that ms-swift builds on a model (`task_type`): logits over the vocabulary or over labels; after
//! `swift/model/model_meta.py` and `GPTModel` of mcore-bridge.

use super::draft::{JobDraft, KeyValue};
use super::values::{int, word};
use crate::config::fields::FieldId;
use crate::config::not_modelled::MemoryEffect;
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// Applies the task and its number of labels. Without a task, labels are those of sequence classification.
pub(super) fn combine(draft: &mut JobDraft, task: Option<&KeyValue>, labels: Option<&KeyValue>) {
    let id = FieldId::num_labels;
    let count = labels.and_then(int);
    let name = match (task, count) {
        (Some(task), _) => word(&task.value),
        (None, Some(_)) => "seq_cls".to_owned(),
        (None, None) => "causal_lm".to_owned(),
    };
    if name == "seq_cls" && count.is_some() {
        let note = "the head has as many logits as there are labels";
        if let Some(task) = task {
            draft.row(task, KeyStatus::Derived, Some(id), note);
        }
        if let Some(labels) = labels {
            classify(draft, labels.value.clone());
            draft.row(labels, KeyStatus::Mapped, Some(id), "");
        }
        return;
    }
    if let Some(task) = task {
        match name.as_str() {
            "causal_lm" => draft.row(task, KeyStatus::Mapped, None, "the head of a language model"),
            "seq_cls" => {
                let reason = "ms-swift needs num_labels beside it";
                draft.not_modelled(task, MemoryEffect::More, reason);
            }
            _ => {
                let reason = "heads other than those of language models and classification are not counted";
                draft.not_modelled(task, MemoryEffect::More, reason);
            }
        }
    }
    if let Some(labels) = labels {
        let note = "only for sequence classification";
        draft.row(labels, KeyStatus::Ignored, None, note);
    }
}

/// Sets the labels. The head has a weight of its own (`untie_embeddings_and_output_weights` in ms-swift's
/// `megatron_args.py`).
pub(super) fn classify(draft: &mut JobDraft, labels: Value) {
    draft.settings.set(FieldId::num_labels, labels);
    let untied = FieldId::untie_embeddings_and_output_weights;
    draft.settings.set(untied, Value::Bool(true));
}
