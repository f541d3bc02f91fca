//! Applies one key: sets the field that it names or decides, and adds its report row.

mod decides;
mod destination;

pub(super) use decides::{Decides, decides};

use destination::{field, opposite};

use super::Question;
use super::combined::CombinedKeys;
use super::draft::{JobDraft, KeyValue};
use super::hybrid;
use super::precision;
use super::values::{is_off, truth, word};
use super::verl;
use crate::config::fields::FieldId;
use crate::config::not_modelled::{Feature, MemoryEffect};
use crate::formats::dialects::{Dialect, KeyMeaning, KeyRule, field_of, mindspeed};
use crate::formats::report::{KeyStatus, shown};
use crate::formats::{json, megatron_args};
use crate::value::Value;

/// Applies one key.
pub(super) fn apply(draft: &mut JobDraft, combined: &mut CombinedKeys, item: &KeyValue, name: &str) {
    let meaning = draft.dialect.find(name);
    let follows = match meaning {
        Some(KeyMeaning::Field(destination) | KeyMeaning::Opposite(destination)) => field_of(destination).is_some(),
        Some(_) => true,
        None => false,
    };
    if let Some(feature) = Feature::of_key(name).filter(|_| !follows) {
        return self::feature(draft, item, feature);
    }
    match meaning {
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
        Some(KeyMeaning::NotModelled { .. })
            if is_off(&item.value) || matches!(word(&item.value).as_str(), "full" | "0") =>
        {
            draft.row(item, KeyStatus::Ignored, None, "switched off");
        }
        Some(KeyMeaning::NotModelled { effect, reason }) => {
            draft.not_modelled(item, effect, reason);
        }
        Some(KeyMeaning::Field(destination)) => field(draft, item, destination),
        Some(KeyMeaning::Opposite(destination)) => opposite(draft, item, destination),
        Some(KeyMeaning::Rule(rule)) => self::rule(draft, combined, item, rule),
    }
}

/// Applies a key of a feature that is not modelled.
fn feature(draft: &mut JobDraft, item: &KeyValue, feature: &Feature) {
    if feature.is_off(&item.value) {
        draft.row(item, KeyStatus::Ignored, None, "switched off");
    } else {
        draft.not_modelled(item, MemoryEffect::More, feature.reason);
    }
}

