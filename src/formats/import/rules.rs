//! Applies one key: sets the field that it names or decides, and adds its report row.

use super::Question;

use super::combined::CombinedKeys;
use super::draft::{JobDraft, KeyValue, python};
use super::precision;
use super::values::{is_off, plain, truth, word};
use crate::config::fields::FieldId;
use crate::formats::dialects::{Dialect, KeyMeaning, KeyRule, field_of};
use crate::formats::json;
use crate::formats::megatron_args;
use crate::formats::report::{KeyStatus, shown};
use crate::value::Value;

/// Argparse destinations of Megatron-LM that are not fields here, with the status and note for the report.
const WITHOUT_FIELD: &[(&str, KeyStatus, &str)] = &[
    (
        "use_flash_attn",
        KeyStatus::Ignored,
        "attention_backend decides",
    ),
    (
        "openai_gelu",
        KeyStatus::Ignored,
        "another formula of the same size",
    ),
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
    (
        "calculate_per_token_loss",
        KeyStatus::Ignored,
        "does not change memory",
    ),
    (
        "rampup_batch_size",
        KeyStatus::Ignored,
        "the full batch is what counts",
    ),
    (
        "moe_router_load_balancing_type",
        KeyStatus::Ignored,
        "does not change what is kept",
    ),
    (
        "fake_process_group",
        KeyStatus::Ignored,
        "a way to measure, not a job",
    ),
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

/// What a key decides, independent of its value.
pub(super) enum Decides {
    /// Nothing that changes memory, or the key is unknown.
    Nothing,
    /// A setting, and its field where it is exactly one.
    Setting(Option<FieldId>),
}

/// What a key decides. Used to report a key that has no value.
pub(super) fn decides(dialect: Dialect, name: &str) -> Decides {
    let of_field = |destination: &str| match destination {
        "cuda_graph_scope_deprecated" => Decides::Setting(Some(FieldId::cuda_graph_modules)),
        _ => field_of(destination).map_or(Decides::Nothing, |id| Decides::Setting(Some(id))),
    };
    let meaning = match dialect.find(name) {
        Some(KeyMeaning::Retired(Some(successor))) => dialect.find(successor),
        meaning => meaning,
    };
    match meaning {
        None
        | Some(KeyMeaning::Retired(_) | KeyMeaning::Irrelevant | KeyMeaning::NotModelled(_)) => {
            Decides::Nothing
        }
        Some(KeyMeaning::Field(destination) | KeyMeaning::Opposite(destination)) => {
            of_field(destination)
        }
        Some(KeyMeaning::Rule(rule)) => of_rule(rule),
    }
}

fn of_rule(rule: KeyRule) -> Decides {
    Decides::Setting(match rule {
        KeyRule::HfModel | KeyRule::TokenizerType | KeyRule::TokenizerModel => {
            return Decides::Nothing;
        }
        KeyRule::QueryGroups => Some(FieldId::num_query_groups),
        KeyRule::VirtualStages => Some(FieldId::virtual_pipeline_model_parallel_size),
        KeyRule::Gradients => Some(FieldId::accumulate_allreduce_grads_in_fp32),
        KeyRule::PaddedVocabulary | KeyRule::PadVocabulary => Some(FieldId::padded_vocab_size),
        KeyRule::Nodes | KeyRule::GpusPerNode => Some(FieldId::world_size),
        KeyRule::PromptLength
        | KeyRule::ResponseLength
        | KeyRule::TokensPerGpu
        | KeyRule::DynamicBatch => Some(FieldId::seq_length),
        KeyRule::PromptBatch
        | KeyRule::SamplesPerPrompt
        | KeyRule::StepsPerRollout
        | KeyRule::TrainBatch => Some(FieldId::global_batch_size),
        KeyRule::GatedLinearUnit
        | KeyRule::ActivationFunction
        | KeyRule::PrecisionPreset
        | KeyRule::Dtype
        | KeyRule::Nested => None,
    })
}

/// Applies one key.
pub(super) fn apply(
    draft: &mut JobDraft,
    combined: &mut CombinedKeys,
    item: &KeyValue,
    name: &str,
) {
    match draft.dialect.find(name) {
        None => {
            let dialect = draft.dialect.name();
            let note = format!("no setting of {dialect} in the modeled version");
            draft.row(item, KeyStatus::Unknown, None, note);
        }
        Some(KeyMeaning::Retired(successor)) => retired(draft, item, successor),
        Some(KeyMeaning::Irrelevant) => {
            draft.row(item, KeyStatus::Ignored, None, "does not change memory");
        }
        // Training of all parameters is a kind of adapter to ms-swift.
        Some(KeyMeaning::NotModelled(_)) if is_off(&item.value) || word(&item.value) == "full" => {
            draft.row(item, KeyStatus::Ignored, None, "switched off");
        }
        Some(KeyMeaning::NotModelled(why)) => draft.row(item, KeyStatus::NotModelled, None, why),
        Some(KeyMeaning::Field(destination)) => field(draft, item, destination),
        Some(KeyMeaning::Opposite(destination)) => opposite(draft, item, destination),
        Some(KeyMeaning::Rule(rule)) => self::rule(draft, combined, item, rule),
    }
}

fn retired(draft: &mut JobDraft, item: &KeyValue, successor: Option<&'static str>) {
    let Some(successor) = successor else {
        let note = "this version of Megatron-LM does not have it";
        return draft.row(item, KeyStatus::Ignored, None, note);
    };
    match draft.dialect.find(successor) {
        Some(KeyMeaning::Field(destination)) if field_of(destination).is_some() => {
            field(draft, item, destination);
        }
        _ => draft.row(
            item,
            KeyStatus::Ignored,
            None,
            format!("now called {successor}"),
        ),
    }
}

/// Sets the field behind one of Megatron-LM's destinations.
fn field(draft: &mut JobDraft, item: &KeyValue, destination: &'static str) {
    if let Some(id) = field_of(destination) {
        let value = plain(id, &item.value);
        return draft.set(item, id, value, KeyStatus::Mapped, "");
    }
    if is_off(&item.value) {
        return draft.row(item, KeyStatus::Ignored, None, "switched off");
    }
    let set = |draft: &mut JobDraft, id, value: &str| {
        draft.set(
            item,
            id,
            Value::Text(value.to_owned()),
            KeyStatus::Derived,
            "",
        );
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
        "encoder_num_layers" => draft.set(
            item,
            FieldId::num_layers,
            item.value.clone(),
            KeyStatus::Mapped,
            "",
        ),
        "encoder_seq_length" => draft.set(
            item,
            FieldId::seq_length,
            item.value.clone(),
            KeyStatus::Mapped,
            "",
        ),
        _ => {
            let known = WITHOUT_FIELD.iter().find(|(name, ..)| *name == destination);
            let default = draft.dialect.default_of(destination).map(python);
            if let Some((_, status, note)) = known {
                draft.row(item, *status, None, *note);
            } else if default.is_some_and(|default| shown(&default) == shown(&item.value)) {
                draft.row(item, KeyStatus::Ignored, None, "the default");
            } else {
                let note = "the estimate does not follow it";
                draft.row(item, KeyStatus::NotModelled, None, note);
            }
        }
    }
}

/// Moves names in `cuda_graph_modules` that belong to other fields there, as Megatron-LM's
/// `normalize_cuda_graph_modules` does.
pub(super) fn graphs(draft: &mut JobDraft) {
    let id = FieldId::cuda_graph_modules;
    let words: Vec<String> = match draft.settings.get(id) {
        Some(Value::Text(text)) => text.split([',', ' ']).map(str::to_owned).collect(),
        Some(Value::List(items)) => items.iter().map(shown).collect(),
        _ => return,
    };
    let is = |word: &str| words.iter().any(|other| other == word);
    if is("full_iteration") {
        let name = Value::Text(String::from("full_iteration"));
        draft.settings.set(FieldId::cuda_graph_impl, name);
    }
    if is("full") || is("full_iteration") || is("full_iteration_inference") {
        draft.settings.unset(id);
    }
}

fn opposite(draft: &mut JobDraft, item: &KeyValue, destination: &'static str) {
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
                    draft.set(
                        item,
                        id,
                        vocabulary,
                        KeyStatus::Derived,
                        "the vocabulary as it is",
                    );
                }
                None => draft.row(
                    item,
                    KeyStatus::NotModelled,
                    None,
                    "the vocabulary's size is not known",
                ),
            }
        }
        // On by default, and switched off here.
        (None, _) if on => {
            let known = WITHOUT_FIELD.iter().find(|(name, ..)| *name == destination);
            let (status, note) = known.map_or(
                (KeyStatus::NotModelled, "the estimate does not follow it"),
                |(_, status, note)| (*status, *note),
            );
            draft.row(item, status, None, note);
        }
        (None, _) => draft.row(item, KeyStatus::Ignored, None, "the default"),
    }
}

