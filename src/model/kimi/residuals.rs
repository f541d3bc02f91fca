//! Attention residuals (`KimiK3TransformerLayer.forward`, `attn_res_aggregate`): snapshots of the residual stream, which
//! layers hand on beside it, and the weighted sums of all of them that both halves of a layer read.

use crate::config::attention_residuals::AttentionResiduals;
use crate::model::hidden;
use crate::model::layer_spec::LayerSpec;
use crate::model::sizes::Sizes;
use crate::model::tape::{AutogradTape, Family, Point, TensorId, Work};
use crate::model::tensor::{Component, Shape, factor};
use crate::model::weights::Weights;
use crate::source::Source;

/// The names of a weighted sum: its operation, its output, and the weights that score the rows.
type SumNames = (&'static str, &'static str, [&'static str; 2]);

const BEFORE_ATTENTION: SumNames = (
    "self_attention_res",
    "weighted sum before attention",
    ["self_attention_res_norm.weight", "self_attention_res_proj.weight"],
);
const BEFORE_MLP: SumNames = (
    "mlp_res",
    "weighted sum before the MLP",
    ["mlp_res_norm.weight", "mlp_res_proj.weight"],
);
const BEHIND_LAYERS: SumNames = (
    "output_attn_res",
    "weighted sum behind the last layer",
    ["output_attn_res_norm.weight", "output_attn_res_proj.weight"],
);

/// The residual stream with so many snapshots beside it.
pub(crate) fn with_snapshots(sizes: &Sizes<'_>, snapshots: u64) -> Shape {
    let rows = factor("(snapshots + stream)", snapshots.saturating_add(1));
    sizes.own_tokens(&[rows, hidden(sizes.m)])
}

/// What a layer reads of the layer before it.
pub(crate) fn received_stream(sizes: &Sizes<'_>, spec: &LayerSpec) -> Shape {
    match spec.residuals {
        Some(residuals) => with_snapshots(sizes, residuals.before.into()),
        None => sizes.streams(),
    }
}

/// What a layer hands to the next one.
pub(crate) fn sent_stream(sizes: &Sizes<'_>, spec: &LayerSpec) -> Shape {
    match spec.residuals {
        Some(residuals) => with_snapshots(sizes, residuals.handed_on()),
        None => sizes.streams(),
    }
}

/// A mixer and an MLP between attention residuals, from the residual stream with its snapshots to the same.
pub(crate) fn build(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    residuals: AttentionResiduals,
    x: TensorId,
    mix: impl FnOnce(&mut AutogradTape, TensorId) -> TensorId,
    think: impl FnOnce(&mut AutogradTape, TensorId) -> TensorId,
) -> TensorId {
    let width = sizes.width();
    // Parameters are there although the first layer has no snapshots to add up.
    declare(sizes, tape, &BEFORE_ATTENTION);
    let input = if residuals.before == 0 {
        x
    } else {
        weighted_sum(sizes, tape, &BEFORE_ATTENTION, &[x], residuals.before.into())
    };
    tape.at(Family::Residual, Source::KimiK3Residuals);
    let taken = residuals.takes.then(|| {
        let rows = factor("snapshots", residuals.after());
        let snapshots = tape.tensor("snapshots", sizes.own_tokens(&[rows, hidden(sizes.m)]), width);
        tape.op("cat", Work::MemoryBound, &[x], &[snapshots]);
        snapshots
    });
    let branch = mix(tape, input);
    tape.at(Family::Residual, Source::KimiK3Residuals);
    let stream = if residuals.takes {
        branch
    } else {
        let sum = tape.tensor("residual stream", sizes.residual(), width);
        tape.op("prefix_sum", Work::MemoryBound, &[x, branch], &[sum]);
        sum
    };
    tape.reaches(Point::Attention);
    let snapshots = taken.unwrap_or(x);
    declare(sizes, tape, &BEFORE_MLP);
    let rows = [stream, snapshots];
    let input = weighted_sum(sizes, tape, &BEFORE_MLP, &rows, residuals.after());
    let mlp = think(tape, input);
    tape.at(Family::Residual, Source::KimiK3Residuals);
    let output = if residuals.last {
        let sum = tape.tensor("residual stream", sizes.residual(), width);
        tape.op("prefix_sum", Work::MemoryBound, &[stream, mlp], &[sum]);
        declare(sizes, tape, &BEHIND_LAYERS);
        weighted_sum(sizes, tape, &BEHIND_LAYERS, &[sum, snapshots], residuals.after())
    } else {
        let shape = with_snapshots(sizes, residuals.handed_on());
        let output = tape.tensor("residual stream and snapshots", shape, width);
        tape.op("prefix_sum", Work::MemoryBound, &[stream, mlp, snapshots], &[output]);
        output
    };
    // Variables hold the input until the layer is done.
    tape.holds(&[x]);
    tape.reaches(Point::Layer);
    output
}

fn declare(sizes: &Sizes<'_>, tape: &mut AutogradTape, (_, _, [norm, projection]): &SumNames) {
    let weights = Weights::of(sizes.m, Component::AttentionResiduals, Source::KimiK3Residuals);
    tape.declare([
        weights.whole(norm, &[hidden(sizes.m)], 1),
        weights.whole(projection, &[hidden(sizes.m)], 2),
    ]);
}

/// The sum of so many snapshots and the residual stream, each times its share, which a softmax over scores gives. PyTorch
/// computes it in fp32, operation by operation, and keeps the rows as they are and normed.
fn weighted_sum(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    (name, what, _): &SumNames,
    inputs: &[TensorId],
    snapshots: u64,
) -> TensorId {
    tape.at(Family::Residual, Source::KimiK3Residuals);
    let rows = with_snapshots(sizes, snapshots);
    let each = sizes.own_tokens(&[factor("(snapshots + stream)", snapshots.saturating_add(1))]);
    let joined = tape.tensor("joined snapshots and stream", rows, sizes.width());
    let wide = tape.tensor("snapshots and stream in fp32", rows, 4);
    let normed = tape.tensor("normed snapshots and stream in fp32", rows, 4);
    let product = tape.tensor("snapshots and stream times their scores' weights or shares", rows, 4);
    let reciprocals = tape.tensor("reciprocal lengths of snapshots and stream", each, 4);
    let shares = tape.tensor("shares of snapshots and stream", each, 4);
    let weights = [
        "weight of the norm in fp32",
        "weight of the projection in fp32",
        "weights of the scores in fp32",
    ];
    let weights = weights.map(|what| tape.tensor(what, Shape::of(&[hidden(sizes.m)]), 4));
    // Gradients of the rows by their shares, of the normed rows, and of the rows by these, with one product beside them.
    let gradients = tape.tensor(
        "gradients of snapshots and stream in fp32",
        rows.times(factor("4", 4)),
        4,
    );
    let sum = tape.tensor(what, sizes.residual(), sizes.width());
    tape.op(name, Work::MemoryBound, inputs, &[sum])
        .saves(&[wide, normed, reciprocals, shares])
        .saves(&weights)
        .forward(&[joined, product])
        .backward(&[gradients]);
    sum
}
