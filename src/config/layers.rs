//! The layers of a module as its arguments describe them: of a `GPTModel` by `num_layers`, `linear_attention_freq` and
//! `moe_layer_freq`, of a `HybridModel` by the letters of its pattern.

use super::choices::AttentionVariant;
use super::fields::Args;
use super::hybrid_pattern::{HybridPattern, LayerSymbol};
use super::pattern::LayerPattern;

/// What mixes the tokens of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mixer {
    /// Multi-head, grouped-query or multi-query attention.
    Attention,
    /// Multi-latent attention.
    MultiLatentAttention,
    /// Linear attention by the gated delta rule.
    GatedDeltaNet,
    /// A Mamba-2 state space.
    Mamba,
}

/// Which kind of MLP works on each token by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MlpKind {
    /// One MLP for all tokens.
    Dense,
    /// A router with routed experts, and perhaps shared ones.
    Moe,
}

/// One layer: a mixer with an MLP after it, or only one of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Layer {
    /// What mixes tokens; `None` for a layer that is only an MLP.
    pub mixer: Option<Mixer>,
    /// What works on each token; `None` for a layer that is only a mixer.
    pub mlp: Option<MlpKind>,
}

/// All layers of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    decoder: Vec<Layer>,
    mtp: Vec<Layer>,
}

impl Layers {
    /// The layers that the arguments ask for. `hybrid` is the pattern of a `HybridModel`.
    pub(super) fn of(a: &Args, hybrid: Option<&HybridPattern>) -> Self {
        if let Some(pattern) = hybrid {
            return Self {
                decoder: pattern.layers().map(Layer::of_symbol).collect(),
                mtp: pattern.mtp().iter().map(|s| Layer::of_symbol(*s)).collect(),
            };
        }
        let decoder: Vec<Layer> = (0..a.num_layers).map(|index| of_gpt(a, index)).collect();
        // Every MTP depth of a `GPTModel` repeats its last layer.
        let mtp = decoder.last().copied().into_iter().collect();
        Self { decoder, mtp }
    }

    /// The decoder's or encoder's layers, first to last.
    #[must_use]
    pub fn decoder(&self) -> &[Layer] {
        &self.decoder
    }

    /// The layers of one MTP depth.
    #[must_use]
    pub fn mtp(&self) -> &[Layer] {
        &self.mtp
    }

    /// Whether any layer of the decoder has this mixer.
    #[must_use]
    pub fn has_mixer(&self, mixer: Mixer) -> bool {
        self.decoder.iter().any(|layer| layer.mixer == Some(mixer))
    }

    /// Whether any layer of the decoder has this kind of MLP.
    #[must_use]
    pub fn has_mlp(&self, mlp: MlpKind) -> bool {
        self.decoder.iter().any(|layer| layer.mlp == Some(mlp))
    }
}

impl Layer {
    /// The layer of a `HybridModel` that a letter stands for.
    const fn of_symbol(symbol: LayerSymbol) -> Self {
        let mixer = match symbol {
            LayerSymbol::Mamba => Some(Mixer::Mamba),
            LayerSymbol::GatedDeltaNet => Some(Mixer::GatedDeltaNet),
            LayerSymbol::Attention => Some(Mixer::Attention),
            LayerSymbol::SparseAttention | LayerSymbol::MultiLatentAttention => {
                Some(Mixer::MultiLatentAttention)
            }
            LayerSymbol::Mlp | LayerSymbol::Moe => None,
        };
        let mlp = match symbol {
            LayerSymbol::Mlp => Some(MlpKind::Dense),
            LayerSymbol::Moe => Some(MlpKind::Moe),
            _ => None,
        };
        Self { mixer, mlp }
    }
}

/// Layer `index` (from 0) of a `GPTModel`.
fn of_gpt(a: &Args, index: u64) -> Layer {
    Layer {
        mixer: Some(if is_linear(a, index) {
            Mixer::GatedDeltaNet
        } else if a.multi_latent_attention {
            Mixer::MultiLatentAttention
        } else {
            Mixer::Attention
        }),
        mlp: Some(
            if a.num_experts.is_some() && a.moe_layer_freq.is_moe(index) {
                MlpKind::Moe
            } else {
                MlpKind::Dense
            },
        ),
    }
}

/// Whether layer `index` (from 0) of a `GPTModel` has linear attention (`get_linear_attention_pattern`).
fn is_linear(a: &Args, index: u64) -> bool {
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
