//! What ms-swift trains: the head that it builds on a model (`swift/model/model_meta.py`, `GPTModel` of mcore-bridge),
//! and the algorithm of `megatron rlhf` (`swift/megatron/trainers`).

use crate::config::choices::TokenLoss;
use crate::config::fields::FieldId;
use crate::config::not_modelled::MemoryEffect;
use crate::formats::derivations::batch::with_rows_of_samples;
use crate::formats::derivations::lengths;
use crate::formats::derivations::model::PROGRAM;
use crate::formats::dialects::meaning::{Decides, KeyRole};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::imported::Import;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::towers::said;
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
            // Pairs, and a positive sample with seven negative ones (`loss_scale` and `template` of ms-swift).
            "embedding" => {
                with_rows_of_samples(draft, 2);
                let note = "no output layer, and two rows for each sample: more where samples have negative ones";
                loss(draft, task, TokenLoss::SwiftEmbedding, note);
            }
            "generative_reranker" => {
                with_rows_of_samples(draft, 8);
                let note = "the logits of two tokens, and eight rows for each sample, of which seven are negative ones";
                loss(draft, task, TokenLoss::SwiftReranker, note);
            }
            _ => {
                let reason = "heads other than those of language models, classification, embeddings and generative rerankers are not counted";
                draft.not_modelled(task, MemoryEffect::More, reason);
            }
        }
    }
    if let Some(labels) = labels {
        let note = "only for sequence classification";
        draft.row(labels, KeyStatus::Ignored, None, note);
    }
}

/// Sets what computes the loss, because of this key.
fn loss(draft: &mut JobDraft, item: &KeyValue, loss: TokenLoss, note: &'static str) {
    let value = Value::Text(loss.name().to_owned());
    draft.set(item, FieldId::token_loss, value, KeyStatus::Derived, note);
}

/// Sets the labels. The head has a weight of its own (`untie_embeddings_and_output_weights` in ms-swift's
/// `megatron_args.py`).
fn classify(draft: &mut JobDraft, labels: Value) {
    draft.settings.set(FieldId::num_labels, labels);
    let untied = FieldId::untie_embeddings_and_output_weights;
    draft.settings.set(untied, Value::Bool(true));
}

/// Tokens of a response where `max_completion_length` is not given (`rlhf_args.py`).
const RESPONSE: u64 = 512;

/// The algorithm of `megatron rlhf`, and the key that says it: DPO where none does (`rlhf_args.py`).
fn kind<'k>(keys: &'k Keys<'_>) -> Option<(&'k KeyValue, String)> {
    let by_default = |program: &&KeyValue| word(&program.value).ends_with(" rlhf");
    match keys.get(RLHF_TYPE) {
        Some(item) => Some((item, word(&item.value))),
        None => Some((keys.get(PROGRAM).filter(by_default)?, "dpo".to_owned())),
    }
}

/// Reports the algorithm, once the adapters were read. Beside a model that is trained as a whole there is a reference
/// model; with adapters it is the trained model without them (`MegatronRLHFTrainer.prepare_model` and
/// `null_ref_context`). DPO and reward models train on pairs, whose two samples both go through the model.
pub(super) fn algorithm(draft: &mut JobDraft, keys: &Keys<'_>) {
    let Some((item, kind)) = kind(keys) else { return };
    let has_adapters = draft.settings.get(FieldId::peft_type).is_some();
    if matches!(kind.as_str(), "grpo" | "gkd") {
        // Their trainers take the labels away from the model and work out log-probabilities of its logits.
        let value = Value::Text(TokenLoss::Swift.name().to_owned());
        draft.settings.set(FieldId::token_loss, value);
    }
    match kind.as_str() {
        "gkd" => {
            let note = "no reference model; the teacher has an argument of its own";
            draft.not_modelled(item, MemoryEffect::Nothing, note);
        }
        "rm" => {
            classify(draft, Value::Int(1));
            with_rows_of_samples(draft, 2);
            let note = "two rows for each sample";
            draft.row(item, KeyStatus::Derived, Some(FieldId::micro_batch_size), note);
        }
        "dpo" | "kto" | "grpo" => {
            if kind == "dpo" {
                with_rows_of_samples(draft, 2);
            }
            if has_adapters {
                let note = "the reference model is the trained one without its adapters";
                draft.not_modelled(item, MemoryEffect::Nothing, note);
            } else {
                let note = "the reference model stays beside the trained one";
                let id = FieldId::ref_model;
                draft.set(item, id, Value::Bool(true), KeyStatus::Derived, note);
            }
        }
        _ => {
            let reason = "pairs of samples and their loss are not counted";
            draft.not_modelled(item, MemoryEffect::More, reason);
        }
    }
}

/// Makes room for what the model generates: `max_length` holds for prompts alone (`GRPOTrainer` lifts it from whole
/// samples).
pub(super) fn response(draft: &mut JobDraft, keys: &Keys<'_>) {
    let Some((_, kind)) = kind(keys) else { return };
    let given = keys.get(lengths::RESPONSE);
    let tokens = given.and_then(int).or_else(|| (kind == "grpo").then_some(RESPONSE));
    let id = FieldId::seq_length;
    if let (Some(prompt), Some(tokens)) = (draft.number(id), tokens) {
        let longest = Value::Int(prompt.saturating_add(tokens).into());
        draft.settings.set(id, longest);
        if let Some(response) = given {
            draft.row(response, KeyStatus::Derived, Some(id), "prompt + response");
        }
    }
}

/// The tokens of a response that stand beside those of a prompt, in a text that was read.
pub(super) fn tokens_of_response(import: &Import) -> u64 {
    match said(import, "rlhf_type").as_deref() {
        Some("grpo") => said(import, "max_completion_length")
            .and_then(|tokens| tokens.parse().ok())
            .unwrap_or(RESPONSE),
        _ => 0,
    }
}
