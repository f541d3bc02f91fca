//! Kimi delta attention (`KimiK3Attention._forward_kda`): linear attention by the delta rule, whose state forgets each
//! channel of a key by itself.

use super::{input, project, project_output};
use crate::model::hidden;
use crate::model::sizes::Sizes;
use crate::model::tape::{AutogradTape, Family, TensorId, Work};
use crate::model::tensor::{Component, Factor, factor};
use crate::model::weights::Weights;
use crate::source::Source;
use crate::units::multiply;

/// Tokens of one chunk of the kernel.
const CHUNK: u64 = 64;

/// The projections that a convolution follows: the name of the projection, its output, its convolution, and what comes
/// out of that.
const MIXED: [[&str; 6]; 3] = [
    [
        "q_proj",
        "self_attention.q_proj.weight",
        "queries before their convolution",
        "q_conv1d",
        "self_attention.q_conv1d.weight",
        "queries",
    ],
    [
        "k_proj",
        "self_attention.k_proj.weight",
        "keys before their convolution",
        "k_conv1d",
        "self_attention.k_conv1d.weight",
        "keys",
    ],
    [
        "v_proj",
        "self_attention.v_proj.weight",
        "values before their convolution",
        "v_conv1d",
        "self_attention.v_conv1d.weight",
        "values",
    ],
];

/// One block of delta attention from the residual stream to the output of `o_proj`.
pub(crate) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, x: TensorId) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    let a = &m.args;
    let heads = factor("n_lv", a.linear_num_value_heads);
    let width = factor("d_lk", a.linear_key_head_dim);
    let wide = sizes.columns(&[heads, width]);
    let of = |component| Weights::of(m, component, Source::KimiK3Attention);
    let of_columns =
        |name, width: Factor| of(Component::GdnInProj).column_parallel(name, &[heads, width, hidden(m)], 2);
    let x = input(sizes, tape, x);
    let whole = (x, hidden(m));

    let kernel = factor("c", a.linear_conv_kernel_dim);
    let mixed = MIXED.map(|[name, weight, before, conv, conv_weight, after]| {
        let weight = of_columns(weight, width);
        let projected = project(sizes, tape, (name, weight), whole, (before, wide));
        tape.at(Family::Attention, Source::FlaShortConvolution);
        let weight = of(Component::GdnConv1d).column_parallel(conv_weight, &[heads, width, kernel], 3);
        tape.declare([weight.kept_in_fp32()]);
        let output = tape.tensor(after, wide, bytes);
        let flops = multiply(2, multiply(wide.elements(), kernel.value));
        tape.op(conv, Work::Scan(flops), &[projected], &[output])
            .saves(&[projected]);
        tape.at(Family::Attention, Source::KimiK3Attention);
        output
    });
    let [queries, keys, values] = mixed;
    let (gate, strength) = gates(sizes, tape, whole, (heads, width));
    let out = delta_rule(sizes, tape, [queries, keys, values, gate, strength], (heads, width));

    tape.at(Family::Attention, Source::KimiK3Attention);
    let name = ("g_proj", of_columns("self_attention.g_proj.weight", width));
    let output_gate = project(sizes, tape, name, whole, ("output gate", wide));
    let statistics = tape.tensor("norm statistics", sizes.columns(&[heads]), 4);
    let gated = tape.tensor("gated output", wide, bytes);
    tape.declare([of(Component::GdnNorm).norm("self_attention.o_norm", width)]);
    tape.op("o_norm", Work::MemoryBound, &[out, output_gate], &[gated])
        .saves(&[out, output_gate, statistics]);
    let weight =
        of(Component::GdnOutProj).column_parallel("self_attention.o_proj.weight", &[heads, width, hidden(m)], 2);
    project_output(sizes, tape, weight, (gated, width))
}

/// The gates: how fast each channel of a key is forgotten, from a narrow projection that every rank has in full, and how
/// strongly each head writes.
fn gates(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    whole: (TensorId, Factor),
    (heads, width): (Factor, Factor),
) -> (TensorId, TensorId) {
    let m = sizes.m;
    let weights = Weights::of(m, Component::GdnInProj, Source::KimiK3Attention);
    let weight = weights.whole("self_attention.f_a_proj.weight", &[width, hidden(m)], 2);
    let narrow = ("narrow forget gate", sizes.tokens(&[width]));
    let narrow = project(sizes, tape, ("f_a_proj", weight), whole, narrow);
    let weight = weights.column_parallel("self_attention.f_b_proj.weight", &[heads, width, width], 2);
    let shape = ("forget gate of every channel", sizes.columns(&[heads, width]));
    let gate = project(sizes, tape, ("f_b_proj", weight), (narrow, width), shape);
    let weight = weights.column_parallel("self_attention.b_proj.weight", &[heads, hidden(m)], 2);
    let shape = ("logits of the writing strengths", sizes.columns(&[heads]));
    let logits = project(sizes, tape, ("b_proj", weight), whole, shape);
    let strength = tape.tensor("writing strengths in fp32", sizes.columns(&[heads]), 4);
    tape.op("sigmoid", Work::MemoryBound, &[logits], &[strength])
        .saves(&[strength]);
    (gate, strength)
}

/// The kernel of the delta rule. It keeps queries and keys of length one with their reciprocal lengths, values, the raw
/// gate, the writing strengths, and two products of each chunk (`ChunkKDAFunction.forward`).
fn delta_rule(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    inputs: [TensorId; 5],
    (heads, width): (Factor, Factor),
) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    let [_, _, values, gate, strength] = inputs;
    let wide = sizes.columns(&[heads, width]);
    tape.at(Family::Attention, Source::FlaChunkKda);
    let weights = |component| Weights::of(m, component, Source::KimiK3Attention);
    let a_log = weights(Component::GdnALog).column_parallel("self_attention.A_log", &[heads], 1);
    let dt_bias = weights(Component::GdnDtBias).column_parallel("self_attention.dt_bias", &[heads, width], 1);
    tape.declare([a_log.kept_in_fp32(), dt_bias.kept_in_fp32()]);
    let queries = tape.tensor("queries of length one", wide, bytes);
    let keys = tape.tensor("keys of length one", wide, bytes);
    let lengths = ["reciprocal lengths of queries", "reciprocal lengths of keys"];
    let lengths = lengths.map(|what| tape.tensor(what, sizes.columns(&[heads]), 4));
    let of_chunk = sizes.columns(&[heads, factor("64", CHUNK)]);
    let scores = tape.tensor("scores within every chunk", of_chunk, bytes);
    let inverse = tape.tensor("inverse of every chunk", of_chunk, bytes);
    let sums = tape.tensor("sums of the logarithms of the gates in fp32", wide, 4);
    let out = tape.tensor("output of the delta rule", wide, bytes);
    // Four products of a head's state, as Megatron-Bridge's own count has them.
    let flops = multiply(8, multiply(wide.elements(), width.value));
    tape.op("chunk_kda", Work::Scan(flops), &inputs, &[out])
        .saves(&[queries, keys, values, gate, strength, scores, inverse])
        .saves(&lengths)
        .forward(&[sums])
        .backward(&[sums]);
    out
}
