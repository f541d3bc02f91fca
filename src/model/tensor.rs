//! A tensor as data: its shape is a list of factors over a list of parallel sizes, and both the
//! number and the printed formula come from that list.

use core::fmt::{self, Write};

use crate::parallel::groups::View;
use crate::source::Source;

/// One factor of a shape: a symbol with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor {
    /// How formulas write it; empty for the neutral factor.
    pub symbol: &'static str,
    /// Its value.
    pub value: u64,
}

impl Factor {
    /// The factor that changes nothing and is not printed.
    pub const NONE: Self = factor("", 1);

    /// Whether formulas write it.
    #[must_use]
    pub fn is_written(&self) -> bool {
        !self.symbol.is_empty()
    }
}

/// A factor called `symbol` with this value.
#[must_use]
pub const fn factor(symbol: &'static str, value: u64) -> Factor {
    Factor { symbol, value }
}

/// A product of factors over a product of parallel sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    times: [Factor; 4],
    /// How many of them were given.
    given: usize,
    over: [Factor; 3],
}

impl Shape {
    /// A shape of up to four factors; more do not compile.
    #[must_use]
    pub fn of<const N: usize>(factors: &[Factor; N]) -> Self {
        const { assert!(N <= 4, "a shape has at most four factors") };
        let mut times = [Factor::NONE; 4];
        for (slot, factor) in times.iter_mut().zip(factors) {
            *slot = *factor;
        }
        Self {
            times,
            given: N,
            over: [Factor::NONE; 3],
        }
    }

    /// The same shape split over one more parallel size. A fourth size is multiplied into the third.
    #[must_use]
    pub fn over(mut self, divisor: Factor) -> Self {
        if divisor.value == 1 {
            return self;
        }
        let free = self.over.iter().position(|slot| slot.value == 1);
        put(&mut self.over, free, divisor);
        self
    }

    /// So many tensors of the same shape: one more factor. A fifth factor is multiplied into the fourth.
    #[must_use]
    pub fn times(mut self, count: Factor) -> Self {
        let unused = |slot: &Factor| slot.value == 1 && !slot.is_written();
        let free = self.times.iter().position(unused);
        self.given = self.given.max(free.map_or(self.times.len(), |at| at + 1));
        put(&mut self.times, free, count);
        self
    }

    /// Elements of the whole tensor, before it is split.
    #[must_use]
    pub fn whole(&self) -> u128 {
        self.times.iter().map(|f| u128::from(f.value)).product()
    }

    /// Elements that one rank holds; a part of an element counts as one.
    #[must_use]
    pub fn elements(&self) -> u64 {
        if let (Some(times), Some(over)) = (narrow(&self.times), narrow(&self.over)) {
            return times.div_ceil(over.max(1));
        }
        let over: u128 = self.over.iter().map(|f| u128::from(f.value)).product();
        u64::try_from(self.whole().div_ceil(over.max(1))).unwrap_or(u64::MAX)
    }

    /// The factors, neutral ones included.
    pub fn factors(&self) -> impl Iterator<Item = Factor> {
        self.times.into_iter().take(self.given)
    }

    /// The parallel sizes that split it.
    pub fn divisors(&self) -> impl Iterator<Item = Factor> {
        self.over.into_iter().filter(|f| f.value != 1)
    }

    /// The formula with values in place of symbols.
    #[must_use]
    pub fn substituted(&self) -> String {
        self.write(|out, f| {
            // Writing to a string cannot fail.
            let _ = write!(out, "{}", f.value);
        })
    }

    fn write(&self, part: impl Fn(&mut String, &Factor)) -> String {
        let mut out = String::new();
        product(&mut out, self.factors(), &part);
        if out.is_empty() {
            out.push('1');
        }
        match self.divisors().count() {
            0 => {}
            1 => {
                out.push_str(" / ");
                product(&mut out, self.divisors(), &part);
            }
            _ => {
                out.push_str(" / (");
                product(&mut out, self.divisors(), &part);
                out.push(')');
            }
        }
        out
    }
}

/// Puts a factor into a free place; where there is none, the last factor is multiplied by it, so that the number stays
/// right although the formula lacks the symbol.
fn put(factors: &mut [Factor], free: Option<usize>, factor: Factor) {
    match free.and_then(|at| factors.get_mut(at)) {
        Some(slot) => *slot = factor,
        None => {
            if let Some(last) = factors.last_mut() {
                last.value = last.value.saturating_mul(factor.value);
            }
        }
    }
}

fn product(
    out: &mut String,
    factors: impl Iterator<Item = Factor>,
    part: impl Fn(&mut String, &Factor),
) {
    for (index, factor) in factors.filter(Factor::is_written).enumerate() {
        if index > 0 {
            out.push_str(" · ");
        }
        part(out, &factor);
    }
}

