//! Multi-head, grouped-query and multi-query attention: projections, norms on queries and keys, rotary embedding.

pub(crate) mod core;
mod fp8;
pub(crate) mod heads;
mod softcap;

use self::core::Inputs;
use self::heads::Heads;
use super::kernels::{AttentionKernel, NormKernel, rotary};
use super::linear::{Linear, column, norm_column, row};
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, TensorId, Work};
use super::tensor::{Component, Factor, Shape, factor};
use super::weights::Weights;
use super::{hidden, norm};
use crate::config::choices::{OffloadModule, RecomputeModule};
use crate::config::job::Module;
use crate::source::Source;

/// The norm on queries.
const QUERY_NORM: &str = "self_attention.q_layernorm";
/// The norm on keys.
const KEY_NORM: &str = "self_attention.k_layernorm";

/// Whether several query heads share a key head on this rank, other than all of them one.
fn grouped(m: &Module) -> bool {
    let (heads, groups) = (
        m.args.num_attention_heads / m.tensor_parts(),
        (m.num_query_groups / m.tensor_parts()).max(1),
    );
    groups < heads && groups > 1
}

/// One attention block from the residual stream to the output of `linear_proj`.
pub(crate) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, input: TensorId) -> TensorId {
    let has_norm = !sizes.m.args.parallel_attention;
    of_input(sizes, tape, input, has_norm)
}

/// The same from an input that a norm has been run on, as attention beside a Mamba mixer gets it.
pub(super) fn of_normed(sizes: &Sizes<'_>, tape: &mut AutogradTape, input: TensorId) -> TensorId {
    of_input(sizes, tape, input, false)
}

/// One attention block, with or without the norm before `linear_qkv`.
///
/// With fewer query groups than TP ranks `linear_qkv` is still split evenly: each rank computes its part and gathers
/// the keys and values it needs.
fn of_input(sizes: &Sizes<'_>, tape: &mut AutogradTape, input: TensorId, has_norm: bool) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    let head = factor("d", m.kv_channels);
    let (queries, groups) = (Heads::queries(m), Heads::groups(m));

    tape.at(Family::Attention, Source::TeLayernormLinear);
    let value = value_width(m);
    let fused = match m.args.v_channels {
        Some(_) => sizes.columns(&[fused_width(m)]),
        None => Heads::all(m).tokens(sizes, head),
    };
    let qkv = tape.tensor("queries, keys and values", fused, bytes);
    let start = tape.here();
    tape.at(Family::Residual, Source::TeLayernormLinear);
    let weights = Weights::of(m, Component::Attention, Source::SelfAttention);
    let biases = Weights::of(m, Component::AttentionBias, Source::SelfAttention);
    let linear = linear_qkv(m, (weights, biases), input, qkv);
    let normed = if has_norm {
        after_norm(sizes, tape, &linear)
    } else {
        column(sizes, tape, &linear);
        None
    };

    tape.at(Family::Attention, Source::SelfAttention);
    let mut q = None;
    let mut k = None;
    if m.args.qk_layernorm || m.args.qk_l2_norm {
        let norm = if m.args.qk_l2_norm {
            l2_norm
        } else if sizes.kernels.norm == NormKernel::InFp32 {
            qk_norm_in_fp32
        } else {
            qk_norm
        };
        let (normed_q, normed_k) = norm(sizes, tape, qkv);
        (q, k) = (Some(normed_q), Some(normed_k));
    }
    tape.offload(OffloadModule::QkvLinear, start);
    if m.args.mamba_beside_attention {
        tape.at(Family::Attention, Source::FalconH1Attention);
        let scaled = tape.tensor("keys times their factor", groups.tokens(sizes, head), bytes);
        tape.op("key_multiplier", Work::MemoryBound, &[k.unwrap_or(qkv)], &[scaled]);
        k = Some(scaled);
    }
    if rotary(m) {
        (q, k) = rope(sizes, tape, qkv, q, k);
    }
    let local_copy =
        sizes.kernels.attention == AttentionKernel::Local && m.num_query_groups < m.args.num_attention_heads;
    if q.is_none() && (grouped(m) || local_copy) {
        // Heads that share a key do not lie side by side: reshaping queries copies them.
        let copy = tape.tensor("queries", queries.tokens(sizes, head), bytes);
        tape.op("reshape", Work::MemoryBound, &[qkv], &[copy]);
        q = Some(copy);
    }
    let values = |tape: &mut AutogradTape| tape.tensor("values", groups.tokens(sizes, value), bytes);
    let normed_values = m
        .args
        .value_layernorm
        .then(|| value_norm(sizes, tape, qkv, groups.tokens(sizes, value)));
    let scaled = m.args.attention_value_scale.is_some().then(|| {
        tape.at(Family::Attention, Source::MimoV2FlashAttention);
        let scaled = tape.tensor("scaled values", groups.tokens(sizes, value), bytes);
        let of = normed_values.unwrap_or(qkv);
        tape.op("attention_value_scale", Work::MemoryBound, &[of], &[scaled]);
        scaled
    });
    let scaled = scaled.or(normed_values);
    tape.at(Family::Attention, Source::TeDotProduct);
    let (reads, saves) = match (q, k) {
        (Some(q), Some(k)) => {
            let v = match scaled {
                Some(scaled) => scaled,
                None if sizes.kernels.values_copied => values(tape),
                None => qkv,
            };
            (vec![q, k, scaled.unwrap_or(qkv)], vec![q, k, v])
        }
        (Some(q), None) => {
            let k = tape.tensor("keys", groups.tokens(sizes, head), bytes);
            let v = values(tape);
            (vec![q, qkv], vec![q, k, v])
        }
        (None, Some(k)) => (vec![qkv, k], vec![qkv, k]),
        (None, None) => (vec![qkv], vec![qkv]),
    };
    let inputs = Inputs {
        reads,
        saves,
        queries,
        groups,
        qk_width: head,
        v_width: value,
    };
    let mut context = core::build(sizes, tape, &inputs);
    if gates(m) > 0 {
        context = output_gate(sizes, tape, qkv, context);
    }
    project(sizes, tape, (context, value), (weights, biases), normed, input)
}

