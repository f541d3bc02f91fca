//! Models whose layers are gated delta nets, except some with full attention whose output has a gate: Qwen3-Next and
//! its successors.

use super::error::HfProblemKind;
use super::source::Source;
use crate::formats::node::Data;
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// The keys of a gated delta net, and the fields of the same meaning.
const SIZES: [(&str, &str); 5] = [
    ("linear_conv_kernel_dim", "linear_conv_kernel_dim"),
    ("linear_key_head_dim", "linear_key_head_dim"),
    ("linear_value_head_dim", "linear_value_head_dim"),
    ("linear_num_key_heads", "linear_num_key_heads"),
    ("linear_num_value_heads", "linear_num_value_heads"),
];

/// Which layers have full attention, where the file lists them or says nothing: `N` for every `N`-th.
const FREQUENCY: &str = "linear_attention_freq";

pub(super) fn translate(source: &mut Source<'_>, layers: Option<i128>) {
    let variant = Value::Text(String::from("gated_delta_net"));
    source.derive_from_family("experimental_attention_variant", variant, "");
    frequency(source, layers);
    for (key, field) in SIZES {
        source.required(key, field);
    }
    let field = "attention_output_gate";
    match source.flag("attn_output_gate") {
        Some((found, on)) => source.map(&found, field, Value::Bool(on)),
        None => source.derive_from_family(field, Value::Bool(true), ""),
    }
}

fn frequency(source: &mut Source<'_>, layers: Option<i128>) {
    let listed = source.find("layer_types");
    let interval = source.count("full_attention_interval", 1);
    let Some(found) = listed.filter(|found| *found.data != Data::Null) else {
        if let Some((found, interval)) = interval {
            source.map(&found, FREQUENCY, Value::Int(interval));
        }
        return;
    };
    if let Some((interval, _)) = interval {
        let note = "another key lists the layers";
        source.row(&interval, KeyStatus::Ignored, Some(FREQUENCY), note);
    }
    let kinds: Option<Vec<bool>> = match found.data {
        Data::List(items) => items
            .iter()
            .map(|item| match &item.data {
                Data::Text(kind) if kind == "linear_attention" => Some(true),
                Data::Text(kind) if kind == "full_attention" => Some(false),
                _ => None,
            })
            .collect(),
        _ => None,
    };
    let count = layers.and_then(|layers| usize::try_from(layers).ok());
    let Some(kinds) = kinds.filter(|kinds| count.is_none_or(|count| count == kinds.len())) else {
        let expected = "a list with linear_attention or full_attention for each layer";
        source.problem(&found, HfProblemKind::WrongType { expected });
        return;
    };
    let value = every(&kinds).map_or_else(
        || {
            let list = kinds.iter().map(|linear| Value::Int((*linear).into()));
            Value::List(list.collect())
        },
        Value::Int,
    );
    source.derive(&found, FREQUENCY, value, "the layers with full attention");
}

/// `N` where every `N`-th layer, and no other, has full attention.
fn every(linear: &[bool]) -> Option<i128> {
    let first = linear.iter().position(|linear| !linear)? + 1;
    let regular = (1..).zip(linear).all(|(number, linear)| {
        let layer: usize = number;
        layer.is_multiple_of(first) != *linear
    });
    regular.then_some(first as i128)
}
