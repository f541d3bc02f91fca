//! The size of the vocabulary: as a key gives it, or where the text only names a tokenizer. Megatron-LM loads the
//! tokenizer; here its size is looked up by its name.

use crate::config::fields::FieldId;
use crate::formats::dialects::meaning::{Decides, KeyRole};
use crate::formats::hub::known;
use crate::formats::import::draft::JobDraft;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::values::{int, truth, word};
use crate::formats::report::KeyStatus;
use crate::presets;
use crate::value::Value;

const PADDED: FieldId = FieldId::padded_vocab_size;

/// The size of the vocabulary. It is padded already, unless `should_pad_vocab` is true.
pub(in crate::formats) const SIZE: KeyRole = KeyRole::kept("vocabulary", Decides::field(PADDED));
/// `should_pad_vocab`: whether the vocabulary is still to be padded.
pub(in crate::formats) const PAD: KeyRole = KeyRole::read("pad_vocabulary", Decides::field(PADDED), pad);
/// The class of the tokenizer; some classes have a vocabulary of a known size.
pub(in crate::formats) const TOKENIZER: KeyRole = KeyRole::kept("tokenizer_type", Decides::Nothing);
/// A tokenizer's file or repository on the Hub; the model of a preset has a vocabulary of a known size.
pub(in crate::formats) const TOKENIZER_MODEL: KeyRole = KeyRole::kept("tokenizer_model", Decides::Nothing);
/// `--patch-tokenizer-type`: the class of the tokenizer in Pai-Megatron-Patch, whose vocabulary is not padded any
/// further.
pub(in crate::formats) const PATCH: KeyRole = KeyRole::kept("patch_tokenizer", Decides::field(PADDED));
/// `--extra-vocab-size`: tokens beside those of the tokenizer.
pub(in crate::formats) const EXTRA: KeyRole = KeyRole::kept("extra_vocabulary", Decides::field(PADDED));

fn pad(draft: &mut JobDraft, keys: &mut Keys<'_>, item: &KeyValue) {
    draft.row(item, KeyStatus::Mapped, Some(PADDED), "");
    keys.keep(PAD, item);
}

/// Sets the vocabulary to the size that a key gives.
pub(in crate::formats) fn given(draft: &mut JobDraft, keys: &Keys<'_>) {
    let Some(item) = keys.get(SIZE) else { return };
    if item.value == Value::Null {
        // `_validate_and_set_vocab_size` in Bridge's `training/setup.py`.
        let is_null = keys
            .get(TOKENIZER)
            .is_some_and(|kind| word(&kind.value) == "NullTokenizer");
        let note = if is_null {
            "the run has NullTokenizer's vocabulary, and not the one of the published model"
        } else {
            "the tokenizer's counts"
        };
        draft.row(item, KeyStatus::Ignored, Some(FieldId::vocab_size), note);
        return;
    }
    let is_padded_later = keys.get(PAD).is_some_and(|item| truth(&item.value) == Some(true));
    let id = if is_padded_later { FieldId::vocab_size } else { PADDED };
    let value = item.value.clone();
    draft.set(item, id, value, KeyStatus::Mapped, "");
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
fn patched(draft: &mut JobDraft, kind: &KeyValue, extra: Option<&KeyValue>) {
    let sizes = [FieldId::vocab_size, FieldId::padded_vocab_size];
    let given = sizes.into_iter().any(|id| draft.number(id).is_some());
    let name = word(&kind.value);
    let known = PATCHED.iter().find(|(class, _)| *class == name);
    let added = extra.and_then(int);
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
            draft.row(item, KeyStatus::Ignored, None, note);
        }
        return;
    };
    let value = Value::Int(sum.into());
    draft.set(kind, PADDED, value, KeyStatus::Derived, "its tokens and the extra ones");
    if let Some(extra) = extra {
        draft.row(extra, KeyStatus::Derived, Some(PADDED), "");
    }
}

/// Whether some preset has a vocabulary of this size.
fn is_of_preset(size: u64) -> bool {
    let has = |preset: &presets::Preset| preset.settings().get(FieldId::vocab_size) == Some(&Value::Int(size.into()));
    presets::PRESETS.iter().any(has)
}

/// Sets the size of the vocabulary by the tokenizer, unless the text gives it.
pub(in crate::formats) fn of_tokenizer(draft: &mut JobDraft, keys: &Keys<'_>) {
    // Other launchers have the classes of Pai-Megatron-Patch in the place of Megatron-LM's own.
    let is_patch = |item: &&KeyValue| PATCHED.iter().any(|(class, _)| word(&item.value) == *class);
    let mut kind = keys.get(TOKENIZER);
    let patch = keys.get(PATCH).or_else(|| kind.take_if(|kind| is_patch(&*kind)));
    match (patch, keys.get(EXTRA)) {
        (Some(patch), extra) => patched(draft, patch, extra),
        (None, Some(extra)) => {
            let note = "says no vocabulary without the tokenizer's own size";
            draft.row(extra, KeyStatus::Ignored, None, note);
        }
        (None, None) => {}
    }
    let sizes = [FieldId::vocab_size, FieldId::padded_vocab_size];
    let given = sizes.into_iter().any(|id| draft.number(id).is_some());
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
    if let Some(model) = keys.get(TOKENIZER_MODEL) {
        let name = match &model.value {
            Value::Text(name) => name.as_str(),
            _ => "",
        };
        match known::vocabulary_of(name) {
            Some((size, name)) if !given && fixed.is_none() => {
                let note = format!("that of {name}'s config.json; the tokenizer may count fewer");
                let size = Value::Int(size.into());
                draft.set(model, FieldId::vocab_size, size, KeyStatus::Derived, note);
            }
            _ => draft.row(model, KeyStatus::Ignored, None, "does not change memory"),
        }
    }
}
