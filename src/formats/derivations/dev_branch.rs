//! Keys of Megatron-LM's dev branch, which builds layers that the pinned revision does not.

use crate::config::choices::SoftwareStack;
use crate::config::fields::FieldId;
use crate::formats::dialects::meaning::{Decides, KeyRole};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::values::truth;
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// `enable_hyper_connections`: the dev branch's name of `enable_mhc_connections`.
pub(in crate::formats) const HYPER_CONNECTIONS: KeyRole = KeyRole::read(
    "enable_hyper_connections",
    Decides::field(FieldId::enable_mhc_connections),
    hyper_connections,
);

fn hyper_connections(draft: &mut JobDraft, _: &mut Keys<'_>, item: &KeyValue) {
    let is_on = truth(&item.value).unwrap_or(true);
    let note = "of the dev branch; later called enable_mhc_connections";
    let id = FieldId::enable_mhc_connections;
    draft.set(item, id, Value::Bool(is_on), KeyStatus::Mapped, note);
    if is_on {
        trained_with(draft);
    }
}

/// The job is trained with the dev branch, unless it says what it is trained with.
pub(in crate::formats) fn trained_with(draft: &mut JobDraft) {
    let id = FieldId::software_stack;
    if !draft.has(id) {
        let stack = Value::Text(SoftwareStack::MegatronDev.name().to_owned());
        draft.settings.set(id, stack);
    }
}
