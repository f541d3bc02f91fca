//! Multi-latent attention: queries, keys and values through a narrow latent space.

use super::attention::core::{self, Inputs};
use super::attention::heads::Heads;
use super::attention::{project, rope_tables};
use super::hidden;
use super::linear::{Linear, column, norm_column, plain};
use super::norm::{self, KEY_VALUE, NormNames, QUERY, residual_norm, token_norm};
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, TensorId, Work};
use super::tensor::{Component, Factor, ParamTensor, Shape, factor};
use super::weights::Weights;
use crate::config::choices::{AttentionVariant, OffloadModule, RecomputeModule, TransformerImpl};
use crate::config::job::Module;
use crate::source::Source;

/// One MLA block from the residual stream to the output of `linear_proj`.
pub(crate) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, input: TensorId) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    let args = &m.args;
    let queries = Heads::queries(m);
    let query = factor("(d_qk + d_r)", args.qk_head_dim + args.qk_pos_emb_head_dim);
    let value = factor("d_v", args.v_head_dim);

    let weights = Weights::of(m, Component::Attention, Source::Mla);

    let fused = m.args.mla_down_proj_fusion && args.transformer_impl != TransformerImpl::Local;
    tape.at(Family::Residual, Source::Mla);
    let start = tape.here();
    let (normed, down, first) = if fused {
        let down = compress_fused(sizes, tape, input);
        (None, down, start)
    } else {
        let normed = residual_norm(sizes, tape, &norm::input(m), input);
        tape.offload(OffloadModule::AttnNorm, start);
        let first = tape.here();
        (Some(normed), compress(sizes, tape, normed), first)
    };

    let down = norm_apart(sizes, tape, down);
    tape.at(Family::Attention, Source::Mla);
    let again = tape.here();
    let n_q = factor("n_q", args.num_attention_heads);
    let q = project_queries(sizes, tape, query, down.queries, normed.unwrap_or(input));
    let key_value = factor("(d_qk + d_v)", args.qk_head_dim + args.v_head_dim);
    let kv = tape.tensor(
        "keys without rotary part, and values",
        queries.tokens(sizes, key_value),
        bytes,
    );
    let kv_rank = factor("r_kv", args.kv_lora_rank);
    let name = "self_attention.linear_kv_up_proj.weight";
    let linear = Linear {
        name: "linear_kv_up_proj",
        input: down.keys_values,
        width: kv_rank,
        output: kv,
        weight: weights.column_parallel(name, &[n_q, key_value, kv_rank], 2),
        bias: None,
    };
    up(sizes, tape, &key_value_norm(m), &linear, kv_rank);
    let (q, k, v) = rope(sizes, tape, q, kv, query);
    let last = tape.here();
    tape.offload(OffloadModule::QkvLinear, first);

    let inputs = Inputs {
        reads: vec![q, k, v],
        saves: vec![q, k, v],
        queries,
        groups: queries,
        qk_width: query,
        v_width: value,
    };
    let context = core::build(sizes, tape, &inputs);
    let mut keeps = vec![
        down.keys_values,
        down.queries
            .map_or(normed.unwrap_or(input), |(compressed, _)| compressed),
    ];
    if sizes.kernels.counts_arguments {
        let shape = Shape::of(&[factor("s", args.seq_length), factor("d_r", args.qk_pos_emb_head_dim)]);
        keeps.push(tape.tensor("rotary frequencies", shape, 4));
    }
    tape.discarding_section(RecomputeModule::MlaUpProj, again..last, &keeps, &[q, k, v]);
    let biases = Weights::of(m, Component::AttentionBias, Source::Mla);
    let normed = normed.map(|normed| (start, normed));
    project(sizes, tape, (context, value), (weights, biases), normed, input)
}

/// The projection that makes queries from compressed ones, or else from the output of the input norm.
fn project_queries(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    query: Factor,
    compressed: Option<(TensorId, Factor)>,
    normed: TensorId,
) -> TensorId {
    let m = sizes.m;
    let args = &m.args;
    let weights = Weights::of(m, Component::Attention, Source::Mla);
    let n_q = factor("n_q", args.num_attention_heads);
    let q = tape.tensor("queries", Heads::queries(m).tokens(sizes, query), sizes.width());
    if let Some((compressed, rank)) = compressed {
        let name = "self_attention.linear_q_up_proj.weight";
        let linear = Linear {
            name: "linear_q_up_proj",
            input: compressed,
            width: rank,
            output: q,
            weight: weights.column_parallel(name, &[n_q, query, rank], 2),
            bias: None,
        };
        up(sizes, tape, &query_norm(m, rank), &linear, rank);
    } else {
        let name = "self_attention.linear_q_proj.weight";
        let linear = Linear {
            name: "linear_q_proj",
            input: normed,
            width: hidden(m),
            output: q,
            weight: weights.column_parallel(name, &[n_q, query, hidden(m)], 2),
            bias: None,
        };
        // Norms on queries and keys come with the projections that follow them; this is one of them then.
        if args.qk_layernorm && args.mla_q_proj_layernorm {
            let norms = Weights::of(m, Component::Layernorm, Source::LayerNorms);
            let weight = norms.norm("self_attention.linear_q_proj.layer_norm", hidden(m));
            norm_column(sizes, tape, (QUERY, weight), &linear, hidden(m));
        } else {
            column(sizes, tape, &linear);
        }
    }
    q
}

