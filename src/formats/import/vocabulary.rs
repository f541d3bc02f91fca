//! The size of the vocabulary where the text only names a tokenizer. Megatron-LM loads the tokenizer; here its size is
//! looked up by its name.

use super::draft::{JobDraft, KeyValue};
use super::values::word;
use crate::config::fields::FieldId;
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

/// Repositories of the Hugging Face Hub that no preset has, by the beginnings of their names in lower case, with the
/// vocabulary of their `config.json`.
const REPOSITORIES: [(&str, i128, &str); 4] = [
    ("nvidia/nemotron-h-", 131_072, "Nemotron-H"),
    ("nvidia/nvidia-nemotron-nano-", 131_072, "Nemotron Nano"),
    ("nvidia/nvidia-nemotron-3-", 131_072, "Nemotron 3"),
    ("nvidia/nvidia-nemotron-3.5-", 131_072, "Nemotron 3.5"),
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
        match of_repository(name) {
            Some((size, name)) if !given && fixed.is_none() => {
                let note = format!("that of {name}'s config.json; the tokenizer may count fewer");
                draft.set(&model, FieldId::vocab_size, size, KeyStatus::Derived, note);
            }
            _ => draft.row(&model, KeyStatus::Ignored, None, "does not change memory"),
        }
    }
}

/// The vocabulary size and the name of the preset whose model is this repository on the Hub.
fn of_repository(repository: &str) -> Option<(Value, &'static str)> {
    let lower = repository.to_ascii_lowercase();
    let path = format!("huggingface.co/{lower}/");
    let of_preset = presets::PRESETS.iter().find_map(|preset| {
        let contents = preset.contents()?;
        let matches =
            repository.contains('/') && contents.source_url.to_ascii_lowercase().contains(&path);
        let size = contents.model.get(FieldId::vocab_size)?;
        matches.then(|| (size.clone(), preset.name))
    });
    let mut others = REPOSITORIES.iter();
    of_preset.or_else(|| {
        let (_, size, name) = others.find(|(start, ..)| lower.starts_with(start))?;
        Some((Value::Int(*size), *name))
    })
}
