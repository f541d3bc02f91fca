//! Patterns from the ratios that older versions of Megatron-LM took in their place (`pattern_from_ratios` in
//! `hybrid_layer_allocation.py`).

#![allow(
    clippy::float_arithmetic,
    reason = "the layers are those that Megatron-LM's arithmetic in double precision gives"
)]

use super::{HybridPattern, LONGEST, LayerSymbol};

impl HybridPattern {
    /// A pattern of `num_layers` layers, of which these parts are attention and MLPs, spread evenly, and the rest
    /// Mamba. `None` for ratios that Megatron-LM refuses, and without layers.
    #[must_use]
    pub fn from_ratios(num_layers: u64, attention_ratio: f64, mlp_ratio: f64) -> Option<Self> {
        let num_layers = usize::try_from(num_layers).ok().filter(|n| *n <= LONGEST)?;
        let parts = 0.0..=1.0;
        let are_parts = [attention_ratio, mlp_ratio, attention_ratio + mlp_ratio]
            .iter()
            .all(|ratio| parts.contains(ratio));
        if num_layers == 0 || !are_parts {
            return None;
        }
        let total = f64::from(u32::try_from(num_layers).ok()?);
        let attention = (total * attention_ratio).round_ties_even();
        let mlps = (total * mlp_ratio).round_ties_even();
        let mut layers = vec![LayerSymbol::Mamba; num_layers];
        let section = (total - attention) / (attention + 1.0);
        spread(&mut layers, LayerSymbol::Attention, section);
        if mlps > 0.0 {
            let section = (total - attention - mlps) / mlps;
            spread(&mut layers, LayerSymbol::Mlp, section);
        }
        Some(Self::new(vec![layers], Vec::new(), 0))
    }
}

/// Replaces Mamba layers by layers of another kind, each behind so many Mamba layers.
fn spread(layers: &mut [LayerSymbol], symbol: LayerSymbol, section: f64) {
    let mut left = section;
    let mamba = layers.iter_mut().filter(|layer| **layer == LayerSymbol::Mamba);
    for layer in mamba {
        if left < 0.5 {
            *layer = symbol;
            left += section;
        } else {
            left -= 1.0;
        }
    }
}
