//! The number of GPUs.

use crate::config::fields::FieldId;
use crate::formats::dialects::meaning::{Decides, KeyRole};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::keys::Keys;
use crate::formats::import::values::int;
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// The number of nodes for training.
pub(in crate::formats) const NODES: KeyRole = KeyRole::kept("nodes", Decides::field(FieldId::world_size));
/// The number of GPUs on each node for training.
pub(in crate::formats) const PER_NODE: KeyRole = KeyRole::kept("gpus_per_node", Decides::field(FieldId::world_size));

/// Sets the number of GPUs from the number of nodes.
pub(in crate::formats) fn of_nodes(draft: &mut JobDraft, keys: &Keys<'_>) {
    let (nodes, each) = (keys.get(NODES), keys.get(PER_NODE));
    let id = FieldId::world_size;
    if let (Some(nodes), Some(each)) = (nodes, each)
        && let (Some(n), Some(g)) = (int(nodes), int(each))
    {
        let value = Value::Int(n.saturating_mul(g).into());
        draft.settings.set(FieldId::gpus_per_node, Value::Int(g.into()));
        draft.row(nodes, KeyStatus::Derived, Some(id), "");
        draft.set(each, id, value, KeyStatus::Derived, "nodes · GPUs per node");
        return;
    }
    for item in [nodes, each].into_iter().flatten() {
        draft.row(item, KeyStatus::Ignored, None, "without the other no number of GPUs");
    }
}
