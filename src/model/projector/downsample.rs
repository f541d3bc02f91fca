//! GLM-4.5V's way from the patches of an image to the language model: a convolution over merged patches, a linear layer
//! with a norm behind it, and a gated MLP. It is a module of Hugging Face, which every rank has in full.

use super::super::items::{merged_count, of_items};
use super::super::sizes::Sizes;
use super::super::tape::{AutogradTape, TensorId, Work};
use super::super::tensor::{Component, Factor, factor};
use super::super::trained::trained;
use super::super::weights::Weights;
use crate::config::modality::Projector;
use crate::source::Source;

/// From the output of the encoder's last norm to what the language model gets.
pub(super) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, projector: &Projector, x: TensorId) -> TensorId {
    let (m, width) = (sizes.m, sizes.width());
    let (input, out) = (factor("p_in", projector.input), factor("p_out", projector.output));
    let inner = factor("p_f", projector.hidden.unwrap_or(projector.output));
    let weights = Weights::of(m, Component::Projector, Source::GlmMerger);
    tape.declare([
        weights.whole("downsample.weight", &[out, input], 4),
        weights.whole("downsample.bias", &[out], 1),
        weights.whole("merger.proj.weight", &[out, out], 2),
        weights.whole("merger.post_projection_norm", &[factor("(weight + bias)", 2), out], 1),
        weights.whole("merger.gate_proj.weight", &[inner, out], 2),
        weights.whole("merger.up_proj.weight", &[inner, out], 2),
        weights.whole("merger.down_proj.weight", &[out, inner], 2),
    ]);
    let count = factor("merged patches", merged_count(m));
    let of_merged = |wide: Factor| of_items(m, count, [wide, Factor::NONE]);
    let trains = trained(m, Component::Projector);
    let linear = |tape: &mut AutogradTape, name: &'static str, what: &'static str, x: TensorId, columns: Factor| {
        let output = tape.tensor(what, of_merged(columns), width);
        tape.op(name, Work::UncountedFlops, &[x], &[output]);
        if trains {
            tape.saves(&[x]);
        }
        output
    };
    let sampled = linear(tape, "downsample", "merged patches", x, out);
    let projected = linear(tape, "merger.proj", "output of merger.proj", sampled, out);
    let normed = tape.tensor("output of the projector's norm", of_merged(out), width);
    let statistics = tape.tensor("projector norm statistics", of_merged(factor("(mean + rstd)", 2)), 4);
    tape.op(
        "merger.post_projection_norm",
        Work::MemoryBound,
        &[projected],
        &[normed],
    )
    .saves(&[projected, statistics]);
    let active = tape.tensor("output of the projector's GELU", of_merged(out), width);
    tape.op("merger.act1", Work::MemoryBound, &[normed], &[active])
        .saves(&[normed]);
    let gate = linear(tape, "merger.gate_proj", "output of merger.gate_proj", active, inner);
    let up = linear(tape, "merger.up_proj", "output of merger.up_proj", active, inner);
    let gated = tape.tensor("output of the projector's SiLU", of_merged(inner), width);
    tape.op("merger.act_fn", Work::MemoryBound, &[gate], &[gated])
        .saves(&[gate]);
    let product = tape.tensor("product of gate and up projection", of_merged(inner), width);
    tape.op("merger.mul", Work::MemoryBound, &[gated, up], &[product])
        .saves(&[gated, up]);
    linear(tape, "merger.down_proj", "projected tokens", product, out)
}
