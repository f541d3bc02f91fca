//! From keys to fields: renamed ones, and those with rules of their own.

use super::Question;
use super::dialect::{Dialect, Found, field_of};
use super::draft::{Draft, Item, python};
use super::parts::Parts;
use super::precision;
use super::values::{is_off, plain, truth, word};
use crate::config::fields::FieldId;
use crate::formats::json;
use crate::formats::keys::{Meaning, Rule};
use crate::formats::megatron_args;
use crate::formats::report::{Fate, shown};
use crate::value::Value;

/// Destinations without a field, with what happens to them.
const WITHOUT_FIELD: &[(&str, Fate, &str)] = &[
    ("use_flash_attn", Fate::Ignored, "attention_backend decides"),
    (
        "openai_gelu",
        Fate::Ignored,
        "another formula of the same size",
    ),
    (
        "deprecated_use_mcore_models",
        Fate::Ignored,
        "the only kind of model that is left",
    ),
    (
        "add_position_embedding",
        Fate::Ignored,
        "position_embedding_type decides",
    ),
    (
        "calculate_per_token_loss",
        Fate::Ignored,
        "does not change memory",
    ),
    (
        "rampup_batch_size",
        Fate::Ignored,
        "the full batch is what counts",
    ),
    (
        "moe_router_load_balancing_type",
        Fate::Ignored,
        "does not change what is kept",
    ),
    (
        "fake_process_group",
        Fate::Ignored,
        "a way to measure, not a job",
    ),
    (
        "checkpoint_activations",
        Fate::Conflicting,
        "Megatron-LM refuses it; use --recompute-granularity",
    ),
    (
        "model_parallel_size",
        Fate::Conflicting,
        "Megatron-LM refuses it; use --tensor-model-parallel-size",
    ),
];

/// What a key decides, whatever its value.
pub(super) enum Decides {
    /// Nothing that counts, or nobody knows what.
    Nothing,
    /// A setting, with its field where it is one alone.
    Setting(Option<FieldId>),
}

/// What becomes of a key, so that one without a value can be told.
pub(super) fn decides(dialect: Dialect, name: &str) -> Decides {
    let of_field = |destination: &str| match destination {
        "cuda_graph_scope_deprecated" => Decides::Setting(Some(FieldId::cuda_graph_modules)),
        _ => field_of(destination).map_or(Decides::Nothing, |id| Decides::Setting(Some(id))),
    };
    let meaning = match dialect.find(name) {
        None | Some(Found::Retired(None)) => return Decides::Nothing,
        Some(Found::Retired(Some(successor))) => match dialect.find(successor) {
            Some(Found::Means(meaning)) => meaning,
            _ => return Decides::Nothing,
        },
        Some(Found::Means(meaning)) => meaning,
    };
    match meaning {
        Meaning::Irrelevant | Meaning::NotModelled(_) => Decides::Nothing,
        Meaning::Field(destination) | Meaning::Opposite(destination) => of_field(destination),
        Meaning::Rule(rule) => of_rule(rule),
    }
}

fn of_rule(rule: Rule) -> Decides {
    Decides::Setting(match rule {
        Rule::HfModel | Rule::TokenizerType | Rule::TokenizerModel => return Decides::Nothing,
        Rule::QueryGroups => Some(FieldId::num_query_groups),
        Rule::VirtualStages => Some(FieldId::virtual_pipeline_model_parallel_size),
        Rule::Gradients => Some(FieldId::accumulate_allreduce_grads_in_fp32),
        Rule::PaddedVocabulary | Rule::PadVocabulary => Some(FieldId::padded_vocab_size),
        Rule::Nodes | Rule::GpusPerNode => Some(FieldId::world_size),
        Rule::PromptLength | Rule::ResponseLength | Rule::TokensPerGpu | Rule::DynamicBatch => {
            Some(FieldId::seq_length)
        }
        Rule::PromptBatch | Rule::SamplesPerPrompt | Rule::StepsPerRollout | Rule::TrainBatch => {
            Some(FieldId::global_batch_size)
        }
        Rule::GatedLinearUnit
        | Rule::ActivationFunction
        | Rule::PrecisionPreset
        | Rule::Dtype
        | Rule::Nested => None,
    })
}

