//! The closed lists of names that fields choose from, under Megatron-LM's own spellings.

#![allow(clippy::doc_markdown, reason = "Megatron's names stand in the texts as they are")]

use super::from_field::{Choice, FromField};
use super::parse::Parsed;
use serde::{Deserialize, Serialize};
use strum::{FromRepr, IntoStaticStr, VariantArray, VariantNames};

/// Declares enums together with Megatron's spelling of each variant.
macro_rules! choices {
    ($($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:literal),+ $(,)? })+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[derive(FromRepr, IntoStaticStr, VariantArray, VariantNames, Serialize, Deserialize)]
        #[repr(u8)]
        pub enum $name { $($(#[$variant_meta])* #[strum(serialize = $text)] #[serde(rename = $text)] $variant),+ }

        impl $name {
            /// The names, in the order of the variants.
            pub const NAMES: &'static [&'static str] = <Self as VariantNames>::VARIANTS;
            /// The variants in order.
            pub const ALL: &'static [Self] = <Self as VariantArray>::VARIANTS;

            /// The variant at an index of the list.
            #[must_use]
            pub fn at(index: u8) -> Option<Self> {
                Self::from_repr(index)
            }

            /// Megatron's spelling.
            #[must_use]
            pub fn name(self) -> &'static str {
                self.into()
            }
        }

        impl FromField for Option<$name> {
            fn from_field(value: Option<Parsed>) -> Self {
                match value {
                    Some(Parsed::Choice(index)) => $name::at(index),
                    _ => None,
                }
            }
        }

        impl FromField for $name {
            fn from_field(value: Option<Parsed>) -> Self {
                #[allow(clippy::indexing_slicing, reason = "no list of names is empty")]
                const FIRST: $name = $name::ALL[0];
                Option::from_field(value).unwrap_or(FIRST)
            }
        }

        impl Choice for $name {
            const ALL: &'static [Self] = Self::ALL;

            fn bit(self) -> u32 {
                1 << u32::from(self as u8)
            }
        }
    )+};
}

mod software;

pub use software::{Launcher, SoftwareFact, SoftwareStack};

