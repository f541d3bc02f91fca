//! Keys of `NeMo` 1 whose values Megatron-LM writes otherwise (`megatron_base_model.py` and `megatron_gpt_model.py` of
//! `NeMo`).

use super::find;
use crate::config::fields::FieldId;
use crate::config::not_modelled::{MemoryEffect, NotModelled};
use crate::formats::import::combined::CombinedKeys;
use crate::formats::import::draft::{JobDraft, KeyValue};
use crate::formats::import::values::{is_off, truth};
use crate::formats::report::{KeyStatus, shown};
use crate::value::Value;

/// Reads a key whose value has to be converted. Returns whether the key is one of them.
pub(super) fn special(
    draft: &mut JobDraft,
    combined: &mut CombinedKeys,
    leaves: &[KeyValue],
    item: &KeyValue,
    name: &str,
) -> bool {
    let value = shown(&item.value).to_ascii_lowercase();
    let switched = |path: &str| find(leaves, path).is_some_and(|item| truth(&item.value) == Some(true));
    match name {
        "precision" => precision(draft, item, &value),
        "normalization" => normalization(draft, item, &value),
        "activation" => activation(draft, combined, item, &value),
        "transformer_block_type" if value == "pre_ln" => {
            draft.row(item, KeyStatus::Mapped, None, "norms before attention and MLP");
        }
        "transformer_block_type" => {
            let reason = "norms elsewhere than before attention and MLP are not counted";
            draft.not_modelled(item, MemoryEffect::More, reason);
        }
        "mcore_gpt" if switched("model.mcore_gpt") => {
            draft.row(item, KeyStatus::Mapped, None, "layers of Megatron-Core");
        }
        "mcore_gpt" => {
            let reason = "layers of NeMo's own are counted like those of Megatron-Core";
            draft.not_modelled(item, MemoryEffect::More, reason);
        }
        "megatron_amp_O2" => half_precision(draft, leaves, item),
        "fp8" if truth(&item.value) == Some(true) => {
            let format = if switched("model.fp8_e4m3") { "e4m3" } else { "hybrid" };
            let format = Value::Text(format.to_owned());
            draft.set(item, FieldId::fp8_format, format, KeyStatus::Derived, "");
        }
        "fp8" => draft.row(item, KeyStatus::Ignored, None, "switched off"),
        "activations_checkpoint_method" | "activations_checkpoint_num_layers" => {
            let granularity = find(leaves, "model.activations_checkpoint_granularity");
            let full = granularity.is_some_and(|item| shown(&item.value) == "full");
            if !full {
                let note = "only whole layers are recomputed that way";
                draft.row(item, KeyStatus::Ignored, None, note);
            }
            return !full;
        }
        "parallel_attention" if is_falcon(leaves) => {
            let id = FieldId::parallel_attention;
            draft.set(item, id, item.value.clone(), KeyStatus::Mapped, "");
        }
        "new_decoder_architecture" if is_falcon(leaves) && truth(&item.value) == Some(true) => {
            let reason = "attention and the MLP stand side by side behind a norm for each";
            draft.not_modelled(item, MemoryEffect::More, reason);
        }
        "cpu_offloading_num_layers" | "cpu_offloading_activations" | "cpu_offloading_weights"
            if !switched("model.cpu_offloading") =>
        {
            draft.row(item, KeyStatus::Ignored, None, "cpu_offloading is off");
        }
        "optim.name" => optimizer(draft, leaves, item, &value),
        "optim.overlap_grad_sync" | "optim.overlap_param_sync" if !is_distributed(leaves) => {
            let note = "only of a distributed optimizer";
            draft.row(item, KeyStatus::Ignored, None, note);
        }
        "optim.grad_sync_dtype" if matches!(value.as_str(), "bf16" | "torch.bfloat16") => {
            let id = FieldId::grad_reduce_in_bf16;
            draft.set(item, id, Value::Bool(true), KeyStatus::Derived, "");
        }
        "optim.grad_sync_dtype" => {
            let id = FieldId::accumulate_allreduce_grads_in_fp32;
            draft.row(item, KeyStatus::Mapped, Some(id), "");
        }
        _ => return false,
    }
    true
}

/// Whether layers are those of Falcon (`get_specs`).
fn is_falcon(leaves: &[KeyValue]) -> bool {
    find(leaves, "model.name").is_some_and(|item| shown(&item.value) == "megatron_falcon_gpt")
}

/// PyTorch Lightning's precision of the trainer.
fn precision(draft: &mut JobDraft, item: &KeyValue, value: &str) {
    let id = match value.trim_end_matches("-mixed").trim_end_matches("-true") {
        "bf16" => FieldId::bf16,
        "16" => FieldId::fp16,
        _ => {
            let note = "parameters of fp32";
            return draft.row(item, KeyStatus::Mapped, Some(FieldId::bf16), note);
        }
    };
    draft.set(item, id, Value::Bool(true), KeyStatus::Derived, "");
}

