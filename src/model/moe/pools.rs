//! Two pools of experts, as Megatron-Bridge builds ERNIE 4.5 VL (`ErnieMultiTypeMoE`): tokens of text go to one, tokens of
//! images and videos to the other, each with a router of its own; shared experts see all tokens. All tokens are counted as
//! text.

use crate::model::hidden;
use crate::model::layer_spec::Experts;
use crate::model::sizes::Sizes;
use crate::model::tape::{AutogradTape, Family, TensorId, Work};
use crate::model::tensor::{Component, Factor, Row, Shape, Sharding, factor};
use crate::model::weights::Weights;
use crate::source::Source;

/// The tokens of a pool, and their places among all.
#[derive(Clone, Copy)]
pub(super) struct Pool {
    pub(super) tokens: TensorId,
    places: TensorId,
}

impl Pool {
    /// The pool of text, where the module has two.
    pub(super) fn of_text(sizes: &Sizes<'_>, tape: &mut AutogradTape, moe: Experts, normed: TensorId) -> Option<Self> {
        let width = sizes.m.args.moe_vision_ffn_hidden_size?;
        tape.at(Family::Experts, Source::Ernie45VlExperts);
        declare_vision(sizes, tape, moe, factor("f_v", width));
        let places = tape.tensor("places of the tokens of text", sizes.own_tokens(&[]), 8);
        let tokens = tape.tensor("tokens of text", sizes.residual(), sizes.width());
        tape.op("text_hidden", Work::MemoryBound, &[normed], &[tokens])
            .saves(&[places]);
        Some(Self { tokens, places })
    }

    /// The results of the pool at the places of its tokens.
    pub(super) fn put_back(self, sizes: &Sizes<'_>, tape: &mut AutogradTape, results: TensorId) -> TensorId {
        tape.at(Family::Experts, Source::Ernie45VlExperts);
        let all = tape.tensor("results of both pools", sizes.residual(), sizes.width());
        tape.op("flat_moe_output", Work::MemoryBound, &[results], &[all])
            .saves(&[self.places]);
        all
    }
}

/// The router and the experts of the pool of images.
fn declare_vision(sizes: &Sizes<'_>, tape: &mut AutogradTape, moe: Experts, width: Factor) {
    let m = sizes.m;
    let experts = factor("E", moe.num_experts);
    let router = Weights::of(m, Component::Router, Source::Ernie45VlExperts);
    tape.declare([router.whole("mlp.vision_moe_layer.router.weight", &[experts, hidden(m)], 2)]);
    let weights = Weights::of(m, Component::RoutedExperts, Source::Ernie45VlExperts);
    let split = |shape: Shape| shape.over(factor("EP", m.ep)).over(factor("ETP", m.etp));
    let first = if m.activation.gated() {
        factor("2·f_v", 2 * width.value)
    } else {
        width
    };
    tape.declare([
        weights.tensor(
            "mlp.vision_moe_layer.experts.linear_fc1.weight*",
            split(Shape::of(&[experts, first, hidden(m)])),
            Sharding::Expert,
            2,
            Row::Elements(m.args.hidden_size),
        ),
        weights.tensor(
            "mlp.vision_moe_layer.experts.linear_fc2.weight*",
            split(Shape::of(&[experts, hidden(m), width])),
            Sharding::Expert,
            2,
            Row::OneOf(m.args.hidden_size),
        ),
    ]);
}
