//! What multi-latent attention keeps.

use crate::config::choices::{OffloadModule, RecomputeModule};
use crate::model::attention::core::{self, Inputs};
use crate::model::attention::ops::{Heads, project, rope_tables};
use crate::model::linear::{Linear, column, norm_column, plain};
use crate::model::norm::ops::{INPUT, KEY_VALUE, NormNames, QUERY, residual_norm, token_norm};
use crate::model::sizes::Sizes;
use crate::model::tape::{AutogradTape, Family, TensorId};
use crate::model::tensor::{Factor, Shape, factor};
use crate::model::{hidden, tp};
use crate::source::{MLA, MLA_DOWN, MLA_ROPE};

/// One MLA block from the residual stream to the output of `linear_proj`.
pub(crate) fn ops(sizes: &Sizes<'_>, tape: &mut AutogradTape, input: TensorId) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    let args = &m.args;
    let queries = Heads::queries(m);
    let query = factor("(d_qk + d_r)", args.qk_head_dim + args.qk_pos_emb_head_dim);
    let value = factor("d_v", args.v_head_dim);

    tape.at(Family::Residual, MLA);
    let start = tape.here();
    let normed = residual_norm(sizes, tape, INPUT, input);
    tape.offload(OffloadModule::AttnNorm, start);
    let first = tape.here();
    let down = compress(sizes, tape, normed);

    let down = norm_apart(sizes, tape, down);
    tape.at(Family::Attention, MLA);
    let again = tape.here();
    let n_q = factor("n_q", args.num_attention_heads);
    let q = tape.tensor("queries", queries.tokens(sizes, query), bytes);
    if let Some((compressed, rank)) = down.queries {
        let weight = Shape::of(&[n_q, query, rank]).over(tp(m));
        up(
            sizes,
            tape,
            QUERY,
            Linear {
                name: "linear_q_up_proj",
                input: compressed,
                width: rank,
                output: q,
                weight,
            },
            rank,
        );
    } else {
        let weight = Shape::of(&[n_q, query, hidden(m)]).over(tp(m));
        let linear = Linear {
            name: "linear_q_proj",
            input: normed,
            width: hidden(m),
            output: q,
            weight,
        };
        // Norms on queries and keys come with the projections that follow them; this is one of them then.
        if args.qk_layernorm && args.mla_q_proj_layernorm {
            norm_column(sizes, tape, QUERY, linear, hidden(m));
        } else {
            column(sizes, tape, linear);
        }
    }
    let key_value = factor("(d_qk + d_v)", args.qk_head_dim + args.v_head_dim);
    let kv = tape.tensor(
        "keys without rotary part, and values",
        queries.tokens(sizes, key_value),
        bytes,
    );
    let kv_rank = factor("r_kv", args.kv_lora_rank);
    let weight = Shape::of(&[n_q, key_value, kv_rank]).over(tp(m));
    up(
        sizes,
        tape,
        KEY_VALUE,
        Linear {
            name: "linear_kv_up_proj",
            input: down.keys_values,
            width: kv_rank,
            output: kv,
            weight,
        },
        kv_rank,
    );
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
    let context = core::ops(sizes, tape, &inputs);
    let mut keeps = vec![
        down.keys_values,
        down.queries.map_or(normed, |(compressed, _)| compressed),
    ];
    if sizes.kernels.counts_arguments {
        let shape = Shape::of(&[
            factor("s", args.seq_length),
            factor("d_r", args.qk_pos_emb_head_dim),
        ]);
        keeps.push(tape.tensor("rotary frequencies", shape, 4));
    }
    tape.discarding_section(RecomputeModule::MlaUpProj, again..last, &keeps, &[q, k, v]);
    project(sizes, tape, context, value, Some((start, normed)), input)
}

/// What the down projections make.
struct Compressed {
    /// Compressed queries and their width, if queries are compressed.
    queries: Option<(TensorId, Factor)>,
    keys_values: TensorId,
}

fn compress(sizes: &Sizes<'_>, tape: &mut AutogradTape, normed: TensorId) -> Compressed {
    let (m, bytes) = (sizes.m, sizes.width());
    let args = &m.args;
    tape.at(Family::Attention, MLA_DOWN);
    let sizes = &sizes.sharing_with(RecomputeModule::Layernorm);
    let compressed_q = args.q_lora_rank.map(|rank| {
        let rank = factor("r_q", rank);
        let output = tape.tensor("compressed queries", sizes.own_tokens(&[rank]), bytes);
        let weight = Shape::of(&[rank, hidden(m)]);
        plain(
            sizes,
            tape,
            Linear {
                name: "linear_q_down_proj",
                input: normed,
                width: hidden(m),
                output,
                weight,
            },
        );
        (output, rank)
    });
    let latent = factor("(r_kv + d_r)", args.kv_lora_rank + args.qk_pos_emb_head_dim);
    let compressed_kv = tape.tensor(
        "compressed keys and values",
        sizes.own_tokens(&[latent]),
        bytes,
    );
    let weight = Shape::of(&[latent, hidden(m)]);
    plain(
        sizes,
        tape,
        Linear {
            name: "linear_kv_down_proj",
            input: normed,
            width: hidden(m),
            output: compressed_kv,
            weight,
        },
    );
    Compressed {
        queries: compressed_q,
        keys_values: compressed_kv,
    }
}

/// Norms on the compressed tensors, where they are not part of the up projections.
fn norm_apart(sizes: &Sizes<'_>, tape: &mut AutogradTape, down: Compressed) -> Compressed {
    if !sizes.m.args.qk_layernorm || sizes.kernels.norm_in_linear {
        return down;
    }
    Compressed {
        queries: down
            .queries
            .map(|(input, rank)| (token_norm(sizes, tape, QUERY, input, rank), rank)),
        keys_values: token_norm(
            sizes,
            tape,
            KEY_VALUE,
            down.keys_values,
            factor("r_kv", sizes.m.args.kv_lora_rank),
        ),
    }
}

/// An up projection; with norms on queries and keys it has one in it, unless that is an operation of its own.
fn up(sizes: &Sizes<'_>, tape: &mut AutogradTape, norm: NormNames, linear: Linear, normed: Factor) {
    if sizes.m.args.qk_layernorm && sizes.kernels.norm_in_linear {
        norm_column(sizes, tape, norm, linear, normed);
    } else {
        column(
            sizes,
            tape,
            Linear {
                width: normed,
                ..linear
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
    tape.at(Family::Attention, MLA_ROPE);
    let k = tape.tensor("keys", heads.tokens(sizes, query), bytes);
    let v = tape.tensor(
        "values",
        heads.tokens(sizes, factor("d_v", m.args.v_head_dim)),
        bytes,
    );
    if sizes.kernels.rope_fused {
        tape.op("fused_apply_mla_rope", &[kv], &[k, v]);
        return (q, k, v);
    }
    let rotated = tape.tensor(
        "queries after rotary embedding",
        heads.tokens(sizes, query),
        bytes,
    );
    let rotary = factor("2·d_r", 2 * m.args.qk_pos_emb_head_dim);
    let parts = tape.tensor(
        "rotary parts of queries and keys",
        heads.tokens(sizes, rotary),
        bytes,
    );
    let tables = rope_tables(sizes, tape, factor("d_r", m.args.qk_pos_emb_head_dim));
    tape.op("apply_rotary_pos_emb", &[q, kv], &[rotated, k, v])
        .saves(&[tables])
        .forward(&[parts]);
    (rotated, k, v)
}
