//! Flags of `MindSpeed` that say together which layers there are and on which pipeline stages they lie
//! (`mindspeed_llm/core/transformer/transformer_block.py`).

use super::draft::{JobDraft, KeyValue};
use super::values::{int, is_off};
use crate::config::fields::FieldId;
use crate::config::not_modelled::NotModelled;
use crate::formats::report::{KeyStatus, shown};
use crate::value::Value;

/// The flags that decide a field only together with others.
#[derive(Default)]
pub(super) struct MindSpeedKeys {
    /// `--first-k-dense-replace`: this many layers have no experts.
    pub(super) first_dense: Option<KeyValue>,
    /// `--n-shared-experts`: shared experts, each as wide as one of the others.
    pub(super) shared_experts: Option<KeyValue>,
    /// `--noop-layers`: the numbers of layers that do nothing, from 0, separated by commas.
    pub(super) noop_layers: Option<KeyValue>,
    /// `--num-layer-list`: the layers of each pipeline stage, separated by commas.
    pub(super) layer_list: Option<KeyValue>,
}

/// The longest list of layers that is read.
const MAX_LAYERS: usize = 1_000;

/// Sets the fields that the flags decide.
pub(super) fn combine(draft: &mut JobDraft, keys: MindSpeedKeys) {
    if let Some(item) = &keys.shared_experts {
        shared_experts(draft, item);
    }
    if let Some(item) = keys.first_dense.as_ref().filter(|item| !is_off(&item.value)) {
        first_dense(draft, item, keys.noop_layers.as_ref());
    }
    if let Some(item) = keys.noop_layers.filter(|item| !is_off(&item.value)) {
        noop_layers(draft, &item);
    }
    if let Some(item) = keys.layer_list {
        layer_list(draft, &item);
    }
}

/// Marks a job of `MindSpeed`, and counts its layers like those of Transformer Engine: both fuse norms, rotary
/// embeddings, activation functions and attention.
pub(super) fn settle(draft: &mut JobDraft) {
    draft.settings.unset(FieldId::transformer_impl);
    let dispatcher = FieldId::moe_token_dispatcher_type;
    if draft.settings.get(dispatcher) == Some(&Value::Text("alltoall_seq".to_owned())) {
        draft.settings.set(dispatcher, Value::Text("alltoall".to_owned()));
        draft.missing.retain(|missing| !missing.is_of(dispatcher));
    }
    let reason = "what kernels of Ascend's NPUs keep is counted like what Transformer Engine keeps";
    draft.marks.push(NotModelled::new("MindSpeed", reason));
}

fn shared_experts(draft: &mut JobDraft, item: &KeyValue) {
    let id = FieldId::moe_shared_expert_intermediate_size;
    let width = draft
        .number(FieldId::moe_ffn_hidden_size)
        .or_else(|| draft.number(FieldId::ffn_hidden_size));
    let (Some(count), Some(width)) = (int(item), width) else {
        return draft.row(item, KeyStatus::Ignored, None, "the width of experts is not given");
    };
    if draft.has(id) {
        return draft.row(item, KeyStatus::Ignored, Some(id), "another key says it");
    }
    let value = Value::Int(count.saturating_mul(width).into());
    draft.set(
        item,
        id,
        value,
        KeyStatus::Derived,
        "shared experts · width of an expert",
    );
}

