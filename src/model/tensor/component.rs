//! The parts of a model that parameters are counted under.

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