choices! {
    /// `--normalization`.
    Normalization {
        /// Weight and bias.
        LayerNorm = "LayerNorm",
        /// Weight only.
        RmsNorm = "RMSNorm",
    }

    /// `--position-embedding-type`.
    PositionEmbedding {
        /// A table of `max_position_embeddings` rows on the first stage.
        LearnedAbsolute = "learned_absolute",
        /// Rotary; no parameters.
        Rope = "rope",
        /// Multimodal rotary; no parameters.
        Mrope = "mrope",
        /// YaRN-scaled rotary; no parameters.
        Yarn = "yarn",
        /// T5-style relative bias (not modelled as parameters).
        Relative = "relative",
        /// None.
        None = "none",
    }

    /// `--rope-type`.
    RopeType {
        /// Angles as they are.
        Rope = "rope",
        /// Angles scaled for longer sequences by YaRN.
        Yarn = "yarn",
    }

    /// `--softmax-type`.
    SoftmaxType {
        /// Plain softmax.
        Vanilla = "vanilla",
        /// A constant zero logit is added.
        OffByOne = "off-by-one",
        /// One learned logit a head: attention sinks.
        Learnable = "learnable",
    }

    /// `--transformer-impl`.
    TransformerImpl {
        /// Megatron's own torch modules.
        Local = "local",
        /// Transformer Engine modules.
        TransformerEngine = "transformer_engine",
        /// Inference kernels.
        InferenceOptimized = "inference_optimized",
    }

    /// `--attention-backend`.
    AttentionBackend {
        /// FlashAttention.
        Flash = "flash",
        /// cuDNN fused attention.
        Fused = "fused",
        /// Separate kernels: scores and probabilities are saved.
        Unfused = "unfused",
        /// Megatron's own unfused attention.
        Local = "local",
        /// Transformer Engine picks a kernel.
        Auto = "auto",
    }

    /// `--cross-entropy-fusion-impl`.
    CrossEntropyFusion {
        /// Megatron's fused kernel.
        Native = "native",
        /// Transformer Engine's kernel.
        Te = "te",
    }

    /// `token_loss`: the program that computes the loss of the output layer.
    TokenLoss {
        /// Megatron's cross-entropy.
        Megatron = "megatron",
        /// NeMo-RL's log-probabilities of logits that the model returns in fp32.
        NemoRl = "nemo_rl",
        /// NeMo-RL's log-probabilities with `defer_fp32_logits`: the model returns logits in the precision of training.
        NemoRlDeferred = "nemo_rl_deferred",
        /// verl's fused kernels (`use_fused_kernels`): the output layer and log-probabilities in one.
        VerlFused = "verl_fused",
        /// `ChatLearn`'s log-probabilities, with the entropy of every token beside them.
        ChatLearn = "chatlearn",
        /// slime's log-probabilities and entropies.
        Slime = "slime",
        /// ms-swift's log-probabilities in GRPO and GKD, which take the labels from the model.
        Swift = "ms_swift",
        /// ms-swift's loss of embeddings: the normalized output of the last norm, without an output layer.
        SwiftEmbedding = "ms_swift_embedding",
        /// ms-swift's loss of a generative reranker: the logits of two tokens.
        SwiftReranker = "ms_swift_reranker",
    }

    /// `modules_to_save` of PEFT: modules outside of the layers that are trained as a whole beside adapters.
    ModuleToSave {
        /// The word embedding.
        WordEmbeddings = "word_embeddings",
        /// The output layer.
        OutputLayer = "output_layer",
    }

    /// `--cp-comm-type`.
    CpCommType {
        /// A ring: keys and values pass from rank to rank.
        P2p = "p2p",
        /// An all-to-all: each rank gets the whole sequence of some heads.
        A2a = "a2a",
        /// Every rank gathers all keys and values.
        AllGather = "all_gather",
        /// `A2a` within a group of ranks, `P2p` between the groups.
        A2aP2p = "a2a+p2p",
    }

    /// `--moe-token-dispatcher-type`.
    TokenDispatcher {
        /// Every rank gathers all tokens.
        AllGather = "allgather",
        /// Each token is sent to the ranks of its experts.
        AllToAll = "alltoall",
        /// DeepEP or another fused backend.
        Flex = "flex",
    }

    /// `--moe-flex-dispatcher-backend`.
    FlexBackend {
        /// DeepEP.
        DeepEp = "deepep",
        /// HybridEP, of a branch of DeepEP.
        HybridEp = "hybridep",
        /// NCCL's own operations for experts.
        NcclEp = "ncclep",
    }

    /// `--moe-router-score-function`.
    RouterScore {
        /// Softmax over the experts.
        Softmax = "softmax",
        /// Sigmoid per expert.
        Sigmoid = "sigmoid",
        /// Square root of softplus per expert.
        SqrtSoftplus = "sqrtsoftplus",
    }

    /// `--moe-router-dtype`.
    RouterDtype {
        /// 4 bytes.
        Fp32 = "fp32",
        /// 8 bytes.
        Fp64 = "fp64",
    }

    /// `--recompute-granularity`.
    RecomputeGranularity {
        /// Whole transformer layers.
        Full = "full",
        /// Chosen modules.
        Selective = "selective",
    }

    /// `--recompute-method`.
    RecomputeMethod {
        /// Every group of `recompute_num_layers` layers keeps only its input.
        Uniform = "uniform",
        /// The first `recompute_num_layers` layers of a stage or chunk keep only their input.
        Block = "block",
    }

    /// `--recompute-modules`.
    RecomputeModule {
        /// Core attention.
        CoreAttn = "core_attn",
        /// The activation function of the experts.
        MoeAct = "moe_act",
        /// Input and pre-MLP norm.
        Layernorm = "layernorm",
        /// MLA up projections and rotary embedding.
        MlaUpProj = "mla_up_proj",
        /// The dense MLP.
        Mlp = "mlp",
        /// The whole MoE layer.
        Moe = "moe",
        /// The shared experts.
        SharedExperts = "shared_experts",
        /// The gated norm on the output of gated delta nets.
        GdnNormOut = "gdn_norm_out",
        /// The input projection of gated delta products.
        GdpInProj = "gdp_in_proj",
        /// Convolution, queries, keys and values of gated delta products.
        GdpQkv = "gdp_qkv",
        /// Around each half of a layer (mixer or MLP), the operations of hyper-connections that read and write the residual
        /// streams, and the norm of that half's input.
        Mhc = "mhc",
    }

    /// `--offload-modules`.
    OffloadModule {
        /// Input of the attention norm.
        AttnNorm = "attn_norm",
        /// Input of linear_qkv.
        QkvLinear = "qkv_linear",
        /// The tensors that core attention saves for its backward pass.
        CoreAttn = "core_attn",
        /// Input of linear_proj.
        AttnProj = "attn_proj",
        /// Input of the MLP norm.
        MlpNorm = "mlp_norm",
        /// Input of the experts' fc1.
        ExpertFc1 = "expert_fc1",
        /// Input of the experts' activation.
        MoeAct = "moe_act",
        /// The tensors that the fused grouped MLP of the experts saves for its backward pass.
        FusedGroupMlp = "fused_group_mlp",
        /// Input of the convolution of gated delta products, and what queries, keys and values keep.
        GdpQkv = "gdp_qkv",
    }

    /// `--cuda-graph-impl`.
    CudaGraphImpl {
        /// Nothing is captured.
        None = "none",
        /// Megatron's own graphs, one for each layer.
        Local = "local",
        /// Transformer Engine's graphs, one for each layer and micro batch in flight.
        TransformerEngine = "transformer_engine",
        /// One graph of all passes of an iteration.
        FullIteration = "full_iteration",
    }

    /// `--cuda-graph-modules`.
    CudaGraphModule {
        /// Attention with the norm before it.
        Attn = "attn",
        /// The MLP of a dense layer with the norm before it.
        Mlp = "mlp",
        /// The MLP of a MoE layer with the norm before it.
        Moe = "moe",
        /// The norm before the MLP of a MoE layer, the router, and the shared experts unless they overlap
        /// communication.
        MoeRouter = "moe_router",
        /// The sorting and counting of tokens before the dispatcher sends them to the experts.
        MoePreprocess = "moe_preprocess",
        /// Mamba layers.
        Mamba = "mamba",
    }

    /// `--optimizer`.
    OptimizerKind {
        /// Two states per parameter.
        Adam = "adam",
        /// One state with momentum.
        Sgd = "sgd",
        /// One state for matrices; Adam for the rest.
        Muon = "muon",
        /// Muon with its states spread over data-parallel ranks by layer.
        DistMuon = "dist_muon",
        /// One state per parameter.
        Lion = "lion",
    }

    /// Dtypes of main gradients.
    MainGradsDtype {
        /// 4 bytes.
        Fp32 = "fp32",
        /// 2 bytes.
        Bf16 = "bf16",
    }

    /// Dtypes of main parameters.
    MainParamsDtype {
        /// 4 bytes.
        Fp32 = "fp32",
        /// 2 bytes: the lower 16 bits of fp32, whose upper 16 bits are the bf16 parameter.
        Fp16 = "fp16",
    }

    /// `--data-parallel-sharding-strategy`: what Megatron FSDP splits over data-parallel ranks.
    ShardingStrategy {
        /// Nothing.
        NoShard = "no_shard",
        /// Main parameters and moments.
        Optim = "optim",
        /// `Optim` and gradients.
        OptimGrads = "optim_grads",
        /// `OptimGrads` and the parameters themselves.
        OptimGradsParams = "optim_grads_params",
    }

    /// `peft.type`: which adapters Megatron-Bridge puts beside linear layers.
    AdapterType {
        /// None.
        None = "none",
        /// Two low-rank matrices beside each linear layer.
        Lora = "lora",
        /// The same with separate matrices for queries, keys and values, and for gate and up projection.
        CanonicalLora = "canonical_lora",
        /// Low-rank matrices, and a learned length of every row of the weight.
        Dora = "dora",
    }

    /// `peft.dropout_position`: where adapters drop values.
    AdapterDropout {
        /// Before the first matrix.
        Pre = "pre",
        /// After the second one.
        Post = "post",
    }

    /// `--outer-dp-sharding-strategy`: what Megatron FSDP splits between optimizer instances.
    OuterShardingStrategy {
        /// Nothing.
        NoShard = "no_shard",
        /// Main parameters and moments.
        Optim = "optim",
    }

    /// Dtypes of Megatron FSDP's buffers.
    FsdpDtype {
        /// 4 bytes.
        Fp32 = "fp32",
        /// 2 bytes.
        Bf16 = "bf16",
        /// 2 bytes.
        Fp16 = "fp16",
        /// The dtype of the parameters or gradients that the buffer holds.
        Auto = "auto",
    }

    /// Dtypes of the optimizer's moments.
    MomentDtype {
        /// 4 bytes.
        Fp32 = "fp32",
        /// 2 bytes.
        Fp16 = "fp16",
        /// 2 bytes.
        Bf16 = "bf16",
        /// 1 byte.
        Fp8 = "fp8",
    }

    /// `--experimental-attention-variant`.
    AttentionVariant {
        /// Gated delta net: linear attention.
        GatedDeltaNet = "gated_delta_net",
        /// `GatedDeltaNet` under its newer name.
        Gdn = "gdn",
        /// `Gdn` whose gates have a number for each channel instead of each head.
        Gdn2 = "gdn2",
        /// Sparse attention as in DeepSeek-V3.2: an indexer picks the tokens that each token attends to.
        Dsa = "dsa",
        /// Compressed attention as in DeepSeek-V4: besides a window of tokens, keys that each stand for several.
        Dsv4Hybrid = "dsv4_hybrid",
    }

    /// `--dsa-kernel-backend`.
    DsaKernelBackend {
        /// PyTorch operations, which keep all scores.
        None = "none",
        /// TileLang kernels.
        Tilelang = "tilelang",
        /// Kernels of cuDNN and FlashMLA.
        Cudnn = "cudnn",
    }

    /// `--spec` of a `HybridModel`: the modules that its letters stand for.
    HybridStackSpec {
        /// Mamba-2 for M.
        HybridStackSpec = "hybrid_stack_spec",
        /// Gated delta products for M.
        GatedDeltaProductStackSpec = "gated_delta_product_stack_spec",
    }

    /// The first layers of a module.
    FrontEnd {
        /// A word embedding, and an output layer at the end.
        Tokens = "tokens",
        /// A convolution over patches of images.
        Patches = "patches",
        /// Convolutions over a sound's spectrum.
        Audio = "audio",
        /// No layers of its own: the module receives vectors.
        Features = "features",
    }

    /// How an encoder's output becomes the language model's input.
    ProjectorKind {
        /// No layers: the encoder's output is used unchanged.
        None = "none",
        /// One linear layer.
        Affine = "affine",
        /// Two linear layers with an activation between them.
        Mlp = "mlp",
        /// A convolution over merged patches, a linear layer with a norm behind it, and a gated MLP, as in GLM-4.5V.
        DownsampleMlp = "downsample_mlp",
    }

    /// The norm at a projector's entry.
    ProjectorNorm {
        /// None.
        None = "none",
        /// Over one patch, before patches are merged.
        Patch = "patch",
        /// Over the merged patches.
        Merged = "merged",
        /// RMS norm over the merged patches, whatever the norms of the layers are.
        MergedRms = "merged_rms",
    }

    /// `--fp8-format`.
    Fp8Format {
        /// E4M3 everywhere.
        E4m3 = "e4m3",
        /// E4M3 forward, E5M2 backward.
        Hybrid = "hybrid",
    }

    /// `--fp4-format`.
    Fp4Format {
        /// NVFP4's only format.
        E2m1 = "e2m1",
    }

    /// `--fp8-recipe`.
    Fp8Recipe {
        /// One scale a tensor, from history.
        Delayed = "delayed",
        /// One scale a tensor, from the tensor itself.
        Tensorwise = "tensorwise",
        /// One scale a block of 128.
        Blockwise = "blockwise",
        /// One scale a block of 32.
        Mxfp8 = "mxfp8",
    }

    /// A generation of GPUs, as far as it decides which kernels run and how large their workspaces are.
    GpuGeneration {
        /// Compute capability 7.0: V100.
        Volta = "volta",
        /// Compute capability 8.0 and 8.6: A100, A800.
        Ampere = "ampere",
        /// Compute capability 8.9: L40S, RTX 4090.
        Ada = "ada",
        /// Compute capability 9.0: H100, H200, H800, H20.
        Hopper = "hopper",
        /// Compute capability 10: B200, B300, GB200, GB300.
        Blackwell = "blackwell",
        /// Compute capability 12: RTX PRO 6000, GB10.
        BlackwellSm12x = "blackwell_sm12x",
        /// Announced: VR200.
        Rubin = "rubin",
        /// AMD's gfx942: MI300X, MI325X.
        Cdna3 = "cdna3",
        /// AMD's gfx950: MI355X.
        Cdna4 = "cdna4",
    }
}

impl AttentionVariant {
    /// Whether it puts gated delta nets into layers (`is_gated_delta_net_variant`).
    #[must_use]
    pub const fn is_gated_delta_net(self) -> bool {
        matches!(self, Self::GatedDeltaNet | Self::Gdn | Self::Gdn2)
    }
}

impl CpCommType {
    /// Whether ranks exchange heads for tokens.
    #[must_use]
    pub const fn is_all_to_all(self) -> bool {
        matches!(self, Self::A2a)
    }
}

impl MainGradsDtype {
    /// Bytes per element.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Fp32 => 4,
            Self::Bf16 => 2,
        }
    }
}

impl MainParamsDtype {
    /// Bytes per element.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Fp32 => 4,
            Self::Fp16 => 2,
        }
    }
}

impl MomentDtype {
    /// Bytes per element.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Fp32 => 4,
            Self::Fp16 | Self::Bf16 => 2,
            Self::Fp8 => 1,
        }
    }
}
