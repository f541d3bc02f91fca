//! What mixed precision decides, and the dtype of gradients where Megatron-LM's `validate_args` does not run.

use super::Row;

use super::draft::{JobDraft, KeyValue, python};
use super::values::word;
use crate::config::canonical::{is_on, meaning};
use crate::config::fields::FieldId;
use crate::formats::dialects::{Dialect, bridge::precision, field_of};
use crate::formats::report::{KeyStatus, shown};
use crate::value::Value;

/// The fields of a preset by name.
pub(super) fn preset(draft: &mut JobDraft, item: &KeyValue) {
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
pub(super) fn dtype(draft: &mut JobDraft, item: &KeyValue) {
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
pub(super) fn combine(draft: &mut JobDraft, gradients: Option<KeyValue>) {
    let fp32 = FieldId::accumulate_allreduce_grads_in_fp32;
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
    match gradients {
        Some(item) if draft.has(fp32) => {
            draft.row(&item, KeyStatus::Ignored, None, "mixed_precision decides");
        }
        Some(item) => {
            let value = item.value.clone();
            draft.set(&item, fp32, value, KeyStatus::Mapped, "");
        }
        None => {}
    }
}

/// Says the dtype of gradients as Megatron-LM says it. There `bf16` alone means gradients in fp32 (`validate_args`);
/// the front ends that build `DistributedDataParallelConfig` themselves keep them in the dtype of the parameters unless
/// `grad_reduce_in_fp32` is on, and `main_grads_dtype` has no say (`group_params_for_buffers`).
pub(super) fn gradients(draft: &mut JobDraft) {
    let fp32 = FieldId::accumulate_allreduce_grads_in_fp32;
    let in_fp32 = match draft.dialect {
        Dialect::Bridge | Dialect::NemoRl | Dialect::Nemo2 => is_on(&draft.settings, fp32),
        // On by default (`get_model`).
        Dialect::Verl => is_on(&draft.settings, fp32) || !draft.has(fp32),
        _ => return,
    };
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
