//! Keys of the model that are read one by one.

use crate::config::fields::FieldId;
use crate::config::not_modelled::MemoryEffect;
use crate::config::raw::Settings;
use crate::formats::dialects::meaning::{Decides, KeyRole};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::imported::Question;
use crate::formats::import::values::{int, truth, word};
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
