//! What ms-swift trains: the head that it builds on a model (`swift/model/model_meta.py`, `GPTModel` of mcore-bridge),
//! and the algorithm of `megatron rlhf` (`swift/megatron/trainers`).

use crate::config::fields::FieldId;
use crate::config::not_modelled::MemoryEffect;
use crate::formats::derivations::lengths;
use crate::formats::dialects::meaning::{Decides, KeyRole};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::keys::Keys;
use crate::formats::import::values::{int, word};
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// `rlhf_type`: the algorithm of reinforcement learning, and with it the models beside the trained one.
pub(super) const RLHF_TYPE: KeyRole = KeyRole::kept("rlhf_type", Decides::SETTINGS);
/// `task_type`: what the model puts out in place of logits over the vocabulary.
pub(super) const TASK_TYPE: KeyRole = KeyRole::kept("task_type", Decides::field(FieldId::num_labels));
/// `num_labels`, which counts for sequence classification.
pub(super) const NUM_LABELS: KeyRole = KeyRole::kept("num_labels", Decides::field(FieldId::num_labels));

/// Applies the task and its number of labels. Without a task, labels are those of sequence classification.
pub(super) fn head(draft: &mut JobDraft, keys: &Keys<'_>) {
    let (task, labels) = (keys.get(TASK_TYPE), keys.get(NUM_LABELS));
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
fn classify(draft: &mut JobDraft, labels: Value) {
    draft.settings.set(FieldId::num_labels, labels);
    let untied = FieldId::untie_embeddings_and_output_weights;
    draft.settings.set(untied, Value::Bool(true));
}

/// Reports the algorithm, once the adapters were read. Beside a model that is trained as a whole there is a reference
/// model; with adapters it is the trained model without them (`MegatronRLHFTrainer.prepare_model` and
/// `null_ref_context`).
pub(super) fn algorithm(draft: &mut JobDraft, keys: &Keys<'_>) {
    let Some(item) = keys.get(RLHF_TYPE) else { return };
    let has_adapters = draft.settings.get(FieldId::peft_type).is_some();
    let (effect, reason) = match word(&item.value).as_str() {
        "gkd" => (
            MemoryEffect::Nothing,
            "no reference model; the teacher has an argument of its own",
        ),
        "grpo" if has_adapters => (
            MemoryEffect::Nothing,
            "the reference model is the trained one without its adapters",
        ),
        "grpo" => {
            let note = "the reference model stays beside the trained one";
            let id = FieldId::ref_model;
            return draft.set(item, id, Value::Bool(true), KeyStatus::Derived, note);
        }
        kind => {
            if kind == "rm" {
                classify(draft, Value::Int(1));
            }
            let reason = "pairs of samples and their loss are not counted";
            (MemoryEffect::More, reason)
        }
    };
    draft.not_modelled(item, effect, reason);
}

/// Makes room for what the model generates: `max_length` holds for prompts alone (`GRPOTrainer` lifts it from whole
/// samples).
pub(super) fn response(draft: &mut JobDraft, keys: &Keys<'_>) {
    let Some(response) = keys.get(RLHF_TYPE).and(keys.get(lengths::RESPONSE)) else {
        return;
    };
    let id = FieldId::seq_length;
    if let (Some(prompt), Some(tokens)) = (draft.number(id), int(response)) {
        let longest = Value::Int(prompt.saturating_add(tokens).into());
        draft.settings.set(id, longest);
        draft.row(response, KeyStatus::Derived, Some(id), "prompt + response");
    }
}
