//! Several keys in one value.

use crate::formats::dialects::meaning::{Decides, KeyRole};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::rules::apply;
use crate::formats::json;
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// Several keys in one value, as JSON or a map.
pub(in crate::formats) const NESTED: KeyRole = KeyRole::read("nested", Decides::SETTINGS, read);

/// Applies the settings inside one value, which is JSON in text.
fn read(draft: &mut JobDraft, keys: &mut Keys<'_>, item: &KeyValue) {
    let Value::Text(text) = &item.value else {
        // Maps were taken apart before; an empty one is left.
        return draft.row(item, KeyStatus::Ignored, None, "empty");
    };
    let Ok(root) = json::parse(text) else {
        return draft.row(item, KeyStatus::Unknown, None, "not JSON");
    };
    draft.row(item, KeyStatus::Mapped, None, "");
    for entry in root.entries() {
        let inner = KeyValue {
            key: format!("{}.{}", item.key, entry.key),
            value: entry.node.to_value(),
            line: item.line,
        };
        // One level: what is nested again belongs to no field.
        if !matches!(inner.value, Value::Map(_)) {
            apply(draft, keys, &inner, &entry.key);
        }
    }
}
