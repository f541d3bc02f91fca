//! Linear attention layers (`TransformerConfig.__post_init__`).

use crate::config::check::Draft;
use crate::config::fields::FieldId as F;
use crate::config::pattern::LayerPattern;
use crate::config::problem::{Problem, near_divisors, or_list};
use crate::value::Value;

pub(super) fn heads(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    if d.a.experimental_attention_variant.is_none() {
        return;
    }
    let (keys, values) = (d.a.linear_num_key_heads, d.a.linear_num_value_heads);
    if !values.is_multiple_of(keys) {
        let near = near_divisors(values, keys, 3);
        d.error(problems,
                "linear_heads",
                &[F::linear_num_value_heads, F::linear_num_key_heads],
                format!("linear_num_value_heads {values} must be a multiple of linear_num_key_heads {keys}; {} would work", or_list(&near)),
            )
            .fix_each(F::linear_num_key_heads, &near);
    }
    let ranks = d.tp.saturating_mul(d.cp);
    for (field, heads) in [
        (F::linear_num_key_heads, keys),
        (F::linear_num_value_heads, values),
    ] {
        if !heads.is_multiple_of(ranks) {
            d.error(
                problems,
                "linear_heads_by_ranks",
                &[
                    field,
                    F::tensor_model_parallel_size,
                    F::context_parallel_size,
                ],
                format!(
                    "{} {heads} must be a multiple of TP {} · CP {} = {ranks}",
                    field.field().name,
                    d.tp,
                    d.cp
                ),
            );
        }
    }
}

pub(super) fn pattern(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    let LayerPattern::List(list) = &d.a.linear_attention_freq else {
        return;
    };
    let (given, layers) = (list.len(), d.a.num_layers);
    if d.a.experimental_attention_variant.is_some() && u64::try_from(given) != Ok(layers) {
        d.error(
            problems,
            "linear_attention_freq",
            &[F::linear_attention_freq, F::num_layers],
            format!("linear_attention_freq lists {given} layers, but num_layers is {layers}"),
        )
        .fix(F::linear_attention_freq, Value::Int(4));
    }
}
