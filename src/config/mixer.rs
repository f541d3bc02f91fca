//! The mixers, which mix the tokens of a sequence, and what the rest of the program asks of every mixer: each question
//! is a match without a fallback, so that the compiler asks for the answer of a new one.

use super::choices::{CudaGraphModule, RecomputeModule};
use super::compress_ratios::CompressRatio;
use super::hybrid_pattern::LayerSymbol;

/// A mixer, which mixes the tokens of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mixer {
    /// Multi-head, grouped-query or multi-query attention.
    Attention,
    /// Multi-latent attention.
    MultiLatentAttention,
    /// Multi-latent attention over the tokens that an indexer picks.
    SparseAttention {
        /// Whether the layer has an indexer of its own; else it uses the tokens that an earlier layer's picked.
        indexer: bool,
    },
    /// Attention to a window of tokens, and to keys that each stand for several.
    CompressedAttention {
        /// Tokens that it makes one key of.
        ratio: CompressRatio,
    },
    /// Linear attention by the gated delta rule.
    GatedDeltaNet,
    /// Linear attention by the gated delta rule with gates for every channel.
    GatedDeltaNet2,
    /// A Mamba-2 state space.
    Mamba,
    /// Several steps of the gated delta rule for each token.
    GatedDeltaProduct,
    /// Attention and a Mamba-2 state space, which read the same normed input and whose outputs are added.
    MambaBesideAttention,
    /// Linear attention by the delta rule, whose state forgets each channel of a key by itself, as Kimi K3 has it.
    KimiDeltaAttention,
    /// Multi-latent attention without positions whose output has a gate, as Kimi K3 has it.
    KimiLatentAttention,
}

/// The names of a mixer in an estimate. In a hybrid model a mixer is a layer of its own; elsewhere a layer has a mixer
/// and an MLP, and its name leaves plain attention out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MixerNames {
    /// In paths, of a layer of its own.
    pub id: &'static str,
    /// In paths, of a layer with an MLP; empty for attention.
    pub id_beside_mlp: &'static str,
    /// In words, of a layer of its own.
    pub label: &'static str,
    /// Behind the words for a layer with an MLP; empty for attention.
    pub with: &'static str,
    /// Behind the words for any layer with it.
    pub remark: &'static str,
}

impl Mixer {
    /// Its names in paths and in words.
    #[must_use]
    pub const fn names(self) -> MixerNames {
        let attention = MixerNames {
            id: "attention",
            id_beside_mlp: "",
            label: "attention",
            with: "",
            remark: "",
        };
        match self {
            Self::Attention => attention,
            Self::MultiLatentAttention => MixerNames {
                id: "mla",
                label: "MLA",
                ..attention
            },
            Self::SparseAttention { indexer: true } => MixerNames {
                id: "dsa",
                id_beside_mlp: "dsa",
                label: "sparse attention",
                ..attention
            },
            Self::SparseAttention { indexer: false } => MixerNames {
                id: "dsa_without_indexer",
                id_beside_mlp: "dsa_without_indexer",
                label: "sparse attention",
                remark: " without an indexer",
                ..attention
            },
            Self::CompressedAttention { ratio } => match ratio {
                CompressRatio::Window => MixerNames {
                    id: "window",
                    id_beside_mlp: "window",
                    label: "attention to a window",
                    with: " with attention to a window",
                    remark: "",
                },
                CompressRatio::Sparse => MixerNames {
                    id: "csa",
                    id_beside_mlp: "csa",
                    label: "compressed sparse attention",
                    with: " with compressed sparse attention",
                    remark: "",
                },
                CompressRatio::Heavy => MixerNames {
                    id: "hca",
                    id_beside_mlp: "hca",
                    label: "heavily compressed attention",
                    with: " with heavily compressed attention",
                    remark: "",
                },
            },
            Self::GatedDeltaNet => MixerNames {
                id: "gdn",
                id_beside_mlp: "linear",
                label: "gated delta net",
                with: " with linear attention",
                remark: "",
            },
            Self::GatedDeltaNet2 => MixerNames {
                id: "gdn2",
                id_beside_mlp: "gdn2",
                label: "gated delta net 2",
                with: " with gated delta net 2",
                remark: "",
            },
            Self::Mamba => MixerNames {
                id: "mamba",
                id_beside_mlp: "mamba",
                label: "Mamba",
                with: " with Mamba",
                remark: "",
            },
            Self::GatedDeltaProduct => MixerNames {
                id: "gdp",
                id_beside_mlp: "gdp",
                label: "gated delta product",
                with: " with a gated delta product",
                remark: "",
            },
            Self::MambaBesideAttention => MixerNames {
                id: "mamba_beside_attention",
                id_beside_mlp: "mamba_beside_attention",
                label: "Mamba beside attention",
                with: " with Mamba beside attention",
                remark: "",
            },
            Self::KimiDeltaAttention => MixerNames {
                id: "kda",
                id_beside_mlp: "kda",
                label: "Kimi delta attention",
                with: " with delta attention",
                remark: "",
            },
            Self::KimiLatentAttention => MixerNames {
                id: "gated_mla",
                id_beside_mlp: "gated_mla",
                label: "gated MLA",
                with: " with gated latent attention",
                remark: "",
            },
        }
    }

