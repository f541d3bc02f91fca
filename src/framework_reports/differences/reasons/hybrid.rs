//! Hybrid models, whose layers have attention, a Mamba mixer or an MLP, and seldom two of them.

use super::super::difference::Framework::{MegatronBridge, MegatronLm};
use super::super::difference::{Difference, Effect};
use super::super::fullest_stage::FullestStage;
use crate::config::hybrid_pattern::{HybridPattern, LayerSymbol};

/// The layers of the job, where it is a hybrid one.
fn pattern(fullest: &FullestStage<'_>) -> Option<HybridPattern> {
    let pattern = fullest.m.args().hybrid_layer_pattern.as_deref()?;
    pattern.parse().ok()
}

pub(super) fn refused(fullest: &FullestStage<'_>) -> Option<Difference> {
    pattern(fullest).map(|_| Difference {
        id: "hybrid_refused",
        frameworks: &[MegatronLm],
        text: String::from(
            "It prints no numbers for a job with hybrid_layer_pattern: its formulas know layers of attention and an MLP alone.",
        ),
        effect: Effect::Unsaid,
    })
}

pub(super) fn letters(fullest: &FullestStage<'_>) -> Option<Difference> {
    let pattern = pattern(fullest)?;
    let layers = pattern.layers().count();
    let mlp = if fullest.m.moe.is_some() {
        "experts, which moe_layer_freq alone says"
    } else {
        "an MLP"
    };
    let count = |symbol| pattern.layers().filter(|layer| *layer == symbol).count();
    let mixers =
        count(LayerSymbol::Attention) + count(LayerSymbol::MultiLatentAttention) + count(LayerSymbol::SparseAttention);
    let others = [
        LayerSymbol::Mamba,
        LayerSymbol::GatedDeltaNet,
        LayerSymbol::Mlp,
        LayerSymbol::Moe,
    ];
    let others = others
        .into_iter()
        .map(|symbol| (count(symbol), symbol.label()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, label)| format!(", {count} {label}"));
    Some(Difference {
        id: "hybrid_letters",
        frameworks: &[MegatronBridge],
        text: format!(
            "It does not read hybrid_layer_pattern and counts each of its {layers} letters as a layer with attention and {mlp}. The layers really are {mixers} of attention{}, and each has one norm.",
            others.collect::<String>()
        ),
        effect: Effect::Unsaid,
    })
}
