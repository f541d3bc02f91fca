//! The facts about a model family, and the names by which it is recognised.

/// A model family: the facts that a `config.json` leaves to the family's code.
///
/// The class defaults are those of transformers 5.23.0; the rules are those of Megatron-Bridge at the pinned
/// revision, or of mbridge for the two families that Bridge does not have.
pub(super) struct Family {
    /// Name for messages.
    pub(super) name: &'static str,
    /// Values of `model_type` that mean this family, alone or as the text part of a multimodal model.
    pub(super) model_types: &'static [&'static str],
    /// Values of `architectures`, for files without a `model_type`.
    pub(super) architectures: &'static [&'static str],
    /// The defaults of the family's configuration class, as JSON. A missing key that is not in here has no default.
    pub(super) defaults: &'static str,
    /// Why no estimate is possible, if so.
    pub(super) refused: Option<&'static str>,
    /// Values of keys that ask for something that Megatron-Core does not build, and what that is.
    pub(super) unsupported: &'static [(&'static str, Is, &'static str)],
    pub(super) attention: Attention,
    /// Whether layers are gated delta nets except those that the file lists as full attention, whose output has a gate.
    pub(super) gated_delta_net: bool,
    /// Whether every layer has a Mamba mixer beside its attention.
    pub(super) mamba_beside_attention: bool,
    pub(super) qk_norm: Switch,
    /// Key that turns on norms of queries and keys to length one, which have no weights.
    pub(super) l2_norm: Option<&'static str>,
    pub(super) qkv_bias: Switch,
    pub(super) linear_bias: Switch,
    pub(super) activation: Activation,
    /// Key of the width of a dense MLP.
    pub(super) dense_width: &'static str,
    pub(super) experts: Experts,
    /// Whether the layer of an MTP depth has a dense MLP although the last layer of the model has experts.
    pub(super) dense_mtp: bool,
    pub(super) vocab_multiple: VocabMultiple,
    /// How the file lists layers of several kinds; `None` where each layer has attention and an MLP.
    pub(super) hybrid: Option<HybridLayers>,
    /// Keys that switch a field on or off, each with the field.
    pub(super) flags: &'static [(&'static str, &'static str)],
    /// Fields that have the same value in every model of the family.
    pub(super) fixed: &'static [(&'static str, Fixed)],
    /// Keys without an effect on memory in this family alone, and why.
    pub(super) without_effect: &'static [(&'static str, &'static str)],
    /// Keys that change memory in a way that the estimate does not follow, and why. `model_type` stands for the family
    /// as a whole.
    pub(super) not_modelled: &'static [(&'static str, &'static str)],
}

/// Whether the value of a key is on or off.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Is {
    On,
    Off,
}

/// How keys and values are projected.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Attention {
    /// Multi-head, grouped-query or multi-query attention.
    Grouped,
    /// Multi-head latent attention.
    Latent,
    /// Multi-head latent attention over the tokens that an indexer picks.
    Sparse,
    /// Heads over one head of keys, which are the values too, some of them for several tokens.
    Compressed,
    /// Multi-head latent attention in some layers, and delta attention in the others, between attention residuals.
    LatentAndDelta,
}

/// A property that all models of a family have, or none, or that a key decides.
#[derive(Clone, Copy)]
pub(super) enum Switch {
    On,
    Off,
    Key(&'static str),
}

/// How the activation function named by `hidden_act` is applied.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Activation {
    /// It is applied to the gate of a gated MLP.
    Gated,
    /// It is applied to the only input projection: the MLP has no gate.
    Plain,
    /// The key is not used: the family always has a gated quick GELU.
    QuickGated,
    /// SiLU is applied to the gate of a gated MLP, and any other function to the only input projection.
    GatedIfSilu,
}

/// The experts of a family; nothing here counts for a file without experts.
#[derive(Clone, Copy)]
pub(super) struct Experts {
    /// Key of the width of a routed expert.
    pub(super) width: &'static str,
    /// Whether a file without that key has experts as wide as a dense MLP.
    pub(super) width_may_be_dense: bool,
    pub(super) shared: Shared,
    pub(super) layers: MoeLayers,
    /// Whether the router adds a learned bias per expert.
    pub(super) bias: bool,
    /// The function that turns router logits into weights, where the file does not say.
    pub(super) score: &'static str,
    /// Whether experts for images stand beside those for text: their width is the second of two.
    pub(super) pools: bool,
}