/// Which layers have experts: from the first on that is not dense, every `moe_layer_freq`-th.
fn first_dense(draft: &mut JobDraft, item: &KeyValue, noops: Option<&KeyValue>) {
    let id = FieldId::moe_layer_freq;
    let layers = draft.number(FieldId::num_layers).and_then(|n| usize::try_from(n).ok());
    let Some(layers) = layers.filter(|layers| *layers <= MAX_LAYERS) else {
        return draft.row(item, KeyStatus::Ignored, None, "num_layers is not given");
    };
    // Negative numbers leave no layer dense.
    let first = shown(&item.value).parse::<i64>().unwrap_or(0);
    let first = usize::try_from(first).unwrap_or(0);
    let every = draft.settings.get(id).map(|value| shown(value).parse::<i64>());
    let every = match every {
        Some(Ok(number)) => usize::try_from(number.unsigned_abs()).unwrap_or(1).max(1),
        _ => 1,
    };
    draft.missing.retain(|missing| !missing.is_of(id));
    let noops = noops.map(|item| numbers(&item.value)).unwrap_or_default();
    let real = (0..layers).filter(|layer| !noops.contains(layer));
    let pattern = real.map(|layer| Value::Int(i128::from(layer >= first && layer % every == 0)));
    let pattern = Value::List(pattern.collect());
    draft.settings.unset(id);
    draft.set(item, id, pattern, KeyStatus::Derived, "");
}

/// Whole numbers separated by commas.
pub(super) fn numbers(value: &Value) -> Vec<usize> {
    let text = value.to_string();
    let parts = text.split(|c: char| !c.is_ascii_digit());
    parts.filter_map(|part| part.parse().ok()).take(MAX_LAYERS).collect()
}

/// Takes layers that do nothing out of the model, and leaves the others on the stages where they are.
fn noop_layers(draft: &mut JobDraft, item: &KeyValue) {
    let noops = numbers(&item.value);
    let given = draft.number(FieldId::num_layers).and_then(|n| usize::try_from(n).ok());
    let pp = draft.number(FieldId::pipeline_model_parallel_size).unwrap_or(1);
    let pp = usize::try_from(pp).unwrap_or(1).max(1);
    let Some(layers) = given.filter(|layers| *layers <= MAX_LAYERS) else {
        return draft.row(item, KeyStatus::Ignored, None, "num_layers is not given");
    };
    let each = draft.number(FieldId::num_layers_per_virtual_pipeline_stage);
    let each = each.and_then(|each| usize::try_from(each).ok());
    let chunk = each.unwrap_or(layers / pp).max(1);
    let stages: Vec<usize> = (0..layers)
        .step_by(chunk)
        .map(|start| {
            (start..start.saturating_add(chunk).min(layers))
                .filter(|layer| !noops.contains(layer))
                .count()
        })
        .collect();
    let real: usize = stages.iter().sum();
    set_count(draft, item, FieldId::num_layers, real);
    if stages.len() > 1 {
        draft.settings.unset(FieldId::num_layers_per_virtual_pipeline_stage);
        set_stages(draft, item, &stages);
    }
}

fn layer_list(draft: &mut JobDraft, item: &KeyValue) {
    let stages = numbers(&item.value);
    if stages.len() < 2 {
        return draft.row(item, KeyStatus::Ignored, None, "one stage has all layers");
    }
    set_stages(draft, item, &stages);
}

fn set_count(draft: &mut JobDraft, item: &KeyValue, id: FieldId, count: usize) {
    let value = Value::Int(i128::try_from(count).unwrap_or(i128::MAX));
    draft.settings.unset(id);
    draft.set(item, id, value, KeyStatus::Derived, "layers that do something");
}

/// Sets the layers of each pipeline stage, with the embedding on the first, and MTP layers and the output layer on the
/// last.
pub(super) fn set_stages(draft: &mut JobDraft, item: &KeyValue, stages: &[usize]) {
    let depths = draft.number(FieldId::mtp_num_layers).unwrap_or(0);
    let depths = usize::try_from(depths).unwrap_or(0).min(MAX_LAYERS);
    let last = stages.len().saturating_sub(1);
    let texts = stages.iter().enumerate().map(|(at, count)| {
        let embedding = if at == 0 { "E" } else { "" };
        let end = if at == last {
            format!("{}L", "m".repeat(depths))
        } else {
            String::new()
        };
        format!("{embedding}{}{end}", "t".repeat(*count))
    });
    let layout = texts.collect::<Vec<_>>().join("|");
    let id = FieldId::pipeline_model_parallel_layout;
    draft.set(
        item,
        id,
        Value::Text(layout),
        KeyStatus::Derived,
        "layers of each stage",
    );
}