/// A product that has at most 64 bits for sure, as nearly all have: WebAssembly has no instruction for a wider one.
fn narrow(factors: &[Factor]) -> Option<u64> {
    let bits = |f: &Factor| u64::BITS - f.value.leading_zeros();
    let fits = factors.iter().map(bits).sum::<u32>() <= u64::BITS;
    fits.then(|| factors.iter().map(|f| f.value).product())
}

/// The formula in symbols, such as `h · f / TP`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.write(|out, factor| out.push_str(factor.symbol)))
    }
}

/// Who holds a parameter, which decides its divisor and its optimizer shard group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sharding {
    /// Split over the tensor-parallel ranks.
    TpSharded,
    /// In full on every tensor-parallel rank.
    Replicated,
    /// Split over expert-parallel and expert-tensor-parallel ranks.
    Expert,
}

impl Sharding {
    /// All shardings in order.
    pub const ALL: [Self; 3] = [Self::TpSharded, Self::Replicated, Self::Expert];

    /// The view of the ranks whose groups share its states.
    #[must_use]
    pub const fn view(self) -> View {
        match self {
            Self::TpSharded | Self::Replicated => View::Dense,
            Self::Expert => View::Expert,
        }
    }
}

/// What part of a model a parameter belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Component {
    /// Word embedding.
    Embedding,
    /// Learned positions.
    PositionEmbedding,
    /// Input and pre-MLP norm.
    Layernorm,
    /// `linear_qkv` and `linear_proj`, or the MLA up projections.
    Attention,
    /// Their biases.
    AttentionBias,
    /// One learned logit a head.
    AttentionSinks,
    /// Norms on queries and keys.
    QkLayernorm,
    /// MLA down projections.
    MlaDownProj,
    /// Norms on the compressed queries and keys.
    MlaLayernorm,
    /// Dense MLP.
    DenseMlp,
    /// Its biases.
    DenseMlpBias,
    /// Router.
    Router,
    /// Routed experts.
    RoutedExperts,
    /// Projections into and out of the experts' latent space.
    LatentProj,
    /// Shared experts.
    SharedExperts,
    /// Gate on the shared experts.
    SharedExpertGate,
    /// MTP: the norms of hidden states and embedding.
    EnormHnorm,
    /// MTP: the projection that joins them.
    EhProj,
    /// The norm after the last layer (of the decoder, or of one MTP depth).
    FinalLayernorm,
    /// Output layer.
    OutputLayer,
    /// What an encoder starts with: patch embedding or convolutions over sound.
    FrontEnd,
    /// Learned tokens before the patches.
    ClassToken,
    /// Positions that are parameters but never trained.
    FixedPositions,
    /// The norms before the first and after the last layer of an encoder.
    EncoderNorm,
    /// Learned factors on the output of attention and MLP.
    LayerScaling,
    /// `in_proj` of gated delta nets.
    GdnInProj,
    /// Causal convolution of gated delta nets.
    GdnConv1d,
    /// `A_log` of gated delta nets: how fast each head forgets.
    GdnALog,
    /// `dt_bias` of gated delta nets.
    GdnDtBias,
    /// Norm on the output of every head of gated delta nets.
    GdnNorm,
    /// `out_proj` of gated delta nets.
    GdnOutProj,
    /// The layers between an encoder and the language model.
    Projector,
    /// `in_proj` of Mamba mixers.
    MambaInProj,
    /// Causal convolution of Mamba mixers, weight and bias.
    MambaConv1d,
    /// `A_log` of Mamba mixers: how fast each head forgets.
    MambaALog,
    /// `D` of Mamba mixers: the weight of the skip connection.
    MambaD,
    /// `dt_bias` of Mamba mixers.
    MambaDtBias,
    /// Gated norm of Mamba mixers.
    MambaNorm,
    /// `out_proj` of Mamba mixers.
    MambaOutProj,
    /// The indexer of sparse attention.
    DsaIndexer,
    /// Adapters beside frozen linear layers.
    Adapters,
}

