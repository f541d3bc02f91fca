//! Parameters of attention.

use super::super::difference::Framework::{MegatronBridge, MegatronLm};
use super::super::difference::{BOTH, Difference, Effect};
use super::super::fullest_stage::{Elements, FullestStage};
use crate::config::choices::TransformerImpl;
use crate::model::tensor::Component;

pub(super) fn latent_attention(fullest: &FullestStage<'_>) -> Option<Difference> {
    let (m, a) = (fullest.m, fullest.m.args());
    if !a.multi_latent_attention {
        return None;
    }
    let groups = if a.group_query_attention {
        m.num_query_groups
    } else {
        a.num_attention_heads
    };
    let widths = 2 * u128::from(a.hidden_size) * u128::from(m.kv_channels);
    let theirs = widths * u128::from(a.num_attention_heads + groups) * u128::from(fullest.layers());
    let theirs = u64::try_from(theirs / u128::from(m.tp)).unwrap_or(u64::MAX);
    let attention = |component, _| {
        matches!(
            component,
            Component::Attention | Component::MlaDownProj | Component::MlaLayernorm
        )
    };
    let theirs = fullest.bytes(Elements {
        dense: theirs,
        expert: 0,
    });
    Some(Difference {
        id: "latent_attention",
        frameworks: &[MegatronBridge],
        text: format!(
            "It does not know multi-latent attention and counts ordinary attention with {} channels a head (kv_channels), which this model does not use.",
            m.kv_channels
        ),
        effect: Effect::of(theirs, fullest.bytes(fullest.on_stage(&attention))),
    })
}

pub(super) fn latent_attention_split(fullest: &FullestStage<'_>) -> Option<Difference> {
    let (m, a) = (fullest.m, fullest.m.args());
    let duplicated = a.transformer_impl == TransformerImpl::TransformerEngine;
    if !a.multi_latent_attention || m.tp == 1 || !duplicated {
        return None;
    }
    let down = fullest.on_stage(&|c, _| matches!(c, Component::MlaDownProj | Component::MlaLayernorm));
    Some(Difference {
        id: "latent_attention_split",
        frameworks: &[MegatronLm],
        text: String::from(
            "It divides MLA's down projections and their norms by TP; Transformer Engine holds them in full on every rank.",
        ),
        effect: Effect::of(fullest.bytes(down.over(m.tp)), fullest.bytes(down)),
    })
}

pub(super) fn qk_norms(fullest: &FullestStage<'_>) -> Option<Difference> {
    let norms = |c, _| c == Component::QkLayernorm;
    fullest.left_out(
        "qk_norms",
        BOTH,
        &norms,
        "It does not count the norms on queries and keys.",
    )
}

pub(super) fn sinks(fullest: &FullestStage<'_>) -> Option<Difference> {
    let sinks = |c, _| c == Component::AttentionSinks;
    fullest.left_out("sinks", BOTH, &sinks, "It does not count attention sinks.")
}
