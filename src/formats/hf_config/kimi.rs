//! Kimi K3: layers with delta attention, and others with latent attention, between attention residuals, and experts in a
//! latent space (`KimiK3Bridge.provider_bridge`).

use super::error::HfProblemKind;
use super::source::Source;
use crate::formats::node::Data;
use crate::value::Value;

/// The keys of delta attention, whose keys and values have as many heads and as wide ones, with the fields of the same
/// meaning.
const SIZES: [(&str, &[&str]); 3] = [
    (
        "linear_num_value_heads",
        &["linear_num_value_heads", "linear_num_key_heads"],
    ),
    (
        "linear_value_head_dim",
        &["linear_value_head_dim", "linear_key_head_dim"],
    ),
    ("linear_conv_kernel_dim", &["linear_conv_kernel_dim"]),
];

pub(super) fn translate(source: &mut Source<'_>, layers: Option<i128>) {
    source.required("attn_res_block_size", "kimi_attn_res_block_size");
    source.required("routed_expert_hidden_size", "moe_latent_size");
    for (key, fields) in SIZES {
        let problems = source.problems.len();
        if let Some((found, size)) = source.count(key, 1) {
            for &field in fields {
                source.map(&found, field, Value::Int(size));
            }
        } else if source.problems.len() == problems {
            source.missing(key);
        }
    }
    delta_layers(source, layers);
}

/// The layers with delta attention, which the file lists by their numbers, counted from 1.
fn delta_layers(source: &mut Source<'_>, layers: Option<i128>) {
    let Some(found) = source.find("kda_layers") else {
        return source.missing("kda_layers");
    };
    let layers = layers.unwrap_or(0);
    let numbers: Option<Vec<i128>> = match found.data {
        Data::List(items) => items
            .iter()
            .map(|item| match item.data {
                Data::Int(number) if (1..=layers).contains(&number) => Some(number),
                _ => None,
            })
            .collect(),
        _ => None,
    };
    let Some(numbers) = numbers else {
        let expected = "a list of layer numbers, counted from 1";
        return source.problem(&found, HfProblemKind::WrongType { expected });
    };
    let list = (1..=layers).map(|number| Value::Int(numbers.contains(&number).into()));
    let value = Value::List(list.collect());
    source.derive(
        &found,
        "linear_attention_freq",
        value,
        "1 for layers with delta attention",
    );
}