impl Component {
    /// How many components there are.
    pub const COUNT: usize = 41;
    /// All components, in the order in which they are listed.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Embedding,
        Self::PositionEmbedding,
        Self::Layernorm,
        Self::Attention,
        Self::AttentionBias,
        Self::AttentionSinks,
        Self::QkLayernorm,
        Self::MlaDownProj,
        Self::MlaLayernorm,
        Self::DenseMlp,
        Self::DenseMlpBias,
        Self::Router,
        Self::RoutedExperts,
        Self::LatentProj,
        Self::SharedExperts,
        Self::SharedExpertGate,
        Self::EnormHnorm,
        Self::EhProj,
        Self::FinalLayernorm,
        Self::OutputLayer,
        Self::FrontEnd,
        Self::ClassToken,
        Self::FixedPositions,
        Self::EncoderNorm,
        Self::LayerScaling,
        Self::GdnInProj,
        Self::GdnConv1d,
        Self::GdnALog,
        Self::GdnDtBias,
        Self::GdnNorm,
        Self::GdnOutProj,
        Self::Projector,
        Self::MambaInProj,
        Self::MambaConv1d,
        Self::MambaALog,
        Self::MambaD,
        Self::MambaDtBias,
        Self::MambaNorm,
        Self::MambaOutProj,
        Self::DsaIndexer,
        Self::Adapters,
    ];

    /// The component's id, for the decoder or for the MTP block.
    #[must_use]
    pub const fn id(self, mtp: bool) -> &'static str {
        match (self, mtp) {
            (Self::Embedding, _) => "embedding",
            (Self::PositionEmbedding, _) => "position_embedding",
            (Self::OutputLayer, _) => "output_layer",
            (Self::Layernorm, false) => "layernorm",
            (Self::Layernorm, true) => "mtp_layernorm",
            (Self::Attention, false) => "attention",
            (Self::Attention, true) => "mtp_attention",
            (Self::AttentionBias, false) => "attention_bias",
            (Self::AttentionBias, true) => "mtp_attention_bias",
            (Self::AttentionSinks, false) => "attention_sinks",
            (Self::AttentionSinks, true) => "mtp_attention_sinks",
            (Self::QkLayernorm, false) => "qk_layernorm",
            (Self::QkLayernorm, true) => "mtp_qk_layernorm",
            (Self::MlaDownProj, false) => "mla_down_proj",
            (Self::MlaDownProj, true) => "mtp_mla_down_proj",
            (Self::MlaLayernorm, false) => "mla_layernorm",
            (Self::MlaLayernorm, true) => "mtp_mla_layernorm",
            (Self::DenseMlp, false) => "dense_mlp",
            (Self::DenseMlp, true) => "mtp_dense_mlp",
            (Self::DenseMlpBias, false) => "dense_mlp_bias",
            (Self::DenseMlpBias, true) => "mtp_dense_mlp_bias",
            (Self::Router, false) => "router",
            (Self::Router, true) => "mtp_router",
            (Self::RoutedExperts, false) => "routed_experts",
            (Self::RoutedExperts, true) => "mtp_routed_experts",
            (Self::LatentProj, false) => "latent_projection",
            (Self::LatentProj, true) => "mtp_latent_projection",
            (Self::SharedExperts, false) => "shared_experts",
            (Self::SharedExperts, true) => "mtp_shared_experts",
            (Self::SharedExpertGate, false) => "shared_expert_gate",
            (Self::SharedExpertGate, true) => "mtp_shared_expert_gate",
            (Self::EnormHnorm, _) => "mtp_enorm_hnorm",
            (Self::EhProj, _) => "mtp_eh_proj",
            (Self::FinalLayernorm, false) => "final_layernorm",
            (Self::FinalLayernorm, true) => "mtp_final_layernorm",
            (Self::FrontEnd, _) => "front_end",
            (Self::ClassToken, _) => "class_token",
            (Self::FixedPositions, _) => "fixed_positions",
            (Self::EncoderNorm, _) => "encoder_norm",
            (Self::LayerScaling, false) => "layer_scaling",
            (Self::LayerScaling, true) => "mtp_layer_scaling",
            (Self::GdnInProj, false) => "gdn_in_proj",
            (Self::GdnInProj, true) => "mtp_gdn_in_proj",
            (Self::GdnConv1d, false) => "gdn_conv1d",
            (Self::GdnConv1d, true) => "mtp_gdn_conv1d",
            (Self::GdnALog, false) => "gdn_A_log",
            (Self::GdnALog, true) => "mtp_gdn_A_log",
            (Self::GdnDtBias, false) => "gdn_dt_bias",
            (Self::GdnDtBias, true) => "mtp_gdn_dt_bias",
            (Self::GdnNorm, false) => "gdn_norm",
            (Self::GdnNorm, true) => "mtp_gdn_norm",
            (Self::GdnOutProj, false) => "gdn_out_proj",
            (Self::GdnOutProj, true) => "mtp_gdn_out_proj",
            (Self::Projector, _) => "projector",
            (Self::MambaInProj, false) => "mamba_in_proj",
            (Self::MambaInProj, true) => "mtp_mamba_in_proj",
            (Self::MambaConv1d, false) => "mamba_conv1d",
            (Self::MambaConv1d, true) => "mtp_mamba_conv1d",
            (Self::MambaALog, false) => "mamba_A_log",
            (Self::MambaALog, true) => "mtp_mamba_A_log",
            (Self::MambaD, false) => "mamba_D",
            (Self::MambaD, true) => "mtp_mamba_D",
            (Self::MambaDtBias, false) => "mamba_dt_bias",
            (Self::MambaDtBias, true) => "mtp_mamba_dt_bias",
            (Self::MambaNorm, false) => "mamba_norm",
            (Self::MambaNorm, true) => "mtp_mamba_norm",
            (Self::MambaOutProj, false) => "mamba_out_proj",
            (Self::MambaOutProj, true) => "mtp_mamba_out_proj",
            (Self::DsaIndexer, false) => "dsa_indexer",
            (Self::DsaIndexer, true) => "mtp_dsa_indexer",
            (Self::Adapters, false) => "adapters",
            (Self::Adapters, true) => "mtp_adapters",
        }
    }

    /// What the page calls it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Embedding => "Word embedding",
            Self::PositionEmbedding => "Position embedding",
            Self::Layernorm => "Layer norms",
            Self::Attention => "Attention",
            Self::AttentionBias => "Attention biases",
            Self::AttentionSinks => "Attention sinks",
            Self::QkLayernorm => "Q/K norms",
            Self::MlaDownProj => "MLA down projections",
            Self::MlaLayernorm => "MLA norms",
            Self::DenseMlp => "Dense MLP",
            Self::DenseMlpBias => "Dense MLP biases",
            Self::Router => "Router",
            Self::RoutedExperts => "Routed experts",
            Self::LatentProj => "Latent projections",
            Self::SharedExperts => "Shared experts",
            Self::SharedExpertGate => "Shared expert gate",
            Self::EnormHnorm => "MTP input norms",
            Self::EhProj => "MTP projection",
            Self::FinalLayernorm => "Final norm",
            Self::OutputLayer => "Output layer",
            Self::FrontEnd => "Front end",
            Self::ClassToken => "Class tokens",
            Self::FixedPositions => "Fixed positions",
            Self::EncoderNorm => "Encoder norms",
            Self::LayerScaling => "Layer scaling",
            Self::GdnInProj => "Delta net in_proj",
            Self::GdnConv1d => "Delta net convolution",
            Self::GdnALog => "Delta net A_log",
            Self::GdnDtBias => "Delta net dt_bias",
            Self::GdnNorm => "Delta net norm",
            Self::GdnOutProj => "Delta net out_proj",
            Self::Projector => "Projector",
            Self::MambaInProj => "Mamba in_proj",
            Self::MambaConv1d => "Mamba convolution",
            Self::MambaALog => "Mamba A_log",
            Self::MambaD => "Mamba D",
            Self::MambaDtBias => "Mamba dt_bias",
            Self::MambaNorm => "Mamba gated norm",
            Self::MambaOutProj => "Mamba out_proj",
            Self::DsaIndexer => "Sparse attention indexer",
            Self::Adapters => "Adapters",
        }
    }
}

