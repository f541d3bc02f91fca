//! Keys of the model that are read one by one.

use crate::config::fields::FieldId;
use crate::config::layer_sizes::LayerSizesList;
use crate::config::not_modelled::{Feature, MemoryEffect};
use crate::config::raw::Settings;
use crate::formats::block_configs::{Common, layers};
use crate::formats::dialects::meaning::{Decides, KeyRole};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::imported::Question;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::values::{int, is_off, truth, word};
use crate::formats::json;
use crate::formats::report::{KeyStatus, shown};
use crate::value::Value;

/// The path or name of a Hugging Face model, whose `config.json` has the architecture.
pub(in crate::formats) const HUGGING_FACE: KeyRole = KeyRole::read("hf_model", Decides::Nothing, |draft, _, item| {
    if let Value::Text(name) = &item.value {
        draft.questions.push(Question::Model { name: name.clone() });
    }
    let note = "the architecture is in the model's config.json";
    draft.not_modelled(item, MemoryEffect::Nothing, note);
});

/// The program of a command.
pub(in crate::formats) const PROGRAM: KeyRole = KeyRole::kept("program", Decides::Nothing);

/// The Python module that builds the model: Megatron-LM's `pretrain_gpt`, or another.
pub(in crate::formats) const PROVIDER: KeyRole = KeyRole::read("model_provider", Decides::Nothing, |draft, _, item| {
    if word(&item.value) == "pretrain_gpt" {
        return draft.row(item, KeyStatus::Mapped, None, "Megatron-LM's GPT");
    }
    let reason = "the model of another module is counted as its config.json says";
    draft.not_modelled(item, MemoryEffect::More, reason);
});

const GROUPS: FieldId = FieldId::num_query_groups;

/// `num_query_groups`: its presence turns `group_query_attention` on.
pub(in crate::formats) const QUERY_GROUPS: KeyRole =
    KeyRole::read("num_query_groups", Decides::field(GROUPS), |draft, _, item| {
        if item.value == Value::Null {
            return draft.row(item, KeyStatus::Mapped, Some(GROUPS), "no grouped queries");
        }
        draft.settings.set(FieldId::group_query_attention, Value::Bool(true));
        draft.set(item, GROUPS, item.value.clone(), KeyStatus::Mapped, "");
    });

const VIRTUAL: FieldId = FieldId::virtual_pipeline_model_parallel_size;

/// Virtual pipeline stages on each pipeline rank.
pub(in crate::formats) const VIRTUAL_STAGES: KeyRole =
    KeyRole::read("virtual_stages", Decides::field(VIRTUAL), |draft, _, item| {
        draft.set(item, VIRTUAL, item.value.clone(), KeyStatus::Mapped, "");
    });

/// `mamba_chunk_size`: the tokens of a block in Mamba's scan.
pub(in crate::formats) const MAMBA_CHUNK_SIZE: KeyRole =
    KeyRole::read("mamba_chunk_size", Decides::SETTINGS, |draft, _, item| {
        if matches!(shown(&item.value).as_str(), "128" | "null") {
            return draft.row(item, KeyStatus::Ignored, None, "the default");
        }
        let note = "the scan is counted with blocks of 128 tokens";
        draft.not_modelled(item, MemoryEffect::BelowTwoPercent, note);
    });

const CHUNK: FieldId = FieldId::logprob_chunk_size;

/// Tokens whose logits the loss takes at a time; all of them unless the number is positive.
pub(in crate::formats) const LOSS_CHUNK: KeyRole =
    KeyRole::read("loss_chunk", Decides::field(CHUNK), |draft, _, item| {
        match int(item).filter(|tokens| *tokens > 0) {
            Some(tokens) => draft.set(item, CHUNK, Value::Int(tokens.into()), KeyStatus::Mapped, ""),
            None => draft.row(item, KeyStatus::Ignored, None, "all tokens at once"),
        }
    });

const DEPTHS: FieldId = FieldId::mtp_num_layers;

/// Whether multi-token prediction is trained, for frameworks that leave it out otherwise.
pub(in crate::formats) const MTP: KeyRole = KeyRole::read("mtp_enable", Decides::field(DEPTHS), |draft, _, item| {
    if truth(&item.value) != Some(true) {
        return draft.row(item, KeyStatus::Ignored, None, "switched off");
    }
    let note = "one depth, as published models have";
    if draft.has(DEPTHS) {
        return draft.row(item, KeyStatus::Derived, Some(DEPTHS), "");
    }
    draft.set(item, DEPTHS, Value::Int(1), KeyStatus::Derived, note);
});

