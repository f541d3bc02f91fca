//! Fields that every job needs and that many texts leave out: the size of the vocabulary, which only the tokenizer has,
//! and the sequence length, which a model's file does not have.

use crate::config::canonical::{Meaning, meaning};
use crate::config::field::Group;
use crate::config::fields::FieldId;
use crate::config::parse::Parsed;
use crate::config::raw::Settings;
use crate::formats::detect::Format;
use crate::formats::import::{Choice, Import, Question};
use crate::formats::merge;
use crate::formats::report::KeyStatus;
use crate::presets::PRESETS;
use crate::value::Value;

/// Sequence lengths that jobs often have.
const SEQUENCES: [u64; 6] = [2_048, 4_096, 8_192, 16_384, 32_768, 131_072];

/// Sets the fields that the user gives.
pub(super) fn answer(import: &mut Import, answers: &[(FieldId, Value)]) {
    let shared = &mut import.state.setup.job.shared;
    for (id, value) in answers {
        if id.field().group == Group::Encoder {
            for tower in &mut import.towers {
                tower.answer(*id, value);
            }
            continue;
        }
        shared.set(*id, value.clone());
        let asks = |asked: &Question| matches!(asked, Question::Field { field, .. } if field == id);
        import.questions.retain(|asked| !asks(asked));
        // Beside the size after padding, that before it would say nothing.
        if *id == FieldId::vocab_size {
            shared.unset(FieldId::padded_vocab_size);
        }
        import
            .report
            .retain(|row| !(row.status == KeyStatus::Missing && row.field == Some(*id)));
    }
}

/// Asks for the fields that the job still needs, except where the whole model is asked for or a variable stands for the
/// field.
pub(super) fn ask(import: &mut Import) {
    let is_complete = merge::is_complete(import.format);
    let asks_model = |asked: &Question| matches!(asked, Question::Model { .. });
    if is_complete || !merge::has_model(import) || import.questions.iter().any(asks_model) {
        return;
    }
    let shared = &import.state.setup.job.shared;
    let sizes = [FieldId::vocab_size, FieldId::padded_vocab_size];
    let needs_vocabulary = sizes.into_iter().all(|id| number(shared, id).is_none());
    let needs_sequence = number(shared, FieldId::seq_length).is_none();
    let is_model = matches!(import.format, Format::HfConfig | Format::HubModel);
    let longest = number(shared, FieldId::max_position_embeddings).filter(|_| is_model);
    for (id, needed) in [
        (FieldId::vocab_size, needs_vocabulary),
        (FieldId::seq_length, needs_sequence),
    ] {
        let mut rows = import.report.iter();
        let is_missing = |status| status == KeyStatus::Missing;
        if !needed || rows.any(|row| row.field == Some(id) && is_missing(row.status)) {
            continue;
        }
        let choices = match id {
            FieldId::vocab_size => vocabularies(),
            _ => sequences(longest),
        };
        import.questions.push(Question::Field { field: id, choices });
    }
}

pub(super) fn number(settings: &Settings, id: FieldId) -> Option<u64> {
    match meaning(id, settings.get(id)) {
        Meaning::Is(Parsed::Int(number)) => Some(number),
        _ => None,
    }
}

/// The vocabularies of the presets, each named after the families that have it.
fn vocabularies() -> Vec<Choice> {
    let mut choices: Vec<Choice> = Vec::new();
    for preset in PRESETS {
        let settings = preset.settings();
        let Some(value) = number(&settings, FieldId::vocab_size) else {
            continue;
        };
        let known = choices.iter_mut().find(|choice| choice.value == value);
        match known {
            Some(choice) if choice.label.split(", ").any(|name| name == preset.family) => {}
            Some(choice) => choice.label = format!("{}, {}", choice.label, preset.family),
            None => choices.push(Choice {
                label: preset.family.to_owned(),
                value,
            }),
        }
    }
    choices.sort_by_key(|choice| choice.value);
    choices
}

/// Sequence lengths up to that which the model was made for.
fn sequences(longest: Option<u64>) -> Vec<Choice> {
    let fits = |length: &u64| longest.is_none_or(|longest| *length <= longest);
    let choice = |value| Choice {
        label: String::new(),
        value,
    };
    SEQUENCES.into_iter().filter(fits).map(choice).collect()
}
