//! The layers of a module as its arguments describe them: of a `GPTModel` by `num_layers`, `linear_attention_freq` and
//! `moe_layer_freq`, of a `HybridModel` by the letters of its pattern.

use core::iter::repeat;
use std::sync::Arc;

use super::attention_residuals::AttentionResiduals;
use super::choices::{AttentionVariant, HybridStackSpec, RecomputeModule};
use super::compress_ratios::{CompressRatio, CompressRatios};
use super::fields::Args;
use super::hybrid_pattern::{HybridPattern, LayerSymbol};
use super::layer_sizes::{LayerSizes, LayerSizesList};
pub use super::mixer::{CoreAttention, Gates, Mixer};
use super::pattern::LayerPattern;

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
    /// The mixer; `None` for a layer that is only an MLP.
    pub mixer: Option<Mixer>,
    /// The MLP; `None` for a layer that is only a mixer.
    pub mlp: Option<MlpKind>,
    /// The sizes that are not those of its module.
    pub sizes: LayerSizes,
    /// The snapshots of the residual stream that it reads and takes; `None` in a model without attention residuals.
    pub residuals: Option<AttentionResiduals>,
}

/// All layers of a module.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// Shared by all jobs of a search.
    decoder: Arc<Decoder>,
    mtp: Vec<Layer>,
}

/// The layers of a decoder or encoder.
#[derive(Debug, Default, PartialEq, Eq)]
struct Decoder {
    layers: Vec<Layer>,
    /// The layers, each once however many are like it.
    distinct: Vec<Layer>,
}

impl PartialEq for Layers {
    fn eq(&self, other: &Self) -> bool {
        let same = Arc::ptr_eq(&self.decoder, &other.decoder) || self.decoder == other.decoder;
        same && self.mtp == other.mtp
    }
}

impl Eq for Layers {}

impl From<Vec<Layer>> for Decoder {
    fn from(layers: Vec<Layer>) -> Self {
        let mut distinct = Vec::new();
        let runs = layers.chunk_by(|one, next| one == next);
        for layer in runs.filter_map(<[Layer]>::first) {
            if !distinct.contains(layer) {
                distinct.push(*layer);
            }
        }
        Self { layers, distinct }
    }
}

/// The arguments that layers depend on.
#[derive(Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent arguments, under the names that they have among all"
)]
struct LayerArgs<'a> {
    num_layers: u64,
    layer_sizes: Option<&'a str>,
    spec: HybridStackSpec,
    experimental_attention_variant: Option<AttentionVariant>,
    multi_latent_attention: bool,
    mamba_beside_attention: bool,
    kimi_attn_res_block_size: Option<u64>,
    linear_attention_freq: &'a LayerPattern,
    moe_layer_freq: &'a LayerPattern,
    has_experts: bool,
    mtp_dense: bool,
    csa_compress_ratios: Option<&'a str>,
    dsa_indexer_topk_freq: u64,
    dsa_indexer_skip_topk_offset: u64,
}

impl<'a> From<&'a Args> for LayerArgs<'a> {
    fn from(a: &'a Args) -> Self {
        Self {
            num_layers: a.num_layers,
            layer_sizes: a.layer_sizes.as_deref(),
            spec: a.spec,
            experimental_attention_variant: a.experimental_attention_variant,
            multi_latent_attention: a.multi_latent_attention,
            mamba_beside_attention: a.mamba_beside_attention,
            kimi_attn_res_block_size: a.kimi_attn_res_block_size,
            linear_attention_freq: &a.linear_attention_freq,
            moe_layer_freq: &a.moe_layer_freq,
            has_experts: a.num_experts.is_some(),
            mtp_dense: a.mtp_dense,
            csa_compress_ratios: a.csa_compress_ratios.as_deref(),
            dsa_indexer_topk_freq: a.dsa_indexer_topk_freq,
            dsa_indexer_skip_topk_offset: a.dsa_indexer_skip_topk_offset,
        }
    }
}

/// The layers of a job, for other jobs that ask for the same.
#[derive(Clone, Debug)]
pub(super) struct KnownLayers {
    args: Args,
    hybrid: Option<HybridPattern>,
    layers: Layers,
}

impl KnownLayers {
    /// The layers that a job's arguments and the pattern of a `HybridModel` ask for.
    pub(super) fn new(args: Args, hybrid: Option<HybridPattern>, layers: Layers) -> Self {
        Self { args, hybrid, layers }
    }

