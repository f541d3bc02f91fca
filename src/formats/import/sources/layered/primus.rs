//! Models that a file of Primus only names: their arguments stand in files of Primus
//! (`primus/configs/models/megatron`). And the dispatcher of Primus-Turbo.

use super::find;
use crate::config::fields::FieldId;
use crate::config::not_modelled::MemoryEffect;
use crate::formats::dialects::layered;
use crate::formats::import::draft::{JobDraft, KeyValue};
use crate::formats::import::values::{int, is_off, truth};
use crate::formats::report::{KeyStatus, shown};
use crate::formats::yaml;
use crate::value::Value;

/// Reads the keys of the dispatcher of Primus-Turbo. Returns whether the key is one of them.
///
/// `use_turbo_deepep` puts it in the place of Megatron's flex dispatcher, whose tensors it keeps
/// (`patch_moe_dispatcher`, `DeepEPTokenDispatcher`). The first stage of `turbo_sync_free_moe_stage` turns the fused
/// permutation on (`_get_sync_free_moe_options`); from the second on, tokens arrive in tensors with rows for all that
/// could come (`num_worst_tokens`).
pub(super) fn special(draft: &mut JobDraft, leaves: &[KeyValue], item: &KeyValue, name: &str) -> bool {
    if !matches!(name, "use_turbo_deepep" | "turbo_sync_free_moe_stage") {
        return false;
    }
    let turbo = find(leaves, "modules.pre_trainer.overrides.enable_primus_turbo");
    if turbo.is_none_or(|turbo| truth(&turbo.value) != Some(true)) {
        draft.row(item, KeyStatus::Ignored, None, "only with enable_primus_turbo");
    } else if is_off(&item.value) {
        draft.row(item, KeyStatus::Ignored, None, "switched off");
    } else if name == "use_turbo_deepep" {
        let flex = Value::Text(String::from("flex"));
        let id = FieldId::moe_token_dispatcher_type;
        draft.set(item, id, flex, KeyStatus::Derived, "");
    } else if int(item) == Some(1) {
        let id = FieldId::moe_permute_fusion;
        draft.set(item, id, Value::Bool(true), KeyStatus::Derived, "");
    } else {
        let reason = "tokens arrive in tensors with rows for all that could come";
        draft.not_modelled(item, MemoryEffect::More, reason);
    }
    true
}

/// Adds the arguments of a model that Primus describes by itself, where the text has no others.
pub(super) fn add_model(leaves: &mut Vec<KeyValue>, name: &str) {
    let Some(model) = find(leaves, name) else {
        return;
    };
    let line = model.line;
    for (argument, value) in layered::own_model(&shown(&model.value)).into_iter().flatten() {
        let key = format!("modules.pre_trainer.overrides.{argument}");
        if find(leaves, &key).is_none() {
            leaves.push(KeyValue {
                key,
                value: yaml::plain_scalar(value).to_value(),
                line,
            });
        }
    }
}
