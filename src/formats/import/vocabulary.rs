//! The size of the vocabulary where the text only names a tokenizer. Megatron-LM loads the tokenizer; here its size is
//! looked up by its name.

use super::draft::{JobDraft, KeyValue};
use super::values::word;
use crate::config::fields::FieldId;
use crate::formats::hub::known;
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// The keys that name the tokenizer.
#[derive(Default)]
pub(super) struct Tokenizer {
    /// `--tokenizer-type`.
    pub(super) kind: Option<KeyValue>,
    /// `--tokenizer-model`: a file, or a repository of the Hugging Face Hub.
    pub(super) model: Option<KeyValue>,
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

/// Sets the size of the vocabulary, unless the text gives it.
pub(super) fn combine(draft: &mut JobDraft, tokenizer: Tokenizer) {
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
