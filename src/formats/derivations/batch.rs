//! The global batch.

use crate::config::fields::FieldId;
use crate::formats::dialects::destinations::destination_of;
use crate::formats::dialects::meaning::{Decides, KeyRole};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::values::int;
use crate::formats::report::KeyStatus;
use crate::value::Value;

const DECIDES: Decides = Decides::field(FieldId::global_batch_size);

/// Prompts of one batch.
pub(in crate::formats) const PROMPTS: KeyRole = KeyRole::kept("prompt_batch", DECIDES);
/// Responses sampled for each prompt.
pub(in crate::formats) const SAMPLES: KeyRole = KeyRole::kept("samples_per_prompt", DECIDES);
/// Optimizer steps that one batch of prompts is split into.
pub(in crate::formats) const STEPS: KeyRole = KeyRole::kept("steps_per_rollout", DECIDES);
/// Batch size of the data loader: the global batch size, unless other keys split the batch further.
pub(in crate::formats) const LOADED: KeyRole = KeyRole::kept("train_batch", DECIDES);

/// Counts the rows that a micro batch has for each of its samples, in the micro batch and in the global batch.
pub(in crate::formats) fn with_rows_of_samples(draft: &mut JobDraft, rows: u64) {
    for id in [FieldId::micro_batch_size, FieldId::global_batch_size] {
        let by_default = || draft.framework.default_of(destination_of(id))?.parse().ok();
        if let Some(samples) = draft.number(id).or_else(by_default) {
            draft.settings.set(id, Value::Int(samples.saturating_mul(rows).into()));
        }
    }
}

/// Sets the global batch: of prompts with several samples each, in several steps, or as the data loader hands it out.
pub(in crate::formats) fn global(draft: &mut JobDraft, keys: &Keys<'_>) {
    let [prompts, samples, steps, loaded] = [PROMPTS, SAMPLES, STEPS, LOADED].map(|role| keys.get(role));
    let id = FieldId::global_batch_size;
    let given = draft.has(id);
    let count = |item: Option<&KeyValue>| item.and_then(int).unwrap_or(1).max(1);
    let all = prompts.and_then(int);
    let all = all.map(|prompts| prompts.saturating_mul(count(samples)) / count(steps));
    if let Some(item) = prompts {
        match all {
            Some(all) if !given => {
                let note = match steps {
                    Some(_) => "prompts · samples of each / steps",
                    None => "prompts · samples of each",
                };
                draft.set(item, id, Value::Int(all.into()), KeyStatus::Derived, note);
            }
            _ => draft.row(item, KeyStatus::Ignored, None, "the global batch is given"),
        }
    }
    // Batches of prompts are split further, by a setting with a default of its own.
    let split = draft.has(id) || samples.is_some();
    for item in [samples, steps].into_iter().flatten() {
        draft.row(item, KeyStatus::Derived, Some(id), "");
    }
    if let Some(item) = loaded {
        if split {
            draft.row(item, KeyStatus::Ignored, None, "split into smaller batches");
        } else {
            let value = item.value.clone();
            draft.set(item, id, value, KeyStatus::Mapped, "");
        }
    }
}
