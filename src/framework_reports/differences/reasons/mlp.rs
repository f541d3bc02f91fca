//! Parameters of MLPs and experts.

use super::super::difference::Framework::MegatronBridge;
use super::super::difference::{BOTH, Difference, Effect};
use super::super::fullest_stage::{Elements, FullestStage};
use crate::config::job::Activation;
use crate::model::tensor::Component;
use crate::units::Bytes;

pub(super) fn third_projection(fullest: &FullestStage<'_>) -> Option<Difference> {
    if !matches!(fullest.m.activation, Activation::GeGlu | Activation::QuickGeGlu) {
        return None;
    }
    let mlps = |c, _| {
        matches!(
            c,
            Component::DenseMlp | Component::RoutedExperts | Component::SharedExperts
        )
    };
    let third = fullest.on_stage(&mlps).over(3);
    Some(Difference {
        id: "third_projection",
        frameworks: BOTH,
        text: String::from(
            "It counts three projections for SwiGLU only; this model's gated GELU has three as well and is counted with two.",
        ),
        effect: Effect::of(Bytes::ZERO, fullest.bytes(third)),
    })
}

pub(super) fn router(fullest: &FullestStage<'_>) -> Option<Difference> {
    fullest.left_out(
        "router",
        &[MegatronBridge],
        &|c, _| c == Component::Router,
        "It leaves out the routers, which every rank holds in full.",
    )
}

pub(super) fn latent_projections(fullest: &FullestStage<'_>) -> Option<Difference> {
    let ours = fullest.on_stage(&|c, _| c == Component::LatentProj);
    if ours == Elements::default() || fullest.m.tp == 1 {
        return None;
    }
    Some(Difference {
        id: "latent_projections",
        frameworks: &[MegatronBridge],
        text: String::from("It divides the experts' latent projections by TP although every rank holds them in full."),
        effect: Effect::of(fullest.bytes(ours.over(fullest.m.tp)), fullest.bytes(ours)),
    })
}

pub(super) fn shared_expert_gate(fullest: &FullestStage<'_>) -> Option<Difference> {
    fullest.left_out(
        "shared_expert_gate",
        &[MegatronBridge],
        &|c, _| c == Component::SharedExpertGate,
        "It leaves out the gate on the shared experts.",
    )
}