/// One parameter of a layer or of a single part such as the embedding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamTensor {
    /// Component it is counted under.
    pub component: Component,
    /// Megatron's module path below the layer or the model.
    pub name: &'static str,
    /// Full shape, and what splits it.
    pub shape: Shape,
    /// Who holds it.
    pub sharding: Sharding,
    /// How many dimensions Megatron gives it; Muon treats matrices differently.
    pub dimensions: u8,
    /// Where Megatron creates it.
    pub source: Source,
}

impl ParamTensor {
    /// Whether it is the weight of one of Transformer Engine's linear layers in a transformer or MTP layer.
    #[must_use]
    pub fn linear_weight(&self) -> bool {
        let other = matches!(
            self.component,
            Component::Router
                | Component::SharedExpertGate
                | Component::Embedding
                | Component::PositionEmbedding
                | Component::FixedPositions
                | Component::OutputLayer
                | Component::Adapters
        );
        self.dimensions == 2 && !other && self.is_named("weight")
    }

    /// Whether its name ends with this, but for the star of a name that stands for several.
    #[must_use]
    pub(crate) fn is_named(&self, end: &str) -> bool {
        let name = self.name.strip_suffix('*').unwrap_or(self.name);
        name.ends_with(end)
    }

    /// Whether Muon updates it as a matrix; embeddings and the output layer are left to Adam
    /// (`_is_nonlinear_or_embedding` in `emerging_optimizers.py` of megatron-core).
    #[must_use]
    pub fn muon_matrix(&self) -> bool {
        let vocabulary = matches!(
            self.component,
            Component::Embedding | Component::PositionEmbedding | Component::OutputLayer
        );
        self.dimensions == 2 && !vocabulary
    }
}
