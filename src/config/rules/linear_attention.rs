//! Linear attention layers (`TransformerConfig.__post_init__`).

use super::rule::{ERROR, Found, Rule, To};
use crate::config::check::Draft;
use crate::config::choices::TransformerImpl;
use crate::config::fields::FieldId as F;
use crate::config::pattern::LayerPattern;
use crate::config::problem::near_divisors;
use crate::units::multiply;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "linear_attention",
        fields: &[F::experimental_attention_variant, F::linear_attention_freq],
        broken: |d, f| {
            is_linear(d)
                && f.why(if !d.place.has_linear_freq {
                    "linear_attention_freq"
                } else if d.a.transformer_impl != TransformerImpl::TransformerEngine {
                    "transformer_impl transformer_engine"
                } else {
                    ""
                })
        },
        words: "experimental_attention_variant needs {}",
        fixes: &[
            (F::linear_attention_freq, To::Number(4)),
            (F::transformer_impl, To::Default),
        ],
        ..ERROR
    },
    Rule {
        name: "linear_heads",
        fields: &[F::linear_num_value_heads, F::linear_num_key_heads],
        broken: |d, f| {
            let (keys, values) = (d.a.linear_num_key_heads, d.a.linear_num_value_heads);
            is_linear(d) && f.rest(values, keys) && f.near(near_divisors(values, keys, 3))
        },
        words: "linear_num_value_heads {} must be a multiple of linear_num_key_heads {}; {} would work",
        fixes: &[(F::linear_num_key_heads, To::Near)],
        ..ERROR
    },
    Rule {
        name: "linear_heads_by_ranks",
        fields: &[
            F::linear_num_key_heads,
            F::tensor_model_parallel_size,
            F::context_parallel_size,
        ],
        broken: |d, f| uneven_over_ranks(d, f, d.a.linear_num_key_heads),
        words: "linear_num_key_heads {} must be a multiple of TP {} · CP {} = {}",
        ..ERROR
    },
    Rule {
        name: "linear_heads_by_ranks",
        fields: &[
            F::linear_num_value_heads,
            F::tensor_model_parallel_size,
            F::context_parallel_size,
        ],
        broken: |d, f| uneven_over_ranks(d, f, d.a.linear_num_value_heads),
        words: "linear_num_value_heads {} must be a multiple of TP {} · CP {} = {}",
        ..ERROR
    },
    Rule {
        name: "linear_attention_freq",
        fields: &[F::linear_attention_freq, F::num_layers],
        broken: |d, f| match &d.a.linear_attention_freq {
            LayerPattern::List(list) => is_linear(d) && f.other_length(list, d.a.num_layers),
            LayerPattern::Every(_) => false,
        },
        words: "linear_attention_freq lists {} layers, but num_layers is {}",
        fixes: &[(F::linear_attention_freq, To::Number(4))],
        ..ERROR
    },
];

fn is_linear(d: &Draft<'_>) -> bool {
    d.a.experimental_attention_variant.is_some()
}

fn uneven_over_ranks(d: &Draft<'_>, f: &mut Found, heads: u64) -> bool {
    let ranks = multiply(d.tp, d.cp);
    is_linear(d) && !heads.is_multiple_of(ranks) && f.numbers(&[heads, d.tp, d.cp, ranks])
}