/// The norm on compressed queries.
fn query_norm(m: &Module, rank: Factor) -> (NormNames, ParamTensor) {
    let weights = Weights::of(m, Component::MlaLayernorm, Source::Mla);
    (QUERY, weights.norm("self_attention.q_layernorm", rank))
}

/// The norm on compressed keys and values.
fn key_value_norm(m: &Module) -> (NormNames, ParamTensor) {
    let weights = Weights::of(m, Component::MlaLayernorm, Source::Mla);
    let rank = factor("r_kv", m.args.kv_lora_rank);
    (KEY_VALUE, weights.norm("self_attention.kv_layernorm", rank))
}

/// The weight of a down projection. Transformer Engine holds it in full on every TP rank; Megatron's own modules split
/// it by columns.
fn down_weight(m: &Module, name: &'static str, rank: Factor) -> ParamTensor {
    let weights = Weights::of(m, Component::MlaDownProj, Source::MlaDown);
    if m.args.transformer_impl == TransformerImpl::Local {
        weights.column_parallel(name, &[rank, hidden(m)], 2)
    } else {
        weights.whole(name, &[rank, hidden(m)], 2)
    }
}

/// The outputs of the down projections.
pub(crate) struct Compressed {
    /// Compressed queries and their width, if queries are compressed.
    pub(crate) queries: Option<(TensorId, Factor)>,
    /// Compressed keys and values, and before their norm the rotary part of keys.
    pub(crate) keys_values: TensorId,
}

pub(crate) fn compress(sizes: &Sizes<'_>, tape: &mut AutogradTape, normed: TensorId) -> Compressed {
    let (m, bytes) = (sizes.m, sizes.width());
    let args = &m.args;
    tape.at(Family::Attention, Source::MlaDown);
    let sizes = &sizes.sharing_with(RecomputeModule::Layernorm);
    let compressed_q = args.q_lora_rank.map(|rank| {
        let rank = factor("r_q", rank);
        let output = tape.tensor("compressed queries", sizes.own_tokens(&[rank]), bytes);
        let linear = Linear {
            name: "linear_q_down_proj",
            input: normed,
            width: hidden(m),
            output,
            weight: down_weight(m, "self_attention.linear_q_down_proj.weight", rank),
            bias: None,
        };
        plain(sizes, tape, &linear);
        (output, rank)
    });
    let latent = factor("(r_kv + d_r)", args.kv_lora_rank + args.qk_pos_emb_head_dim);
    let compressed_kv = tape.tensor("compressed keys and values", sizes.own_tokens(&[latent]), bytes);
    let linear = Linear {
        name: "linear_kv_down_proj",
        input: normed,
        width: hidden(m),
        output: compressed_kv,
        weight: down_weight(m, "self_attention.linear_kv_down_proj.weight", latent),
        bias: None,
    };
    plain(sizes, tape, &linear);
    Compressed {
        queries: compressed_q,
        keys_values: compressed_kv,
    }
}

