//! The parts of a model that parameters are counted under.

/// Declares the components, one row each: the id of the decoder's component, that of the MTP block's, and the name on
/// the page and in reports. They are listed in this order.
macro_rules! components {
    ($($(#[$doc:meta])* $name:ident: $id:literal, $mtp_id:literal, $label:literal;)*) => {
        /// The part of a model that a parameter belongs to.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Component {
            $($(#[$doc])* $name,)*
        }

        impl Component {
            /// All components, in the order in which they are listed.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$name),*];
            /// The number of components.
            pub const COUNT: usize = [$(Self::$name),*].len();

            /// The component's id, for the decoder or for the MTP block.
            #[must_use]
            pub const fn id(self, mtp: bool) -> &'static str {
                let (of_decoder, of_mtp) = match self {
                    $(Self::$name => ($id, $mtp_id),)*
                };
                if mtp { of_mtp } else { of_decoder }
            }

            /// The name of the component on the page and in reports.
            #[must_use]
            pub const fn label(self) -> &'static str {
                match self {
                    $(Self::$name => $label,)*
                }
            }
        }
    };
}

components! {
    /// Word embedding.
    Embedding: "embedding", "embedding", "Word embedding";
    /// Embeddings per layer: their table, and the projection of the word embedding that they join.
    PerLayerEmbedding: "per_layer_embedding", "per_layer_embedding", "Embeddings per layer";
    /// The linear layers that multiply embeddings per layer into the residual stream.
    PerLayerInput: "per_layer_input", "mtp_per_layer_input", "Inputs per layer";
    /// Learned positions.
    PositionEmbedding: "position_embedding", "position_embedding", "Position embedding";
    /// Input and pre-MLP norm.
    Layernorm: "layernorm", "mtp_layernorm", "Layer norms";
    /// `linear_qkv` and `linear_proj`, or the MLA up projections.
    Attention: "attention", "mtp_attention", "Attention";
    /// Biases of these projections.
    AttentionBias: "attention_bias", "mtp_attention_bias", "Attention biases";
    /// One learned logit a head.
    AttentionSinks: "attention_sinks", "mtp_attention_sinks", "Attention sinks";
    /// Norms on queries and keys.
    QkLayernorm: "qk_layernorm", "mtp_qk_layernorm", "Q/K norms";
    /// MLA down projections.
    MlaDownProj: "mla_down_proj", "mtp_mla_down_proj", "MLA down projections";
    /// Norms on the compressed queries and keys.
    MlaLayernorm: "mla_layernorm", "mtp_mla_layernorm", "MLA norms";
    /// Dense MLP.
    DenseMlp: "dense_mlp", "mtp_dense_mlp", "Dense MLP";
    /// Biases of dense MLPs.
    DenseMlpBias: "dense_mlp_bias", "mtp_dense_mlp_bias", "Dense MLP biases";
    /// Router.
    Router: "router", "mtp_router", "Router";
    /// Routed experts.
    RoutedExperts: "routed_experts", "mtp_routed_experts", "Routed experts";
    /// Projections into and out of the experts' latent space.
    LatentProj: "latent_projection", "mtp_latent_projection", "Latent projections";
    /// Shared experts.
    SharedExperts: "shared_experts", "mtp_shared_experts", "Shared experts";
    /// Gate on the shared experts.
    SharedExpertGate: "shared_expert_gate", "mtp_shared_expert_gate", "Shared expert gate";
    /// MTP: the norms of hidden states and embedding.
    EnormHnorm: "mtp_enorm_hnorm", "mtp_enorm_hnorm", "MTP input norms";
    /// MTP: the projection that joins them.
    EhProj: "mtp_eh_proj", "mtp_eh_proj", "MTP projection";
    /// The norm after the last layer (of the decoder, or of one MTP depth).
    FinalLayernorm: "final_layernorm", "mtp_final_layernorm", "Final norm";
    /// Output layer.
    OutputLayer: "output_layer", "output_layer", "Output layer";
    /// The front end of an encoder: patch embedding or convolutions over sound.
    FrontEnd: "front_end", "front_end", "Front end";
    /// Learned tokens before the patches.
    ClassToken: "class_token", "class_token", "Class tokens";
    /// Positions that are parameters but never trained.
    FixedPositions: "fixed_positions", "fixed_positions", "Fixed positions";
    /// The norms before the first and after the last layer of an encoder.
    EncoderNorm: "encoder_norm", "encoder_norm", "Encoder norms";
    /// Learned factors on the output of attention and MLP.
    LayerScaling: "layer_scaling", "mtp_layer_scaling", "Layer scaling";
    /// `in_proj` of gated delta nets.
    GdnInProj: "gdn_in_proj", "mtp_gdn_in_proj", "Delta net in_proj";
    /// Causal convolution of gated delta nets.
    GdnConv1d: "gdn_conv1d", "mtp_gdn_conv1d", "Delta net convolution";
    /// `A_log` of gated delta nets: how fast each head forgets.
    GdnALog: "gdn_A_log", "mtp_gdn_A_log", "Delta net A_log";
    /// `dt_bias` of gated delta nets.
    GdnDtBias: "gdn_dt_bias", "mtp_gdn_dt_bias", "Delta net dt_bias";
    /// Norm on the output of every head of gated delta nets.
    GdnNorm: "gdn_norm", "mtp_gdn_norm", "Delta net norm";
    /// `out_proj` of gated delta nets.
    GdnOutProj: "gdn_out_proj", "mtp_gdn_out_proj", "Delta net out_proj";
    /// The layers between an encoder and the language model.
    Projector: "projector", "projector", "Projector";
    /// `in_proj` of Mamba mixers.
    MambaInProj: "mamba_in_proj", "mtp_mamba_in_proj", "Mamba in_proj";
    /// Causal convolution of Mamba mixers, weight and bias.
    MambaConv1d: "mamba_conv1d", "mtp_mamba_conv1d", "Mamba convolution";
    /// `A_log` of Mamba mixers: how fast each head forgets.
    MambaALog: "mamba_A_log", "mtp_mamba_A_log", "Mamba A_log";
    /// `D` of Mamba mixers: the weight of the skip connection.
    MambaD: "mamba_D", "mtp_mamba_D", "Mamba D";
    /// `dt_bias` of Mamba mixers.
    MambaDtBias: "mamba_dt_bias", "mtp_mamba_dt_bias", "Mamba dt_bias";
    /// Gated norm of Mamba mixers.
    MambaNorm: "mamba_norm", "mtp_mamba_norm", "Mamba gated norm";
    /// `out_proj` of Mamba mixers.
    MambaOutProj: "mamba_out_proj", "mtp_mamba_out_proj", "Mamba out_proj";
    /// The indexer of sparse attention.
    DsaIndexer: "dsa_indexer", "mtp_dsa_indexer", "Sparse attention indexer";
    /// What makes one key of several tokens in compressed attention.
    CsaCompressor: "csa_compressor", "mtp_csa_compressor", "Compressors of keys";
    /// What mixes several residual streams around each half of a layer, and makes one of them behind the last.
    HyperConnections: "hyper_connections", "mtp_hyper_connections", "Hyper-connections";
    /// What scores snapshots of the residual stream before each half of a layer, and behind the last.
    AttentionResiduals: "attention_residuals", "mtp_attention_residuals", "Attention residuals";
    /// Adapters beside frozen linear layers.
    Adapters: "adapters", "mtp_adapters", "Adapters";
}
