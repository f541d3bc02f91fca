//! Parameters of norms, biases and learned positions.

use super::super::difference::Framework::MegatronBridge;
use super::super::difference::{BOTH, Difference, Effect};
use super::super::fullest_stage::{Elements, FullestStage};
use crate::config::choices::Normalization;
use crate::model::tensor::Component;
use crate::units::Bytes;

pub(super) fn norms(fullest: &FullestStage<'_>) -> Option<Difference> {
    let m = fullest.m;
    let is_rms = m.args().normalization == Normalization::RmsNorm;
    if m.tp == 1 && !is_rms {
        return None;
    }
    let ours = fullest.on_stage(&|c, mtp| c == Component::Layernorm || (c == Component::FinalLayernorm && !mtp));
    let theirs = Elements {
        dense: ours.dense * if is_rms { 2 } else { 1 },
        expert: 0,
    }
    .over(m.tp);
    let text = match (is_rms, m.tp > 1) {
        (true, true) => {
            "It counts norms with a bias, which RMSNorm has not, and divides them by TP although every rank holds them in full."
        }
        (true, false) => "It counts norms with a bias, which RMSNorm has not.",
        _ => "It divides norms by TP although every rank holds them in full.",
    };
    Some(Difference {
        id: "norms",
        frameworks: &[MegatronBridge],
        text: text.to_owned(),
        effect: Effect::of(fullest.bytes(theirs), fullest.bytes(ours)),
    })
}

pub(super) fn biases(fullest: &FullestStage<'_>) -> Option<Difference> {
    let a = fullest.m.args();
    if !a.add_bias_linear && !a.add_qkv_bias {
        return None;
    }
    // A router's bias is counted by one and missed by the other together with its weight.
    let on_stage = fullest.tensors_on_stage(&|t| t.is_named(".bias") && t.component != Component::Router);
    Some(Difference {
        id: "biases",
        frameworks: BOTH,
        text: String::from("It does not count the biases of linear layers."),
        effect: Effect::of(Bytes::ZERO, fullest.bytes(on_stage)),
    })
}

pub(super) fn positions(fullest: &FullestStage<'_>) -> Option<Difference> {
    let positions = |c, _| c == Component::PositionEmbedding;
    fullest.left_out(
        "positions",
        BOTH,
        &positions,
        "It does not count the table of learned positions on the first stage.",
    )
}
