//! `block_configs`: the attention and the MLP of every layer, as `config.json` of Llama-Nemotron and Megatron-LM's
//! `--heterogeneous-layers-config-encoded-json` list them (`HeterogeneousTransformerConfig`).

use crate::config::layer_sizes::{LayerSize, LayerSizes};
use crate::value::Value;

/// The step to which widths that are given as a multiple of the hidden size are rounded up
/// (`MLPConfig.ffn_mult_to_intermediate_size`).
const WIDTH_STEP: u64 = 256;

/// The sizes of the layers that the list under `block_configs` describes. Every layer with attention has its query
/// groups, and every layer with an MLP its width.
///
/// # Errors
/// What the list has that is no layer of this kind.
pub(super) fn layers(list: &Value, heads: u64, hidden: u64) -> Result<Vec<LayerSizes>, String> {
    let Value::List(blocks) = list else {
        return Err(String::from("it must be a list with one map for each layer"));
    };
    let layers = (0..).zip(blocks).map(|(index, block): (u64, _)| {
        layer(block, heads, hidden).map_err(|why| format!("layer {index} (from 0) {why}"))
    });
    layers.collect()
}

fn layer(block: &Value, heads: u64, hidden: u64) -> Result<LayerSizes, &'static str> {
    let part = |keys: &[&str]| keys.iter().find_map(|key| block.get(key));
    let (Some(attention), Some(mlp)) = (part(&["attention"]), part(&["ffn", "mlp"])) else {
        return Err("has no attention or no ffn");
    };
    let is_on = |part: &Value, key: &str| part.get(key) == Some(&Value::Bool(true));
    if is_on(attention, "replace_with_linear") || is_on(mlp, "replace_with_linear") {
        return Err("has a linear layer in place of attention or of its MLP, which the estimate does not have");
    }
    let count = |part: &Value, key: &str| match part.get(key) {
        Some(Value::Int(count)) => u64::try_from(*count).ok(),
        _ => None,
    };
    let no_attention = is_on(attention, "no_op");
    let no_mlp = is_on(mlp, "no_op");
    let in_group = count(attention, "n_heads_in_group").filter(|n| *n > 0 && heads.is_multiple_of(*n));
    let groups = count(attention, "num_query_groups").or(in_group.map(|n| heads / n));
    let width = ["ffn_hidden_size", "intermediate_size"];
    let width = width.iter().find_map(|key| count(mlp, key));
    let width = width.or_else(|| multiple(mlp.get("ffn_mult")?, hidden));
    if !no_attention && groups.is_none() {
        return Err("has no n_heads_in_group that divides the heads");
    }
    if !no_mlp && width.is_none() {
        return Err("has no ffn_mult");
    }
    Ok(LayerSizes {
        no_attention,
        no_mlp,
        num_query_groups: groups.filter(|_| !no_attention).map(LayerSize::from),
        ffn_hidden_size: width.filter(|_| !no_mlp).map(LayerSize::from),
        ..LayerSizes::default()
    })
}

/// Two thirds of so many times the hidden size, without what is behind its decimal point, up to the next step.
fn multiple(times: &Value, hidden: u64) -> Option<u64> {
    let text = times.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let unit = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let double = digits.checked_mul(hidden.into())?.checked_mul(2)?;
    let width = u64::try_from(double / unit.checked_mul(3)?).ok()?;
    width.checked_next_multiple_of(WIDTH_STEP).filter(|width| *width > 0)
}

/// The sizes that most layers have, and the layers without them: what a module says once.
pub(super) struct Common {
    /// Query groups of the first layer with attention.
    pub(super) num_query_groups: Option<u64>,
    /// The width of most MLPs.
    pub(super) ffn_hidden_size: Option<u64>,
}

impl Common {
    /// The sizes that these layers have in common.
    pub(super) fn of(layers: &[LayerSizes]) -> Self {
        let widths: Vec<u64> = layers
            .iter()
            .filter_map(|layer| Some(layer.ffn_hidden_size?.into()))
            .collect();
        let often = |width: &u64| widths.iter().filter(|other| *other == width).count();
        Self {
            num_query_groups: layers.iter().find_map(|layer| Some(layer.num_query_groups?.into())),
            ffn_hidden_size: widths.iter().copied().max_by_key(|width| (often(width), *width)),
        }
    }

    /// The layers without the sizes that are these.
    pub(super) fn rest(&self, layers: Vec<LayerSizes>) -> Vec<LayerSizes> {
        let other = |own: Option<LayerSize>, common: Option<u64>| own.filter(|_| own != common.map(LayerSize::from));
        let rest = layers.into_iter().map(|layer| LayerSizes {
            num_query_groups: other(layer.num_query_groups, self.num_query_groups),
            ffn_hidden_size: other(layer.ffn_hidden_size, self.ffn_hidden_size),
            ..layer
        });
        rest.collect()
    }
}
