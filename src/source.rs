//! Where numbers come from: one closed list of papers and of Megatron files and symbols at one pinned
//! revision. Moving the pin is one edit here and a run of the oracle tests.

/// The Megatron-LM commit that every Megatron-LM source is read at (2026-08-22).
pub const MEGATRON_LM_REVISION: &str = "d98e8a64ddf34856e74b24714e3bedb2f5a39553";
/// The Megatron-Bridge commit that every Megatron-Bridge source is read at (2026-08-22).
pub const MEGATRON_BRIDGE_REVISION: &str = "067f987df03b8355b03192d88d70f1709fedf51a";

/// Who published it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A file of Megatron-LM.
    MegatronLm,
    /// A file of Megatron-Bridge.
    MegatronBridge,
    /// A file of Transformer Engine 2.12.
    TransformerEngine,
    /// A file of PyTorch.
    PyTorch,
    /// A paper on arXiv.
    Arxiv,
    /// A web page; the place is its address.
    Page,
}

/// A place that states a number or a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// Who published it.
    pub origin: Origin,
    /// File path, arXiv number or address.
    pub place: &'static str,
    /// Symbol, equation or section.
    pub symbol: &'static str,
}

impl Source {
    /// A Megatron-LM file and symbol.
    #[must_use]
    pub const fn megatron(place: &'static str, symbol: &'static str) -> Self {
        Self {
            origin: Origin::MegatronLm,
            place,
            symbol,
        }
    }

    /// A Transformer Engine file and symbol.
    #[must_use]
    pub const fn transformer_engine(place: &'static str, symbol: &'static str) -> Self {
        Self {
            origin: Origin::TransformerEngine,
            place,
            symbol,
        }
    }

    /// The address to open.
    #[must_use]
    pub fn url(&self) -> String {
        let Self { origin, place, .. } = self;
        match origin {
            Origin::MegatronLm => {
                format!("https://github.com/NVIDIA/Megatron-LM/blob/{MEGATRON_LM_REVISION}/{place}")
            }
            Origin::MegatronBridge => {
                format!(
                    "https://github.com/NVIDIA-NeMo/Megatron-Bridge/blob/{MEGATRON_BRIDGE_REVISION}/{place}"
                )
            }
            Origin::TransformerEngine => {
                format!("https://github.com/NVIDIA/TransformerEngine/blob/v2.12/{place}")
            }
            Origin::PyTorch => format!("https://github.com/pytorch/pytorch/blob/main/{place}"),
            Origin::Arxiv => format!("https://arxiv.org/abs/{place}"),
            Origin::Page => (*place).to_owned(),
        }
    }

    /// Publisher, place and symbol in one line.
    #[must_use]
    pub fn title(&self) -> String {
        let publisher = match self.origin {
            Origin::MegatronLm => "Megatron-LM",
            Origin::MegatronBridge => "Megatron-Bridge",
            Origin::TransformerEngine => "Transformer Engine",
            Origin::PyTorch => "PyTorch",
            Origin::Arxiv => "arXiv",
            Origin::Page => return format!("{} ({})", self.symbol, self.place),
        };
        format!("{publisher} {}: {}", self.place, self.symbol)
    }
}

/// `SelfAttention`: `linear_qkv` and `linear_proj`.
pub const SELF_ATTENTION: Source =
    Source::megatron("megatron/core/transformer/attention.py", "SelfAttention");
/// Attention sinks.
pub const ATTENTION_SINKS: Source = Source::megatron(
    "megatron/core/transformer/dot_product_attention.py",
    "DotProductAttention.softmax_offset",
);
/// Multi-latent attention.
pub const MLA: Source = Source::megatron(
    "megatron/core/transformer/multi_latent_attention.py",
    "MLASelfAttention",
);
/// Down projections of MLA, which Transformer Engine holds in full on every rank.
pub const MLA_DOWN: Source = Source::megatron(
    "megatron/core/transformer/multi_latent_attention.py",
    "MLASelfAttention.linear_kv_down_proj (parallel_mode duplicated)",
);
/// The dense MLP.
pub const MLP: Source = Source::megatron("megatron/core/transformer/mlp.py", "MLP");
/// The router.
pub const ROUTER: Source =
    Source::megatron("megatron/core/transformer/moe/router.py", "Router.weight");
/// Grouped experts.
pub const EXPERTS: Source =
    Source::megatron("megatron/core/transformer/moe/experts.py", "TEGroupedMLP");
/// Shared experts.
pub const SHARED_EXPERTS: Source = Source::megatron(
    "megatron/core/transformer/moe/shared_experts.py",
    "SharedExpertMLP",
);
/// Latent projections around the routed experts.
pub const LATENT: Source = Source::megatron(
    "megatron/core/transformer/moe/moe_layer.py",
    "MoELayer.fc1_latent_proj",
);
/// The layer's norms.
pub const LAYER_NORMS: Source = Source::megatron(
    "megatron/core/models/gpt/gpt_layer_specs.py",
    "get_gpt_layer_with_transformer_engine_submodules",
);
/// The norm after the last decoder layer.
pub const FINAL_NORM: Source = Source::megatron(
    "megatron/core/transformer/transformer_block.py",
    "TransformerBlock.final_layernorm",
);
/// Word and position embeddings.
pub const EMBEDDING: Source = Source::megatron(
    "megatron/core/models/common/embeddings/language_model_embedding.py",
    "LanguageModelEmbedding",
);
/// The output layer.
pub const OUTPUT_LAYER: Source = Source::megatron(
    "megatron/core/models/gpt/gpt_model.py",
    "GPTModel.output_layer",
);
/// Multi-token prediction.
pub const MTP: Source = Source::megatron(
    "megatron/core/transformer/multi_token_prediction.py",
    "MultiTokenPredictionLayer",
);
/// Parameter and gradient buffers.
pub const GRAD_BUFFER: Source = Source::megatron(
    "megatron/core/distributed/param_and_grad_buffer.py",
    "_ParamAndGradBuffer",
);
/// Sharded optimizer states.
pub const DISTRIBUTED_OPTIMIZER: Source = Source::megatron(
    "megatron/core/optimizer/distrib_optimizer.py",
    "DistributedOptimizer",
);
/// Main parameters without the distributed optimizer.
pub const MAIN_PARAMS: Source = Source::megatron(
    "megatron/core/optimizer/optimizer.py",
    "Float16OptimizerWithFloat16Params",
);
/// Which states each optimizer keeps.
pub const OPTIMIZER: Source = Source::megatron(
    "megatron/core/optimizer/__init__.py",
    "_get_megatron_optimizer_based_on_param_groups",
);
/// Dtypes of the precision-aware optimizer.
pub const OPTIMIZER_CONFIG: Source = Source::megatron(
    "megatron/core/optimizer/optimizer_config.py",
    "OptimizerConfig",
);