/// Query heads that have a gate of their own.
const fn gates(m: &Module) -> u64 {
    if m.args.attention_output_gate {
        m.args.num_attention_heads
    } else {
        0
    }
}

/// The linear layer that makes queries, keys and values, `qkv`, of `input`.
fn linear_qkv(m: &Module, (weights, biases): (Weights<'_>, Weights<'_>), input: TensorId, qkv: TensorId) -> Linear {
    let head = factor("d", m.kv_channels);
    let gates = gates(m);
    let text = if gates > 0 {
        "(2·n_q + 2·n_kv)"
    } else {
        "(n_q + 2·n_kv)"
    };
    let heads = factor(text, m.args.num_attention_heads + gates + 2 * m.num_query_groups);
    // Norms over all heads come with InternViT's attention, which has no bias there.
    let all_heads = m.args.qk_layernorm_all_heads;
    let has_bias = (m.args.add_bias_linear && !all_heads) || m.args.add_qkv_bias;
    let weight = "self_attention.linear_qkv.weight";
    let bias = "self_attention.linear_qkv.bias";
    Linear {
        name: "linear_qkv",
        input,
        width: hidden(m),
        output: qkv,
        weight: match m.args.v_channels {
            Some(_) => weights.column_parallel(weight, &[fused_width(m), hidden(m)], 2),
            None => weights.column_parallel(weight, &[heads, head, hidden(m)], 2),
        },
        bias: has_bias.then(|| match m.args.v_channels {
            _ if !m.args.key_bias => {
                let without_keys = m.args.num_attention_heads + gates + m.num_query_groups;
                biases.column_parallel(bias, &[factor("(n_q + n_kv)", without_keys), head], 1)
            }
            Some(_) => biases.column_parallel(bias, &[fused_width(m)], 1),
            None => biases.column_parallel(bias, &[heads, head], 1),
        }),
    }
}

