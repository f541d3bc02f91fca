//! The sequence length, and micro batches that are filled up to a number of tokens.

use crate::config::fields::FieldId;
use crate::formats::dialects::meaning::{Decides, KeyRole};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::values::{int, truth};
use crate::formats::report::KeyStatus;
use crate::value::Value;

const BUDGET: FieldId = FieldId::max_seqlen_per_dp_cp_rank;

/// Tokens of the longest prompt. The sequence is the longest prompt and the longest response.
pub(in crate::formats) const PROMPT: KeyRole = KeyRole::kept("prompt_length", Decides::field(FieldId::seq_length));
/// Tokens of the longest response.
pub(in crate::formats) const RESPONSE: KeyRole = KeyRole::kept("response_length", Decides::field(FieldId::seq_length));
/// Tokens of the longest sample, prompt and response together.
pub(in crate::formats) const SAMPLE: KeyRole = KeyRole::kept("sample_length", Decides::field(FieldId::seq_length));
/// Tokens that one GPU gets in one micro-batch, in place of a sequence length and a micro-batch size.
pub(in crate::formats) const TOKENS: KeyRole = KeyRole::kept("tokens_per_gpu", Decides::field(BUDGET));
/// Whether [`TOKENS`] is in force.
pub(in crate::formats) const DYNAMIC: KeyRole = KeyRole::kept("dynamic_batch", Decides::field(BUDGET));

/// The tokens that a GPU gets in one micro batch.
pub(in crate::formats) struct Budget<'k> {
    pub(in crate::formats) key: &'k KeyValue,
    pub(in crate::formats) tokens: u64,
    pub(in crate::formats) note: &'static str,
}

impl<'k> Budget<'k> {
    /// The tokens that a key gives.
    pub(in crate::formats) fn of(key: &'k KeyValue) -> Option<Self> {
        let note = "tokens of a micro batch on each GPU";
        let tokens = int(key)?;
        Some(Self { key, tokens, note })
    }
}

/// The key that fills micro batches up to a number of tokens, where it is on.
pub(in crate::formats) fn switch<'k>(keys: &'k Keys<'_>) -> Option<&'k KeyValue> {
    keys.get(DYNAMIC).filter(|item| truth(&item.value) == Some(true))
}

/// Sets the sequence length and the tokens of a micro batch, where keys give both the tokens and the switch.
pub(in crate::formats) fn of_samples(draft: &mut JobDraft, keys: &Keys<'_>) {
    let budget = switch(keys).and(keys.get(TOKENS)).and_then(Budget::of);
    with_budget(draft, keys, budget);
    report(draft, keys);
}

/// Sets the tokens of a micro batch, and the sequence length.
pub(in crate::formats) fn with_budget(draft: &mut JobDraft, keys: &Keys<'_>, budget: Option<Budget<'_>>) {
    let id = FieldId::seq_length;
    if let Some(Budget { key, tokens, note }) = &budget {
        draft.settings.set(FieldId::micro_batch_size, Value::Int(1));
        draft.set(key, BUDGET, Value::Int((*tokens).into()), KeyStatus::Derived, *note);
    }
    if draft.has(id) {
        return;
    }
    let response = keys.get(RESPONSE).and_then(|item| Some((item, int(item)?)));
    if let Some((item, tokens)) = keys.get(SAMPLE).and_then(|item| Some((item, int(item)?))) {
        let note = "the longest prompt and response together";
        draft.set(item, id, Value::Int(tokens.into()), KeyStatus::Derived, note);
    } else if let (Some(prompt), Some((item, response))) = (keys.get(PROMPT).and_then(int), response) {
        let value = Value::Int(prompt.saturating_add(response).into());
        draft.set(item, id, value, KeyStatus::Derived, "prompt + response");
    } else if let Some(budget) = budget {
        // Nothing says how long a prompt is: the longest sample may fill a micro batch.
        let cp = draft.number(FieldId::context_parallel_size).unwrap_or(1);
        let response = response.map_or(0, |(_, response)| response);
        let longest = budget.tokens.saturating_mul(cp).max(response);
        draft.settings.set(id, Value::Int(longest.into()));
    }
}

/// Reports the keys that have no row yet.
pub(in crate::formats) fn report(draft: &mut JobDraft, keys: &Keys<'_>) {
    let id = FieldId::seq_length;
    let decided = draft.has(id);
    for item in [PROMPT, RESPONSE, SAMPLE, TOKENS, DYNAMIC]
        .into_iter()
        .filter_map(|role| keys.get(role))
    {
        if draft.report.iter().any(|row| row.key == item.key) {
            continue;
        }
        if decided {
            draft.row(item, KeyStatus::Derived, Some(id), "");
        } else {
            draft.row(item, KeyStatus::Ignored, None, "says no sequence length alone");
        }
    }
}
