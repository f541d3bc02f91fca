//! Multi-latent attention without positions, whose output a gate multiplies (`KimiK3Attention._forward_mla`).

use super::norm::rms_norm;
use super::{input, project, project_output};
use crate::model::attention::core::{self, Inputs};
use crate::model::attention::heads::Heads;
use crate::model::hidden;
use crate::model::norm::{KEY_VALUE, QUERY};
use crate::model::sizes::Sizes;
use crate::model::tape::{AutogradTape, Family, TensorId, Work};
use crate::model::tensor::{Component, Factor, factor};
use crate::model::weights::Weights;
use crate::source::Source;

/// One block of latent attention from the residual stream to the output of `o_proj`.
pub(crate) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, x: TensorId) -> TensorId {
    let m = sizes.m;
    let a = &m.args;
    let queries = Heads::queries(m);
    let heads = factor("n_q", a.num_attention_heads);
    let query = factor("(d_qk + d_r)", a.qk_head_dim + a.qk_pos_emb_head_dim);
    let value = factor("d_v", a.v_head_dim);
    let weights = Weights::of(m, Component::Attention, Source::KimiK3Attention);
    let x = input(sizes, tape, x);
    let whole = (x, hidden(m));

    let rank = factor("r_q", a.q_lora_rank.unwrap_or(a.hidden_size));
    let down = Weights::of(m, Component::MlaDownProj, Source::KimiK3Attention);
    let weight = down.whole("self_attention.q_a_proj.weight", &[rank, hidden(m)], 2);
    let shape = ("compressed queries", sizes.tokens(&[rank]));
    let compressed = project(sizes, tape, ("q_a_proj", weight), whole, shape);
    let norms = Weights::of(m, Component::MlaLayernorm, Source::KimiK3Attention);
    let of_tokens = |width: Factor| sizes.tokens(&[width]);
    let norm = (QUERY, norms.norm("self_attention.q_a_layernorm", rank));
    let normed = rms_norm(sizes, tape, norm, (compressed, rank), of_tokens);
    let weight = weights.column_parallel("self_attention.q_b_proj.weight", &[heads, query, rank], 2);
    let shape = ("queries", queries.tokens(sizes, query));
    let projected = project(sizes, tape, ("q_b_proj", weight), (normed, rank), shape);

    let (keys, values) = keys_and_values(sizes, tape, whole, query);
    let inputs = Inputs {
        reads: vec![projected, keys, values],
        saves: vec![projected, keys, values],
        queries,
        groups: queries,
        qk_width: query,
        v_width: value,
    };
    let context = core::build(sizes, tape, &inputs);

    tape.at(Family::Attention, Source::KimiK3Attention);
    let shape = queries.tokens(sizes, value);
    let weight = weights.column_parallel("self_attention.g_proj.weight", &[heads, value, hidden(m)], 2);
    let logits = project(
        sizes,
        tape,
        ("g_proj", weight),
        whole,
        ("logits of the output gate", shape),
    );
    let gate = tape.tensor("output gate", shape, sizes.width());
    tape.op("sigmoid", Work::MemoryBound, &[logits], &[gate]).saves(&[gate]);
    let gated = tape.tensor("gated output", shape, sizes.width());
    tape.op("gate", Work::MemoryBound, &[context, gate], &[gated])
        .saves(&[context, gate]);
    let weight = weights.column_parallel("self_attention.o_proj.weight", &[heads, value, hidden(m)], 2);
    project_output(sizes, tape, weight, (gated, value))
}

/// Keys and values of every head. The last part of a key is the same for all heads, and is copied into each.
fn keys_and_values(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    whole: (TensorId, Factor),
    query: Factor,
) -> (TensorId, TensorId) {
    let (m, bytes) = (sizes.m, sizes.width());
    let a = &m.args;
    let queries = Heads::queries(m);
    let heads = factor("n_q", a.num_attention_heads);
    let rank = factor("r_kv", a.kv_lora_rank);
    let latent = factor("(r_kv + d_r)", a.kv_lora_rank + a.qk_pos_emb_head_dim);
    let down = Weights::of(m, Component::MlaDownProj, Source::KimiK3Attention);
    let weight = down.whole("self_attention.kv_a_proj_with_mqa.weight", &[latent, hidden(m)], 2);
    let shape = ("compressed keys and values", sizes.tokens(&[latent]));
    let compressed = project(sizes, tape, ("kv_a_proj_with_mqa", weight), whole, shape);
    let norms = Weights::of(m, Component::MlaLayernorm, Source::KimiK3Attention);
    let norm = (KEY_VALUE, norms.norm("self_attention.kv_a_layernorm", rank));
    let of_tokens = |width: Factor| sizes.tokens(&[width]);
    let normed = rms_norm(sizes, tape, norm, (compressed, rank), of_tokens);
    let both = factor("(d_qk + d_v)", a.qk_head_dim + a.v_head_dim);
    let weights = Weights::of(m, Component::Attention, Source::KimiK3Attention);
    let weight = weights.column_parallel("self_attention.kv_b_proj.weight", &[heads, both, rank], 2);
    let shape = (
        "keys without their common part, and values",
        queries.tokens(sizes, both),
    );
    let kv = project(sizes, tape, ("kv_b_proj", weight), (normed, rank), shape);
    let k = tape.tensor("keys", queries.tokens(sizes, query), bytes);
    let v = tape.tensor("values", queries.tokens(sizes, factor("d_v", a.v_head_dim)), bytes);
    tape.op("cat", Work::MemoryBound, &[kv, compressed], &[k, v]);
    (k, v)
}
