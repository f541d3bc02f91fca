//! Samples that are packed into rows of one length.

use crate::config::fields::FieldId;
use crate::formats::dialects::meaning::{Decides, KeyRole};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::keys::Keys;
use crate::formats::import::values::int;
use crate::formats::report::KeyStatus;
use crate::value::Value;

const LENGTH: FieldId = FieldId::seq_length;

/// Tokens that samples are packed to. Then the sequence length is that of the longest sample.
pub(in crate::formats) const PACKED: KeyRole = KeyRole::kept("pack_length", Decides::field(LENGTH));

/// Sets the length that samples are packed to, which turns packing on.
pub(in crate::formats) fn to_length(draft: &mut JobDraft, keys: &Keys<'_>) {
    let Some(item) = keys.get(PACKED) else { return };
    let Some(length) = int(item).filter(|length| *length > 0) else {
        return draft.row(item, KeyStatus::Ignored, None, "samples are not packed");
    };
    draft.settings.set(FieldId::sft, Value::Bool(true));
    if let Some(longest) = draft.number(LENGTH).filter(|longest| *longest < length) {
        let longest = Value::Int(longest.into());
        draft.settings.set(FieldId::longest_sample_length, longest);
    }
    let note = "samples are packed to this length";
    draft.set(item, LENGTH, Value::Int(length.into()), KeyStatus::Derived, note);
}
