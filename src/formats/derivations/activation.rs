//! The activation function of the MLP.

use crate::config::canonical::is_on;
use crate::config::fields::FieldId;
use crate::formats::dialects::meaning::{Decides, KeyRole};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::keys::Keys;
use crate::formats::import::values::{truth, word};
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// `gated_linear_unit`: whether the function is gated.
pub(in crate::formats) const GATED: KeyRole = KeyRole::kept("gated_linear_unit", Decides::SETTINGS);
/// `activation_func`: its name.
pub(in crate::formats) const FUNCTION: KeyRole = KeyRole::kept("activation_func", Decides::SETTINGS);

/// Sets whether one kernel computes `quick_geglu`, where Megatron-LM's arguments say so and its own launcher does not
/// read them: by the flag of GELU, which needs biases (`core_transformer_config_from_args`, `validate_args`).
pub(in crate::formats) fn quick_geglu_of_arguments(draft: &mut JobDraft) {
    let on = |id| is_on(&draft.settings, id);
    let is_quick = on(FieldId::quick_geglu) && !on(FieldId::swiglu) && !on(FieldId::squared_relu);
    if is_quick && !draft.has(FieldId::launcher) {
        let fused = on(FieldId::bias_gelu_fusion) && on(FieldId::add_bias_linear);
        draft.settings.set(FieldId::bias_swiglu_fusion, Value::Bool(fused));
    }
}

/// Sets the function: `silu` and gated is `swiglu`, `quick_gelu` and gated is `quick_geglu`.
pub(in crate::formats) fn function(draft: &mut JobDraft, keys: &Keys<'_>) {
    let (gated, function) = (keys.get(GATED), keys.get(FUNCTION));
    let on = gated.is_some_and(|item| truth(&item.value) == Some(true));
    let name = function.map(|item| word(&item.value)).unwrap_or_default();
    let id = match (on, name.as_str()) {
        (true, "gelu" | "fast_gelu") => Some(FieldId::geglu),
        (true, "quick_gelu") => Some(FieldId::quick_geglu),
        // `--yaml-cfg` has names for gated functions, and one of its own for the squared one.
        (true, _) | (false, "swiglu") => Some(FieldId::swiglu),
        (false, "squared_relu" | "squaredrelu") => Some(FieldId::squared_relu),
        (false, _) => None,
    };
    for item in [gated, function].into_iter().flatten() {
        match id {
            Some(id) => draft.set(item, id, Value::Bool(true), KeyStatus::Derived, ""),
            None => draft.row(item, KeyStatus::Mapped, None, "GELU, not gated"),
        }
    }
}