    /// Whether these arguments and this pattern ask for these layers, however the pattern is split into segments.
    fn are_of(&self, a: &LayerArgs<'_>, hybrid: Option<&HybridPattern>) -> bool {
        let same_pattern = match (&self.hybrid, hybrid) {
            (None, None) => true,
            (Some(own), Some(other)) => own.has_layers_of(other),
            (Some(_), None) | (None, Some(_)) => false,
        };
        same_pattern && LayerArgs::from(&self.args) == *a
    }
}

/// The sizes of layers, with those of the module after them.
fn padded(own: &[LayerSizes]) -> impl Iterator<Item = LayerSizes> + Clone {
    own.iter().copied().chain(repeat(LayerSizes::default()))
}

/// The layers of a `HybridModel` that these letters stand for, with sizes of their own.
fn of_pattern<'a>(
    a: &'a LayerArgs<'_>,
    symbols: impl Iterator<Item = LayerSymbol> + Clone,
    own: &'a [LayerSizes],
) -> impl Iterator<Item = Layer> + Clone {
    let numbered = (1..).zip(symbols).zip(padded(own));
    numbered.map(|((number, symbol), own)| Layer::of_symbol(a, symbol, number).sized(own))
}

impl Layers {
    /// The layers that the arguments ask for: those of a job that is `known`, where they ask for the same. `hybrid` is the
    /// pattern of a `HybridModel`.
    pub(super) fn of(a: &Args, hybrid: Option<&HybridPattern>, known: Option<&KnownLayers>) -> Self {
        let a = &LayerArgs::from(a);
        match known.filter(|known| known.are_of(a, hybrid)) {
            Some(known) => known.layers.clone(),
            None => Self::new(a, hybrid),
        }
    }

    fn new(a: &LayerArgs<'_>, hybrid: Option<&HybridPattern>) -> Self {
        let own: LayerSizesList = a.layer_sizes.and_then(|text| text.parse().ok()).unwrap_or_default();
        if let Some(pattern) = hybrid {
            let decoder: Vec<Layer> = of_pattern(a, pattern.layers(), &own.decoder).collect();
            return Self {
                decoder: Arc::new(decoder.into()),
                mtp: of_pattern(a, pattern.mtp().iter().copied(), &own.mtp).collect(),
            };
        }
        let CompressRatios(ratios) = a.csa_compress_ratios.map_or_else(CompressRatios::default, |text| {
            // Another rule says what is wrong with a list that cannot be read.
            text.parse().unwrap_or_default()
        });
        let ratio = |index: u64| {
            let listed = usize::try_from(index).ok().and_then(|index| ratios.get(index));
            listed.copied().unwrap_or(CompressRatio::Window)
        };
        let layers = (0..a.num_layers).zip(padded(&own.decoder));
        let layers = layers.map(|(index, own)| of_gpt(a, index).compressed(ratio(index)).sized(own));
        let decoder = Arc::new(Decoder::from(layers.collect::<Vec<_>>()));
        // Every MTP depth of a `GPTModel` repeats its last layer, with a number of its own.
        let mtp = decoder.layers.last().map(|layer| {
            let layer = layer.numbered(a, 1).compressed(ratio(a.num_layers));
            let layer = own.mtp.first().map_or(layer, |own| layer.sized(*own));
            if a.mtp_dense {
                Layer {
                    mlp: Some(MlpKind::Dense),
                    ..layer
                }
            } else {
                layer
            }
        });
        let mtp = mtp.into_iter().collect();
        Self { decoder, mtp }
    }

    /// Changes the MTP layer of a `GPTModel` to what it is in a chunk without decoder layers. There Megatron-LM has no
    /// decoder layer to repeat: it builds a plain layer, with experts where the model has any (`gpt_builder`). A model
    /// whose layers are all of one plain kind repeats that anywhere.
    pub(super) fn mtp_without_decoder(&mut self, a: &Args) {
        if a.num_experts.is_none() && a.experimental_attention_variant.is_none() {
            return;
        }
        for layer in &mut self.mtp {
            *layer = Layer {
                mixer: Some(if a.multi_latent_attention {
                    Mixer::MultiLatentAttention
                } else {
                    Mixer::Attention
                }),
                mlp: Some(if a.num_experts.is_some() && !a.mtp_dense {
                    MlpKind::Moe
                } else {
                    MlpKind::Dense
                }),
                sizes: layer.sizes,
                residuals: None,
            };
        }
    }

    /// The decoder's or encoder's layers, first to last.
    #[must_use]
    pub fn decoder(&self) -> &[Layer] {
        &self.decoder.layers
    }

    /// The decoder's or encoder's layers, each once however many are like it.
    #[must_use]
    pub fn distinct(&self) -> &[Layer] {
        &self.decoder.distinct
    }

    /// The layers of one MTP depth.
    #[must_use]
    pub fn mtp(&self) -> &[Layer] {
        &self.mtp
    }