/// Width of the shared experts, all of a layer taken as one MLP.
#[derive(Clone, Copy)]
pub(super) enum Shared {
    /// There are none.
    None,
    /// As many expert widths as `n_shared_experts` says.
    Count,
    /// As many widths of a key of its own as `n_shared_experts` says, and one where the file does not say.
    CountOf(&'static str),
    /// One expert width, whatever `n_shared_experts` says.
    One,
    /// A key of its own.
    Key {
        key: &'static str,
        /// Whether a learned gate scales the shared expert's output.
        gate: bool,
    },
}

/// The layers that have experts, where the file does not list them.
#[derive(Clone, Copy)]
pub(super) enum MoeLayers {
    All,
    /// All from `first_k_dense_replace` on.
    AfterFirst,
    /// Every `decoder_sparse_step`-th, except `mlp_only_layers`. The model follows both keys; Megatron-Bridge
    /// reads neither and would put experts in all layers.
    SparseStep,
    /// `moe_layers`, or every `interleave_moe_layer_step`-th.
    Interleaved,
    /// Every `moe_layer_interval`-th from `moe_layer_start_index` to `moe_layer_end_index`.
    Range,
    /// All from `moe_layer_start_index` on.
    FromStart,
}

/// The number that the vocabulary is padded to a multiple of, before tensor parallelism.
#[derive(Clone, Copy)]
pub(super) enum VocabMultiple {
    /// The largest power of two up to 128 that divides the vocabulary: no padding without tensor parallelism.
    PowerOfTwo,
    /// A number that the family's conversion fixes.
    Of(i128),
    /// Whatever Megatron-LM does by itself.
    Unset,
}

/// The value of a field that all models of a family have.
#[derive(Clone, Copy)]
pub(super) enum Fixed {
    Bool(bool),
    Int(i128),
    Text(&'static str),
}

/// The letters of a pattern that stand for one layer of the model.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum HybridLayers {
    /// A mixer or an MLP: one letter (`NemotronHBridge`).
    OneLetter,
    /// A mixer and then an MLP, with experts where the model has any: two letters.
    MixerAndMlp,
}

/// A family like Llama: RMS norms, rotary positions, a gated MLP, no biases. The tables state differences from it.
pub(super) const LLAMA_LIKE: Family = Family {
    name: "",
    model_types: &[],
    architectures: &[],
    defaults: "{}",
    refused: None,
    unsupported: &[],
    attention: Attention::Grouped,
    gated_delta_net: false,
    mamba_beside_attention: false,
    qk_norm: Switch::Off,
    l2_norm: None,
    qkv_bias: Switch::Off,
    linear_bias: Switch::Off,
    activation: Activation::Gated,
    dense_width: "intermediate_size",
    experts: NO_SHARED,
    dense_mtp: false,
    vocab_multiple: VocabMultiple::PowerOfTwo,
    hybrid: None,
    flags: &[],
    fixed: RMS_ROPE,
    without_effect: &[],
    not_modelled: &[],
};

/// Routed experts of their own width in all layers, softmax router.
pub(super) const NO_SHARED: Experts = Experts {
    width: "moe_intermediate_size",
    width_may_be_dense: false,
    shared: Shared::None,
    layers: MoeLayers::All,
    bias: false,
    score: "softmax",
    pools: false,
};

/// [`RMS_ROPE`] with two more norms a layer, after attention and MLP.
pub(super) const RMS_ROPE_POST_NORMS: &[(&str, Fixed)] = &[
    ("normalization", Fixed::Text("RMSNorm")),
    ("position_embedding_type", Fixed::Text("rope")),
    ("post_layernorm", Fixed::Bool(true)),
];

/// [`RMS_ROPE`] with norms on queries and keys that span all heads at once.
pub(super) const RMS_ROPE_NORM_OVER_HEADS: &[(&str, Fixed)] = &[
    ("normalization", Fixed::Text("RMSNorm")),
    ("position_embedding_type", Fixed::Text("rope")),
    ("qk_layernorm_all_heads", Fixed::Bool(true)),
];

/// Norms with biases and rotary positions.
pub(super) const LAYER_NORM_ROPE: &[(&str, Fixed)] = &[
    ("normalization", Fixed::Text("LayerNorm")),
    ("position_embedding_type", Fixed::Text("rope")),
];

/// Norms with biases and a table of learned positions.
pub(super) const LAYER_NORM_LEARNED: &[(&str, Fixed)] = &[
    ("normalization", Fixed::Text("LayerNorm")),
    ("position_embedding_type", Fixed::Text("learned_absolute")),
];

/// The fixed fields of most families: RMS norms and rotary positions.
pub(super) const RMS_ROPE: &[(&str, Fixed)] = &[
    ("normalization", Fixed::Text("RMSNorm")),
    ("position_embedding_type", Fixed::Text("rope")),
];

/// [`RMS_ROPE`] with norm weights kept as a difference from one.
pub(super) const RMS_1P_ROPE: &[(&str, Fixed)] = &[
    ("normalization", Fixed::Text("RMSNorm")),
    ("apply_layernorm_1p", Fixed::Bool(true)),
    ("position_embedding_type", Fixed::Text("rope")),
];

/// The family of a `model_type` that is not known: like Llama, with the most common keys for biases and experts.
pub(super) const UNKNOWN: Family = Family {
    name: "unknown family",
    qk_norm: Switch::Key("use_qk_norm"),
    qkv_bias: Switch::Key("attention_bias"),
    linear_bias: Switch::Key("mlp_bias"),
    activation: Activation::GatedIfSilu,
    experts: Experts {
        width_may_be_dense: true,
        shared: Shared::Count,
        layers: MoeLayers::AfterFirst,
        ..NO_SHARED
    },
    not_modelled: &[(
        "model_type",
        "not a known family: read like Llama; check normalization, activation, biases and experts",
    )],
    ..LLAMA_LIKE
};