fn retired(draft: &mut JobDraft, item: &KeyValue, successor: Option<&'static str>) {
    let Some(successor) = successor else {
        let note = "this version of Megatron-LM does not have it";
        return draft.row(item, KeyStatus::Ignored, None, note);
    };
    if let Some(feature) = Feature::of_key(successor) {
        return self::feature(draft, item, feature);
    }
    match draft.dialect.find(successor) {
        Some(KeyMeaning::Field(destination)) if field_of(destination).is_some() => {
            field(draft, item, destination);
        }
        _ => draft.row(item, KeyStatus::Ignored, None, format!("now called {successor}")),
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

fn rule(draft: &mut JobDraft, combined: &mut CombinedKeys, item: &KeyValue, rule: KeyRule) {
    let mut later = |slot: fn(&mut CombinedKeys) -> &mut Option<KeyValue>| *slot(combined) = Some(item.clone());
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
            draft.settings.set(FieldId::group_query_attention, Value::Bool(true));
            let value = item.value.clone();
            draft.set(item, FieldId::num_query_groups, value, KeyStatus::Mapped, "");
        }
        KeyRule::PrecisionPreset => precision::preset(draft, item),
        KeyRule::Dtype => precision::dtype(draft, item),
        KeyRule::Gradients => later(|combined| &mut combined.gradients),
        KeyRule::PadVocabulary => {
            combined.pad_vocabulary = truth(&item.value) == Some(true);
            let id = FieldId::padded_vocab_size;
            draft.row(item, KeyStatus::Mapped, Some(id), "");
        }
        KeyRule::FusedKernels if truth(&item.value) == Some(true) => {
            let value = Value::Text("verl_fused".to_owned());
            draft.set(item, FieldId::token_loss, value, KeyStatus::Derived, "");
        }
        KeyRule::FusedKernels => draft.row(item, KeyStatus::Ignored, None, "switched off"),
        KeyRule::ReferenceModel => verl::compares(draft, item),
        KeyRule::LayerWiseOptimizer => later(|combined| &mut combined.layer_wise),
        KeyRule::RlhfType => later(|combined| &mut combined.rlhf),
        KeyRule::TaskType => later(|combined| &mut combined.task),
        KeyRule::NumLabels => later(|combined| &mut combined.labels),
        KeyRule::Adapter => combined.adapters.add(item),
        KeyRule::CpuOffloading => later(|combined| &mut combined.offloading),
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
            draft.not_modelled(item, MemoryEffect::Nothing, note);
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
        KeyRule::PackLength => later(|combined| &mut combined.pack_length),
        KeyRule::DynamicBatch => later(|combined| &mut combined.dynamic),
        KeyRule::PromptBatch => later(|combined| &mut combined.prompts),
        KeyRule::SamplesPerPrompt => later(|combined| &mut combined.samples),
        KeyRule::StepsPerRollout => later(|combined| &mut combined.steps),
        KeyRule::TokenizerType => later(|combined| &mut combined.tokenizer.kind),
        KeyRule::TokenizerModel => later(|combined| &mut combined.tokenizer.model),
        KeyRule::ExtraVocabulary => later(|combined| &mut combined.tokenizer.extra),
        KeyRule::PatchTokenizer => later(|combined| &mut combined.tokenizer.patch),
        KeyRule::TrainBatch => later(|combined| &mut combined.batch),
        KeyRule::HybridPattern => later(|combined| &mut combined.hybrid.pattern),
        KeyRule::OlderHybridPattern => later(|combined| &mut combined.hybrid.older_pattern),
        KeyRule::MtpPattern => later(|combined| &mut combined.hybrid.mtp_pattern),
        KeyRule::AttentionRatio => later(|combined| &mut combined.hybrid.attention_ratio),
        KeyRule::MlpRatio => later(|combined| &mut combined.hybrid.mlp_ratio),
        KeyRule::FirstDenseLayers => later(|combined| &mut combined.mindspeed.first_dense),
        KeyRule::SharedExperts => later(|combined| &mut combined.mindspeed.shared_experts),
        KeyRule::NoopLayers => later(|combined| &mut combined.mindspeed.noop_layers),
        KeyRule::LayerList => later(|combined| &mut combined.mindspeed.layer_list),
        KeyRule::LayerSpec => hybrid::spec(draft, item),
        KeyRule::ModelProvider => model_provider(draft, item),
        KeyRule::MambaChunkSize if matches!(shown(&item.value).as_str(), "128" | "null") => {
            draft.row(item, KeyStatus::Ignored, None, "the default");
        }
        KeyRule::MambaChunkSize => {
            let note = "the scan is counted with blocks of 128 tokens";
            draft.not_modelled(item, MemoryEffect::BelowTwoPercent, note);
        }
    }
}

/// Applies the name of the module that builds the model.
fn model_provider(draft: &mut JobDraft, item: &KeyValue) {
    if word(&item.value) == "pretrain_gpt" {
        return draft.row(item, KeyStatus::Mapped, None, "Megatron-LM's GPT");
    }
    let reason = "the model of another module is counted as its config.json says";
    draft.not_modelled(item, MemoryEffect::More, reason);
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

/// Whether a flag is one that only `MindSpeed` has.
pub(super) fn is_mindspeed(name: &str) -> bool {
    megatron_args::find(name).is_none() && mindspeed::find(name).is_some()
}

/// Whether a flag is one that only slime has.
pub(super) fn is_slime(name: &str) -> bool {
    megatron_args::find(name).is_none()
        && matches!(
            Dialect::Slime.find(name),
            Some(KeyMeaning::Rule(_) | KeyMeaning::NotModelled { .. })
        )
}
