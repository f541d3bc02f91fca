//! Layers with sizes of their own.

use super::rule::FixValue::Default;
use super::rule::rules;
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::layer_sizes::{LayerSize, LayerSizesList};
use crate::config::layers::{Layer, MlpKind};
use crate::config::nearby::{near_divisors, near_multiples, or_list};
use crate::config::problem::Problem;

rules! { |d, a|
    error "layer_sizes" by(readable);
    error "layer_sizes_by_layers" by(one_for_each_layer);
    error "layer_sizes_by_tp" by(divided);
}

fn list(d: &Draft<'_>) -> Option<LayerSizesList> {
    d.args.layer_sizes.as_deref()?.parse().ok()
}

fn readable(d: &Draft<'_>) -> Option<Problem> {
    let error = d.args.layer_sizes.as_deref()?.parse::<LayerSizesList>().err()?;
    let violation = Problem::error(&[F::layer_sizes], format!("layer_sizes {error}"));
    Some(violation.fix(F::layer_sizes, Default))
}

fn one_for_each_layer(d: &Draft<'_>) -> Option<Problem> {
    let list = list(d)?;
    let (listed, layers) = (list.decoder.len(), d.args.num_layers);
    if u64::try_from(listed) == Ok(layers) {
        return None;
    }
    let message = format!("layer_sizes lists {listed} layers, and the model has {layers}: list one for each");
    let fields = [F::layer_sizes, F::num_layers];
    let violation = Problem::error(&fields, message).fix(F::layer_sizes, Default);
    if d.pattern().is_some() {
        return Some(violation);
    }
    let listed = u64::try_from(listed).unwrap_or(u64::MAX);
    Some(violation.fix(F::num_layers, super::rule::FixValue::Number(listed)))
}

/// Tensor-parallel ranks split the heads and the widths of every layer evenly.
fn divided(d: &Draft<'_>) -> Option<Problem> {
    let layers = d.layers.distinct().iter().chain(d.layers.mtp());
    let mut with_own = layers.filter(|layer| !layer.sizes.is_of_module());
    with_own.find_map(|layer| undivided(d, *layer))
}

/// The size of a layer that cannot be split, in words.
fn undivided(d: &Draft<'_>, layer: Layer) -> Option<Problem> {
    let tp = d.tensor_parts();
    let sizes = layer.sizes;
    let number = |size: Option<LayerSize>| size.map(u64::from);
    let num_attention_heads = number(sizes.num_attention_heads);
    let num_query_groups = number(sizes.num_query_groups);
    let ffn_hidden_size = number(sizes.ffn_hidden_size);
    let num_experts = number(sizes.num_experts);
    let moe_ffn_hidden_size = number(sizes.moe_ffn_hidden_size);
    let heads = num_attention_heads.unwrap_or(d.args.num_attention_heads);
    let of_module = if d.args.group_query_attention {
        d.num_query_groups
    } else {
        heads
    };
    let groups = num_query_groups.unwrap_or(of_module);
    let problem = |what: String, would_work: &[u64]| {
        let message = format!(
            "layer_sizes has a layer {}: {what}; {} would work",
            layer.sizes,
            or_list(would_work)
        );
        let fields = [F::layer_sizes, F::tensor_model_parallel_size];
        Problem::error(&fields, message).fix(F::layer_sizes, Default)
    };
    let multiple = |name: &str, number: Option<u64>, step: u64| {
        let number = number.filter(|number| !number.is_multiple_of(step))?;
        let near = near_multiples(number, step);
        Some(problem(format!("{name} {number} must be a multiple of {step}"), &near))
    };
    let mixes = layer.mixer.is_some();
    if mixes && heads > 0 && groups > 0 && !heads.is_multiple_of(groups) {
        let near = near_divisors(heads, groups, 3);
        let what = format!("num_query_groups {groups} must divide num_attention_heads {heads}");
        return Some(problem(what, &near));
    }
    if mixes && (groups == 0 || !(groups.is_multiple_of(tp) || tp.is_multiple_of(groups))) {
        let near = near_multiples(groups.max(1), tp);
        let what =
            format!("num_query_groups {groups} must be a multiple or a divisor of tensor_model_parallel_size {tp}");
        return Some(problem(what, &near));
    }
    let dense = layer.mlp == Some(MlpKind::Dense);
    let moe = layer.mlp == Some(MlpKind::Moe);
    multiple("num_attention_heads", num_attention_heads.filter(|_| mixes), tp)
        .or_else(|| multiple("ffn_hidden_size", ffn_hidden_size.filter(|_| dense), tp))
        .or_else(|| multiple("num_experts", num_experts.filter(|_| moe), d.ep))
        .or_else(|| multiple("moe_ffn_hidden_size", moe_ffn_hidden_size.filter(|_| moe), d.etp))
}
