//! The fields that mixed precision decides, and the dtype of gradients where Megatron-LM's `validate_args` does not
//! run.

use crate::config::canonical::{is_on, meaning};
use crate::config::fields::FieldId;
use crate::formats::dialects::bridge::precision;
use crate::formats::dialects::destinations::field_of;
use crate::formats::dialects::meaning::{Decides, KeyRole};
use crate::formats::import::draft::{JobDraft, python};
use crate::formats::import::imported::Row;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::values::word;
use crate::formats::report::{KeyStatus, shown};
use crate::value::Value;

const FP32: FieldId = FieldId::accumulate_allreduce_grads_in_fp32;

/// A precision preset by name; see [`precision::PRESETS`].
pub(in crate::formats) const PRESET: KeyRole =
    KeyRole::read("precision_preset", Decides::SETTINGS, |draft, _, item| {
        preset(draft, item);
    });
/// `torch.bfloat16`, `bfloat16`, `half`, …: sets `bf16` or `fp16`.
pub(in crate::formats) const DTYPE: KeyRole = KeyRole::read("dtype", Decides::SETTINGS, |draft, _, item| {
    dtype(draft, item);
});
/// Whether gradients are reduced in fp32, where no precision preset says so.
pub(in crate::formats) const GRADIENTS: KeyRole = KeyRole::kept("gradients", Decides::field(FP32));

/// The fields of a preset by name.
fn preset(draft: &mut JobDraft, item: &KeyValue) {
    let name = shown(&item.value);
    let Some(preset) = precision::by_name(&name) else {
        return draft.row(item, KeyStatus::Unknown, None, "no precision of this name");
    };
    for (destination, value) in preset.fields() {
        if let Some(id) = field_of(destination)
            && !draft.has(id)
        {
            draft.settings.set(id, python(value));
        }
    }
    draft.row(item, KeyStatus::Mapped, Some(FieldId::bf16), "");
}

/// The dtype of parameters.
fn dtype(draft: &mut JobDraft, item: &KeyValue) {
    let id = match word(&item.value).as_str() {
        "bfloat16" | "bf16" => FieldId::bf16,
        "float16" | "half" | "fp16" => FieldId::fp16,
        _ => {
            let note = "parameters of fp32";
            return draft.row(item, KeyStatus::Mapped, Some(FieldId::bf16), note);
        }
    };
    draft.set(item, id, Value::Bool(true), KeyStatus::Derived, "");
}

/// What `MixedPrecisionConfig` has by default, and of `ddp` what it leaves: its fields overwrite those of the model,
/// the optimizer and DDP (`MixedPrecisionConfig.setup`).
pub(in crate::formats) fn mixed(draft: &mut JobDraft, keys: &Keys<'_>) {
    let fp32 = FP32;
    let mixed = |row: &Row| row.status != KeyStatus::Unknown && row.key.starts_with("mixed_precision");
    if draft.report.iter().any(mixed) {
        let half = is_on(&draft.settings, FieldId::bf16) || is_on(&draft.settings, FieldId::fp16);
        if half && !draft.has(fp32) {
            draft.default(fp32, Value::Bool(true));
        }
        // The optimizer asks for the recipe too, whether or not training is in fp8.
        let recipe = FieldId::fp8_recipe;
        let aware = is_on(&draft.settings, FieldId::use_precision_aware_optimizer);
        if (aware || draft.has(FieldId::fp8_format)) && !draft.has(recipe) {
            draft.default(recipe, Value::Text(String::from("tensorwise")));
        }
    }
    match keys.get(GRADIENTS) {
        Some(item) if draft.has(fp32) => {
            draft.row(item, KeyStatus::Ignored, None, "mixed_precision decides");
        }
        Some(item) => {
            let value = item.value.clone();
            draft.set(item, fp32, value, KeyStatus::Mapped, "");
        }
        None => {}
    }
}

/// Says the dtype of gradients as Megatron-LM says it. There `bf16` alone means gradients in fp32 (`validate_args`);
/// the front ends that build `DistributedDataParallelConfig` themselves keep them in the dtype of the parameters unless
/// `grad_reduce_in_fp32` is on, and `main_grads_dtype` has no say (`group_params_for_buffers`).
pub(in crate::formats) fn gradients_as_said(draft: &mut JobDraft) {
    let in_fp32 = is_on(&draft.settings, FP32);
    say_gradients(draft, in_fp32);
}

/// Says the dtype of gradients for front ends in which `grad_reduce_in_fp32` is on by default.
pub(in crate::formats) fn gradients_in_fp32_by_default(draft: &mut JobDraft) {
    let in_fp32 = is_on(&draft.settings, FP32) || !draft.has(FP32);
    say_gradients(draft, in_fp32);
}

fn say_gradients(draft: &mut JobDraft, in_fp32: bool) {
    let kept = FieldId::main_grads_dtype;
    if in_fp32 {
        draft.settings.unset(kept);
        for row in &mut draft.report {
            if row.field == Some(kept) {
                row.status = KeyStatus::Ignored;
            }
        }
    } else if is_on(&draft.settings, FieldId::bf16) && meaning(kept, draft.settings.get(kept)) == meaning(kept, None) {
        draft.default(FieldId::grad_reduce_in_bf16, Value::Bool(true));
    }
}