/// Both down projections and the input norm in one column-parallel layer. Its parts are gathered, so that every rank
/// has whole rows again. Of the rows of compressed queries that a rank goes on with, it keeps the gathered tensor
/// around them as well (`scatter_to_sequence_parallel_region` makes a view of whole rows); of those of keys and values
/// it makes a copy.
fn compress_fused(sizes: &Sizes<'_>, tape: &mut AutogradTape, input: TensorId) -> Compressed {
    let (m, bytes) = (sizes.m, sizes.width());
    let a = &m.args;
    let query_rank = a.q_lora_rank.unwrap_or(0);
    let rank = factor("r_q", query_rank);
    let latent = a.kv_lora_rank + a.qk_pos_emb_head_dim;
    let width = factor("(r_q + r_kv + d_r)", query_rank + latent);
    tape.at(Family::Attention, Source::MlaFused);
    let both = tape.tensor("compressed queries, keys and values", sizes.columns(&[width]), bytes);
    tape.at(Family::Residual, Source::MlaFused);
    let weights = Weights::of(m, Component::MlaDownProj, Source::MlaFused);
    let name = "self_attention.linear_qkv_down_proj.weight";
    let linear = Linear {
        name: "linear_qkv_down_proj",
        input,
        width: hidden(m),
        output: both,
        weight: weights.column_parallel(name, &[width, hidden(m)], 2),
        bias: None,
    };
    norm_column(sizes, tape, norm::input(m), &linear, hidden(m));
    tape.at(Family::Attention, Source::MlaFused);
    if m.tp == 1 {
        return Compressed {
            queries: Some((both, rank)),
            keys_values: both,
        };
    }
    let queries = tape.tensor("compressed queries", sizes.tokens(&[rank]), bytes);
    let latent = sizes.tokens(&[factor("(r_kv + d_r)", latent)]);
    let gathered = tape.tensor("compressed keys and values", latent, bytes);
    let pieces = tape.tensor("gathered pieces", sizes.tokens(&[width]), bytes);
    tape.op(
        "gather_from_tensor_model_parallel_region",
        Work::MemoryBound,
        &[both],
        &[queries, gathered],
    )
    .forward(&[pieces]);
    let mut keys_values = gathered;
    if m.sequence_parallel {
        let rows = sizes.own_tokens(&[factor("r_kv", a.kv_lora_rank)]);
        keys_values = tape.tensor("compressed keys and values of own tokens", rows, bytes);
        tape.op(
            "scatter_to_sequence_parallel_region",
            Work::MemoryBound,
            &[gathered],
            &[keys_values],
        );
    }
    Compressed {
        queries: Some((queries, rank)),
        keys_values,
    }
}

/// Whether the norms on the compressed tensors are part of the up projections. Those of sparse attention never are, and
/// then those of no other layer of the model (`QKNormConfigResolver`).
fn norm_in_up_projection(sizes: &Sizes<'_>) -> bool {
    let sparse = sizes.m.args.experimental_attention_variant == Some(AttentionVariant::Dsa);
    sizes.kernels.norm_in_linear && !sparse
}

/// Norms on the compressed tensors, where they are not part of the up projections.
pub(crate) fn norm_apart(sizes: &Sizes<'_>, tape: &mut AutogradTape, down: Compressed) -> Compressed {
    if !sizes.m.args.qk_layernorm || norm_in_up_projection(sizes) {
        return down;
    }
    Compressed {
        queries: down.queries.map(|(input, rank)| {
            let norm = query_norm(sizes.m, rank);
            (token_norm(sizes, tape, norm, input, rank), rank)
        }),
        keys_values: token_norm(
            sizes,
            tape,
            key_value_norm(sizes.m),
            down.keys_values,
            factor("r_kv", sizes.m.args.kv_lora_rank),
        ),
    }
}

/// An up projection; with norms on queries and keys it has one in it, unless that is an operation of its own.
fn up(sizes: &Sizes<'_>, tape: &mut AutogradTape, norm: &(NormNames, ParamTensor), linear: &Linear, normed: Factor) {
    if sizes.m.args.qk_layernorm && norm_in_up_projection(sizes) {
        norm_column(sizes, tape, *norm, linear, normed);
    } else {
        column(
            sizes,
            tape,
            &Linear {
                width: normed,
                ..*linear
            },
        );
    }
}

/// Rotary embedding writes whole keys, values, and unless it is fused new queries.
fn rope(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    q: TensorId,
    kv: TensorId,
    query: Factor,
) -> (TensorId, TensorId, TensorId) {
    let (m, bytes) = (sizes.m, sizes.width());
    let heads = Heads::queries(m);
    tape.at(Family::Attention, Source::MlaRope);
    let k = tape.tensor("keys", heads.tokens(sizes, query), bytes);
    let v = tape.tensor("values", heads.tokens(sizes, factor("d_v", m.args.v_head_dim)), bytes);
    if sizes.kernels.rope_fused {
        tape.op("fused_apply_mla_rope", Work::MemoryBound, &[kv], &[k, v]);
        return (q, k, v);
    }
    let rotated = tape.tensor("queries after rotary embedding", heads.tokens(sizes, query), bytes);
    let rotary = factor("2·d_r", 2 * m.args.qk_pos_emb_head_dim);
    let parts = tape.tensor("rotary parts of queries and keys", heads.tokens(sizes, rotary), bytes);
    let tables = rope_tables(sizes, tape, factor("d_r", m.args.qk_pos_emb_head_dim));
    tape.op("apply_rotary_pos_emb", Work::MemoryBound, &[q, kv], &[rotated, k, v])
        .saves(&[tables])
        .forward(&[parts]);
    (rotated, k, v)
}