/// Width of a value head.
fn value_width(m: &Module) -> Factor {
    m.args
        .v_channels
        .map_or(factor("d", m.kv_channels), |width| factor("d_v", width))
}

/// Columns of queries, keys and values side by side, where values have a width of their own.
fn fused_width(m: &Module) -> Factor {
    let groups = m.num_query_groups;
    let keyed = m.args.num_attention_heads.saturating_add(groups);
    let values = groups.saturating_mul(value_width(m).value);
    factor(
        "((n_q + n_kv)·d + n_kv·d_v)",
        keyed.saturating_mul(m.kv_channels).saturating_add(values),
    )
}

/// `linear_qkv` with the norm before it. Returns the operation of the norm and its output, where it is one of its own.
fn after_norm(sizes: &Sizes<'_>, tape: &mut AutogradTape, linear: &Linear) -> Option<(usize, TensorId)> {
    let m = sizes.m;
    let start = tape.here();
    let output = norm_column(sizes, tape, norm::input(m), linear, hidden(m));
    (!sizes.kernels.norm_in_linear).then_some((start, output))
}

/// Multiplies the output of attention by the sigmoid of its gate, which is copied out of the projection.
fn output_gate(sizes: &Sizes<'_>, tape: &mut AutogradTape, qkv: TensorId, context: TensorId) -> TensorId {
    let head = factor("d", sizes.m.kv_channels);
    let shape = Heads::queries(sizes.m).tokens(sizes, head);
    tape.at(Family::Attention, Source::SelfAttention);
    let gate = tape.tensor("output gate", shape, sizes.width());
    let gated = tape.tensor("gated output of attention", shape, sizes.width());
    tape.op("output_gate", Work::MemoryBound, &[context, qkv], &[gated])
        .saves(&[context, gate]);
    gated
}

/// `linear_proj`; the norm before attention can be run again from here on.
pub(crate) fn project(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    (context, head_width): (TensorId, Factor),
    (weights, biases): (Weights<'_>, Weights<'_>),
    normed: Option<(usize, TensorId)>,
    input: TensorId,
) -> TensorId {
    let m = sizes.m;
    tape.at(Family::Attention, Source::TeLinear);
    let output = tape.tensor("attention branch", sizes.residual(), sizes.width());
    let start = tape.here();
    let heads = factor("n_q", m.args.num_attention_heads);
    // Core attention keeps the same tensor.
    row(
        &sizes.sharing(),
        tape,
        &Linear {
            name: "linear_proj",
            input: context,
            width: head_width,
            output,
            weight: weights.row_parallel(
                "self_attention.linear_proj.weight",
                &[heads, head_width, hidden(m)],
                hidden(m),
            ),
            bias: (m.args.add_bias_linear).then(|| biases.whole("self_attention.linear_proj.bias", &[hidden(m)], 1)),
        },
    );
    let output = norm::after_branch(sizes, tape, norm::POST_ATTENTION, output);
    tape.offload(OffloadModule::AttnProj, start);
    if let Some((norm, output_of_norm)) = normed {
        tape.discarding_section(RecomputeModule::Layernorm, norm..norm + 1, &[input], &[output_of_norm]);
    }
    output
}

