//! Sets the field behind an argparse destination of Megatron-LM, or reports why there is none.

use crate::config::fields::FieldId;
use crate::config::not_modelled::{Feature, MemoryEffect};
use crate::formats::dialects::destinations::field_of;
use crate::formats::import::draft::{JobDraft, python};
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::values::{is_off, plain, truth};
use crate::formats::megatron_args::{self, Known};
use crate::formats::report::{KeyStatus, shown};
use crate::value::Value;

/// Argparse destinations of Megatron-LM that are not fields here, with the status and note for the report.
const WITHOUT_FIELD: &[(&str, KeyStatus, &str)] = &[
    ("use_flash_attn", KeyStatus::Ignored, "attention_backend decides"),
    ("openai_gelu", KeyStatus::Ignored, "another formula of the same size"),
    (
        "deprecated_use_mcore_models",
        KeyStatus::Ignored,
        "the only kind of model that is left",
    ),
    (
        "add_position_embedding",
        KeyStatus::Ignored,
        "position_embedding_type decides",
    ),
    ("calculate_per_token_loss", KeyStatus::Ignored, "does not change memory"),
    ("rampup_batch_size", KeyStatus::Ignored, "the full batch is what counts"),
    (
        "moe_router_load_balancing_type",
        KeyStatus::Ignored,
        "does not change what is kept",
    ),
    ("fake_process_group", KeyStatus::Ignored, "a way to measure, not a job"),
    (
        "checkpoint_activations",
        KeyStatus::Conflicting,
        "Megatron-LM refuses it; use --recompute-granularity",
    ),
    (
        "model_parallel_size",
        KeyStatus::Conflicting,
        "Megatron-LM refuses it; use --tensor-model-parallel-size",
    ),
];

/// Sets the field behind one of Megatron-LM's destinations.
pub(super) fn field(draft: &mut JobDraft, item: &KeyValue, destination: &'static str) {
    if let Some(id) = field_of(destination) {
        if (draft.framework.unknown_value)(draft, item, id) {
            return;
        }
        let value = plain(id, &item.value);
        return draft.set(item, id, value, KeyStatus::Mapped, "");
    }
    if is_off(&item.value) {
        return draft.row(item, KeyStatus::Ignored, None, "switched off");
    }
    let set = |draft: &mut JobDraft, id, value: &str| {
        draft.set(item, id, Value::Text(value.to_owned()), KeyStatus::Derived, "");
    };
    match destination {
        "enable_cuda_graph" => set(draft, FieldId::cuda_graph_impl, "local"),
        "external_cuda_graph" => set(draft, FieldId::cuda_graph_impl, "transformer_engine"),
        "cuda_graph_scope_deprecated" => field(draft, item, "cuda_graph_modules"),
        "recompute_activations" => set(draft, FieldId::recompute_granularity, "selective"),
        "moe_layer_recompute" => {
            set(draft, FieldId::recompute_granularity, "selective");
            set(draft, FieldId::recompute_modules, "moe");
        }
        "use_rotary_position_embeddings" => set(draft, FieldId::position_embedding_type, "rope"),
        "encoder_num_layers" => draft.set(item, FieldId::num_layers, item.value.clone(), KeyStatus::Mapped, ""),
        "encoder_seq_length" => draft.set(item, FieldId::seq_length, item.value.clone(), KeyStatus::Mapped, ""),
        _ => {
            let known = WITHOUT_FIELD.iter().find(|(name, ..)| *name == destination);
            let default = draft.framework.default_of(destination).map(python);
            if let Some((_, status, note)) = known {
                draft.row(item, *status, None, *note);
            } else if default.is_some_and(|default| shown(&default) == shown(&item.value)) {
                draft.row(item, KeyStatus::Ignored, None, "the default");
            } else if let Some(feature) = Feature::of_key(destination) {
                super::feature(draft, item, feature);
            } else {
                let (effect, reason) = effect_of(destination);
                draft.not_modelled(item, effect, reason);
            }
        }
    }
}

/// Sets the field whose opposite a key states: true where the field is false.
pub(super) fn opposite(draft: &mut JobDraft, item: &KeyValue, destination: &'static str) {
    let Some(on) = truth(&item.value) else {
        return draft.row(item, KeyStatus::Conflicting, None, "needs true or false");
    };
    let given = KeyValue {
        value: Value::Bool(!on),
        ..item.clone()
    };
    match (field_of(destination), destination) {
        (Some(id), _) => draft.set(item, id, given.value, KeyStatus::Mapped, ""),
        (None, "pad_vocab_size") if on => {
            let vocabulary = draft.settings.get(FieldId::vocab_size).cloned();
            match vocabulary {
                Some(vocabulary) => {
                    let id = FieldId::padded_vocab_size;
                    draft.set(item, id, vocabulary, KeyStatus::Derived, "the vocabulary as it is");
                }
                None => draft.not_modelled(
                    item,
                    MemoryEffect::BelowTwoPercent,
                    "the vocabulary's size is not known",
                ),
            }
        }
        // On by default, and switched off here.
        (None, _) if on => {
            let known = WITHOUT_FIELD.iter().find(|(name, ..)| *name == destination);
            if let Some((_, status, note)) = known {
                draft.row(item, *status, None, *note);
            } else {
                let (effect, reason) = effect_of(destination);
                draft.not_modelled(item, effect, reason);
            }
        }
        (None, _) => draft.row(item, KeyStatus::Ignored, None, "the default"),
    }
}

/// How much a destination without a field changes memory, and why.
fn effect_of(destination: &str) -> (MemoryEffect, &'static str) {
    let unknown = match megatron_args::find(destination) {
        Some(Known::Irrelevant(_)) => (MemoryEffect::Nothing, "does not change memory"),
        _ => (MemoryEffect::More, "the estimate does not follow it"),
    };
    megatron_args::effect(destination).unwrap_or(unknown)
}