/// Takes one key in.
pub(super) fn apply(draft: &mut Draft, parts: &mut Parts, item: &Item, name: &str) {
    match draft.dialect.find(name) {
        None => {
            let note = [
                "no setting of ",
                draft.dialect.name(),
                " in the modeled version",
            ]
            .concat();
            draft.row(item, Fate::Unknown, None, note);
        }
        Some(Found::Retired(successor)) => retired(draft, item, successor),
        Some(Found::Means(meaning)) => match meaning {
            Meaning::Irrelevant => {
                draft.row(item, Fate::Ignored, None, "does not change memory");
            }
            // Training of all parameters is a kind of adapter to ms-swift.
            Meaning::NotModelled(_) if is_off(&item.value) || word(&item.value) == "full" => {
                draft.row(item, Fate::Ignored, None, "switched off");
            }
            Meaning::NotModelled(why) => draft.row(item, Fate::NotModelled, None, why),
            Meaning::Field(destination) => field(draft, item, destination),
            Meaning::Opposite(destination) => opposite(draft, item, destination),
            Meaning::Rule(rule) => self::rule(draft, parts, item, rule),
        },
    }
}

fn retired(draft: &mut Draft, item: &Item, successor: Option<&'static str>) {
    let Some(successor) = successor else {
        let note = "this version of Megatron-LM does not have it";
        return draft.row(item, Fate::Ignored, None, note);
    };
    match draft.dialect.find(successor) {
        Some(Found::Means(Meaning::Field(destination))) if field_of(destination).is_some() => {
            field(draft, item, destination);
        }
        _ => draft.row(item, Fate::Ignored, None, format!("now called {successor}")),
    }
}

/// Sets the field behind one of Megatron-LM's destinations.
fn field(draft: &mut Draft, item: &Item, destination: &'static str) {
    if let Some(id) = field_of(destination) {
        let value = plain(id, &item.value);
        return draft.set(item, id, value, Fate::Mapped, "");
    }
    if is_off(&item.value) {
        return draft.row(item, Fate::Ignored, None, "switched off");
    }
    let set = |draft: &mut Draft, id, value: &str| {
        draft.set(item, id, Value::Text(value.to_owned()), Fate::Derived, "");
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
            Fate::Mapped,
            "",
        ),
        "encoder_seq_length" => draft.set(
            item,
            FieldId::seq_length,
            item.value.clone(),
            Fate::Mapped,
            "",
        ),
        _ => {
            let known = WITHOUT_FIELD.iter().find(|(name, ..)| *name == destination);
            let default = draft.dialect.default_of(destination).map(python);
            if let Some((_, fate, note)) = known {
                draft.row(item, *fate, None, *note);
            } else if default.is_some_and(|default| shown(&default) == shown(&item.value)) {
                draft.row(item, Fate::Ignored, None, "the default");
            } else {
                let note = "the estimate does not follow it";
                draft.row(item, Fate::NotModelled, None, note);
            }
        }
    }
}

