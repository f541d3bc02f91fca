//! Linear attention layers (`TransformerConfig.__post_init__`).

use super::rule::FixValue::{Default, Number};
use super::rule::{Rule, Violation, rule};
use crate::config::choices::{AttentionVariant, TransformerImpl};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::nearby::{near_divisors, or_list};
use crate::config::pattern::LayerPattern;

pub(super) const RULES: &[Rule] = &[
    rule("linear_attention", linear_attention),
    rule("linear_heads", linear_heads),
    rule("linear_heads_by_ranks", |d| {
        heads_by_ranks(d, F::linear_num_key_heads, d.args.linear_num_key_heads)
    }),
    rule("linear_heads_by_ranks", |d| {
        heads_by_ranks(d, F::linear_num_value_heads, d.args.linear_num_value_heads)
    }),
    rule("linear_attention_freq", linear_attention_freq),
];

fn has_linear_attention(d: &Draft<'_>) -> bool {
    d.args
        .experimental_attention_variant
        .is_some_and(AttentionVariant::is_gated_delta_net)
}

fn linear_attention(d: &Draft<'_>) -> Option<Violation> {
    // Layers of a pattern need no frequency, but `TransformerConfig` asks for it with gdn all the same.
    let by_pattern = d.pattern().is_some()
        && d.args.experimental_attention_variant == Some(AttentionVariant::Gdn2);
    let missing = if !d.context.has_linear_freq && !by_pattern {
        "linear_attention_freq"
    } else if d.args.transformer_impl != TransformerImpl::TransformerEngine {
        "transformer_impl transformer_engine"
    } else {
        return None;
    };
    has_linear_attention(d).then(|| {
        let message = format!("experimental_attention_variant needs {missing}");
        let fields = [F::experimental_attention_variant, F::linear_attention_freq];
        Violation::error(&fields, message)
            .fix(F::linear_attention_freq, Number(4))
            .fix(F::transformer_impl, Default)
    })
}

fn linear_heads(d: &Draft<'_>) -> Option<Violation> {
    let (keys, values) = (d.args.linear_num_key_heads, d.args.linear_num_value_heads);
    if !has_linear_attention(d) || values.is_multiple_of(keys) {
        return None;
    }
    let near = near_divisors(values, keys, 3);
    let message = format!(
        "linear_num_value_heads {values} must be a multiple of linear_num_key_heads {keys}; {} would work",
        or_list(&near)
    );
    let fields = [F::linear_num_value_heads, F::linear_num_key_heads];
    Some(Violation::error(&fields, message).fix_each(F::linear_num_key_heads, &near))
}

fn heads_by_ranks(d: &Draft<'_>, field: F, heads: u64) -> Option<Violation> {
    let ranks = d.tp.saturating_mul(d.cp);
    (has_linear_attention(d) && !heads.is_multiple_of(ranks)).then(|| {
        let message = format!(
            "{} {heads} must be a multiple of TP {} · CP {} = {ranks}",
            field.field().name,
            d.tp,
            d.cp
        );
        let sizes = [
            field,
            F::tensor_model_parallel_size,
            F::context_parallel_size,
        ];
        Violation::error(&sizes, message)
    })
}

fn linear_attention_freq(d: &Draft<'_>) -> Option<Violation> {
    let LayerPattern::List(list) = &d.args.linear_attention_freq else {
        return None;
    };
    let layers = d.args.num_layers;
    (has_linear_attention(d) && list.len() as u64 != layers).then(|| {
        let message = format!(
            "linear_attention_freq lists {} layers, but num_layers is {layers}",
            list.len()
        );
        Violation::error(&[F::linear_attention_freq, F::num_layers], message)
            .fix(F::linear_attention_freq, Number(4))
    })
}
