//! Variables of the training processes' environment.

use crate::formats::environment;
use crate::formats::import::draft::JobDraft;
use crate::formats::import::key_value::KeyValue;
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// Applies a variable of the environment. Returns whether it decides fields.
pub(in crate::formats) fn variable(draft: &mut JobDraft, item: &KeyValue) -> bool {
    let name = item.key.rsplit('.').next().unwrap_or_default();
    let said = match &item.value {
        Value::Text(text) => environment::fields(name, text),
        _ => Vec::new(),
    };
    let decides = !said.is_empty();
    for (id, value) in said {
        draft.set(item, id, value, KeyStatus::Mapped, "read by PyTorch");
    }
    decides
}

/// Applies a variable that a configuration lists; it gets a report row in any case.
pub(in crate::formats) fn listed_variable(draft: &mut JobDraft, item: &KeyValue) {
    if !variable(draft, item) {
        draft.row(item, KeyStatus::Ignored, None, "does not change memory");
    }
}
