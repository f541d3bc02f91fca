//! The layers of Kimi K3 as Megatron-Bridge builds them (`KimiK3TransformerLayer`): delta attention or latent attention
//! without positions, between attention residuals.

pub(super) mod delta_attention;
pub(super) mod latent_attention;
pub(super) mod norm;
pub(super) mod residuals;

use super::linear::{Linear, plain};
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, TensorId, Work};
use super::tensor::{Factor, ParamTensor, Shape};
use super::{hidden, norm as layer_norm};
use crate::source::Source;

/// The input of attention: the output of the norm before it, which ranks gather once for all projections
/// (`KimiK3Attention.forward`).
fn input(sizes: &Sizes<'_>, tape: &mut AutogradTape, x: TensorId) -> TensorId {
    tape.at(Family::Residual, Source::KimiK3Attention);
    let normed = layer_norm::residual_norm(sizes, tape, &layer_norm::input(sizes.m), x);
    tape.at(Family::Attention, Source::KimiK3Attention);
    if !sizes.scatters() {
        return normed;
    }
    let whole = tape.tensor("gathered input of attention", sizes.gathered(), sizes.width());
    let name = "gather_from_sequence_parallel_region";
    tape.op(name, Work::MemoryBound, &[normed], &[whole]);
    whole
}

/// A projection whose ranks neither gather its input nor scatter its output: none of them has sequence parallelism
/// (`linear_config`).
fn project(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    (name, weight): (&'static str, ParamTensor),
    (input, width): (TensorId, Factor),
    (what, shape): (&'static str, Shape),
) -> TensorId {
    let output = tape.tensor(what, shape, sizes.width());
    let linear = Linear {
        name,
        input,
        width,
        output,
        weight,
        bias: None,
    };
    plain(sizes, tape, &linear);
    output
}

/// The last projection, whose output every rank has in full. The part of it that a rank goes on with is a view of it
/// (`scatter_to_sequence_parallel_region`).
fn project_output(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    weight: ParamTensor,
    input: (TensorId, Factor),
) -> TensorId {
    let branch = ("attention branch", sizes.gathered());
    let weight = weight.with_rows(hidden(sizes.m));
    project(sizes, tape, ("o_proj", weight), input, branch)
}
