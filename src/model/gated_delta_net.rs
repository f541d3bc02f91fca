//! Linear attention: the gated delta net of Qwen3-Next and Qwen3.5. It keeps its convolution's input, queries, keys,
//! values and gates of its kernel, and what its gated norm needs.

use super::linear::{Linear, norm_column, row};
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, TensorId};
use super::tensor::{Component, factor};
use super::weights::Weights;
use super::{hidden, norm};
use crate::source::{GATED_DELTA_NET, TE_LAYERNORM_LINEAR, TE_LINEAR};
use crate::units::multiply;

/// Tokens of one chunk of the kernel.
const CHUNK: u64 = 64;

/// One gated delta net from the residual stream to the output of `out_proj`.
///
/// The input projection makes queries, keys, values, an output gate as wide as the values, and two numbers a value head:
/// how strongly to write and how fast to forget. Of its parameters only the norm on a head's output is replicated.
#[allow(
    clippy::too_many_lines,
    reason = "one tensor and one operation after the other, in the order of the forward pass"
)]
pub(crate) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, input: TensorId) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    let a = &m.args;
    let keys = multiply(a.linear_num_key_heads, a.linear_key_head_dim);
    let heads = factor("n_lv", a.linear_num_value_heads);
    let (key_width, value_width) = (
        factor("d_lk", a.linear_key_head_dim),
        factor("d_lv", a.linear_value_head_dim),
    );
    let values = multiply(a.linear_num_value_heads, a.linear_value_head_dim);
    let joined = multiply(keys, 2).saturating_add(values);
    let projected = joined
        .saturating_add(values)
        .saturating_add(multiply(a.linear_num_value_heads, 2));
    let wide = factor("(2·n_lk·d_lk + 2·n_lv·d_lv + 2·n_lv)", projected);
    let channels = factor("(2·n_lk·d_lk + n_lv·d_lv)", joined);

    let kernel = factor("c", a.linear_conv_kernel_dim);
    let of = |component| Weights::of(m, component, GATED_DELTA_NET);

    tape.at(Family::Attention, TE_LAYERNORM_LINEAR);
    let all = tape.tensor(
        "queries, keys, values and gates",
        sizes.columns(&[wide]),
        bytes,
    );
    tape.at(Family::Residual, TE_LAYERNORM_LINEAR);
    let linear = Linear {
        name: "in_proj",
        input,
        width: hidden(m),
        output: all,
        weight: of(Component::GdnInProj).split(
            "self_attention.in_proj.weight",
            &[wide, hidden(m)],
            2,
        ),
        bias: None,
    };
    norm_column(sizes, tape, norm::input(m), &linear, hidden(m));

    tape.at(Family::Attention, GATED_DELTA_NET);
    let mut tensor = |what, shape, width| tape.tensor(what, shape, width);
    let turned = tensor(
        "queries, keys and values by channel",
        sizes.columns(&[channels]),
        bytes,
    );
    let mixed = tensor(
        "output of the convolution",
        sizes.columns(&[channels]),
        bytes,
    );
    let queries = tensor(
        "queries of every value head",
        sizes.columns(&[heads, key_width]),
        bytes,
    );
    let all_keys = tensor(
        "keys of every value head",
        sizes.columns(&[heads, key_width]),
        bytes,
    );
    let all_values = tensor("values", sizes.columns(&[heads, value_width]), bytes);
    let decay = tensor("decay of every head in fp32", sizes.columns(&[heads]), 4);
    let strength = tensor(
        "writing strength of every head",
        sizes.columns(&[heads]),
        bytes,
    );
    let chunk = factor("64", CHUNK);
    let inverse = tensor(
        "inverse of every chunk",
        sizes.columns(&[heads, chunk]),
        bytes,
    );
    let out = tensor(
        "output of the delta rule",
        sizes.columns(&[heads, value_width]),
        bytes,
    );
    let stats = tensor("norm statistics", sizes.columns(&[heads]), 4);
    let normed = tensor("normed output", sizes.columns(&[heads, value_width]), bytes);
    let gate = tensor("gate in fp32", sizes.columns(&[heads, value_width]), 4);
    let gated = tensor("gated output", sizes.columns(&[heads, value_width]), bytes);
    let output = tensor("attention branch", sizes.residual(), bytes);
    tape.declare([
        of(Component::GdnConv1d).split("self_attention.conv1d.weight", &[channels, kernel], 3),
        of(Component::GdnDtBias).split("self_attention.dt_bias", &[heads], 1),
        of(Component::GdnALog).split("self_attention.A_log", &[heads], 1),
    ]);
    tape.op("conv1d", &[all], &[turned, mixed]).saves(&[turned]);
    tape.op(
        "split",
        &[mixed, all],
        &[queries, all_keys, all_values, decay, strength],
    )
    .saves(&[all]);
    tape.op(
        "gated_delta_rule",
        &[queries, all_keys, all_values, decay, strength],
        &[out],
    )
    .saves(&[queries, all_keys, all_values, decay, strength, inverse]);
    tape.declare([of(Component::GdnNorm).norm("self_attention.out_norm", value_width)]);
    tape.op("out_norm", &[out], &[normed]).saves(&[out, stats]);
    tape.op("gate", &[normed, all], &[gated])
        .saves(&[normed, gate]);
    tape.at(Family::Attention, TE_LINEAR);
    row(
        sizes,
        tape,
        &Linear {
            name: "out_proj",
            input: gated,
            width: value_width,
            output,
            weight: of(Component::GdnOutProj).split(
                "self_attention.out_proj.weight",
                &[heads, value_width, hidden(m)],
                2,
            ),
            bias: None,
        },
    );
    output
}