    /// Whether any layer of the decoder has this mixer.
    #[must_use]
    pub fn has_mixer(&self, mixer: Mixer) -> bool {
        self.mixers().any(|of| of == mixer)
    }

    /// The mixers of the decoder's layers, each once.
    fn mixers(&self) -> impl Iterator<Item = Mixer> {
        self.decoder.distinct.iter().filter_map(|layer| layer.mixer)
    }

    /// Whether any layer of the decoder has attention whose core computes with the up-projected heads of MLA.
    #[must_use]
    pub fn has_latent_attention(&self) -> bool {
        self.mixers()
            .any(|mixer| mixer.core_attention() == CoreAttention::Latent)
    }

    /// Whether letters of a pattern stand for all mixers of the decoder's layers.
    #[must_use]
    pub fn have_symbols(&self) -> bool {
        self.mixers().all(|mixer| mixer.symbol().is_some())
    }

    /// Whether any layer of the decoder has compressed attention.
    #[must_use]
    pub fn has_compressed_attention(&self) -> bool {
        self.mixers()
            .any(|mixer| mixer.core_attention() == CoreAttention::Compressed)
    }

    /// Whether any layer of the decoder or of an MTP depth has sparse attention.
    #[must_use]
    pub fn has_sparse_attention(&self) -> bool {
        let of_mtp = self.mtp.iter().filter_map(|layer| layer.mixer);
        let mut mixers = self.mixers().chain(of_mtp);
        mixers.any(|mixer| mixer.core_attention() == CoreAttention::Sparse)
    }

    /// The gates of the decoder's gated delta nets; `None` where it has no such layer. All of a module have the same.
    #[must_use]
    pub fn delta_net_gates(&self) -> Option<Gates> {
        self.mixers().find_map(Mixer::gates)
    }

    /// Whether selective recompute finds this submodule in the mixer of any layer of the decoder.
    #[must_use]
    pub fn recomputes(&self, module: RecomputeModule) -> bool {
        self.mixers().any(|mixer| mixer.recompute_modules().contains(&module))
    }

    /// Whether any layer of the decoder has this kind of MLP.
    #[must_use]
    pub fn has_mlp(&self, mlp: MlpKind) -> bool {
        self.decoder.distinct.iter().any(|layer| layer.mlp == Some(mlp))
    }
}

impl Layer {
    /// The letters of a pattern that stand for it: one for each of its halves that has one.
    pub fn symbols(self) -> impl Iterator<Item = LayerSymbol> {
        let mixer = self.mixer.and_then(Mixer::symbol);
        let mlp = self.mlp.map(|mlp| match mlp {
            MlpKind::Dense => LayerSymbol::Mlp,
            MlpKind::Moe => LayerSymbol::Moe,
        });
        mixer.into_iter().chain(mlp)
    }

    /// The layer of a `HybridModel` that a letter stands for.
    fn of_symbol(a: &LayerArgs<'_>, symbol: LayerSymbol, number: u64) -> Self {
        let mixer = match symbol {
            LayerSymbol::Mamba => Some(match a.spec {
                HybridStackSpec::HybridStackSpec => Mixer::Mamba,
                HybridStackSpec::GatedDeltaProductStackSpec => Mixer::GatedDeltaProduct,
            }),
            LayerSymbol::GatedDeltaNet => Some(gated_delta_net(a)),
            LayerSymbol::Attention => Some(Mixer::Attention),
            LayerSymbol::MultiLatentAttention => Some(Mixer::MultiLatentAttention),
            LayerSymbol::SparseAttention => Some(Mixer::SparseAttention {
                indexer: has_indexer(a, number),
            }),
            LayerSymbol::Mlp | LayerSymbol::Moe => None,
        };
        let mlp = match symbol {
            LayerSymbol::Mlp => Some(MlpKind::Dense),
            LayerSymbol::Moe => Some(MlpKind::Moe),
            LayerSymbol::Mamba
            | LayerSymbol::GatedDeltaNet
            | LayerSymbol::Attention
            | LayerSymbol::MultiLatentAttention
            | LayerSymbol::SparseAttention => None,
        };
        Self {
            mixer,
            mlp,
            sizes: LayerSizes::default(),
            residuals: None,
        }
    }

    /// The same layer with sizes of its own, and without the halves that it does not have.
    fn sized(self, own: LayerSizes) -> Self {
        Self {
            mixer: self.mixer.filter(|_| !own.no_attention),
            mlp: self.mlp.filter(|_| !own.no_mlp),
            sizes: own.without_halves(),
            ..self
        }
    }

