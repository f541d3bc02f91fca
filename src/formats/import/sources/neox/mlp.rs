//! The width of the MLP (`ParallelMLP` in `megatron/model/transformer.py` of GPT-NeoX).

use super::Keys;
use crate::config::fields::FieldId;
use crate::formats::import::draft::{JobDraft, KeyValue};
use crate::formats::import::values::Decimal;
use crate::formats::import::{Choice, Question};
use crate::formats::report::{KeyStatus, shown};
use crate::value::Value;

/// Activation functions with a gate.
pub(super) const GATED: [&str; 5] = ["geglu", "reglu", "swiglu", "bilinear", "glu"];

/// Sets the width of the MLP, or asks for it where versions of GPT-NeoX have different ones.
pub(super) fn settle(draft: &mut JobDraft, keys: &Keys) {
    let Some(hidden) = draft.number(FieldId::hidden_size) else {
        return;
    };
    let given = ["intermediate_size", "expansion_factor"];
    let given = given.into_iter().find_map(|path| keys.find(path));
    let item = given.cloned().unwrap_or_else(|| KeyValue {
        key: "intermediate_size".to_owned(),
        value: Value::Null,
        line: 0,
    });
    let multiple = keys.number("mlp_multiple_of").unwrap_or(1).max(1);
    let up = |width: u64| width.div_ceil(multiple).saturating_mul(multiple);
    let base = match keys.number("intermediate_size") {
        Some(width) => width,
        None => keys
            .find("expansion_factor")
            .and_then(|item| shown(&item.value).parse::<Decimal>().ok())
            .map_or(hidden.saturating_mul(4), |factor| factor.of(hidden)),
    };
    let activation = keys.word("activation");
    let id = FieldId::ffn_hidden_size;
    let set = |draft: &mut JobDraft, width: u64, note: &'static str| {
        draft.set(&item, id, Value::Int(width.into()), KeyStatus::Derived, note);
    };
    // Files of earlier versions name the MLP of LLaMA, whose width is as given.
    if keys.word("mlp_type") == "llama" {
        let own = keys.number("intermediate_size");
        let width = own.unwrap_or_else(|| up(hidden.saturating_mul(8) / 3));
        return set(draft, width, "of the MLP that mlp_type names");
    }
    if !GATED.contains(&activation.as_str()) {
        return set(draft, up(base), "");
    }
    let both = base.saturating_mul(2) / 3;
    let width = up(both / 2);
    let columns = both.div_ceil(2 * multiple).saturating_mul(2 * multiple);
    let is_built = columns == width.saturating_mul(2);
    if is_built && given.is_some() {
        return set(draft, width, "a third of it, as GPT-NeoX builds gated MLPs");
    }
    let why = if is_built {
        "versions of GPT-NeoX have different widths where it is not given".to_owned()
    } else {
        format!("GPT-NeoX makes {columns} columns and {width} rows of it, which do not fit")
    };
    draft.add_missing(&item, Some(id), why);
    let earlier = match (given, activation.as_str()) {
        (Some(_), _) => base,
        (None, "geglu") => hidden.saturating_mul(2),
        (None, _) => up(hidden.saturating_mul(8) / 3),
    };
    let choice = |label: &str, value: u64| Choice {
        label: label.to_owned(),
        value,
    };
    let mut choices = vec![choice("GPT-NeoX before September 2024", earlier)];
    if is_built {
        choices.push(choice("GPT-NeoX since September 2024", width));
    }
    draft.questions.push(Question::Field { field: id, choices });
}