    /// The name under which CUDA graphs of layers capture it (`CudaGraphModule`).
    #[must_use]
    pub const fn cuda_graph_module(self) -> CudaGraphModule {
        match self.layer_class() {
            LayerClass::MambaLayer => CudaGraphModule::Mamba,
            LayerClass::TransformerLayer => CudaGraphModule::Attn,
        }
    }

    /// The rotary embeddings that a layer of it builds for itself (`MLASelfAttention.__init__`, `DSAIndexer.__init__`).
    /// Other layers read that of their model, or none.
    #[must_use]
    pub const fn rotary_embeddings(self) -> u64 {
        match self {
            Self::MultiLatentAttention | Self::SparseAttention { indexer: false } => 1,
            Self::SparseAttention { indexer: true } => 2,
            Self::Attention
            | Self::CompressedAttention { .. }
            | Self::GatedDeltaNet
            | Self::GatedDeltaNet2
            | Self::Mamba
            | Self::GatedDeltaProduct
            | Self::MambaBesideAttention
            | Self::KimiDeltaAttention
            | Self::KimiLatentAttention => 0,
        }
    }

    /// The letter of a pattern that stands for it; `None` where there is none. For attention with Mamba beside it, of
    /// which no pattern has a letter, it is that of attention.
    #[must_use]
    pub const fn symbol(self) -> Option<LayerSymbol> {
        Some(match self {
            Self::Attention | Self::MambaBesideAttention => LayerSymbol::Attention,
            Self::MultiLatentAttention => LayerSymbol::MultiLatentAttention,
            Self::SparseAttention { .. } => LayerSymbol::SparseAttention,
            Self::CompressedAttention { .. } | Self::KimiDeltaAttention | Self::KimiLatentAttention => return None,
            Self::GatedDeltaNet | Self::GatedDeltaNet2 => LayerSymbol::GatedDeltaNet,
            Self::Mamba | Self::GatedDeltaProduct => LayerSymbol::Mamba,
        })
    }

    /// The class of a layer of it.
    #[must_use]
    pub const fn layer_class(self) -> LayerClass {
        match self {
            Self::Mamba | Self::GatedDeltaProduct => LayerClass::MambaLayer,
            Self::Attention
            | Self::MultiLatentAttention
            | Self::SparseAttention { .. }
            | Self::CompressedAttention { .. }
            | Self::GatedDeltaNet
            | Self::GatedDeltaNet2
            | Self::MambaBesideAttention
            | Self::KimiDeltaAttention
            | Self::KimiLatentAttention => LayerClass::TransformerLayer,
        }
    }