/// Asks for no model where the text has its sizes: the model that it names is only compared with them.
pub(in crate::formats) fn without_question(draft: &mut JobDraft) {
    if !has_sizes(&draft.settings) {
        return;
    }
    for asked in core::mem::take(&mut draft.questions) {
        let Question::Model { name } = &asked else {
            draft.questions.push(asked);
            continue;
        };
        for row in draft.report.iter_mut().filter(|row| row.value == *name) {
            if row.status == KeyStatus::NotModelled {
                (row.status, row.effect) = (KeyStatus::Ignored, None);
                row.note = "the sizes of the model are in the text".into();
            }
        }
    }
}

/// Whether the text gives the sizes of the model.
pub(in crate::formats) fn has_sizes(settings: &Settings) -> bool {
    let sizes = [FieldId::num_layers, FieldId::hidden_size];
    sizes.into_iter().all(|id| settings.get(id).is_some())
}

const LAYER_SIZES: FieldId = FieldId::layer_sizes;

/// `heterogeneous_layers_config_encoded_json`: the text of the file.
pub(in crate::formats) const LAYERS_OF_BLOCKS: KeyRole =
    KeyRole::kept("layers_of_blocks", Decides::field(FieldId::layer_sizes));
/// `heterogeneous_layers_config_path`: where the file is.
pub(in crate::formats) const PATH_OF_BLOCKS: KeyRole =
    KeyRole::kept("path_of_blocks", Decides::field(FieldId::layer_sizes));

/// Sets `layer_sizes` from the text of the file; a job of which only the path is known is marked.
pub(in crate::formats) fn sizes_of_blocks(draft: &mut JobDraft, keys: &Keys<'_>) {
    let encoded = keys.get(LAYERS_OF_BLOCKS);
    let path = keys.get(PATH_OF_BLOCKS);
    for item in [encoded, path].into_iter().flatten() {
        if is_off(&item.value) {
            draft.row(item, KeyStatus::Ignored, None, "switched off");
        }
    }
    let path = path.filter(|item| !is_off(&item.value));
    let Some(item) = encoded.filter(|item| !is_off(&item.value)) else {
        if let Some(item) = path {
            let reason = Feature::of_key(&item.key).map_or("layers have different sizes", |feature| feature.reason);
            draft.not_modelled(item, MemoryEffect::More, reason);
        }
        return;
    };
    if let Some(path) = path {
        draft.row(
            path,
            KeyStatus::Ignored,
            Some(LAYER_SIZES),
            "the text of the file is given too",
        );
    }
    if let Err(why) = set_layer_sizes(draft, item) {
        draft.add_missing(item, Some(LAYER_SIZES), why);
    }
}

fn set_layer_sizes(draft: &mut JobDraft, item: &KeyValue) -> Result<(), String> {
    let root = match &item.value {
        Value::Text(text) => json::parse(text).map_err(|error| error.to_string())?.to_value(),
        other => other.clone(),
    };
    let blocks = root.get("block_configs").ok_or("it has no block_configs")?;
    let number = |id: FieldId, draft: &JobDraft| {
        let name = id.field().name;
        draft.number(id).ok_or_else(|| format!("it needs {name}"))
    };
    let heads = number(FieldId::num_attention_heads, draft)?;
    let hidden = number(FieldId::hidden_size, draft)?;
    let list = layers(blocks, heads, hidden)?;
    let own = Common {
        num_query_groups: draft.number(FieldId::num_query_groups),
        ffn_hidden_size: draft.number(FieldId::ffn_hidden_size),
    };
    let list = LayerSizesList {
        decoder: own.rest(list),
        ..LayerSizesList::default()
    };
    if list.is_of_module() {
        draft.row(
            item,
            KeyStatus::Mapped,
            Some(LAYER_SIZES),
            "all layers are like the model",
        );
    } else {
        draft.set(item, LAYER_SIZES, Value::Text(list.to_string()), KeyStatus::Derived, "");
    }
    Ok(())
}
