//! The linear modules that may have adapters.

use crate::config::choices::ProjectorKind;
use crate::config::fields::Args;
use crate::config::layers::{Layer, Mixer, MlpKind};
use strum::VariantArray;

/// The names of an adapter's operations and parameters beside one linear module.
#[derive(Clone, Copy, Debug)]
pub struct AdapterNames {
    /// The first matrix.
    pub linear_in: &'static str,
    /// The second matrix.
    pub linear_out: &'static str,
    /// The learned lengths of the weight's rows; only `DoRA` has them.
    pub weight_magnitude: &'static str,
    /// The parts of `CanonicalLoRA`'s adapter: queries, keys and values, or gate and up projection. First and second
    /// matrix of each.
    pub parts: &'static [(&'static str, &'static str, &'static str)],
}

macro_rules! modules {
    ($($(#[doc = $help:literal])+ $name:ident = $path:literal $([$($part:literal $adapter:literal),+])?;)+) => {
        /// A linear module of a layer, or of the model outside of layers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, VariantArray)]
        #[repr(u8)]
        pub enum LinearModule { $($(#[doc = $help])+ $name),+ }

        impl LinearModule {
            /// Its name below its layer.
            #[must_use]
            pub const fn path(self) -> &'static str {
                match self { $(Self::$name => $path),+ }
            }

            /// The names of its adapter.
            #[must_use]
            pub const fn names(self) -> AdapterNames {
                match self { $(Self::$name => AdapterNames {
                    linear_in: concat!($path, ".adapter.linear_in.weight"),
                    linear_out: concat!($path, ".adapter.linear_out.weight"),
                    weight_magnitude: concat!($path, ".adapter.weight_magnitude"),
                    parts: &[$($((
                        $part,
                        concat!($path, ".adapter.", $adapter, ".linear_in.weight"),
                        concat!($path, ".adapter.", $adapter, ".linear_out.weight"),
                    )),+)?],
                }),+ }
            }
        }
    };
}

modules! {
    /// Queries, keys and values.
    LinearQkv = "self_attention.linear_qkv"
        ["linear_q" "adapter_q", "linear_k" "adapter_k", "linear_v" "adapter_v"];
    /// Output of attention.
    LinearProj = "self_attention.linear_proj";
    /// MLA: queries without compression.
    LinearQProj = "self_attention.linear_q_proj";
    /// MLA: compression of queries.
    LinearQDownProj = "self_attention.linear_q_down_proj";
    /// MLA: queries from compressed ones.
    LinearQUpProj = "self_attention.linear_q_up_proj";
    /// MLA: compression of keys and values.
    LinearKvDownProj = "self_attention.linear_kv_down_proj";
    /// MLA: keys and values from compressed ones.
    LinearKvUpProj = "self_attention.linear_kv_up_proj";
    /// MLA: compression of queries, keys and values in one.
    LinearQkvDownProj = "self_attention.linear_qkv_down_proj";
    /// Sparse attention: queries of the indexer.
    IndexerWqB = "self_attention.core_attention.indexer.linear_wq_b";
    /// Sparse attention: keys of the indexer.
    IndexerWk = "self_attention.core_attention.indexer.linear_wk";
    /// Sparse attention: weights of the indexer's heads.
    IndexerWeightsProj = "self_attention.core_attention.indexer.linear_weights_proj";
    /// Input of a gated delta net.
    DeltaNetInProj = "self_attention.in_proj";
    /// Output of a gated delta net.
    DeltaNetOutProj = "self_attention.out_proj";
    /// Input of a Mamba mixer.
    MixerInProj = "mixer.in_proj";
    /// Output of a Mamba mixer.
    MixerOutProj = "mixer.out_proj";
    /// Into the dense MLP.
    LinearFc1 = "mlp.linear_fc1" ["linear_fc1_up" "adapter_up", "linear_fc1_gate" "adapter_gate"];
    /// Out of the dense MLP.
    LinearFc2 = "mlp.linear_fc2";
    /// The router.
    Router = "mlp.router";
    /// Into the routed experts.
    ExpertsFc1 = "mlp.experts.linear_fc1"
        ["linear_fc1_up" "adapter_up", "linear_fc1_gate" "adapter_gate"];
    /// Out of the routed experts.
    ExpertsFc2 = "mlp.experts.linear_fc2";
    /// Into the shared experts.
    SharedExpertsFc1 = "mlp.shared_experts.linear_fc1"
        ["linear_fc1_up" "adapter_up", "linear_fc1_gate" "adapter_gate"];
    /// Out of the shared experts.
    SharedExpertsFc2 = "mlp.shared_experts.linear_fc2";
    /// Into the experts' latent space.
    Fc1LatentProj = "mlp.fc1_latent_proj";
    /// Out of the experts' latent space.
    Fc2LatentProj = "mlp.fc2_latent_proj";
    /// MTP: the projection of embedding and hidden states.
    EhProj = "eh_proj";
    /// The output layer.
    OutputLayer = "output_layer";
    /// Into the projector of an encoder.
    ProjectorFc1 = "input_projections.0.encoder.linear_fc1";
    /// Out of it.
    ProjectorFc2 = "input_projections.0.encoder.linear_fc2";
    /// Into each projector on the output of an encoder's inner layers.
    DeepstackFc1 = "decoder.deepstack_merger_list.*.linear_fc1";
    /// Out of each of them.
    DeepstackFc2 = "decoder.deepstack_merger_list.*.linear_fc2";
}

impl LinearModule {
    /// All of them.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The module whose weight has this name below its layer. A star stands for the numbers of several experts.
    #[must_use]
    pub fn of_weight(name: &str) -> Option<Self> {
        let path = name.strip_suffix('*').unwrap_or(name).strip_suffix(".weight")?;
        Self::ALL.iter().copied().find(|module| module.path() == path)
    }

    /// The last name of its path, by which targets may call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        let path = self.path();
        path.rsplit_once('.').map_or(path, |(_, name)| name)
    }

    /// Its name below its layer. Experts that are not grouped are modules of their own.
    pub(super) fn path_of(self, grouped: bool) -> &'static str {
        match self {
            Self::ExpertsFc1 if !grouped => "mlp.experts.local_experts.0.linear_fc1",
            Self::ExpertsFc2 if !grouped => "mlp.experts.local_experts.0.linear_fc2",
            _ => self.path(),
        }
    }

    /// Whether every rank has its weight in full (`TELinear`), or it is no linear layer for Megatron-Bridge: then only
    /// a target may name it, and it does not belong to all linear layers.
    pub(super) const fn must_be_named(self, grouped: bool) -> bool {
        match self {
            Self::LinearQDownProj
            | Self::LinearKvDownProj
            | Self::IndexerWqB
            | Self::IndexerWk
            | Self::IndexerWeightsProj
            | Self::Router
            | Self::Fc1LatentProj
            | Self::Fc2LatentProj => true,
            Self::ExpertsFc1 | Self::ExpertsFc2 => grouped,
            _ => false,
        }
    }

    /// Whether it belongs to routed experts.
    #[must_use]
    pub const fn is_expert(self) -> bool {
        matches!(self, Self::ExpertsFc1 | Self::ExpertsFc2)
    }

    /// Whether tensor-parallel ranks split its weight by columns, and sum up their results.
    #[must_use]
    pub const fn is_row_parallel(self) -> bool {
        matches!(
            self,
            Self::LinearProj
                | Self::DeltaNetOutProj
                | Self::MixerOutProj
                | Self::LinearFc2
                | Self::ExpertsFc2
                | Self::SharedExpertsFc2
                | Self::ProjectorFc2
                | Self::DeepstackFc2
        )
    }

    /// Whether it belongs to a projector between an encoder and the language model.
    #[must_use]
    pub const fn is_in_projector(self) -> bool {
        matches!(
            self,
            Self::ProjectorFc1 | Self::ProjectorFc2 | Self::DeepstackFc1 | Self::DeepstackFc2
        )
    }

    /// Its bit in a set.
    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// A set of linear modules, and which parts of fused ones `CanonicalLoRA` adapts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinearModules {
    modules: u32,
    /// Bits of the parts of `linear_qkv` and of each `linear_fc1`, four for each of the four.
    parts: u16,
}

impl LinearModules {
    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.modules == 0
    }

    /// Whether a module is in the set.
    #[must_use]
    pub const fn has(self, module: LinearModule) -> bool {
        self.modules & module.bit() != 0
    }

    /// The set with one more module.
    #[must_use]
    pub const fn with(self, module: LinearModule) -> Self {
        Self {
            modules: self.modules | module.bit(),
            ..self
        }
    }

    /// The set without all other modules.
    #[must_use]
    pub const fn only(self, module: LinearModule) -> Self {
        Self {
            modules: self.modules & module.bit(),
            ..self
        }
    }

    /// The linear modules of a layer.
    #[must_use]
    pub(super) fn of_layer(layer: Layer, a: &Args) -> Self {
        use LinearModule as L;
        let mixer: &[LinearModule] = match layer.mixer {
            // A rule refuses adapters beside Kimi K3's.
            None | Some(Mixer::KimiDeltaAttention | Mixer::KimiLatentAttention) => &[],
            Some(Mixer::Attention) => &[L::LinearQkv, L::LinearProj],
            Some(Mixer::MambaBesideAttention) => &[L::LinearQkv, L::LinearProj, L::MixerInProj, L::MixerOutProj],
            Some(Mixer::MultiLatentAttention | Mixer::SparseAttention { .. }) => {
                if a.mla_down_proj_fusion && a.q_lora_rank.is_some() {
                    &[L::LinearQkvDownProj, L::LinearQUpProj, L::LinearKvUpProj, L::LinearProj]
                } else if a.q_lora_rank.is_some() {
                    &[
                        L::LinearQDownProj,
                        L::LinearQUpProj,
                        L::LinearKvDownProj,
                        L::LinearKvUpProj,
                        L::LinearProj,
                    ]
                } else {
                    &[L::LinearQProj, L::LinearKvDownProj, L::LinearKvUpProj, L::LinearProj]
                }
            }
            Some(Mixer::CompressedAttention { .. }) => &[L::LinearQDownProj, L::LinearQUpProj, L::LinearProj],
            Some(Mixer::GatedDeltaNet | Mixer::GatedDeltaNet2) => &[L::DeltaNetInProj, L::DeltaNetOutProj],
            Some(Mixer::Mamba | Mixer::GatedDeltaProduct) => &[L::MixerInProj, L::MixerOutProj],
        };
        let indexer: &[LinearModule] = match layer.mixer {
            Some(Mixer::SparseAttention { indexer: true }) => &[L::IndexerWqB, L::IndexerWk, L::IndexerWeightsProj],
            None
            | Some(
                Mixer::SparseAttention { indexer: false }
                | Mixer::CompressedAttention { .. }
                | Mixer::Attention
                | Mixer::MultiLatentAttention
                | Mixer::GatedDeltaNet
                | Mixer::GatedDeltaNet2
                | Mixer::Mamba
                | Mixer::GatedDeltaProduct
                | Mixer::MambaBesideAttention
                | Mixer::KimiDeltaAttention
                | Mixer::KimiLatentAttention,
            ) => &[],
        };
        let mlp: &[LinearModule] = match layer.mlp {
            None => &[],
            Some(MlpKind::Dense) => &[L::LinearFc1, L::LinearFc2],
            Some(MlpKind::Moe) => &[L::Router, L::ExpertsFc1, L::ExpertsFc2],
        };
        let experts = layer.mlp == Some(MlpKind::Moe);
        let shared: &[LinearModule] = match a.moe_shared_expert_intermediate_size {
            Some(size) if experts && size > 0 => &[L::SharedExpertsFc1, L::SharedExpertsFc2],
            _ => &[],
        };
        let latent: &[LinearModule] = match a.moe_latent_size {
            Some(_) if experts => &[L::Fc1LatentProj, L::Fc2LatentProj],
            _ => &[],
        };
        let all = [mixer, indexer, mlp, shared, latent].into_iter().flatten();
        all.fold(Self::default(), |set, module| set.with(*module))
    }

    /// The linear modules of an encoder's projectors, which have adapters only where they have two layers.
    #[must_use]
    pub(super) fn of_projectors(a: &Args) -> Self {
        use LinearModule as L;
        let has = a.projector == ProjectorKind::Mlp;
        let all: &[LinearModule] = match a.deepstack_projectors {
            _ if !has => &[],
            0 => &[L::ProjectorFc1, L::ProjectorFc2],
            _ => &[L::ProjectorFc1, L::ProjectorFc2, L::DeepstackFc1, L::DeepstackFc2],
        };
        all.iter().fold(Self::default(), |set, module| set.with(*module))
    }

    /// The set of what either has.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self {
            modules: self.modules | other.modules,
            parts: self.parts | other.parts,
        }
    }

    /// The set of what both have, with the parts of this one.
    #[must_use]
    pub const fn both(self, other: Self) -> Self {
        Self {
            modules: self.modules & other.modules,
            ..self
        }
    }

    /// The modules in order.
    pub fn iter(self) -> impl Iterator<Item = LinearModule> {
        LinearModule::ALL
            .iter()
            .copied()
            .filter(move |module| self.has(*module))
    }

    /// Whether `CanonicalLoRA` adapts part `index` of a fused module.
    #[must_use]
    pub fn has_part(self, module: LinearModule, index: usize) -> bool {
        part_bit(module, index).is_some_and(|bit| self.parts & bit != 0)
    }

    /// The set with one more part of a fused module.
    #[must_use]
    pub(super) fn with_part(self, module: LinearModule, index: usize) -> Self {
        Self {
            parts: self.parts | part_bit(module, index).unwrap_or(0),
            ..self.with(module)
        }
    }
}

/// The bit of part `index` of a fused module.
fn part_bit(module: LinearModule, index: usize) -> Option<u16> {
    let first = match module {
        LinearModule::LinearQkv => 0,
        LinearModule::LinearFc1 => 4,
        LinearModule::ExpertsFc1 => 8,
        LinearModule::SharedExpertsFc1 => 12,
        _ => return None,
    };
    let index = u32::try_from(index).ok().filter(|index| *index < 4)?;
    Some(1 << (first + index))
}
