//! The size of the vocabulary where the text only names a tokenizer. Megatron-LM loads the tokenizer; here its size is
//! looked up by its name.

use super::draft::{JobDraft, KeyValue};
use super::values::{int, word};
use crate::config::fields::FieldId;
use crate::formats::hub::known;
use crate::formats::report::KeyStatus;
use crate::presets;
use crate::value::Value;

/// The keys that name the tokenizer.
#[derive(Default)]
pub(super) struct Tokenizer {
    /// `--tokenizer-type`.
    pub(super) kind: Option<KeyValue>,
    /// `--tokenizer-model`: a file, or a repository of the Hugging Face Hub.
    pub(super) model: Option<KeyValue>,
    /// `--patch-tokenizer-type`.
    pub(super) patch: Option<KeyValue>,
    /// `--extra-vocab-size`: tokens beside those of the tokenizer.
    pub(super) extra: Option<KeyValue>,
}

/// Tokenizer classes that are mostly used with one vocabulary, its size, and the note for the report.
const FIXED: [(&str, i128, &str); 2] = [
    (
        "GPT2BPETokenizer",
        50_257,
        "GPT-2's vocabulary; another --vocab-file may have another size",
    ),
    (
        "Llama2Tokenizer",
        32_000,
        "Llama 2's vocabulary; another --tokenizer-model may have another size",
    ),
];

/// The tokens of tokenizers to which Pai-Megatron-Patch adds `--extra-vocab-size`, by the class. Of several sizes that
/// count which gives a vocabulary that some preset has.
const PATCHED: [(&str, &[u64]); 6] = [
    ("LLama2Tokenizer", &[32_000]),
    ("MixtralTokenizer", &[32_000]),
    ("LLama3Tokenizer", &[128_000]),
    ("Qwen2Tokenizer", &[151_643]),
    ("Qwen2VLTokenizer", &[151_643]),
    ("DeepSeekV2Tokenizer", &[100_000, 128_813]),
];

/// Sets the size of the vocabulary from the class of a tokenizer and the tokens that are added to it.
/// Pai-Megatron-Patch takes the sum as it is, without padding.
fn patched(draft: &mut JobDraft, kind: KeyValue, extra: Option<KeyValue>) {
    let sizes = [FieldId::vocab_size, FieldId::padded_vocab_size];
    let given = sizes.into_iter().any(|id| draft.number(id).is_some());
    let name = word(&kind.value);
    let known = PATCHED.iter().find(|(class, _)| *class == name);
    let added = extra.as_ref().and_then(int);
    let sum = known.zip(added).and_then(|((_, tokens), added)| {
        let sums = tokens.iter().map(|tokens| tokens.saturating_add(added));
        let sums: Vec<u64> = sums.collect();
        match sums.as_slice() {
            [only] => Some(*only),
            several => several.iter().copied().find(|sum| is_of_preset(*sum)),
        }
    });
    let note = "the vocabulary's size is what counts";
    let Some(sum) = sum.filter(|_| !given) else {
        for item in [Some(kind), extra].into_iter().flatten() {
            draft.row(&item, KeyStatus::Ignored, None, note);
        }
        return;
    };
    let id = FieldId::padded_vocab_size;
    let value = Value::Int(sum.into());
    draft.set(&kind, id, value, KeyStatus::Derived, "its tokens and the extra ones");
    if let Some(extra) = extra {
        draft.row(&extra, KeyStatus::Derived, Some(id), "");
    }
}

/// Whether some preset has a vocabulary of this size.
fn is_of_preset(size: u64) -> bool {
    let has = |preset: &presets::Preset| preset.settings().get(FieldId::vocab_size) == Some(&Value::Int(size.into()));
    presets::PRESETS.iter().any(has)
}

/// Sets the size of the vocabulary, unless the text gives it.
pub(super) fn combine(draft: &mut JobDraft, mut tokenizer: Tokenizer) {
    // Other launchers have the classes of Pai-Megatron-Patch in the place of Megatron-LM's own.
    let is_patch = |item: &KeyValue| PATCHED.iter().any(|(class, _)| word(&item.value) == *class);
    let kind = tokenizer
        .patch
        .take()
        .or_else(|| tokenizer.kind.take_if(|kind| is_patch(kind)));
    match (kind, tokenizer.extra.take()) {
        (Some(kind), extra) => patched(draft, kind, extra),
        (None, Some(extra)) => {
            let note = "says no vocabulary without the tokenizer's own size";
            draft.row(&extra, KeyStatus::Ignored, None, note);
        }
        (None, None) => {}
    }
    let sizes = [FieldId::vocab_size, FieldId::padded_vocab_size];
    let given = sizes.into_iter().any(|id| draft.number(id).is_some());
    let kind = tokenizer.kind.as_ref();
    let fixed = FIXED
        .iter()
        .find(|(name, ..)| kind.is_some_and(|item| word(&item.value) == *name));
    match (fixed, kind) {
        (Some((_, size, note)), Some(kind)) if !given => {
            let value = Value::Int(*size);
            draft.set(kind, FieldId::vocab_size, value, KeyStatus::Derived, *note);
        }
        (_, Some(kind)) => {
            let note = "the vocabulary's size is what counts";
            draft.row(kind, KeyStatus::Ignored, None, note);
        }
        _ => {}
    }
    if let Some(model) = tokenizer.model {
        let name = match &model.value {
            Value::Text(name) => name.as_str(),
            _ => "",
        };
        match known::vocabulary_of(name) {
            Some((size, name)) if !given && fixed.is_none() => {
                let note = format!("that of {name}'s config.json; the tokenizer may count fewer");
                let size = Value::Int(size.into());
                draft.set(&model, FieldId::vocab_size, size, KeyStatus::Derived, note);
            }
            _ => draft.row(&model, KeyStatus::Ignored, None, "does not change memory"),
        }
    }
}