/// What `cuda_graph_modules` may still say about other fields (`normalize_cuda_graph_modules`).
pub(super) fn graphs(draft: &mut Draft) {
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

fn opposite(draft: &mut Draft, item: &Item, destination: &'static str) {
    let Some(on) = truth(&item.value) else {
        return draft.row(item, Fate::Conflicting, None, "needs true or false");
    };
    let given = Item {
        value: Value::Bool(!on),
        ..item.clone()
    };
    match (field_of(destination), destination) {
        (Some(id), _) => draft.set(item, id, given.value, Fate::Mapped, ""),
        (None, "pad_vocab_size") if on => {
            let vocabulary = draft.settings.get(FieldId::vocab_size).cloned();
            match vocabulary {
                Some(vocabulary) => {
                    let id = FieldId::padded_vocab_size;
                    draft.set(
                        item,
                        id,
                        vocabulary,
                        Fate::Derived,
                        "the vocabulary as it is",
                    );
                }
                None => draft.row(
                    item,
                    Fate::NotModelled,
                    None,
                    "the vocabulary's size is not known",
                ),
            }
        }
        // On by default, and switched off here.
        (None, _) if on => {
            let known = WITHOUT_FIELD.iter().find(|(name, ..)| *name == destination);
            let (fate, note) = known.map_or(
                (Fate::NotModelled, "the estimate does not follow it"),
                |(_, fate, note)| (*fate, *note),
            );
            draft.row(item, fate, None, note);
        }
        (None, _) => draft.row(item, Fate::Ignored, None, "the default"),
    }
}

fn rule(draft: &mut Draft, parts: &mut Parts, item: &Item, rule: Rule) {
    let mut later = |slot: fn(&mut Parts) -> &mut Option<Item>| *slot(parts) = Some(item.clone());
    match rule {
        Rule::QueryGroups if item.value == Value::Null => {
            draft.row(
                item,
                Fate::Mapped,
                Some(FieldId::num_query_groups),
                "no grouped queries",
            );
        }
        Rule::QueryGroups => {
            draft
                .settings
                .set(FieldId::group_query_attention, Value::Bool(true));
            let value = item.value.clone();
            draft.set(item, FieldId::num_query_groups, value, Fate::Mapped, "");
        }
        Rule::PrecisionPreset => precision::preset(draft, item),
        Rule::Dtype => precision::dtype(draft, item),
        Rule::Gradients => later(|parts| &mut parts.gradients),
        Rule::PadVocabulary => {
            parts.pad_vocabulary = truth(&item.value) == Some(true);
            draft.row(item, Fate::Mapped, Some(FieldId::padded_vocab_size), "");
        }
        Rule::VirtualStages => {
            let id = FieldId::virtual_pipeline_model_parallel_size;
            let value = item.value.clone();
            draft.set(item, id, value, Fate::Mapped, "");
        }
        Rule::HfModel => {
            if let Value::Text(name) = &item.value {
                draft.questions.push(Question::Model { name: name.clone() });
            }
            let note = "the architecture is in the model's config.json";
            draft.row(item, Fate::NotModelled, None, note);
        }
        Rule::Nested => nested(draft, parts, item),
        Rule::GatedLinearUnit => later(|parts| &mut parts.gated),
        Rule::ActivationFunction => later(|parts| &mut parts.activation),
        Rule::PaddedVocabulary => later(|parts| &mut parts.vocabulary),
        Rule::Nodes => later(|parts| &mut parts.nodes),
        Rule::GpusPerNode => later(|parts| &mut parts.gpus_per_node),
        Rule::PromptLength => later(|parts| &mut parts.prompt),
        Rule::ResponseLength => later(|parts| &mut parts.response),
        Rule::TokensPerGpu => later(|parts| &mut parts.tokens),
        Rule::DynamicBatch => later(|parts| &mut parts.dynamic),
        Rule::PromptBatch => later(|parts| &mut parts.prompts),
        Rule::SamplesPerPrompt => later(|parts| &mut parts.samples),
        Rule::StepsPerRollout => later(|parts| &mut parts.steps),
        Rule::TokenizerType => later(|parts| &mut parts.tokenizer.kind),
        Rule::TokenizerModel => later(|parts| &mut parts.tokenizer.model),
        Rule::TrainBatch => later(|parts| &mut parts.batch),
    }
}

/// Settings inside one value: a map, or JSON in text.
fn nested(draft: &mut Draft, parts: &mut Parts, item: &Item) {
    let Value::Text(text) = &item.value else {
        // Maps were taken apart before; an empty one is left.
        return draft.row(item, Fate::Ignored, None, "empty");
    };
    let Ok(root) = json::parse(text) else {
        return draft.row(item, Fate::Unknown, None, "not JSON");
    };
    draft.row(item, Fate::Mapped, None, "");
    for entry in root.entries() {
        let inner = Item {
            key: format!("{}.{}", item.key, entry.key),
            value: entry.node.to_value(),
            line: item.line,
        };
        // One level: what is nested again belongs to no field.
        if !matches!(inner.value, Value::Map(_)) {
            apply(draft, parts, &inner, &entry.key);
        }
    }
}

/// Whether a flag is one that only slime has.
pub(super) fn is_slime(name: &str) -> bool {
    megatron_args::find(name).is_none()
        && matches!(
            Dialect::Slime.find(name),
            Some(Found::Means(Meaning::Rule(_) | Meaning::NotModelled(_)))
        )
}
