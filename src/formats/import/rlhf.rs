//! Reinforcement learning with ms-swift's `megatron rlhf`, after `swift/megatron/trainers`.

use super::draft::{JobDraft, KeyValue};
use super::task_type;
use super::values::{int, word};
use crate::config::fields::FieldId;
use crate::config::not_modelled::MemoryEffect;
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// Reports the algorithm, once the adapters were read. Beside a model that is trained as a whole there is a reference
/// model; with adapters it is the trained model without them (`MegatronRLHFTrainer.prepare_model` and
/// `null_ref_context`).
pub(super) fn settle(draft: &mut JobDraft, item: &KeyValue) {
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
                task_type::classify(draft, Value::Int(1));
            }
            let reason = "pairs of samples and their loss are not counted";
            (MemoryEffect::More, reason)
        }
    };
    draft.not_modelled(item, effect, reason);
}

/// Makes room for what the model generates: `max_length` holds for prompts alone (`GRPOTrainer` lifts it from whole
/// samples).
pub(super) fn add_response(draft: &mut JobDraft, response: &KeyValue) {
    let id = FieldId::seq_length;
    if let (Some(prompt), Some(tokens)) = (draft.number(id), int(response)) {
        let longest = Value::Int(prompt.saturating_add(tokens).into());
        draft.settings.set(id, longest);
        draft.row(response, KeyStatus::Derived, Some(id), "prompt + response");
    }
}