    /// The operands of its core attention.
    #[must_use]
    pub const fn core_attention(self) -> CoreAttention {
        match self {
            Self::Attention | Self::MambaBesideAttention => CoreAttention::Heads,
            Self::MultiLatentAttention | Self::KimiLatentAttention => CoreAttention::Latent,
            Self::SparseAttention { .. } => CoreAttention::Sparse,
            Self::CompressedAttention { .. } => CoreAttention::Compressed,
            Self::GatedDeltaNet
            | Self::GatedDeltaNet2
            | Self::Mamba
            | Self::GatedDeltaProduct
            | Self::KimiDeltaAttention => CoreAttention::None,
        }
    }

    /// Pairs of a column-parallel projection, whose input tensor-parallel ranks gather, and a row-parallel one, whose
    /// output they sum up.
    #[must_use]
    pub const fn parallel_pairs(self) -> u64 {
        match self {
            Self::MambaBesideAttention => 2,
            Self::Attention
            | Self::MultiLatentAttention
            | Self::SparseAttention { .. }
            | Self::CompressedAttention { .. }
            | Self::GatedDeltaNet
            | Self::GatedDeltaNet2
            | Self::Mamba
            | Self::GatedDeltaProduct
            | Self::KimiDeltaAttention
            | Self::KimiLatentAttention => 1,
        }
    }

    /// Whether tensor-parallel ranks gather the residual stream once for all projections of it, although some of these
    /// are split over no ranks.
    #[must_use]
    pub const fn gathers_stream(self) -> bool {
        match self {
            Self::KimiDeltaAttention | Self::KimiLatentAttention => true,
            Self::Attention
            | Self::MultiLatentAttention
            | Self::SparseAttention { .. }
            | Self::CompressedAttention { .. }
            | Self::GatedDeltaNet
            | Self::GatedDeltaNet2
            | Self::Mamba
            | Self::GatedDeltaProduct
            | Self::MambaBesideAttention => false,
        }
    }

    /// The gates of a gated delta net; `None` for all else.
    #[must_use]
    pub const fn gates(self) -> Option<Gates> {
        match self {
            Self::GatedDeltaNet => Some(Gates::OfHeads),
            Self::GatedDeltaNet2 => Some(Gates::OfChannels),
            Self::Attention
            | Self::MultiLatentAttention
            | Self::SparseAttention { .. }
            | Self::CompressedAttention { .. }
            | Self::Mamba
            | Self::GatedDeltaProduct
            | Self::MambaBesideAttention
            | Self::KimiDeltaAttention
            | Self::KimiLatentAttention => None,
        }
    }

    /// The submodules of selective recompute that only it has.
    #[must_use]
    pub const fn recompute_modules(self) -> &'static [RecomputeModule] {
        match self {
            Self::Attention
            | Self::Mamba
            | Self::MambaBesideAttention
            | Self::KimiDeltaAttention
            | Self::KimiLatentAttention => &[],
            Self::MultiLatentAttention | Self::SparseAttention { .. } | Self::CompressedAttention { .. } => {
                &[RecomputeModule::MlaUpProj]
            }
            Self::GatedDeltaNet | Self::GatedDeltaNet2 => &[RecomputeModule::GdnNormOut],
            Self::GatedDeltaProduct => &[RecomputeModule::GdpInProj, RecomputeModule::GdpQkv],
        }
    }
}

/// The classes of layers that Megatron has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerClass {
    /// `TransformerLayer`: a mixer and an MLP, or one of them.
    TransformerLayer,
    /// `MambaLayer`: a mixer alone.
    MambaLayer,
}

/// The operands of a mixer's core attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreAttention {
    /// Queries, keys and values of heads.
    Heads,
    /// Heads that are projected up from compressed queries, keys and values.
    Latent,
    /// Heads that are projected up from compressed queries, keys and values, over the tokens that an indexer picks.
    Sparse,
    /// Heads that are projected up from compressed queries, over one head of keys, which are the values too.
    Compressed,
    /// The mixer has no heads that attend: a recurrence goes through the sequence.
    None,
}

/// The units of a gated delta net that have a gate of their own in each token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gates {
    /// Every value head: how strongly to write and how fast to forget.
    OfHeads,
    /// Every channel (GDN-2): how fast to forget and how strongly to erase each channel of a key, and how strongly to
    /// write each channel of a value.
    OfChannels,
}
