//! Which layers have linear attention instead of softmax attention.

use super::choices::AttentionVariant;
use super::fields::Args;
use super::pattern::LayerPattern;

/// Whether layer `index` (from 0) has linear attention (`get_linear_attention_pattern`).
pub(super) fn is_linear(a: &Args, index: u64) -> bool {
    let gated_delta_net = matches!(
        a.experimental_attention_variant,
        Some(AttentionVariant::GatedDeltaNet | AttentionVariant::Gdn)
    );
    gated_delta_net
        && match &a.linear_attention_freq {
            LayerPattern::Every(n) => !(index.saturating_add(1)).is_multiple_of((*n).max(1)),
            LayerPattern::List(_) => a.linear_attention_freq.is_moe(index),
        }
}
