//! Layers whose attention and MLP stand side by side, as those of Falcon 7B in `NeMo` 1 (`FalconTransformerLayer`).

use super::norm::{self, residual_norm};
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, Gradient, TensorId, Work};
use super::{attention, mlp};
use crate::source::Source;

/// A layer from the residual stream to the residual stream. Both halves read the output of one norm, which both keep.
pub(super) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, x: TensorId) -> TensorId {
    let (stream, width) = (sizes.residual(), sizes.width());
    tape.at(Family::Residual, Source::FalconLayer);
    let normed = residual_norm(sizes, tape, &norm::input(sizes.m), x);
    let attention = attention::build(sizes, tape, normed);
    tape.at(Family::Residual, Source::FalconLayer);
    // Nothing reads this sum; its variable holds it until the next one has been made.
    let unread = tape.tensor("residual stream with attention alone", stream, sizes.stream_width());
    tape.op("self_attn_bda", Work::MemoryBound, &[attention, x], &[unread])
        .gradients(&[Gradient::None, Gradient::None]);
    let mlp = mlp::build(sizes, tape, normed);
    tape.at(Family::Residual, Source::FalconLayer);
    let both = tape.tensor("sum of MLP and attention", stream, width);
    tape.op("add", Work::MemoryBound, &[mlp, attention], &[both])
        .gradients(&[Gradient::Shared, Gradient::Shared]);
    let mask = tape.tensor_if(sizes.hidden_dropout(), "dropout mask", stream, 1);
    let of_both = if sizes.hidden_dropout() {
        Gradient::New
    } else {
        Gradient::Shared
    };
    let output = tape.tensor("residual stream", stream, sizes.stream_width());
    tape.op("mlp_bda", Work::MemoryBound, &[both, x, unread], &[output])
        .saves(mask.as_slice())
        .gradients(&[of_both, Gradient::Shared, Gradient::None]);
    output
}
