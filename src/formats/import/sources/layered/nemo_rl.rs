//! What NeMo-RL makes of its keys before Megatron-Bridge sees them (`nemo_rl/models/megatron/setup.py`).

use super::find;
use crate::config::fields::FieldId;
use crate::config::not_modelled::MemoryEffect;
use crate::formats::dialects::layered;
use crate::formats::import::ImportError;
use crate::formats::import::draft::{JobDraft, KeyValue};
use crate::formats::import::values::{int, is_off, truth};
use crate::formats::report::{KeyStatus, shown};
use crate::formats::yaml;
use crate::value::Value;

/// Adds the settings of the file that `defaults` names, where it is one of NeMo-RL's own: the text changes some of
/// them.
pub(super) fn add_base(leaves: &mut Vec<KeyValue>) -> Result<(), ImportError> {
    let Some(named) = find(leaves, "defaults").filter(|item| !is_off(&item.value)) else {
        return Ok(());
    };
    let name = match &named.value {
        Value::List(files) if files.len() == 1 => files.first().map(shown).unwrap_or_default(),
        other => shown(other),
    };
    let what = "a NeMo-RL configuration that changes another one, whose settings are not in the text (paste the configuration \
                that NeMo-RL prints when it starts)";
    let mut name = name;
    for _ in 0..MAX_CHANGED {
        let base = layered::base(&name).ok_or(ImportError::NotRead(what))?;
        match add(leaves, base) {
            Some(next) => next.clone_into(&mut name),
            None => return Ok(()),
        }
    }
    Err(ImportError::NotRead(what))
}

/// How many files may change one another.
const MAX_CHANGED: usize = 8;

/// Adds the settings of a file that the text does not change. Returns the file that it changes itself.
fn add(
    leaves: &mut Vec<KeyValue>,
    base: impl Iterator<Item = &'static (&'static str, &'static str)>,
) -> Option<&'static str> {
    let mut next = None;
    for (path, value) in base {
        if *path == "defaults" {
            next = Some(*value);
        }
        let section = format!("{path}.");
        if !leaves
            .iter()
            .any(|item| item.key == *path || item.key.starts_with(&section))
        {
            leaves.push(KeyValue {
                key: (*path).to_owned(),
                value: yaml::plain_scalar(value).to_value(),
                line: 0,
            });
        }
    }
    next
}

/// The switch without which nothing is recomputed.
const SWITCH: &str = "policy.megatron_cfg.activation_checkpointing";

/// Whether the loss converts logits to fp32, and not the model.
const DEFER: &str = "policy.megatron_cfg.defer_fp32_logits";
/// Tokens whose logits are converted at a time.
const CHUNK: &str = "policy.logprob_chunk_size";

/// Whether [`DEFER`] is on.
fn is_deferred(leaves: &[KeyValue]) -> bool {
    find(leaves, DEFER).is_some_and(|item| truth(&item.value) == Some(true))
}

/// Whether layers are recomputed.
fn recomputes(leaves: &[KeyValue]) -> bool {
    find(leaves, SWITCH).is_some_and(|item| truth(&item.value) == Some(true))
}

/// The keys of training in fp8.
const FP8: &str = "policy.megatron_cfg.fp8_cfg.";

/// Whether training is in fp8.
fn is_fp8(leaves: &[KeyValue]) -> bool {
    let switch = find(leaves, &format!("{FP8}enabled"));
    switch.is_some_and(|item| truth(&item.value) == Some(true))
}

/// Reads one of the keys of training in fp8. Only parameters in mxfp8 are gathered in it (`fp8_param_gather` follows
/// from the recipe in `_create_megatron_config`).
fn fp8(draft: &mut JobDraft, leaves: &[KeyValue], item: &KeyValue, name: &str) {
    let recipe = find(leaves, &format!("{FP8}fp8_recipe"));
    let is_mxfp8 = recipe.is_some_and(|item| shown(&item.value) == "mxfp8");
    let id = match name {
        "enabled" | "fp8" => FieldId::fp8_format,
        "fp8_recipe" => FieldId::fp8_recipe,
        "fp8_param" => FieldId::fp8_param_gather,
        _ => return draft.row(item, KeyStatus::Ignored, None, "does not change memory"),
    };
    if !is_fp8(leaves) {
        draft.row(item, KeyStatus::Ignored, None, "not in fp8");
    } else if name == "enabled" {
        draft.row(item, KeyStatus::Derived, Some(id), "");
    } else if name == "fp8_param" && !is_off(&item.value) && !is_mxfp8 {
        let reason = "parameters in fp8 beside gradients that are not reduced for them";
        draft.not_modelled(item, MemoryEffect::More, reason);
    } else {
        draft.set(item, id, item.value.clone(), KeyStatus::Mapped, "");
    }
}