    /// The same layer as number `number` of its decoder or MTP depth, counted from 1.
    fn numbered(self, a: &LayerArgs<'_>, number: u64) -> Self {
        let mixer = self.mixer.map(|mixer| match mixer {
            Mixer::SparseAttention { .. } => Mixer::SparseAttention {
                indexer: has_indexer(a, number),
            },
            Mixer::Attention
            | Mixer::MultiLatentAttention
            | Mixer::CompressedAttention { .. }
            | Mixer::GatedDeltaNet
            | Mixer::GatedDeltaNet2
            | Mixer::Mamba
            | Mixer::GatedDeltaProduct
            | Mixer::MambaBesideAttention
            | Mixer::KimiDeltaAttention
            | Mixer::KimiLatentAttention => mixer,
        });
        Self { mixer, ..self }
    }

    /// The layer with this compress ratio (tokens for which one key stands), if its mixer is compressed attention, and
    /// unchanged otherwise.
    fn compressed(self, ratio: CompressRatio) -> Self {
        let mixer = self.mixer.map(|mixer| match mixer {
            Mixer::CompressedAttention { .. } => Mixer::CompressedAttention { ratio },
            Mixer::Attention
            | Mixer::MultiLatentAttention
            | Mixer::SparseAttention { .. }
            | Mixer::GatedDeltaNet
            | Mixer::GatedDeltaNet2
            | Mixer::Mamba
            | Mixer::GatedDeltaProduct
            | Mixer::MambaBesideAttention
            | Mixer::KimiDeltaAttention
            | Mixer::KimiLatentAttention => mixer,
        });
        Self { mixer, ..self }
    }
}

/// Whether layer `number` (from 1) has an indexer if it has sparse attention (`is_dsa_skip_topk_layer`).
fn has_indexer(a: &LayerArgs<'_>, number: u64) -> bool {
    indexer_layer([a.dsa_indexer_skip_topk_offset, a.dsa_indexer_topk_freq], number) == number
}

/// The layer whose indexer picks the tokens for layer `number` of sparse attention (`source_dsa_compute_layer`), both
/// counted from 1. `offset` is `dsa_indexer_skip_topk_offset`, and every `frequency` layers one has an indexer.
pub(super) fn indexer_layer([offset, frequency]: [u64; 2], number: u64) -> u64 {
    let after = number.saturating_sub(offset.max(1));
    number - after % frequency.max(1)
}

/// Layer `index` (from 0) of a `GPTModel`.
fn of_gpt(a: &LayerArgs<'_>, index: u64) -> Layer {
    Layer {
        mixer: Some(if a.kimi_attn_res_block_size.is_some() {
            if lists_linear(a, index) {
                Mixer::KimiDeltaAttention
            } else {
                Mixer::KimiLatentAttention
            }
        } else if is_linear(a, index) {
            gated_delta_net(a)
        } else if a.experimental_attention_variant == Some(AttentionVariant::Dsa) {
            Mixer::SparseAttention {
                indexer: has_indexer(a, index.saturating_add(1)),
            }
        } else if a.experimental_attention_variant == Some(AttentionVariant::Dsv4Hybrid) {
            Mixer::CompressedAttention {
                ratio: CompressRatio::Window,
            }
        } else if a.multi_latent_attention {
            Mixer::MultiLatentAttention
        } else if a.mamba_beside_attention {
            Mixer::MambaBesideAttention
        } else {
            Mixer::Attention
        }),
        mlp: Some(if a.has_experts && a.moe_layer_freq.is_moe(index) {
            MlpKind::Moe
        } else {
            MlpKind::Dense
        }),
        sizes: LayerSizes::default(),
        residuals: AttentionResiduals::of(a.kimi_attn_res_block_size, a.num_layers, index),
    }
}

/// The gated delta net of a module.
fn gated_delta_net(a: &LayerArgs<'_>) -> Mixer {
    if a.experimental_attention_variant == Some(AttentionVariant::Gdn2) {
        Mixer::GatedDeltaNet2
    } else {
        Mixer::GatedDeltaNet
    }
}

/// Whether layer `index` (from 0) of a `GPTModel` has linear attention (`get_linear_attention_pattern`).
fn is_linear(a: &LayerArgs<'_>, index: u64) -> bool {
    a.experimental_attention_variant
        .is_some_and(AttentionVariant::is_gated_delta_net)
        && lists_linear(a, index)
}

/// Whether `linear_attention_freq` gives linear attention to layer `index` (from 0).
fn lists_linear(a: &LayerArgs<'_>, index: u64) -> bool {
    match &a.linear_attention_freq {
        LayerPattern::Every(n) => !(index.saturating_add(1)).is_multiple_of((*n).max(1)),
        LayerPattern::List(_) => a.linear_attention_freq.is_moe(index),
    }
}
