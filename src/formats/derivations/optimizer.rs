//! The optimizer.

use crate::config::fields::FieldId;
use crate::formats::dialects::meaning::{Decides, KeyRole};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::keys::Keys;
use crate::formats::import::values::truth;
use crate::formats::report::KeyStatus;
use crate::value::Value;

const DISTRIBUTED: FieldId = FieldId::use_distributed_optimizer;

/// `use_layer_wise_distributed_optimizer`: Megatron-LM turns `use_distributed_optimizer` off where Muon's states are
/// sharded layer by layer, which is what `use_distributed_optimizer` asks for.
pub(in crate::formats) const LAYER_WISE: KeyRole = KeyRole::kept("layer_wise_optimizer", Decides::field(DISTRIBUTED));

/// Sets `use_distributed_optimizer` where the states are sharded layer by layer.
pub(in crate::formats) fn layer_wise(draft: &mut JobDraft, keys: &Keys<'_>) {
    let Some(item) = keys.get(LAYER_WISE) else { return };
    if truth(&item.value) == Some(true) {
        draft.set(item, DISTRIBUTED, Value::Bool(true), KeyStatus::Derived, "");
    } else {
        draft.row(item, KeyStatus::Ignored, None, "switched off");
    }
}
