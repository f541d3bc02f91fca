//! Linear attention: the gated delta net of Qwen3-Next and Qwen3.5. It keeps its convolution's input, queries, keys,
//! values and gates of its kernel, and what its gated norm needs.

use super::linear::{Linear, norm_column, row};
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, TensorId, Work};
use super::tensor::{Component, factor};
use super::weights::Weights;
use super::{hidden, norm};
use crate::config::choices::RecomputeModule;
use crate::config::mixer::Gates;
use crate::source::Source;
use crate::units::multiply;

/// Tokens of one chunk of the kernel.
const CHUNK: u64 = 64;

/// One gated delta net from the residual stream to the output of `out_proj`.
///
/// The input projection makes queries, keys, values, an output gate as wide as the values, and the other gates. Of its
/// parameters only the norm on a head's output is replicated.
#[allow(
    clippy::too_many_lines,
    reason = "one tensor and one operation after the other, in the order of the forward pass"
)]
pub(crate) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, rule: Gates, input: TensorId) -> TensorId {
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
    let with_gate = joined.saturating_add(values);
    let key_channels = factor("n_lk·d_lk", keys);
    let (source, wide, dt_bias, a_log) = match rule {
        Gates::OfHeads => {
            let all = with_gate.saturating_add(multiply(a.linear_num_value_heads, 2));
            let wide = factor("(2·n_lk·d_lk + 2·n_lv·d_lv + 2·n_lv)", all);
            (Source::GatedDeltaNet, wide, heads, heads)
        }
        Gates::OfChannels => {
            let all = with_gate.saturating_add(multiply(keys, 2).saturating_add(values));
            let wide = factor("(4·n_lk·d_lk + 3·n_lv·d_lv)", all);
            let key_heads = factor("n_lk", a.linear_num_key_heads);
            (Source::GatedDeltaNet2, wide, key_channels, key_heads)
        }
    };
    let channels = factor("(2·n_lk·d_lk + n_lv·d_lv)", joined);

    let kernel = factor("c", a.linear_conv_kernel_dim);
    let of = |component| Weights::of(m, component, source);

    tape.at(Family::Attention, Source::TeLayernormLinear);
    let all = tape.tensor("queries, keys, values and gates", sizes.columns(&[wide]), bytes);
    tape.at(Family::Residual, Source::TeLayernormLinear);
    let linear = Linear {
        name: "in_proj",
        input,
        width: hidden(m),
        output: all,
        weight: of(Component::GdnInProj).column_parallel("self_attention.in_proj.weight", &[wide, hidden(m)], 2),
        bias: None,
    };
    norm_column(sizes, tape, norm::input(m), &linear, hidden(m));

    tape.at(Family::Attention, source);
    let mut tensor = |what, shape, width| tape.tensor(what, shape, width);
    let turned = tensor("queries, keys and values by channel", sizes.columns(&[channels]), bytes);
    let mixed = tensor("output of the convolution", sizes.columns(&[channels]), bytes);
    let queries = tensor("queries of every value head", sizes.columns(&[heads, key_width]), bytes);
    let all_keys = tensor("keys of every value head", sizes.columns(&[heads, key_width]), bytes);
    let all_values = tensor("values", sizes.columns(&[heads, value_width]), bytes);
    let chunk = factor("64", CHUNK);
    let of_chunk = sizes.columns(&[heads, chunk]);
    let (strengths, more) = match rule {
        Gates::OfHeads => {
            let of_heads = sizes.columns(&[heads]);
            let decay = tensor("decay of every head in fp32", of_heads, 4);
            let strength = tensor("writing strength of every head", of_heads, bytes);
            let inverse = tensor("inverse of every chunk", of_chunk, bytes);
            (vec![decay, strength], vec![inverse])
        }
        Gates::OfChannels => {
            let of_keys = sizes.columns(&[heads, key_width]);
            let of_values = sizes.columns(&[heads, value_width]);
            let decay = tensor("decay of every channel in fp32", of_keys, 4);
            let erase = tensor("erasing strength of every channel", of_keys, bytes);
            let write = tensor("writing strength of every channel", of_values, bytes);
            let sums = tensor("sums of the decays of every channel in fp32", of_keys, 4);
            let scores = tensor("scores within every chunk", of_chunk, bytes);
            let inverse = tensor("inverse of every chunk", of_chunk, bytes);
            (vec![decay, erase, write], vec![sums, scores, inverse])
        }
    };
    let out = tensor("output of the delta rule", sizes.columns(&[heads, value_width]), bytes);
    let stats = tensor("norm statistics", sizes.columns(&[heads]), 4);
    let normed = tensor("normed output", sizes.columns(&[heads, value_width]), bytes);
    let gate = tensor("gate in fp32", sizes.columns(&[heads, value_width]), 4);
    let gated = tensor("gated output", sizes.columns(&[heads, value_width]), bytes);
    let output = tensor("attention branch", sizes.residual(), bytes);
    tape.declare([
        of(Component::GdnConv1d).column_parallel("self_attention.conv1d.weight", &[channels, kernel], 3),
        of(Component::GdnDtBias).column_parallel("self_attention.dt_bias", &[dt_bias], 1),
        of(Component::GdnALog).column_parallel("self_attention.A_log", &[a_log], 1),
    ]);
    let convolved = multiply(2, sizes.columns(&[channels, kernel]).elements());
    tape.op("conv1d", Work::Scan(convolved), &[all], &[turned, mixed])
        .saves(&[turned]);
    let mut reads = vec![queries, all_keys, all_values];
    reads.extend(strengths);
    tape.op("split", Work::MemoryBound, &[mixed, all], &reads).saves(&[all]);
    // Four products of a head's state, which has a row for each value and a column for each key (`gdn_layer_flops`).
    let elements = multiply(sizes.columns(&[heads, key_width]).elements(), value_width.value);
    let products = multiply(8, elements);
    tape.op("gated_delta_rule", Work::Scan(products), &reads, &[out])
        .saves(&reads)
        .saves(&more);
    let after = tape.here();
    tape.declare([of(Component::GdnNorm).norm("self_attention.out_norm", value_width)]);
    tape.op("out_norm", Work::MemoryBound, &[out], &[normed])
        .saves(&[out, stats]);
    tape.op("gate", Work::MemoryBound, &[normed, all], &[gated])
        .saves(&[normed, gate]);
    let gated_norm = after..tape.here();
    tape.at(Family::Attention, Source::TeLinear);
    row(
        sizes,
        tape,
        &Linear {
            name: "out_proj",
            input: gated,
            width: value_width,
            output,
            weight: of(Component::GdnOutProj).row_parallel(
                "self_attention.out_proj.weight",
                &[heads, value_width, hidden(m)],
                hidden(m),
            ),
            bias: None,
        },
    );
    tape.discarding_section(RecomputeModule::GdnNormOut, gated_norm, &[out, all], &[gated]);
    output
}