fn rule(draft: &mut JobDraft, combined: &mut CombinedKeys, item: &KeyValue, rule: KeyRule) {
    let mut later =
        |slot: fn(&mut CombinedKeys) -> &mut Option<KeyValue>| *slot(combined) = Some(item.clone());
    match rule {
        KeyRule::QueryGroups if item.value == Value::Null => {
            draft.row(
                item,
                KeyStatus::Mapped,
                Some(FieldId::num_query_groups),
                "no grouped queries",
            );
        }
        KeyRule::QueryGroups => {
            draft
                .settings
                .set(FieldId::group_query_attention, Value::Bool(true));
            let value = item.value.clone();
            draft.set(
                item,
                FieldId::num_query_groups,
                value,
                KeyStatus::Mapped,
                "",
            );
        }
        KeyRule::PrecisionPreset => precision::preset(draft, item),
        KeyRule::Dtype => precision::dtype(draft, item),
        KeyRule::Gradients => later(|combined| &mut combined.gradients),
        KeyRule::PadVocabulary => {
            combined.pad_vocabulary = truth(&item.value) == Some(true);
            draft.row(
                item,
                KeyStatus::Mapped,
                Some(FieldId::padded_vocab_size),
                "",
            );
        }
        KeyRule::VirtualStages => {
            let id = FieldId::virtual_pipeline_model_parallel_size;
            let value = item.value.clone();
            draft.set(item, id, value, KeyStatus::Mapped, "");
        }
        KeyRule::HfModel => {
            if let Value::Text(name) = &item.value {
                draft.questions.push(Question::Model { name: name.clone() });
            }
            let note = "the architecture is in the model's config.json";
            draft.row(item, KeyStatus::NotModelled, None, note);
        }
        KeyRule::Nested => nested(draft, combined, item),
        KeyRule::GatedLinearUnit => later(|combined| &mut combined.gated),
        KeyRule::ActivationFunction => later(|combined| &mut combined.activation),
        KeyRule::PaddedVocabulary => later(|combined| &mut combined.vocabulary),
        KeyRule::Nodes => later(|combined| &mut combined.nodes),
        KeyRule::GpusPerNode => later(|combined| &mut combined.gpus_per_node),
        KeyRule::PromptLength => later(|combined| &mut combined.prompt),
        KeyRule::ResponseLength => later(|combined| &mut combined.response),
        KeyRule::TokensPerGpu => later(|combined| &mut combined.tokens),
        KeyRule::DynamicBatch => later(|combined| &mut combined.dynamic),
        KeyRule::PromptBatch => later(|combined| &mut combined.prompts),
        KeyRule::SamplesPerPrompt => later(|combined| &mut combined.samples),
        KeyRule::StepsPerRollout => later(|combined| &mut combined.steps),
        KeyRule::TokenizerType => later(|combined| &mut combined.tokenizer.kind),
        KeyRule::TokenizerModel => later(|combined| &mut combined.tokenizer.model),
        KeyRule::TrainBatch => later(|combined| &mut combined.batch),
    }
}

/// Applies the settings inside one value, which is JSON in text.
fn nested(draft: &mut JobDraft, combined: &mut CombinedKeys, item: &KeyValue) {
    let Value::Text(text) = &item.value else {
        // Maps were taken apart before; an empty one is left.
        return draft.row(item, KeyStatus::Ignored, None, "empty");
    };
    let Ok(root) = json::parse(text) else {
        return draft.row(item, KeyStatus::Unknown, None, "not JSON");
    };
    draft.row(item, KeyStatus::Mapped, None, "");
    for entry in root.entries() {
        let inner = KeyValue {
            key: format!("{}.{}", item.key, entry.key),
            value: entry.node.to_value(),
            line: item.line,
        };
        // One level: what is nested again belongs to no field.
        if !matches!(inner.value, Value::Map(_)) {
            apply(draft, combined, &inner, &entry.key);
        }
    }
}

/// Whether a flag is one that only slime has.
pub(super) fn is_slime(name: &str) -> bool {
    megatron_args::find(name).is_none()
        && matches!(
            Dialect::Slime.find(name),
            Some(KeyMeaning::Rule(_) | KeyMeaning::NotModelled(_))
        )
}