/// Norms on queries and keys, which are copied out of the fused projection where they are not contiguous.
fn qk_norm(sizes: &Sizes<'_>, tape: &mut AutogradTape, qkv: TensorId) -> (TensorId, TensorId) {
    let (m, bytes) = (sizes.m, sizes.width());
    let head = factor("d", m.kv_channels);
    let (queries, groups) = (Heads::queries(m), Heads::groups(m));
    let normed_q = tape.tensor("normed queries", queries.tokens(sizes, head), bytes);
    let normed_k = tape.tensor("normed keys", groups.tokens(sizes, head), bytes);
    let both = Heads::queries_and_keys(m);
    let names = [QUERY_NORM, KEY_NORM];
    if m.args.qk_layernorm_all_heads {
        let weights = Weights::of(m, Component::QkLayernorm, Source::InternvitAttention);
        let parts = factor("(weight + bias)", m.norm_parts());
        let heads = [
            factor("n_q", m.args.num_attention_heads),
            factor("n_kv", m.num_query_groups),
        ];
        let [queries, keys] = names;
        let [n_q, n_kv] = heads;
        tape.declare([
            weights.column_parallel(queries, &[parts, n_q, head], 1),
            weights.column_parallel(keys, &[parts, n_kv, head], 1),
        ]);
    } else {
        let weights = Weights::of(m, Component::QkLayernorm, Source::SelfAttention);
        tape.declare(names.map(|name| weights.norm(name, head)));
    }
    tape.op(
        "q_layernorm, k_layernorm",
        Work::MemoryBound,
        &[qkv],
        &[normed_q, normed_k],
    );
    tape.keeps(
        "statistics of the norms on queries and keys",
        both.tokens(sizes, sizes.norm_stats()),
        sizes.stats_width(),
    );
    let of_queries = "copy of queries for their norm";
    if sizes.kernels.norm == NormKernel::Torch {
        let shape = both.tokens(sizes, head);
        tape.keeps("queries and keys in fp32", shape, 4);
        tape.keeps("normalized queries and keys in fp32", shape, 4);
    } else if sizes.kernels.values_copied && !sizes.kernels.qk_norm_views {
        tape.keeps(of_queries, queries.tokens(sizes, head), bytes);
        let of_keys = "copy of keys for their norm";
        tape.keeps(of_keys, groups.tokens(sizes, head), bytes);
    } else {
        tape.saves(&[qkv]);
        if m.num_query_groups < m.args.num_attention_heads {
            tape.keeps(of_queries, queries.tokens(sizes, head), bytes);
        }
    }
    (normed_q, normed_k)
}

/// Norms on queries and keys in fp32. A layer that shares keys normalizes its own too, and drops them.
fn qk_norm_in_fp32(sizes: &Sizes<'_>, tape: &mut AutogradTape, qkv: TensorId) -> (TensorId, TensorId) {
    let (m, head) = (sizes.m, factor("d", sizes.m.kv_channels));
    tape.at(Family::Attention, Source::Gemma4DenseAttention);
    let weights = Weights::of(m, Component::QkLayernorm, Source::Gemma4DenseAttention);
    let mut norm = |name, heads: Heads, what, statistics| {
        tape.declare([weights.norm(name, head)]);
        let rows = |width| heads.tokens(sizes, width);
        let normed = tape.tensor(what, rows(head), sizes.width());
        let saved = norm::in_fp32(sizes, tape, statistics, &rows, head);
        let op = tape.op(name, Work::MemoryBound, &[qkv], &[normed]);
        if name == QUERY_NORM || !m.layer.shared_kv {
            op.saves(&saved);
        }
        normed
    };
    let of_queries = "statistics of the norm on queries";
    let queries = norm(QUERY_NORM, Heads::queries(m), "normed queries", of_queries);
    let of_keys = "statistics of the norm on keys";
    let keys = norm(KEY_NORM, Heads::groups(m), "normed keys", of_keys);
    (queries, keys)
}

/// The norm on values, which has no weights: PyTorch's operations keep a copy of them in fp32, and their root mean
/// squares. A layer that shares values gets them normed.
fn value_norm(sizes: &Sizes<'_>, tape: &mut AutogradTape, qkv: TensorId, shape: Shape) -> TensorId {
    tape.at(Family::Attention, Source::Gemma4Attention);
    let groups = Heads::groups(sizes.m);
    let what = "normed values";
    if sizes.m.layer.shared_kv {
        return tape.tensor(what, shape, sizes.width());
    }
    let copy = tape.tensor("values in fp32", shape, 4);
    let squares = if sizes.m.args.layer_norms_in_fp32 {
        tape.at(Family::Attention, Source::Gemma4DenseAttention);
        let both = groups.tokens(sizes, factor("(mean square and its reciprocal root)", 2));
        tape.tensor("mean squares of values and their reciprocal roots", both, 4)
    } else {
        tape.tensor("root mean squares of values", groups.tokens(sizes, Factor::NONE), 4)
    };
    let normed = tape.tensor("normed values in fp32", shape, 4);
    let narrow = tape.tensor(what, shape, sizes.width());
    tape.op("value norm", Work::MemoryBound, &[qkv], &[normed])
        .saves(&[copy, squares]);
    tape.op("to", Work::MemoryBound, &[normed], &[narrow]);
    narrow
}

