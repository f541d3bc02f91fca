//! Heads, widths, vocabulary and positions.

use super::rule::{ERROR, Found, Rule, To, WARNING};
use crate::config::check::Draft;
use crate::config::choices::PositionEmbedding;
use crate::config::fields::FieldId as F;
use crate::config::problem::near_divisors;
use crate::value::Value;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "heads_by_tp",
        fields: &[F::tensor_model_parallel_size, F::num_attention_heads],
        broken: |d, f| f.rest(d.a.num_attention_heads, d.tp) && f.near(d.near_tp(&|_| true)),
        words: "num_attention_heads {} must be a multiple of tensor_model_parallel_size {}; TP {} would work",
        fixes: &[(F::tensor_model_parallel_size, To::Near)],
        ..ERROR
    },
    Rule {
        name: "head_width",
        fields: &[F::kv_channels, F::hidden_size, F::num_attention_heads],
        broken: |d, f| {
            d.a.kv_channels.is_none()
                && !d.a.multi_latent_attention
                && f.rest(d.a.hidden_size, d.a.num_attention_heads)
        },
        words: "hidden_size {} is not a multiple of num_attention_heads {}: give kv_channels",
        fixes: &[(F::kv_channels, To::Number(128))],
        ..ERROR
    },
    Rule {
        name: "heads_by_groups",
        fields: &[F::num_query_groups, F::num_attention_heads],
        broken: |d, f| {
            let (groups, heads) = (d.num_query_groups, d.a.num_attention_heads);
            d.a.group_query_attention
                && !heads.is_multiple_of(groups)
                && f.numbers(&[groups, heads])
                && f.near(near_divisors(heads, groups, 3))
        },
        words: "num_query_groups {} must divide num_attention_heads {}; {} would work",
        fixes: &[(F::num_query_groups, To::Near)],
        ..ERROR
    },
    Rule {
        name: "groups_by_tp",
        fields: &[F::tensor_model_parallel_size, F::num_query_groups],
        broken: |d, f| {
            let groups = d.num_query_groups;
            let fits = |tp: u64| groups.is_multiple_of(tp) || tp.is_multiple_of(groups);
            d.a.group_query_attention
                && !fits(d.tp)
                && f.numbers(&[groups, d.tp])
                && f.near(d.near_tp(&fits))
        },
        words: "num_query_groups {} must be a multiple or a divisor of tensor_model_parallel_size {}; TP {} would work",
        fixes: &[(F::tensor_model_parallel_size, To::Near)],
        ..ERROR
    },
    Rule {
        name: "mla_excludes_gqa",
        fields: &[F::multi_latent_attention, F::group_query_attention],
        broken: |d, _| d.a.multi_latent_attention && d.a.group_query_attention,
        words: "group_query_attention and multi_latent_attention exclude each other",
        fixes: &[(F::group_query_attention, To::Off)],
        ..ERROR
    },
    // Column- and row-parallel layers split their widths evenly (`divide` in megatron/core/utils.py).
    Rule {
        name: "ffn_by_tp",
        broken: |d, f| {
            let fields = &[
                F::ffn_hidden_size,
                F::tensor_model_parallel_size,
                F::hidden_size,
            ];
            let involved = if d.a.ffn_hidden_size.is_some() { 2 } else { 3 };
            let width = d.ffn_hidden_size;
            has_dense_layers(d)
                && f.rest(width, d.tp)
                && d.fit_tp(f, F::ffn_hidden_size, width, d.tp)
                && f.about(fields.get(..involved).unwrap_or_default())
        },
        words: "ffn_hidden_size {} must be a multiple of tensor_model_parallel_size {}; {} {} would work",
        ..ERROR
    },
    Rule {
        name: "one_activation",
        broken: |d, f| {
            let flags = [
                (d.a.swiglu, F::swiglu),
                (d.a.quick_geglu, F::quick_geglu),
                (d.a.geglu, F::geglu),
                (d.a.squared_relu, F::squared_relu),
            ];
            let mut on = Vec::new();
            for (is_on, field) in flags {
                if is_on {
                    on.push(field);
                }
            }
            let [first, .., last] = *on.as_slice() else {
                return false;
            };
            f.text(first.field().name)
                && f.text(last.field().name)
                && f.fix(last, Value::Bool(false))
                && f.about(&on)
        },
        words: "{} and {} exclude each other: an MLP has one activation",
        ..ERROR
    },
    Rule {
        name: "vocabulary",
        fields: &[F::vocab_size],
        broken: |d, _| {
            d.ends.is_language() && d.a.vocab_size.is_none() && d.a.padded_vocab_size.is_none()
        },
        words: "vocab_size must be given (Megatron-LM takes it from the tokenizer), or padded_vocab_size",
        ..ERROR
    },
    Rule {
        name: "padded_vocabulary",
        fields: &[F::padded_vocab_size, F::vocab_size],
        broken: |d, f| match (d.a.padded_vocab_size, d.a.vocab_size) {
            (Some(padded), Some(vocab)) => {
                d.ends.is_language() && padded < vocab && f.numbers(&[padded, vocab])
            }
            _ => false,
        },
        words: "padded_vocab_size {} is smaller than vocab_size {}",
        fixes: &[(F::padded_vocab_size, To::Default)],
        ..ERROR
    },
    Rule {
        name: "padded_vocabulary_by_tp",
        fields: &[F::padded_vocab_size, F::tensor_model_parallel_size],
        broken: |d, f| {
            d.ends.is_language()
                && d.a.padded_vocab_size.is_some()
                && f.rest(d.padded_vocab_size, d.tp)
        },
        words: "padded_vocab_size {} must be a multiple of tensor_model_parallel_size {}",
        fixes: &[(F::padded_vocab_size, To::Default)],
        ..ERROR
    },
    // A table of positions would be read past its end. Otherwise Megatron-LM's launcher refuses the
    // arguments but the model itself has no limit, and nothing in memory depends on it.
    Rule {
        name: "positions",
        fields: &[F::seq_length, F::max_position_embeddings],
        broken: |d, f| has_learned_positions(d) && too_few_positions(d, f),
        words: "max_position_embeddings {} is less than seq_length {}: the table of learned positions is too short",
        ..ERROR
    },
    Rule {
        name: "positions",
        fields: &[F::seq_length, F::max_position_embeddings],
        broken: |d, f| !has_learned_positions(d) && too_few_positions(d, f),
        words: "max_position_embeddings {} is less than seq_length {}; Megatron-LM asks for at least that many",
        ..WARNING
    },
    // An MTP block embeds the tokens that it predicts from, and has no table of positions for them.
    Rule {
        name: "mtp_positions",
        fields: &[F::mtp_num_layers, F::position_embedding_type],
        broken: |d, f| {
            let kind = d.a.position_embedding_type;
            let table = matches!(
                kind,
                PositionEmbedding::LearnedAbsolute | PositionEmbedding::Relative
            );
            d.mtp_num_layers > 0 && table && f.text(kind.name())
        },
        words: "mtp_num_layers is not supported with position_embedding_type {}",
        fixes: &[
            (F::position_embedding_type, To::Name("rope")),
            (F::mtp_num_layers, To::Default),
        ],
        ..ERROR
    },
    Rule {
        name: "fused_activation",
        fields: &[F::squared_relu, F::bias_gelu_fusion],
        broken: |d, _| d.a.squared_relu && d.a.add_bias_linear && d.a.bias_gelu_fusion,
        words: "squared_relu has no kernel that adds the bias as well: turn bias_gelu_fusion off, or the biases",
        fixes: &[
            (F::bias_gelu_fusion, To::Off),
            (F::add_bias_linear, To::Off),
        ],
        ..ERROR
    },
];

fn has_learned_positions(d: &Draft<'_>) -> bool {
    d.a.position_embedding_type == PositionEmbedding::LearnedAbsolute
}

fn too_few_positions(d: &Draft<'_>, f: &mut Found) -> bool {
    let length = d.a.seq_length;
    d.ends.is_language()
        && d.a.max_position_embeddings.is_some_and(|longest| {
            longest < length
                && f.numbers(&[longest, length])
                && f.fix_each(F::max_position_embeddings, &[length])
        })
}

/// Whether any decoder layer has a dense MLP.
fn has_dense_layers(d: &Draft<'_>) -> bool {
    d.a.num_experts.is_none() || !d.a.moe_layer_freq.is_everywhere()
}
