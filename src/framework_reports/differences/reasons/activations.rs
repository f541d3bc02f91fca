//! Formulas of activations.

use super::super::difference::Framework::{MegatronBridge, MegatronLm};
use super::super::difference::{Difference, Effect};
use super::super::fullest_stage::FullestStage;
use crate::config::choices::RecomputeGranularity;

pub(super) fn formula_of_megatron_lm(fullest: &FullestStage<'_>) -> Option<Difference> {
    let (m, a) = (fullest.m, fullest.m.args());
    let unknown = joined_by_or([
        (m.moe.is_some(), "experts"),
        (a.group_query_attention, "grouped queries"),
        (a.multi_latent_attention, "latent attention"),
        (m.cp > 1, "context parallelism"),
        (m.activation.gated(), "gated MLPs"),
        (
            a.recompute_granularity == Some(RecomputeGranularity::Full),
            "full recompute",
        ),
    ])?;
    Some(Difference {
        id: "formula_of_megatron_lm",
        frameworks: &[MegatronLm],
        text: format!("Its activations are a closed formula for the first stage that does not know {unknown}."),
        effect: Effect::Unsaid,
    })
}

pub(super) fn formula_of_megatron_bridge(fullest: &FullestStage<'_>) -> Option<Difference> {
    let (m, a) = (fullest.m, fullest.m.args());
    let recompute = a.recompute_granularity;
    let text = if m.sequence_parallel && recompute == Some(RecomputeGranularity::Selective) {
        let unknown = joined_by_or([
            (a.group_query_attention, "grouped queries"),
            (a.multi_latent_attention, "latent attention"),
            (m.moe.is_some(), "how tokens reach experts"),
            (m.activation.gated(), "gated MLPs"),
        ])?;
        format!("Its activations are a closed formula for the first stage that does not know {unknown}.")
    } else {
        String::from(
            "It prints activations only with sequence parallelism and selective recompute, and so none for this fullest.",
        )
    };
    Some(Difference {
        id: "formula_of_megatron_bridge",
        frameworks: &[MegatronBridge],
        text,
        effect: Effect::Unsaid,
    })
}

/// The names whose condition holds, as "a, b or c"; `None` where none does.
fn joined_by_or<const N: usize>(names: [(bool, &str); N]) -> Option<String> {
    let names: Vec<&str> = names
        .into_iter()
        .filter_map(|(here, name)| here.then_some(name))
        .collect();
    match names.as_slice() {
        [] => None,
        [one] => Some((*one).to_owned()),
        [others @ .., last] => Some(format!("{} or {last}", others.join(", "))),
    }
}