/// Reads the keys of recomputation, of fp8 and of the loss. Returns whether the key is one of them.
pub(super) fn special(draft: &mut JobDraft, leaves: &[KeyValue], item: &KeyValue) -> bool {
    if let Some(name) = item.key.strip_prefix(FP8) {
        fp8(draft, leaves, item, name);
        return true;
    }
    if item.key == SWITCH {
        let id = FieldId::recompute_granularity;
        draft.row(item, KeyStatus::Derived, Some(id), "");
        return true;
    }
    if item.key == DEFER {
        let id = FieldId::token_loss;
        let value = Value::Text("nemo_rl_deferred".to_owned());
        if is_deferred(leaves) {
            draft.set(item, id, value, KeyStatus::Derived, "");
        } else {
            draft.row(item, KeyStatus::Mapped, Some(id), "logits in fp32");
        }
        return true;
    }
    if item.key == CHUNK && (!is_deferred(leaves) || is_off(&item.value)) {
        let note = "logits are converted all at once";
        draft.row(item, KeyStatus::Ignored, None, note);
        return true;
    }
    if item.key.starts_with("policy.megatron_cfg.recompute_") && !recomputes(leaves) {
        let note = "activation_checkpointing is off";
        draft.row(item, KeyStatus::Ignored, None, note);
        return true;
    }
    false
}

/// Recomputes whole layers, one at a time, unless the file names parts of them; and counts the GPUs of `cluster`.
pub(super) fn settle(draft: &mut JobDraft, leaves: &[KeyValue]) {
    let granularity = FieldId::recompute_granularity;
    let full = Value::Text("full".to_owned());
    if recomputes(leaves) {
        if !draft.has(granularity) {
            draft.default(granularity, full.clone());
        }
        if draft.settings.get(granularity) == Some(&full) {
            draft.default(FieldId::recompute_method, Value::Text("uniform".to_owned()));
            draft.default(FieldId::recompute_num_layers, Value::Int(1));
        }
    }
    if is_fp8(leaves) {
        // What all of NeMo-RL's own files have.
        for (id, value) in [(FieldId::fp8_format, "e4m3"), (FieldId::fp8_recipe, "blockwise")] {
            if !draft.has(id) {
                draft.default(id, Value::Text(value.to_owned()));
            }
        }
    }
    // Preferences come in pairs, and both of a pair go through the model.
    let changes_preference = |item: &KeyValue| {
        let file = shown(&item.value);
        let name = file.rsplit('/').next().unwrap_or_default();
        item.key == "defaults" && name.starts_with("dpo")
    };
    let is_preference = leaves
        .iter()
        .any(|item| item.key.starts_with("dpo.") || changes_preference(item));
    if is_preference {
        for id in [FieldId::micro_batch_size, FieldId::global_batch_size] {
            if let Some(number) = draft.number(id) {
                let both = Value::Int(number.saturating_mul(2).into());
                draft.settings.set(id, both);
            }
        }
    }
    let packs = find(leaves, "policy.sequence_packing.enabled");
    if packs.is_some_and(|item| truth(&item.value) == Some(true)) {
        pack(draft, leaves);
    }
    let nodes = find(leaves, "cluster.num_nodes");
    let each = find(leaves, "cluster.gpus_per_node");
    let (Some(nodes), Some(each)) = (nodes, each) else {
        return;
    };
    if let (Some(n), Some(g)) = (int(nodes), int(each)) {
        let (n, g) = without_generation(leaves, n, g);
        let value = Value::Int(n.saturating_mul(g).into());
        let note = "nodes · GPUs per node";
        draft.set(each, FieldId::world_size, value, KeyStatus::Derived, note);
    }
}

/// The nodes that train and the GPUs of each: those that only generate are taken off where generation has GPUs of its
/// own.
fn without_generation(leaves: &[KeyValue], nodes: u64, gpus: u64) -> (u64, u64) {
    let place = "policy.generation.colocated";
    let shares = find(leaves, &format!("{place}.enabled"));
    if shares.is_none_or(|item| truth(&item.value) != Some(false)) {
        return (nodes, gpus);
    }
    let own = |key: &str| find(leaves, &format!("{place}.resources.{key}")).and_then(int);
    if nodes == 1 {
        (1, gpus.saturating_sub(own("gpus_per_node").unwrap_or(0)))
    } else {
        (nodes.saturating_sub(own("num_nodes").unwrap_or(0)), gpus)
    }
}

/// Packs the samples of a micro batch into one row of as many tokens as they may have together.
fn pack(draft: &mut JobDraft, leaves: &[KeyValue]) {
    let samples = draft.number(FieldId::micro_batch_size).unwrap_or(1);
    let longest = draft.number(FieldId::seq_length);
    let given = find(leaves, "policy.sequence_packing.train_mb_tokens").and_then(int);
    let Some(longest) = longest else {
        return;
    };
    let tokens = given.unwrap_or(longest.saturating_mul(samples));
    for (id, number) in [
        (FieldId::micro_batch_size, 1),
        (FieldId::seq_length, tokens),
        (FieldId::longest_sample_length, longest),
    ] {
        draft.settings.set(id, Value::Int(number.into()));
    }
    draft.settings.set(FieldId::sft, Value::Bool(true));
}
