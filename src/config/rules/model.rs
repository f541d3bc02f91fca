//! Heads, widths, vocabulary and positions.

use crate::config::check::Draft;
use crate::config::choices::PositionEmbedding;
use crate::config::fields::FieldId as F;
use crate::config::problem::{Problem, near_divisors, near_matches, or_list};
use crate::value::Value;

pub(super) fn heads(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    let heads = d.a.num_attention_heads;
    if !heads.is_multiple_of(d.tp) {
        let near = d.near_tp(&|_| true);
        d.error(problems,
                "heads_by_tp",
                &[F::tensor_model_parallel_size, F::num_attention_heads],
                format!(
                    "num_attention_heads {heads} must be a multiple of tensor_model_parallel_size {}; TP {} would work",
                    d.tp,
                    or_list(&near)
                ),
            )
            .fix_each(F::tensor_model_parallel_size, &near);
    }
    if d.a.kv_channels.is_none()
        && !d.a.multi_latent_attention
        && !d.a.hidden_size.is_multiple_of(heads)
    {
        d.error(
            problems,
            "head_width",
            &[F::kv_channels, F::hidden_size, F::num_attention_heads],
            format!(
                "hidden_size {} is not a multiple of num_attention_heads {heads}: give kv_channels",
                d.a.hidden_size
            ),
        )
        .fix(F::kv_channels, Value::Int(128));
    }
}

pub(super) fn query_groups(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    if !d.a.group_query_attention {
        return;
    }
    let (groups, heads) = (d.num_query_groups, d.a.num_attention_heads);
    if !heads.is_multiple_of(groups) {
        let near = near_divisors(heads, groups, 3);
        d.error(
            problems,
            "heads_by_groups",
            &[F::num_query_groups, F::num_attention_heads],
            format!(
                "num_query_groups {groups} must divide num_attention_heads {heads}; {} would work",
                or_list(&near)
            ),
        )
        .fix_each(F::num_query_groups, &near);
    }
    if !groups.is_multiple_of(d.tp) && !d.tp.is_multiple_of(groups) {
        let near = d.near_tp(&|tp| groups.is_multiple_of(tp) || tp.is_multiple_of(groups));
        d.error(problems,
                "groups_by_tp",
                &[F::tensor_model_parallel_size, F::num_query_groups],
                format!(
                    "num_query_groups {groups} must be a multiple or a divisor of tensor_model_parallel_size {}; TP {} would work",
                    d.tp,
                    or_list(&near)
                ),
            )
            .fix_each(F::tensor_model_parallel_size, &near);
    }
}

pub(super) fn latent_attention(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    if d.a.multi_latent_attention && d.a.group_query_attention {
        d.error(
            problems,
            "mla_excludes_gqa",
            &[F::multi_latent_attention, F::group_query_attention],
            String::from("group_query_attention and multi_latent_attention exclude each other"),
        )
        .fix(F::group_query_attention, Value::Bool(false));
    }
}

/// Column- and row-parallel layers split their widths evenly (`divide` in megatron/core/utils.py).
pub(super) fn widths(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    let f = d.ffn_hidden_size;
    if !f.is_multiple_of(d.tp) {
        let near = near_matches(f, f.saturating_add(d.tp), 2, &|n| n.is_multiple_of(d.tp));
        let mut fields = vec![F::ffn_hidden_size, F::tensor_model_parallel_size];
        if d.a.ffn_hidden_size.is_none() {
            fields.push(F::hidden_size);
        }
        d.error(problems,
                "ffn_by_tp",
                &fields,
                format!("ffn_hidden_size {f} must be a multiple of tensor_model_parallel_size {}; {} would work", d.tp, or_list(&near)),
            )
            .fix_each(F::ffn_hidden_size, &near);
    }
}

pub(super) fn activations(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    let flags = [
        (d.a.swiglu, F::swiglu),
        (d.a.quick_geglu, F::quick_geglu),
        (d.a.geglu, F::geglu),
        (d.a.squared_relu, F::squared_relu),
    ];
    let on: Vec<F> = flags
        .iter()
        .filter(|(on, _)| *on)
        .map(|(_, field)| *field)
        .collect();
    if let [first, .., last] = on.as_slice() {
        d.error(
            problems,
            "one_activation",
            &on,
            format!(
                "{} and {} exclude each other: an MLP has one activation",
                first.field().name,
                last.field().name
            ),
        )
        .fix(*last, Value::Bool(false));
    }
}

pub(super) fn vocabulary(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    if !d.ends.is_language() {
        return;
    }
    match (d.a.vocab_size, d.a.padded_vocab_size) {
        (None, None) => {
            d.error(problems,
            "vocabulary",
            &[F::vocab_size],
            String::from("vocab_size must be given (Megatron-LM takes it from the tokenizer), or padded_vocab_size"),
        );
        }

        (Some(vocab), Some(padded)) if padded < vocab => {
            d.error(
                problems,
                "padded_vocabulary",
                &[F::padded_vocab_size, F::vocab_size],
                format!("padded_vocab_size {padded} is smaller than vocab_size {vocab}"),
            )
            .fix(F::padded_vocab_size, Value::Null);
        }

        _ => {}
    }
    if !d.padded_vocab_size.is_multiple_of(d.tp) && d.a.padded_vocab_size.is_some() {
        d.error(
            problems,
            "padded_vocabulary_by_tp",
            &[F::padded_vocab_size, F::tensor_model_parallel_size],
            format!(
                "padded_vocab_size {} must be a multiple of tensor_model_parallel_size {}",
                d.padded_vocab_size, d.tp
            ),
        )
        .fix(F::padded_vocab_size, Value::Null);
    }
}

pub(super) fn positions(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    let Some(longest) = d.a.max_position_embeddings.filter(|_| d.ends.is_language()) else {
        return;
    };
    let fields = [F::seq_length, F::max_position_embeddings];
    let message = format!(
        "max_position_embeddings {longest} is less than seq_length {}",
        d.a.seq_length
    );
    if longest < d.a.seq_length {
        // A table of positions would be read past its end. Otherwise Megatron-LM's launcher refuses the
        // arguments but the model itself has no limit, and nothing in memory depends on it.
        let problem = if d.a.position_embedding_type == PositionEmbedding::LearnedAbsolute {
            d.error(
                problems,
                "positions",
                &fields,
                format!("{message}: the table of learned positions is too short"),
            )
        } else {
            d.warning(
                problems,
                "positions",
                &fields,
                format!("{message}; Megatron-LM asks for at least that many"),
            )
        };
        problem.fix(
            F::max_position_embeddings,
            Value::Int(d.a.seq_length.into()),
        );
    }
}