/// L2 norms on queries and keys, which have no parameters. Compiled by `jit_fuser`, they keep their input as it lies
/// and one fp32 number a head.
fn l2_norm(sizes: &Sizes<'_>, tape: &mut AutogradTape, qkv: TensorId) -> (TensorId, TensorId) {
    let (m, bytes) = (sizes.m, sizes.width());
    let head = factor("d", m.kv_channels);
    let (queries, groups) = (Heads::queries(m), Heads::groups(m));
    tape.at(Family::Attention, Source::L2Norm);
    let normed_q = tape.tensor("normed queries", queries.tokens(sizes, head), bytes);
    let normed_k = tape.tensor("normed keys", groups.tokens(sizes, head), bytes);
    let both = Heads::queries_and_keys(m);
    tape.op(
        "q_layernorm, k_layernorm",
        Work::MemoryBound,
        &[qkv],
        &[normed_q, normed_k],
    )
    .saves(&[qkv])
    .keeps(
        "reciprocal lengths of queries and keys",
        both.tokens(sizes, Factor::NONE),
        4,
    );
    if grouped(m) {
        let of_queries = "reshaped copy of queries";
        tape.keeps(of_queries, queries.tokens(sizes, head), bytes);
    }
    (normed_q, normed_k)
}

/// Rotary embedding makes new queries and keys. Fused, it keeps nothing: the table is shared.
fn rope(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    qkv: TensorId,
    q: Option<TensorId>,
    k: Option<TensorId>,
) -> (Option<TensorId>, Option<TensorId>) {
    let (m, bytes) = (sizes.m, sizes.width());
    let head = factor("d", m.kv_channels);
    let (queries, groups) = (Heads::queries(m), Heads::groups(m));
    tape.at(Family::Attention, Source::Rotary);
    let rotated_q = tape.tensor("queries after rotary embedding", queries.tokens(sizes, head), bytes);
    let rotated_k = tape.tensor("keys after rotary embedding", groups.tokens(sizes, head), bytes);
    let copied = q.is_none() && grouped(m);
    let copy = tape.tensor_if(copied, "reshaped copy of queries", queries.tokens(sizes, head), bytes);
    let name = "apply_rotary_pos_emb";
    let rotated = [rotated_q, rotated_k];
    match (q, k) {
        (Some(q), Some(k)) => tape.op(name, Work::MemoryBound, &[q, k], &rotated),
        (None, Some(k)) => tape.op(name, Work::MemoryBound, &[qkv, k], &rotated),
        (Some(_) | None, None) => tape.op(name, Work::MemoryBound, &[qkv], &rotated),
    };
    if !sizes.kernels.rope_fused {
        let tables = rope_tables(sizes, tape, head);
        tape.saves(&[tables]);
    }
    tape.forward(copy.as_slice());
    (Some(rotated_q), Some(rotated_k))
}

/// Sines and cosines that unfused rotary embedding keeps, once for queries and once for keys.
pub(crate) fn rope_tables(sizes: &Sizes<'_>, tape: &mut AutogradTape, width: Factor) -> TensorId {
    let shape = Shape::of(&[
        factor("(cos and sin of queries and keys)", 4),
        factor("s", sizes.m.args.seq_length),
        width,
    ]);
    let shape = shape.over(factor("CP", sizes.m.sequence_parts()));
    tape.tensor("rotary cosines and sines", shape, sizes.width())
}
