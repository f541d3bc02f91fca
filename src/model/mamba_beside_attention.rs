//! A Mamba-2 mixer beside attention in one layer, as Megatron-Bridge builds Falcon-H1 (`FalconH1Layer.forward`): both read
//! the output of one norm, and their outputs are added. A factor multiplies what goes into each and what comes out.

use super::norm::{self, residual_norm};
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, Gradient, TensorId, Work};
use super::{attention, mamba};
use crate::source::Source;

/// Both mixers from the residual stream to the sum of their outputs.
pub(super) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, x: TensorId) -> TensorId {
    tape.at(Family::Residual, Source::FalconH1Layer);
    let normed = residual_norm(sizes, tape, &norm::input(sizes.m), x);
    let input = times(sizes, tape, "input of the Mamba mixer", normed);
    let mamba = mamba::of_normed(sizes, tape, input);
    let mamba = times(sizes, tape, "Mamba branch times its factor", mamba);
    let input = times(sizes, tape, "input of attention", normed);
    let attention = attention::of_normed(sizes, tape, input);
    let attention = times(sizes, tape, "attention branch times its factor", attention);
    let both = tape.tensor("sum of Mamba and attention", sizes.residual(), sizes.width());
    // A variable holds the normed input until here.
    let sum = tape.op("sum", Work::MemoryBound, &[mamba, attention], &[both]);
    sum.gradients(&[Gradient::Shared, Gradient::Shared]);
    sum.holds(&[normed]);
    both
}

/// A tensor of the residual stream's shape times a number, which keeps nothing.
pub(super) fn times(sizes: &Sizes<'_>, tape: &mut AutogradTape, what: &'static str, x: TensorId) -> TensorId {
    tape.at(Family::Residual, Source::FalconH1Layer);
    let product = tape.tensor(what, sizes.residual(), sizes.width());
    tape.op("mul", Work::MemoryBound, &[x], &[product]);
    product
}