fn normalization(draft: &mut JobDraft, item: &KeyValue, value: &str) {
    let name = match value {
        "rmsnorm" => "RMSNorm",
        "layernorm" | "layernorm1p" => "LayerNorm",
        _ => value,
    };
    if value == "layernorm1p" {
        let id = FieldId::apply_layernorm_1p;
        draft.settings.set(id, Value::Bool(true));
    }
    let name = Value::Text(name.to_owned());
    draft.set(item, FieldId::normalization, name, KeyStatus::Mapped, "");
}

/// Gated functions have names that end in `glu`; `fast-` is how their two matrices are stored.
fn activation(draft: &mut JobDraft, combined: &mut CombinedKeys, item: &KeyValue, value: &str) {
    let name = value.trim_start_matches("fast-").replace('-', "_");
    let id = match name.as_str() {
        "geglu" => FieldId::geglu,
        "quick_geglu" => FieldId::quick_geglu,
        "swiglu" => FieldId::swiglu,
        "squared_relu" => FieldId::squared_relu,
        "reglu" => {
            let reason = "the gated ReLU is not counted";
            return draft.not_modelled(item, MemoryEffect::More, reason);
        }
        _ => {
            combined.activation = Some(item.clone());
            return;
        }
    };
    draft.set(item, id, Value::Bool(true), KeyStatus::Derived, "");
}

/// `megatron_amp_O2`: weights in half precision beside main weights in fp32. Without it, autocast makes half-precision
/// copies of weights in fp32.
fn half_precision(draft: &mut JobDraft, leaves: &[KeyValue], item: &KeyValue) {
    let is_half = find(leaves, "trainer.precision").is_some_and(|item| !shown(&item.value).starts_with("32"));
    if truth(&item.value) == Some(true) || !is_half {
        draft.row(item, KeyStatus::Mapped, None, "");
    } else {
        let reason = "weights stay in fp32, and autocast makes copies of them in half precision";
        draft.row(item, KeyStatus::NotModelled, None, reason);
        if let Some(row) = draft.report.last_mut() {
            row.effect = Some(MemoryEffect::More);
        }
        draft.marks.push(NotModelled::new(&item.key, reason));
    }
}

/// Whether the optimizer shards its states over data-parallel ranks.
fn is_distributed(leaves: &[KeyValue]) -> bool {
    let name = find(leaves, "model.optim.name").map(|item| shown(&item.value));
    matches!(
        name.as_deref(),
        Some("mcore_distributed_optim" | "distributed_fused_adam")
    )
}

fn optimizer(draft: &mut JobDraft, leaves: &[KeyValue], item: &KeyValue, value: &str) {
    let (on, distributed) = (Value::Bool(true), FieldId::use_distributed_optimizer);
    let is_contiguous = find(leaves, "model.optim.contiguous_grad_buffer");
    match value {
        "mcore_distributed_optim" => draft.set(item, distributed, on, KeyStatus::Derived, ""),
        // Apex keeps all gradients where their buffer is contiguous, and only a shard of them elsewhere.
        "distributed_fused_adam" if is_contiguous.is_some_and(|item| truth(&item.value) == Some(true)) => {
            let note = "Apex's distributed optimizer, counted like Megatron's";
            draft.set(item, distributed, on, KeyStatus::Derived, note);
        }
        "distributed_fused_adam" => {
            let reason = "Apex's optimizer shards gradients as well, bucket by bucket";
            draft.not_modelled(item, MemoryEffect::More, reason);
            draft.settings.set(distributed, on);
        }
        "fused_adam" | "adam" | "adamw" => {
            draft.row(item, KeyStatus::Mapped, Some(FieldId::optimizer), "");
        }
        _ => {
            let reason = "the states of this optimizer are not counted";
            draft.not_modelled(item, MemoryEffect::More, reason);
        }
    }
}

/// Marks a job whose layers are `NeMo`'s own because the file does not ask for those of Megatron-Core.
pub(super) fn settle(draft: &mut JobDraft, leaves: &[KeyValue]) {
    let asks = find(leaves, "model.mcore_gpt").or_else(|| find(leaves, "model.mamba_hybrid"));
    let is_hybrid = draft.has(FieldId::hybrid_layer_pattern);
    if asks.is_none() && !is_hybrid {
        let reason = "layers of NeMo's own are counted like those of Megatron-Core";
        draft.marks.push(NotModelled::new("model.mcore_gpt", reason));
    }
    if find(leaves, "model.restore_from_path").is_some_and(|item| !is_off(&item.value))
        && !draft.has(FieldId::num_layers)
    {
        let reason = "the architecture is in the checkpoint";
        draft.marks.push(NotModelled::new("model.restore_from_path", reason));
    }
}
