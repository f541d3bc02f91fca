//! The front end of an encoder of sounds: convolutions over a spectrum, two along time as in Whisper, or three along
//! time and frequency as in Qwen3-Omni.

use super::super::hidden;
use super::super::items::of_items;
use super::super::sizes::Sizes;
use super::super::tape::{AutogradTape, Family, TensorId, Work};
use super::super::tensor::{Component, Factor, factor};
use super::super::trained::detached;
use super::super::weights::Weights;
use crate::source::Source;
use crate::units::multiply;

/// Chunks that one call of the 2-D convolutions takes (`conv_chunksize` of the published models).
const CHUNKS_AT_ONCE: u64 = 500;

/// A 2-D convolution: its name, its parameters, its output, and that after the activation function.
const CONVOLUTIONS: [[&str; 5]; 3] = [
    [
        "conv2d1",
        "conv2d1.weight",
        "conv2d1.bias",
        "output of conv2d1",
        "output of conv2d1 after GELU",
    ],
    [
        "conv2d2",
        "conv2d2.weight",
        "conv2d2.bias",
        "output of conv2d2",
        "output of conv2d2 after GELU",
    ],
    [
        "conv2d3",
        "conv2d3.weight",
        "conv2d3.bias",
        "output of conv2d3",
        "output of conv2d3 after GELU",
    ],
];

/// The convolutions, up to the tokens of the first layer.
pub(super) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape) -> TensorId {
    match sizes.m.args.downsample_hidden_size {
        Some(channels) => along_time_and_frequency(sizes, tape, factor("c_down", channels)),
        None => along_time(sizes, tape),
    }
}

/// Two convolutions of width 3 along time, the second with step 2.
fn along_time(sizes: &Sizes<'_>, tape: &mut AutogradTape) -> TensorId {
    let m = sizes.m;
    tape.at(Family::Output, Source::WhisperEncoder);
    let frames = factor("2·s", multiply(m.io.tokens, 2));
    let bands = factor("n_mel", m.args.num_mel_bins);
    let width = sizes.width();
    let wide = of_items(m, frames, [hidden(m), Factor::NONE]);
    let spectrum = tape.tensor("spectrum", of_items(m, frames, [bands, Factor::NONE]), width);
    let first = tape.tensor("output of conv1", wide, width);
    let first_active = tape.tensor("output of conv1 after GELU", wide, width);
    let second = tape.tensor("output of conv2", sizes.gathered(), width);
    let second_active = tape.tensor("output of conv2 after GELU", sizes.gathered(), width);
    let weights = Weights::of(m, Component::FrontEnd, Source::WhisperEncoder);
    let kernel = factor("3", 3);
    let convolution = |weight, bias, from| {
        [
            weights
                .whole(weight, &[kernel, from, hidden(m)], 3)
                .with_rows(hidden(m)),
            weights.whole(bias, &[hidden(m)], 1),
        ]
    };
    tape.declare(convolution("conv1.weight", "conv1.bias", bands));
    tape.op("conv1", Work::UncountedFlops, &[], &[first])
        .saves(&[spectrum])
        .forward(&[spectrum]);
    tape.op("gelu", Work::MemoryBound, &[first], &[first_active])
        .saves(&[first]);
    tape.declare(convolution("conv2.weight", "conv2.bias", hidden(m)));
    tape.op("conv2", Work::UncountedFlops, &[first_active], &[second])
        .saves(&[first_active]);
    tape.op("gelu", Work::MemoryBound, &[second], &[second_active])
        .saves(&[second]);
    second_active
}

/// Three convolutions of width 3 with step 2 over chunks of a spectrum, and a linear layer over the bands that are
/// left.
///
/// They take [`CHUNKS_AT_ONCE`] chunks at a time. What they keep for their backward pass is the same for all chunks
/// together; without one, only the tensors of one call are there at once.
fn along_time_and_frequency(sizes: &Sizes<'_>, tape: &mut AutogradTape, channels: Factor) -> TensorId {
    let (m, width) = (sizes.m, sizes.width());
    tape.at(Family::Output, Source::Qwen3OmniAudio);
    let weights = Weights::of(m, Component::FrontEnd, Source::Qwen3OmniAudio);
    let window = multiply(m.args.n_window, 2);
    let each = CONVOLUTIONS.iter().fold(window, |frames, _| halved(frames));
    let count = m.io.tokens.div_ceil(each.max(1));
    let at_once = if detached(m) { count.min(CHUNKS_AT_ONCE) } else { count };
    let at_once = factor("chunks", at_once);
    let grid = |bands, frames| factor("(bands·frames)", multiply(bands, frames));
    let (mut bands, mut frames) = (m.args.num_mel_bins, window);
    let (one, area) = (Factor::NONE, factor("3²", 9));
    let shape = of_items(m, at_once, [one, grid(bands, frames)]);
    let spectrum = tape.tensor("spectrum", shape, width);
    let (mut x, mut from) = (spectrum, one);
    for [name, weight, bias, output, active] in CONVOLUTIONS {
        (bands, frames) = (halved(bands), halved(frames));
        let shape = of_items(m, at_once, [channels, grid(bands, frames)]);
        let (output, active) = (tape.tensor(output, shape, width), tape.tensor(active, shape, width));
        tape.declare([
            weights.whole(weight, &[area, from, channels], 4).with_rows(channels),
            weights.whole(bias, &[channels], 1),
        ]);
        if x == spectrum {
            tape.op(name, Work::UncountedFlops, &[], &[output])
                .saves(&[x])
                .forward(&[x]);
        } else {
            tape.op(name, Work::UncountedFlops, &[x], &[output]).saves(&[x]);
        }
        tape.op("gelu", Work::MemoryBound, &[output], &[active])
            .saves(&[output]);
        (x, from) = (active, channels);
    }
    let chunks = factor("chunks", count);
    let (tokens, depth) = (
        factor("tokens", each),
        factor("(c_down·bands)", multiply(channels.value, bands)),
    );
    let of_chunks = |depth| of_items(m, chunks, [tokens, depth]);
    let joined = tape.tensor("output of the convolutions", of_chunks(depth), width);
    tape.op("cat", Work::MemoryBound, &[x], &[joined]);
    let turned = tape.tensor("output of the convolutions by token", of_chunks(depth), width);
    tape.op("contiguous", Work::MemoryBound, &[joined], &[turned]);
    let embedded = tape.tensor("embedded tokens", of_chunks(hidden(m)), width);
    tape.declare([weights
        .whole("conv_out.weight", &[depth, hidden(m)], 2)
        .with_rows(hidden(m))]);
    tape.op("conv_out", Work::UncountedFlops, &[turned], &[embedded])
        .saves(&[turned]);
    // A table of sines that is no parameter.
    let placed = tape.tensor("tokens with positions", of_chunks(hidden(m)), width);
    tape.op("positional_embedding", Work::MemoryBound, &[embedded], &[placed]);
    // The last chunk of a sound is filled up.
    let all = tape.tensor("tokens of all sounds", sizes.residual(), width);
    tape.op("index", Work::MemoryBound, &[placed], &[all]);
    let indices = factor("(chunk + token)", 2);
    tape.keeps("chunk and place of each token", sizes.tokens(&[indices]), 8);
    all
}

/// The length that a convolution of width 3 with step 2 and padding 1 makes of another.
fn halved(length: u64) -> u64 {
    length.div_ceil(2)
}
