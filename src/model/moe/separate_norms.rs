//! Norms of their own around routed experts, shared experts and the router, as Megatron-Bridge builds Gemma 4
//! (`Gemma4TransformerLayer._forward_mlp`, `Gemma4MoELayer.postprocess`). PyTorch runs them in fp32, operation by
//! operation (`_gemma4_rms_norm`).

use crate::config::job::Module;
use crate::model::hidden;
use crate::model::norm::{NormNames, copies_in_fp32, in_fp32};
use crate::model::sizes::Sizes;
use crate::model::tape::{AutogradTape, Family, TensorId, Work};
use crate::model::tensor::{Component, Factor, factor};
use crate::model::weights::Weights;
use crate::source::Source;

/// What routed experts, shared experts and the router get.
#[derive(Clone, Copy)]
pub(super) struct Inputs {
    pub(super) experts: TensorId,
    pub(super) shared: TensorId,
    pub(super) router: TensorId,
}

impl Inputs {
    /// Each of them once.
    pub(super) fn each(self) -> Vec<TensorId> {
        let mut all = vec![self.experts, self.shared, self.router];
        all.dedup();
        all
    }
}

/// A norm: its operation, its output and its weight.
type Norm = (NormNames, &'static str);

const fn norm(op: &'static str, output: &'static str, statistics: &'static str, weight: &'static str) -> Norm {
    (NormNames { op, output, statistics }, weight)
}

const EXPERTS: Norm = norm(
    "pre_mlp_layernorm",
    "pre-MLP norm output",
    "pre-MLP norm statistics",
    "pre_mlp_layernorm",
);
const SHARED: Norm = norm(
    "pre_shared_expert_layernorm",
    "normed input of shared experts",
    "statistics of the norm before shared experts",
    "pre_shared_expert_layernorm",
);
/// The norm after routed experts.
pub(super) const AFTER_EXPERTS: Norm = norm(
    "post_moe_layernorm",
    "normed output of routed experts",
    "statistics of the norm after routed experts",
    "mlp.post_moe_layernorm",
);
/// The norm after shared experts.
pub(super) const AFTER_SHARED: Norm = norm(
    "post_shared_expert_layernorm",
    "normed output of shared experts",
    "statistics of the norm after shared experts",
    "mlp.post_shared_expert_layernorm",
);
/// The norm after the sum of both.
pub(super) const AFTER_SUM: Norm = norm(
    "post_ffn_layernorm",
    "normed MLP branch",
    "statistics of the norm after the MLP",
    "post_ffn_layernorm",
);

/// The three inputs of a `MoE` layer: the router gets the residual stream.
pub(super) fn inputs(sizes: &Sizes<'_>, tape: &mut AutogradTape, x: TensorId) -> Inputs {
    Inputs {
        experts: run(sizes, tape, EXPERTS, x),
        shared: run(sizes, tape, SHARED, x),
        router: x,
    }
}

/// A norm with a weight.
pub(super) fn run(sizes: &Sizes<'_>, tape: &mut AutogradTape, (names, weight): Norm, x: TensorId) -> TensorId {
    let m = sizes.m;
    tape.at(Family::Residual, Source::Gemma4Norm);
    let weights = Weights::of(m, Component::Layernorm, Source::Gemma4Norm);
    tape.declare([weights.norm(weight, hidden(m))]);
    let output = tape.tensor(names.output, sizes.residual(), sizes.width());
    let rows = |width| sizes.own_tokens(&[width]);
    let saved = in_fp32(sizes, tape, names.statistics, &rows, hidden(m));
    tape.op(names.op, Work::MemoryBound, &[x], &[output]).saves(&saved);
    output
}

/// The router's input: normed without a weight, times a learned factor for each column and a number.
pub(super) fn router_input(sizes: &Sizes<'_>, tape: &mut AutogradTape, x: TensorId) -> TensorId {
    let (m, shape, width) = (sizes.m, sizes.residual(), sizes.width());
    tape.at(Family::Experts, Source::Gemma4Router);
    let rows = |width| sizes.own_tokens(&[width]);
    let what = "statistics of the norm before the router";
    let saved = copies_in_fp32(tape, what, &rows, hidden(m));
    let normed = tape.tensor("normed input of the router", shape, width);
    tape.op("router.norm", Work::MemoryBound, &[x], &[normed]).saves(&saved);
    let weights = Weights::of(m, Component::Router, Source::Gemma4Router);
    tape.declare([weights.whole("mlp.router.scale", &[hidden(m)], 1)]);
    let scaled = tape.tensor("input of the router times its factors", shape, width);
    let op = tape.op("router.scale", Work::MemoryBound, &[normed], &[scaled]);
    if !m.is_frozen() {
        op.saves(&[normed]);
    }
    let input = tape.tensor("input of the router", shape, width);
    tape.op("router.scalar_root_size", Work::MemoryBound, &[scaled], &[input]);
    input
}

/// The learned factor of each expert, which multiplies the probabilities after they were divided by their sums.
pub(super) fn expert_factors(m: &Module, tape: &mut AutogradTape, experts: Factor) {
    let weights = Weights::of(m, Component::Router, Source::Gemma4Router);
    tape.declare([weights.whole("mlp.router.per_expert_scale", &[experts], 1)]);
}

/// The scores before they are divided by their sums and after it, and the sums before and after they are kept from
/// being zero.
pub(super) fn scores(sizes: &Sizes<'_>, tape: &mut AutogradTape, experts: Factor) -> [TensorId; 3] {
    let scores = sizes.own_tokens(&[experts]);
    [
        tape.tensor("router scores before they are divided by their sums", scores, 4),
        tape.tensor("router scores divided by their sums", scores, 4),
        tape.tensor("sums of router scores", sizes.own_tokens(&[factor("2", 2)]), 4),
    ]
}
