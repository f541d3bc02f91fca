//! Arguments of `FlagScale` that decide fields of Megatron-LM together.

pub(super) mod hetero;

use crate::config::canonical::is_on;
use crate::config::fields::FieldId;
use crate::formats::import::draft::{JobDraft, KeyValue};
use crate::formats::import::values::{Decimal, int};
use crate::formats::report::{KeyStatus, shown};
use crate::value::Value;

/// Keys that decide the width of the MLP where it is not given.
const WIDTH: [&str; 2] = ["multiple_of", "hidden_dim_multiplier"];

/// Skips the keys that [`settle`] reads. Returns whether the key is one of them.
pub(super) fn special(draft: &mut JobDraft, item: &KeyValue, name: &str) -> bool {
    let is_width = WIDTH.contains(&name);
    if is_width {
        draft.row(item, KeyStatus::Derived, Some(FieldId::ffn_hidden_size), "");
    }
    is_width || hetero::special(draft, item, name)
}

/// Whether a file can only be for `train_rwkv.py`. The trainers of GPTs take GPT-2's tokenizer where no type is given,
/// and that one needs the file of its vocabulary; the trainer of Qwen2.5-VL takes that of its model, and has its kind
/// of positions.
pub(super) fn is_rwkv(leaves: &[KeyValue]) -> bool {
    let has = |name: &str| {
        let mut items = leaves.iter();
        items.any(|item| item.key.rsplit('.').next() == Some(name))
    };
    has("tokenizer_path")
        && ["tokenizer_type", "vocab_file", "mrope_section"]
            .into_iter()
            .all(|name| !has(name))
}

/// Sets the sizes of process meshes, and the width of a gated MLP: two thirds of four times the hidden size, widened by
/// a factor, and rounded up to a multiple.
pub(super) fn settle(draft: &mut JobDraft, leaves: &[KeyValue]) {
    hetero::settle(draft, leaves);
    let find = |name: &str| {
        let mut items = leaves.iter();
        items.find(|item| item.key.rsplit('.').next() == Some(name))
    };
    let id = FieldId::ffn_hidden_size;
    let Some(item) = find("multiple_of") else {
        return;
    };
    let (Some(multiple), Some(hidden)) = (int(item), draft.number(FieldId::hidden_size)) else {
        return;
    };
    if draft.has(id) || multiple == 0 || !is_on(&draft.settings, FieldId::swiglu) {
        return;
    }
    let base = hidden.saturating_mul(8) / 3;
    let factor = find("hidden_dim_multiplier");
    let factor = factor.and_then(|item| shown(&item.value).parse::<Decimal>().ok());
    let wide = factor.map_or(base, |factor| factor.of(base));
    let width = wide.div_ceil(multiple).saturating_mul(multiple);
    let note = "two thirds of 4 · hidden_size, rounded up";
    draft.set(item, id, Value::Int(width.into()), KeyStatus::Derived, note);
}
