//! Every input field, declared once: Megatron's name, its flag, form label, link key, range, default, help, and when it
//! matters.
//!
//! The declaration yields the [`FieldId`], the table [`FIELDS`] and the typed [`Args`]; form controls, link keys,
//! launch flags and range checks all follow from it.

#![allow(clippy::doc_markdown, reason = "the field texts are shown to users as they are")]

use super::choices::{
    AdapterDropout, AdapterType, AttentionBackend, AttentionVariant, CpCommType, CrossEntropyFusion, CudaGraphImpl,
    CudaGraphModule, DsaKernelBackend, FlexBackend, Fp4Format, Fp8Format, Fp8Recipe, FrontEnd, FsdpDtype,
    GpuGeneration, HybridStackSpec, Launcher, MainGradsDtype, MainParamsDtype, ModuleToSave, MomentDtype,
    Normalization, OffloadModule, OptimizerKind, OuterShardingStrategy, PositionEmbedding, ProjectorKind,
    ProjectorNorm, RecomputeGranularity, RecomputeMethod, RecomputeModule, RopeType, RouterDtype, RouterScore,
    ShardingStrategy, SoftmaxType, SoftwareFact, SoftwareStack, TokenDispatcher, TokenLoss, TransformerImpl,
};
use super::condition::Condition::{
    Adapters as HasAdapters, ChunkedLogits, CompressedAttention, CudaGraphs, DeltaProducts, Encoder as IsEncoder,
    ExpertAdapters, Experts, FineGrainedOffload, FlexDispatcher, Fp8, FullRecompute, FusedLoss, HybridLayers,
    HyperConnections, LatentAttention, LinearAttention, MambaLayers, MegatronFsdp, MtpDepths, OptimizerOffload,
    OwnKeysAndValues, PackedSamples, PipelineStages, PrecisionAware, QueryGroups, SelectiveRecompute, SlimeLoss,
    SparseAttention, TorchFsdp2,
};
use super::field::Group::{
    Adapters, Attention, Batch, Encoder, Hardware, Kernels, MemorySavers, Model, Moe, Optimizer, Parallelism,
};
use super::field::Level::{All, Essential, More};
use super::field::{Decimal, Declaration, Field, Flag, dashed};
use super::from_field::{FromField, NameSet};
use super::parse::Parsed;
use super::pattern::LayerPattern;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use strum::VariantArray;

macro_rules! fields {
    ($($(#[doc = $help:literal])+ $name:ident: $type:ty = $declaration:expr;)+) => {
        /// The identity of an input field; the variants are Megatron-LM's argument names.
        #[allow(non_camel_case_types, reason = "Megatron's names, letter for letter")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, VariantArray)]
        pub enum FieldId { $($(#[doc = $help])+ $name),+ }

        impl FieldId {
            /// Every field in declaration order, which is also the order of links and exports.
            pub const ALL: &'static [Self] = Self::VARIANTS;
        }

        /// What is declared of every field, by its name.
        #[allow(non_upper_case_globals, reason = "Megatron's names, letter for letter")]
        #[allow(clippy::wildcard_imports, reason = "declarations mean what they mean around this module")]
        mod declarations {
            use super::*;

            $(pub(super) const $name: Declaration = {
                const NAME: &str = stringify!($name);
                const DASHED: [u8; NAME.len()] = dashed(NAME);
                const FLAG: &str = match str::from_utf8(&DASHED) {
                    Ok(flag) => flag,
                    Err(_) => NAME,
                };
                $declaration.named(NAME, FLAG)
            };)+
        }

        /// Every field, indexed by [`FieldId`].
        pub static FIELDS: [Field; FieldId::ALL.len()] = [$(declarations::$name.field),+];

        // Tables of their own: a program that reads none of them, as small embeds, is linked without.

        /// The flag of every field, indexed by [`FieldId`].
        static FLAGS: [Option<Flag>; FieldId::ALL.len()] = [$(declarations::$name.flag),+];

        /// The other names of every field, indexed by [`FieldId`].
        static ALIASES: [&[&str]; FieldId::ALL.len()] = [$(declarations::$name.aliases),+];

        /// The help of every field, indexed by [`FieldId`].
        static HELP: [&str; FieldId::ALL.len()] = [$(concat!($($help),+)),+];

        /// One module's arguments, each typed and within its own range, with defaults filled in.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Args { $($(#[doc = $help])+ pub $name: $type),+ }

        impl Args {
            /// The arguments from every field's value after defaults, in the order of [`FieldId::ALL`].
            pub(super) fn from_values(values: Vec<Option<Parsed>>) -> Self {
                let mut values = values.into_iter();
                Self { $($name: FromField::from_field(values.next().flatten())),+ }
            }

            /// Sets the argument of a field from the field's value after defaults.
            pub(super) fn set(&mut self, field: FieldId, value: Option<Parsed>) {
                match field {
                    $(FieldId::$name => self.$name = FromField::from_field(value)),+
                }
            }
        }
    };
}

fields! {
    // Model
    /// Transformer layers of the decoder, without MTP layers.
    num_layers: u64 = Field::required(1, 10_000).at(Model, Essential, "L", "Layers").symbol("L").also(&["num_hidden_layers", "n_layer", "encoder_num_layers", "depth"]);
    /// Width of the residual stream.
    hidden_size: u64 = Field::required(1, 1_000_000).at(Model, Essential, "h", "Hidden size").symbol("h").also(&["n_embd", "d_model", "width"]);
    /// Inner width of the dense MLP. Left out, Megatron-LM takes 4·h, or 8/3·h rounded down to a multiple of 64 with
    /// SwiGLU.
    ffn_hidden_size: Option<u64> = Field::derived(1, 10_000_000, "4·h, or 8/3·h down to a multiple of 64 with SwiGLU").at(Model, Essential, "f", "FFN size").symbol("f").also(&["intermediate_size"]);
    /// Tokens in the vocabulary before padding.
    vocab_size: Option<u64> = Field::derived(1, 100_000_000, "from the padded vocabulary").at(Model, Essential, "v", "Vocabulary").symbol("v");
    /// Vocabulary after padding. Left out, the vocabulary is rounded up to a multiple of make_vocab_size_divisible_by ·
    /// TP.
    padded_vocab_size: Option<u64> = Field::derived(1, 100_000_000, "vocabulary rounded up to a multiple of divisor · TP").at(Model, All, "vp", "Padded vocabulary").symbol("V");
    /// The vocabulary is padded to a multiple of this times TP.
    make_vocab_size_divisible_by: u64 = Field::int(1, 1_000_000, 128).at(Model, More, "vdiv", "Vocabulary divisor");
    /// The output layer has a weight of its own instead of sharing the word embedding's.
    untie_embeddings_and_output_weights: bool = Field::flag(false).at(Model, More, "untie", "Untied embeddings").also(&["tie_word_embeddings", "share_embeddings_and_output_weights"]);
    /// How positions enter. Only learned_absolute has parameters.
    position_embedding_type: PositionEmbedding = Field::choice(PositionEmbedding::NAMES, "learned_absolute").at(Model, More, "pos", "Positions");
    /// How rotary angles are scaled. Left out, yarn with MLA, rope otherwise.
    rope_type: Option<RopeType> = Field::optional_choice(RopeType::NAMES, "yarn with MLA, rope otherwise").at(Model, All, "ropet", "Rotary scaling");
    /// Rows of the learned position table, and the longest sequence allowed. Left out, the sequence length.
    max_position_embeddings: Option<u64> = Field::derived(1, 1_000_000_000, "the sequence length").at(Model, More, "maxpos", "Longest position");
    /// LayerNorm has a bias, RMSNorm has not.
    normalization: Normalization = Field::choice(Normalization::NAMES, "LayerNorm").at(Model, More, "norm", "Normalization");
    /// LayerNorm with its weight centered at zero; changes no sizes.
    apply_layernorm_1p: bool = Field::flag(false).at(Model, All, "ln1p", "LayerNorm 1p").stored_as("layernorm_zero_centered_gamma");
    /// Gated MLP with SiLU: fc1 is twice as wide.
    swiglu: bool = Field::flag(false).at(Model, More, "swiglu", "SwiGLU").also(&["gated_linear_unit", "silu", "hidden_act"]);
    /// Gated MLP with GELU. Megatron-LM has no flag for it; Megatron-Bridge sets gated_linear_unit with gelu.
    geglu: bool = Field::flag(false).at(Model, All, "geglu", "GeGLU").own();
    /// Gated MLP with quick GELU.
    quick_geglu: bool = Field::flag(false).at(Model, All, "qgeglu", "Quick GeGLU");
    /// Squared ReLU, not gated.
    squared_relu: bool = Field::flag(false).at(Model, All, "sqrelu", "Squared ReLU");
    /// The input of a gated activation is cut off at this value. Fused quick GEGLU of experts then keeps it both before
    /// and after. Left out, nothing is cut off.
    activation_func_clamp_value: Option<Decimal> = Field::optional_decimal(1, 1_000_000_000_000, "nothing is cut off").at(Model, All, "clamp", "Clamped activation").also(&["swiglu_limit"]);
    /// Biases on every linear layer. Megatron-LM has them unless --disable-bias-linear is given.
    add_bias_linear: bool = Field::flag(true).at(Model, More, "bias", "Linear biases").also(&["disable_bias_linear", "mlp_bias"]).turned_off_by("disable-bias-linear");
    /// Multi-token prediction depths; each adds a transformer layer, two norms and a projection.
    mtp_num_layers: Option<u64> = Field::derived(0, 64, "none").at(Model, More, "mtp", "MTP depths").symbol("D").also(&["num_nextn_predict_layers", "multi-token prediction"]);

    // Attention
    /// Query heads of each attention layer.
    num_attention_heads: u64 = Field::required(1, 100_000).at(Attention, Essential, "nq", "Heads").symbol("n_q").also(&["n_head"]);
    /// Several query heads share one key and value head.
    group_query_attention: bool = Field::flag(false).at(Attention, More, "gqa", "Grouped queries").also(&["gqa", "mqa"]).relevant_if(OwnKeysAndValues);
    /// Key and value heads; counts only with group_query_attention.
    num_query_groups: u64 = Field::int(1, 100_000, 1).at(Attention, Essential, "nkv", "Query groups").symbol("n_kv").also(&["num_key_value_heads"]).relevant_if(QueryGroups);
    /// Width of one head. Left out, hidden size over heads.
    kv_channels: Option<u64> = Field::derived(1, 1_000_000, "h / heads").at(Attention, Essential, "d", "Head width").symbol("d").also(&["head_dim"]).relevant_if(OwnKeysAndValues);
    /// Width of a value head, where it is not that of queries and keys: MiMo-V2-Flash in Megatron-Bridge. TP may not
    /// exceed the query groups then.
    v_channels: Option<u64> = Field::derived(1, 1_000_000, "the head width").at(Attention, All, "dv", "Value head width").symbol("d_v").own().relevant_if(OwnKeysAndValues);
    /// Values are multiplied by this before attention, which makes a copy of them. Left out, attention reads them as
    /// they are projected.
    attention_value_scale: Option<Decimal> = Field::optional_decimal(1, 1_000_000_000, "values are not scaled").at(Attention, All, "vscale", "Value scale").own().relevant_if(OwnKeysAndValues);
    /// A bias on linear_qkv even without other linear biases.
    add_qkv_bias: bool = Field::flag(false).at(Attention, More, "qkvb", "QKV bias").also(&["attention_bias"]);
    /// Keys have a bias where queries and values do. Whisper's have none.
    key_bias: bool = Field::flag(true).at(Attention, All, "kbias", "Bias on keys").own().relevant_if(OwnKeysAndValues);
    /// A norm on queries and keys; with MLA, on the compressed ones.
    qk_layernorm: bool = Field::flag(false).at(Attention, More, "qkn", "Q/K norm").also(&["use_qk_norm"]);
    /// learnable adds one parameter a head: attention sinks.
    softmax_type: SoftmaxType = Field::choice(SoftmaxType::NAMES, "vanilla").at(Attention, All, "softmax", "Softmax type");
    /// Attention adds a matrix over all pairs of tokens to its scores, and layers with a window another one: text sees
    /// what stands before it, an image all of itself. Gemma 3 with images has it.
    image_attention_bias: bool = Field::flag(false).at(Attention, All, "imgbias", "Bias for images").own().relevant_if(OwnKeysAndValues);
    /// Multi-latent attention as in DeepSeek-V2 and V3.
    multi_latent_attention: bool = Field::flag(false).at(Attention, More, "mla", "MLA").also(&["mla"]);
    /// Width of the compressed query; left out, queries are not compressed.
    q_lora_rank: Option<u64> = Field::derived(1, 1_000_000, "no query compression").at(Attention, More, "qlora", "Q rank").symbol("r_q").relevant_if(LatentAttention);
    /// Width of the compressed key and value.
    kv_lora_rank: u64 = Field::int(1, 1_000_000, 32).at(Attention, More, "kvlora", "KV rank").symbol("r_kv").relevant_if(LatentAttention);
    /// Width of a head's query and key without the rotary part.
    qk_head_dim: u64 = Field::int(1, 1_000_000, 128).at(Attention, More, "qkd", "QK head width").symbol("d_qk").also(&["qk_nope_head_dim"]).relevant_if(LatentAttention);
    /// Width of the rotary part of query and key.
    qk_pos_emb_head_dim: u64 = Field::int(0, 1_000_000, 64).at(Attention, More, "roped", "Rotary width").symbol("d_r").also(&["qk_rope_head_dim"]).relevant_if(LatentAttention);
    /// Width of a head's value.
    v_head_dim: u64 = Field::int(1, 1_000_000, 128).at(Attention, More, "vd", "V head width").symbol("d_v").relevant_if(LatentAttention);
    /// Megatron-Core newer than 0.16 fuses a norm into linear_q_proj when MLA has no query compression but has Q/K
    /// norms: one more hidden-size norm a layer.
    mla_q_proj_layernorm: bool = Field::flag(false).at(Attention, All, "qpln", "Norm fused into linear_q_proj").own().relevant_if(LatentAttention);

    // MoE
    /// Routed experts of a MoE layer; left out, the model is dense.
    num_experts: Option<u64> = Field::derived(0, 100_000, "dense model").at(Moe, Essential, "E", "Experts").symbol("E").also(&["num_moe_experts", "num_local_experts", "n_routed_experts"]);
    /// Experts that each token visits.
    moe_router_topk: u64 = Field::int(1, 1_000, 2).at(Moe, Essential, "k", "Top-k").symbol("k").also(&["num_experts_per_tok"]).relevant_if(Experts);
    /// Groups of experts, of which each token visits a few.
    moe_router_num_groups: Option<u64> = Field::derived(1, 100_000, "no groups").at(Moe, All, "rgroups", "Expert groups").also(&["n_group"]).relevant_if(Experts);
    /// Groups of experts that each token visits.
    moe_router_group_topk: Option<u64> = Field::derived(0, 100_000, "all groups").at(Moe, All, "rgtopk", "Groups of a token").also(&["topk_group"]).relevant_if(Experts);
    /// Inner width of one routed expert. Left out, the dense FFN size.
    moe_ffn_hidden_size: Option<u64> = Field::derived(1, 10_000_000, "the dense FFN size").at(Moe, Essential, "fe", "Expert FFN size").symbol("f_e").also(&["moe_intermediate_size"]).relevant_if(Experts);
    /// Inner width of all shared experts together; left out, there are none.
    moe_shared_expert_intermediate_size: Option<u64> = Field::derived(0, 10_000_000, "no shared experts").at(Moe, More, "fs", "Shared expert size").symbol("f_s").also(&["shared_expert_intermediate_size", "n_shared_experts"]).relevant_if(Experts);
    /// A learned gate on the shared experts' output.
    moe_shared_expert_gate: bool = Field::flag(false).at(Moe, All, "sgate", "Shared expert gate").relevant_if(Experts);
    /// Which layers are MoE: N for every N-th layer, or a list such as ([0]*3+[1]*58).
    moe_layer_freq: LayerPattern = Field::layer_pattern().at(Moe, More, "freq", "MoE layers").also(&["first_k_dense_replace", "decoder_sparse_step"]).relevant_if(Experts);
    /// Width of the latent space in which routed experts work; left out, the hidden size.
    moe_latent_size: Option<u64> = Field::derived(1, 1_000_000, "the hidden size").at(Moe, All, "latent", "Latent size").symbol("l").relevant_if(Experts);
    /// Load balancing by a bias on the router's scores: a buffer, not a parameter.
    moe_router_enable_expert_bias: bool = Field::flag(false).at(Moe, All, "ebias", "Expert bias buffer").relevant_if(Experts);
    /// How router logits become scores.
    moe_router_score_function: RouterScore = Field::choice(RouterScore::NAMES, "softmax").at(Moe, All, "score", "Router score").relevant_if(Experts);
    /// Precision of the router's computation; left out, the parameters' own.
    moe_router_dtype: Option<RouterDtype> = Field::optional_choice(RouterDtype::NAMES, "the parameters' dtype").at(Moe, All, "rdtype", "Router dtype").trains_experts().relevant_if(Experts);
    /// How tokens reach their experts.
    moe_token_dispatcher_type: TokenDispatcher = Field::choice(TokenDispatcher::NAMES, "allgather").at(Moe, More, "disp", "Dispatcher").trains_experts().relevant_if(Experts);
    /// The kernels with which the flex dispatcher sends tokens. Their buffers are not among `PyTorch`'s allocations.
    moe_flex_dispatcher_backend: FlexBackend = Field::choice(FlexBackend::NAMES, "deepep").at(Moe, All, "flexep", "Flex dispatcher").trains_experts().relevant_if(FlexDispatcher);
    /// All local experts in one grouped matrix product.
    moe_grouped_gemm: bool = Field::flag(false).at(Moe, All, "ggemm", "Grouped GEMM").trains_experts().relevant_if(Experts);
    /// A fused kernel permutes tokens.
    moe_permute_fusion: bool = Field::flag(false).at(Moe, All, "permf", "Fused permutation").trains_experts().relevant_if(Experts);
    /// A fused kernel computes the router's top-k.
    moe_router_fusion: bool = Field::flag(false).at(Moe, All, "routf", "Fused router").trains_experts().relevant_if(Experts);
    /// Shared experts run while tokens travel.
    moe_shared_expert_overlap: bool = Field::flag(false).at(Moe, All, "sovl", "Overlap shared experts").trains_experts().relevant_if(Experts);
    /// Each expert takes at most this many times its fair share of tokens; left out, no token is dropped.
    moe_expert_capacity_factor: Option<Decimal> = Field::optional_decimal(1, 1_000_000_000, "no token is dropped").at(Moe, More, "cap", "Capacity factor").trains_experts().relevant_if(Experts);
    /// Every expert's input is padded to its capacity.
    moe_pad_expert_input_to_capacity: bool = Field::flag(false).at(Moe, All, "cappad", "Pad to capacity").trains_experts().relevant_if(Experts);
    /// The router fills up every expert's tokens to what fp8 products need; else a copy is filled up.
    moe_router_padding_for_quantization: bool = Field::flag(false).at(Moe, All, "rpad", "Padding by the router").also(&["moe_router_padding_for_fp8"]).trains_experts().relevant_if(Fp8);
    /// Rows that an expert-parallel rank has room for, over the mean. HybridEP and NCCL-EP then hand the experts
    /// tensors of this fixed size, and a step that needs more runs again without it. Left out, tensors have as many
    /// rows as tokens arrive.
    moe_expert_rank_capacity_factor: Option<Decimal> = Field::optional_decimal(1, 1_000_000_000, "as many rows as tokens arrive").at(Moe, All, "rankcap", "Rank capacity factor").trains_experts().relevant_if(FlexDispatcher);
    /// What fused experts keep for their backward pass moves to pages of a buffer that is sized for the mean of tokens.
    /// It needs a rank capacity factor.
    moe_paged_stash: bool = Field::flag(false).at(Moe, All, "stash", "Paged stash").trains_experts().relevant_if(FlexDispatcher);
    /// Tokens of one page of the paged stash.
    moe_paged_stash_page_size: u64 = Field::int(1, 1_000_000, 64).at(Moe, All, "stashpg", "Page of the stash").unit("tokens").trains_experts().relevant_if(FlexDispatcher);
    /// Tokens that the paged stash has room for on the GPU, over those of evenly routed micro batches in flight.
    /// Megatron also takes negative factors, over the tokens of the first iteration; those are not read.
    moe_paged_stash_buffer_size_factor_cuda: Decimal = Field::decimal(0, 1_000_000_000, 1_100_000).at(Moe, All, "stashsz", "Size of the stash").trains_experts().relevant_if(FlexDispatcher);
    /// Tokens on the busiest expert-parallel rank over the mean. The worst rank is what runs out of memory; 1 is
    /// perfect balance.
    expert_load_imbalance: Decimal = Field::decimal(1_000_000, 1_000_000_000, 1_000_000).at(Moe, More, "imb", "Routing imbalance").own().trains_experts().relevant_if(Experts);

    // Parallelism
    /// Tensor-parallel communication runs behind matrix products, in buffers outside PyTorch.
    tp_comm_overlap: bool = Field::flag(false).at(Parallelism, All, "tpo", "Overlap TP communication");
    /// Stages pass activations on while the interleaved schedule fills and drains the pipeline.
    overlap_p2p_communication_warmup_flush: bool = Field::flag(false).at(Parallelism, All, "p2pwf", "Overlap at warm-up and flush").stored_as("overlap_p2p_comm_warmup_flush").relevant_if(PipelineStages);
    /// GPUs of the whole job.
    world_size: Option<u64> = Field::derived(1, 10_000_000, "one copy of the model per data-parallel rank").at(Parallelism, Essential, "gpus", "GPUs").unit("GPUs").job().also(&["gpus", "nodes", "num_gpus"]).without_flag();
    /// Ranks that split every layer's matrices.
    tensor_model_parallel_size: u64 = Field::int(1, 65_536, 1).at(Parallelism, Essential, "tp", "Tensor parallel (TP)").symbol("TP").also(&["tp", "tensor parallel"]);
    /// Ranks that split the layers into stages.
    pipeline_model_parallel_size: u64 = Field::int(1, 65_536, 1).at(Parallelism, Essential, "pp", "Pipeline parallel (PP)").symbol("PP").also(&["pp", "pipeline parallel"]);
    /// Chunks of layers on each pipeline rank (interleaved schedule). 1 or none: no interleaving.
    virtual_pipeline_model_parallel_size: Option<u64> = Field::derived(1, 10_000, "no interleaving").at(Parallelism, Essential, "vpp", "Virtual pipeline (VPP)").symbol("VPP").also(&["vpp", "interleaved", "virtual pipeline"]).relevant_if(PipelineStages).without_flag();
    /// Ranks that split the sequence.
    context_parallel_size: u64 = Field::int(1, 65_536, 1).at(Parallelism, Essential, "cp", "Context parallel (CP)").symbol("CP").also(&["cp", "context parallel"]);
    /// Ranks that split the routed experts.
    expert_model_parallel_size: u64 = Field::int(1, 65_536, 1).at(Parallelism, Essential, "ep", "Expert parallel (EP)").symbol("EP").also(&["ep", "expert parallel"]).relevant_if(Experts);
    /// Ranks that split each routed expert's matrices. Left out, Megatron-LM takes TP.
    expert_tensor_parallel_size: Option<u64> = Field::derived(1, 65_536, "TP").at(Parallelism, Essential, "etp", "Expert tensor parallel (ETP)").symbol("ETP").also(&["etp", "expert tensor parallel"]).relevant_if(Experts);
    /// Copies of the model. Derived from the GPUs; a value given here is checked against them.
    data_parallel_size: Option<u64> = Field::derived(1, 10_000_000, "GPUs / (TP · PP · CP)").at(Parallelism, All, "dp", "Data parallel (DP)").symbol("DP").also(&["dp", "data parallel"]).without_flag();
    /// Norms and residuals split the sequence over TP ranks. Off with TP = 1.
    sequence_parallel: bool = Field::flag(false).at(Parallelism, Essential, "sp", "Sequence parallel (SP)").also(&["sp", "sequence parallel"]);
    /// Layers of the first pipeline stage, when it differs from the others.
    decoder_first_pipeline_num_layers: Option<u64> = Field::derived(1, 10_000, "as the other stages").at(Parallelism, More, "first", "Layers of the first stage").also(&["num_layers_in_first_pipeline_stage"]).splits_layers().relevant_if(PipelineStages);
    /// Layers of the last pipeline stage, when it differs from the others.
    decoder_last_pipeline_num_layers: Option<u64> = Field::derived(1, 10_000, "as the other stages").at(Parallelism, More, "last", "Layers of the last stage").also(&["num_layers_in_last_pipeline_stage"]).splits_layers().relevant_if(PipelineStages);
    /// The embedding counts as a layer when layers are dealt out.
    account_for_embedding_in_pipeline_split: bool = Field::flag(false).at(Parallelism, More, "acce", "Embedding counts as a layer").relevant_if(PipelineStages);
    /// The loss counts as a layer when layers are dealt out.
    account_for_loss_in_pipeline_split: bool = Field::flag(false).at(Parallelism, More, "accl", "Loss counts as a layer").relevant_if(PipelineStages);
    /// Every stage spelled out, such as Et*3|(tt|)*29m|L: E embedding, t decoder layer, m MTP layer, L loss, | ends a
    /// stage.
    pipeline_model_parallel_layout: Option<String> = Field::text(4_000, "even stages").at(Parallelism, More, "layout", "Pipeline layout").also(&["layout"]).splits_layers().relevant_if(PipelineStages);
    /// All modules run on the same ranks instead of ranges of their own.
    colocate_modules: bool = Field::flag(false).at(Parallelism, All, "coloc", "Colocate modules").job().own();
    /// Where random numbers start; each rank derives its own seeds from it.
    seed: u64 = Field::int(1, 1_000_000_000_000, 1234).at(Parallelism, All, "seed", "Seed").job().rarely_counts();
    /// Data-parallel replicas start from different random numbers.
    data_parallel_random_init: bool = Field::flag(false).at(Parallelism, All, "dprand", "Seeds differ over DP").job().rarely_counts();
    /// Another way to ask for interleaving: layers of each chunk.
    num_layers_per_virtual_pipeline_stage: Option<u64> = Field::derived(1, 10_000, "no interleaving").at(Parallelism, All, "lpvs", "Layers per chunk").relevant_if(PipelineStages);
    /// Another way to ask for interleaving: chunks of each pipeline rank.
    num_virtual_stages_per_pipeline_rank: Option<u64> = Field::derived(1, 10_000, "no interleaving").at(Parallelism, All, "vspr", "Chunks per rank").relevant_if(PipelineStages);
    /// Consecutive micro batches that one chunk runs before the next chunk takes over. Left out, PP.
    microbatch_group_size_per_virtual_pipeline_stage: Option<u64> = Field::derived(1, 1_000_000, "PP").at(Parallelism, All, "mbg", "Micro batch group").also(&["microbatch_group_size_per_vp_stage"]).relevant_if(PipelineStages).stored_as("microbatch_group_size_per_vp_stage");
    /// A stage gives the memory of its output back once the next one has it. Megatron-LM's command line always does;
    /// without it each micro batch in flight keeps its output until its backward pass.
    deallocate_pipeline_outputs: bool = Field::flag(true).at(Parallelism, All, "dealloc", "Deallocate sent outputs").relevant_if(PipelineStages).without_flag();
    /// How context-parallel ranks exchange what attention needs.
    cp_comm_type: CpCommType = Field::choice(CpCommType::NAMES, "p2p").at(Parallelism, All, "cpcomm", "CP communication").takes_many_words();
    /// Forward and backward of neighbouring micro batches run side by side to hide expert communication.
    overlap_moe_expert_parallel_comm: bool = Field::flag(false).at(Parallelism, All, "epovl", "Overlap expert communication").relevant_if(Experts);
    /// The weight gradients of layers are computed after the gradients of their inputs, while other micro batches
    /// communicate: of experts before their tokens' way back, of all else at the end of the layer.
    delay_wgrad_compute: bool = Field::flag(false).at(Parallelism, All, "dwgrad", "Delay weight gradients").relevant_if(Experts);

    // Batch and sequence
    /// Tokens of one sample.
    seq_length: u64 = Field::required(1, 100_000_000).at(Batch, Essential, "seq", "Sequence length").symbol("s").unit("tokens").also(&["encoder_seq_length", "context length"]);
    /// Samples that one rank processes at a time.
    micro_batch_size: u64 = Field::int(1, 1_000_000, 1).at(Batch, Essential, "mbs", "Micro batch").symbol("b").unit("samples").also(&["mbs"]).parsed_as_none();
    /// Samples of one optimizer step over all ranks. Left out, micro batch times DP.
    global_batch_size: Option<u64> = Field::derived(1, 1_000_000_000, "micro batch · DP").at(Batch, Essential, "gbs", "Global batch").symbol("GBS").unit("samples").job().also(&["gbs"]);
    /// Samples are packed into sequences of this job's length, with cu_seqlens in place of an attention mask.
    /// Megatron-LM packs conversations so; Megatron-Bridge's packed_sequence_specs and ms-swift's packing are the same
    /// to memory.
    sft: bool = Field::flag(false).at(Batch, More, "sft", "Packed samples").also(&["packing", "packed_sequence", "padding_free", "THD", "cu_seqlens", "dataloader_inter_document_masking"]);
    /// Tokens that a GPU gets in one micro batch, in place of samples: samples are packed until TP ranks hold this
    /// many, times CP. Then seq_length is the longest sample.
    max_seqlen_per_dp_cp_rank: Option<u64> = Field::derived(1, 100_000_000, "micro batch · sequence length").at(Batch, More, "tokgpu", "Tokens per GPU").unit("tokens").also(&["max_tokens_per_gpu", "ppo_max_token_len_per_gpu", "dynamic batch size", "token budget"]);
    /// Tokens of an average sample. With it, the average micro batch is estimated beside the fullest one. Left out,
    /// samples are as long as the longest.
    mean_sample_length: Option<u64> = Field::derived(1, 100_000_000, "the longest sample").at(Batch, More, "meanseq", "Average sample").unit("tokens").own().relevant_if(PackedSamples);
    /// Tokens of the longest sample. Left out, the sequence length.
    longest_sample_length: Option<u64> = Field::derived(1, 100_000_000, "the sequence length").at(Batch, All, "longseq", "Longest sample").unit("tokens").own().relevant_if(PackedSamples);
    /// Each sample runs on as many data- and context-parallel ranks as its length needs (dynamic context parallelism).
    /// It needs a number of tokens per GPU.
    hybrid_context_parallel: bool = Field::flag(false).at(Batch, All, "hcp", "Dynamic context parallelism").also(&["dynamic_context_parallel"]);

    /// The data loader makes an attention mask of s × s bytes a sample, which lives through each forward pass.
    create_attention_mask_in_dataloader: bool = Field::flag(true).at(Batch, All, "dlmask", "Mask from the data loader").also(&["no_create_attention_mask_in_dataloader"]).turned_off_by("no-create-attention-mask-in-dataloader");

    // Memory savers
    /// full recomputes whole layers, selective only chosen modules.
    recompute_granularity: Option<RecomputeGranularity> = Field::optional_choice(RecomputeGranularity::NAMES, "nothing is recomputed").at(MemorySavers, Essential, "rc", "Recompute").also(&["activation checkpointing", "recompute"]);
    /// uniform groups all layers, block takes the first ones; for full recompute.
    recompute_method: Option<RecomputeMethod> = Field::optional_choice(RecomputeMethod::NAMES, "none").at(MemorySavers, Essential, "rcm", "Recompute method").relevant_if(FullRecompute);
    /// Layers of a group (uniform), or recomputed layers of each stage or chunk (block).
    recompute_num_layers: Option<u64> = Field::derived(0, 10_000, "none").at(MemorySavers, Essential, "rcn", "Recompute layers").relevant_if(FullRecompute);
    /// What selective recompute recomputes.
    recompute_modules: NameSet<RecomputeModule> = Field::set(RecomputeModule::NAMES, "core_attn").at(MemorySavers, Essential, "rcmod", "Recompute modules").relevant_if(SelectiveRecompute).parsed_as_none();
    /// Kept layer inputs are split over TP ranks, for full recompute.
    distribute_saved_activations: bool = Field::flag(false).at(MemorySavers, All, "dsa", "Distribute saved activations").relevant_if(FullRecompute);
    /// Chosen modules' activations move to host memory until the backward pass.
    fine_grained_activation_offloading: bool = Field::flag(false).at(MemorySavers, All, "fgo", "Offload activations by module");
    /// What fine-grained offloading moves.
    offload_modules: NameSet<OffloadModule> = Field::set(OffloadModule::NAMES, "").at(MemorySavers, All, "offmod", "Offloaded modules").relevant_if(FineGrainedOffload);
    /// Smaller tensors are not offloaded.
    min_offloaded_tensor_size: u64 = Field::int(0, 1_000_000_000_000, 1_048_576).at(MemorySavers, All, "offmin", "Smallest offloaded tensor").unit("elements").relevant_if(FineGrainedOffload);
    /// Layers whose activations move to host memory.
    cpu_offloading_num_layers: u64 = Field::int(0, 10_000, 0).at(MemorySavers, All, "offL", "Offloaded layers");

    // Optimizer and precision
    /// Train in bfloat16. With neither bf16 nor fp16, everything is fp32.
    bf16: bool = Field::flag(false).at(Optimizer, Essential, "bf16", "bf16").also(&["torch_dtype", "precision", "mixed_precision"]);
    /// Train in float16.
    fp16: bool = Field::flag(false).at(Optimizer, More, "fp16", "fp16");
    /// Optimizer states are split over data-parallel ranks.
    use_distributed_optimizer: bool = Field::flag(false).at(Optimizer, Essential, "do", "Distributed optimizer").also(&["zero", "ZeRO-1"]);
    /// Copies of the optimizer shards; each group of DP / this ranks holds a full set.
    num_distributed_optimizer_instances: u64 = Field::int(1, 65_536, 1).at(Optimizer, All, "doi", "Optimizer instances");
    /// The optimizer's rule, which decides how many states a parameter has.
    optimizer: OptimizerKind = Field::choice(OptimizerKind::NAMES, "adam").at(Optimizer, More, "opt", "Optimizer");
    /// Momentum of SGD; 0 keeps no state.
    sgd_momentum: Decimal = Field::decimal(0, 1_000_000, 900_000).at(Optimizer, All, "mom", "SGD momentum");
    /// Transformer Engine's fused Adam with states in chosen dtypes.
    use_precision_aware_optimizer: bool = Field::flag(false).at(Optimizer, More, "pao", "Precision-aware optimizer");
    /// Dtype of main gradients with the precision-aware optimizer.
    main_grads_dtype: MainGradsDtype = Field::choice(MainGradsDtype::NAMES, "fp32").at(Optimizer, More, "mgd", "Main grads").relevant_if(PrecisionAware);
    /// Dtype of main parameters with the precision-aware optimizer.
    main_params_dtype: MainParamsDtype = Field::choice(MainParamsDtype::NAMES, "fp32").at(Optimizer, More, "mpd", "Main params").relevant_if(PrecisionAware);
    /// Dtype of the first moment with the precision-aware optimizer.
    exp_avg_dtype: MomentDtype = Field::choice(MomentDtype::NAMES, "fp32").at(Optimizer, More, "ead", "exp_avg").relevant_if(PrecisionAware);
    /// Dtype of the second moment with the precision-aware optimizer.
    exp_avg_sq_dtype: MomentDtype = Field::choice(MomentDtype::NAMES, "fp32").at(Optimizer, More, "esd", "exp_avg_sq").relevant_if(PrecisionAware);
    /// Gradients are reduced, and kept, in bf16.
    grad_reduce_in_bf16: bool = Field::flag(false).at(Optimizer, More, "grb", "bf16 gradients");
    /// Gradients are accumulated and reduced in fp32. bf16 training turns it on by itself.
    accumulate_allreduce_grads_in_fp32: bool = Field::flag(false).at(Optimizer, All, "ga32", "fp32 gradients");
    /// Optimizer states live in host memory.
    optimizer_cpu_offload: bool = Field::flag(false).at(Optimizer, More, "ocpu", "Optimizer on CPU");
    /// Part of the optimizer states that lives in host memory.
    optimizer_offload_fraction: Decimal = Field::decimal(0, 1_000_000, 1_000_000).at(Optimizer, All, "ofrac", "Part on CPU").relevant_if(OptimizerOffload);
    /// Moments and main parameters are in host memory while passes run, and on the GPU for the optimizer step. An
    /// argument of Megatron-LM's dev branch.
    offload_optimizer_states: bool = Field::flag(false).at(Optimizer, All, "ostoff", "States offloaded during passes").own();
    /// Matrix products in fp8.
    fp8_format: Option<Fp8Format> = Field::optional_choice(Fp8Format::NAMES, "no fp8").at(Optimizer, More, "fp8", "fp8").stored_as("fp8");
    /// How fp8 values are scaled.
    fp8_recipe: Fp8Recipe = Field::choice(Fp8Recipe::NAMES, "delayed").at(Optimizer, All, "fp8r", "fp8 recipe").relevant_if(Fp8);
    /// Parameters are stored in fp8.
    fp8_param_gather: bool = Field::flag(false).at(Optimizer, All, "fp8p", "fp8 parameters").also(&["fp8_param"]).relevant_if(Fp8);
    /// The first and last layers compute in bf16 and keep their parameters in it.
    first_last_layers_bf16: bool = Field::flag(false).at(Optimizer, All, "flbf", "First and last layers in bf16").relevant_if(Fp8);
    /// Layers in bf16 at the start of the model.
    num_layers_at_start_in_bf16: u64 = Field::int(0, 10_000, 1).at(Optimizer, All, "bfs", "Layers in bf16 at the start").relevant_if(Fp8);
    /// Layers in bf16 at the end of the model.
    num_layers_at_end_in_bf16: u64 = Field::int(0, 10_000, 1).at(Optimizer, All, "bfe", "Layers in bf16 at the end").relevant_if(Fp8);
    /// Weights are turned into fp8 again for every micro batch, which keeps them until its backward pass.
    disable_parameter_transpose_cache: bool = Field::flag(false).at(Optimizer, All, "nowc", "No cache of fp8 weights").relevant_if(Fp8).without_flag();
    /// Weights in fp8 are cached by rows alone and transposed in each backward pass: Primus with AMD's Transformer
    /// Engine, for the delayed and tensorwise recipes.
    no_fp8_weight_transpose_cache: bool = Field::flag(false).at(Optimizer, All, "nowtc", "No cache of transposed fp8 weights").own().relevant_if(Fp8);
    /// Matrix products in fp4 (NVFP4): inputs and weights in half a byte, with a scale for 16 values. It excludes
    /// fp8_format.
    fp4_format: Option<Fp4Format> = Field::optional_choice(Fp4Format::NAMES, "no fp4").at(Optimizer, All, "fp4", "fp4").stored_as("fp4").also(&["nvfp4"]);
    /// Parameters are stored in fp4.
    fp4_param_gather: bool = Field::flag(false).at(Optimizer, All, "fp4p", "fp4 parameters").also(&["fp4_param"]);
    /// Core attention in fp8: it keeps queries, keys and values in fp8. The blockwise recipe has none.
    fp8_dot_product_attention: bool = Field::flag(false).at(Optimizer, All, "fp8dpa", "Attention in fp8").also(&["fp8_dpa"]).relevant_if(Fp8).without_flag();
    /// Core attention in fp8 that also gives its output in fp8. Only the delayed recipe has it.
    fp8_multi_head_attention: bool = Field::flag(false).at(Optimizer, All, "fp8mha", "Attention in fp8 with output").also(&["fp8_mha"]).relevant_if(Fp8).without_flag();
    /// The output layer in MXFP8, as a linear layer of Transformer Engine. Its weight stays in bf16, beside copies in
    /// fp8.
    fp8_output_proj: bool = Field::flag(false).at(Optimizer, All, "fp8out", "Output layer in fp8").relevant_if(Fp8);
    /// Past maxima from which the delayed recipe takes its scales.
    fp8_amax_history_len: u64 = Field::int(1, 1_000_000, 1).at(Optimizer, All, "amax", "fp8 history").relevant_if(Fp8);
    /// Gradient reduction starts during the backward pass; buffers are then cut into buckets.
    overlap_grad_reduce: bool = Field::flag(false).at(Optimizer, All, "ogr", "Overlap gradient reduction");
    /// Parameters are gathered during the forward pass.
    overlap_param_gather: bool = Field::flag(false).at(Optimizer, All, "opg", "Overlap parameter gather");
    /// Parameters are gathered while the optimizer still steps others.
    overlap_param_gather_with_optimizer_step: bool = Field::flag(false).at(Optimizer, All, "opgs", "Gather during the step");
    /// Parameters in one bucket of the gradient buffer.
    ddp_bucket_size: Option<u64> = Field::derived(1, 1_000_000_000_000, "40 000 000, or 1 000 000 · DP if that is more").at(Optimizer, All, "bucket", "Bucket size").unit("parameters");
    /// The module's parameters are not trained, except its projector's: no gradients, no optimizer states.
    frozen: bool = Field::flag(false).at(Optimizer, All, "frozen", "Frozen").own().also(&["freeze"]);
    /// The weights of a frozen copy of the model stay on the GPUs beside it: the reference model of reinforcement
    /// learning, as verl (ref) and ms-swift (ref_models) have it unless it is offloaded.
    ref_model: bool = Field::flag(false).at(Optimizer, All, "refmodel", "Reference model").own().also(&["reference policy", "ref_models"]);
    /// A critic stays on the GPUs beside the trained model, as PPO in verl has it unless it is offloaded: a model like
    /// it with one value for each token in place of logits, and with gradients and optimizer states of its own. Both
    /// are trained in turn, and the passes of the trained model are the heavier ones.
    critic: bool = Field::flag(false).at(Optimizer, All, "critic", "Critic").own().also(&["PPO", "value model", "adv_estimator"]);

    // Kernels
    /// Whose modules build the layers.
    transformer_impl: TransformerImpl = Field::choice(TransformerImpl::NAMES, "transformer_engine").at(Kernels, All, "impl", "Modules");
    /// Whether attention keeps its scores.
    attention_backend: AttentionBackend = Field::choice(AttentionBackend::NAMES, "auto").at(Kernels, More, "attn", "Attention kernel");
    /// Probability of dropping attention weights; above 0 a mask is kept. Megatron-LM's default is 0.1.
    attention_dropout: Decimal = Field::decimal(0, 1_000_000, 100_000).at(Kernels, More, "adrop", "Attention dropout");
    /// Probability of dropping hidden values; above 0 a mask is kept. Megatron-LM's default is 0.1.
    hidden_dropout: Decimal = Field::decimal(0, 1_000_000, 100_000).at(Kernels, More, "hdrop", "Hidden dropout");
    /// Loss in one fused kernel.
    cross_entropy_loss_fusion: bool = Field::flag(false).at(Kernels, More, "cef", "Fused cross-entropy");
    /// Transformer Engine's fused operations run MLPs. Grouped experts then fill up every expert's tokens to a multiple
    /// of 256, and keep what the fused activation keeps.
    use_transformer_engine_op_fuser: bool = Field::flag(false).at(Kernels, All, "opfuser", "TE operation fuser").also(&["op fuser", "fused grouped MLP"]);
    /// Whose fused loss.
    cross_entropy_fusion_impl: CrossEntropyFusion = Field::choice(CrossEntropyFusion::NAMES, "native").at(Kernels, All, "cefi", "Fused cross-entropy by").relevant_if(FusedLoss);
    /// The fused loss of Transformer Engine up to 2.12 writes its gradient over the logits; later versions keep one in
    /// fp32.
    te_cross_entropy_in_place: bool = Field::flag(true).at(Kernels, All, "tecei", "TE loss in place").own().relevant_if(FusedLoss);
    /// The program that computes the loss: Megatron's cross-entropy, or what programs of reinforcement learning have in
    /// its place. nemo_rl: NeMo-RL with logits in fp32. nemo_rl_deferred: with defer_fp32_logits. verl_fused: verl with
    /// use_fused_kernels, which makes no logits. chatlearn: ChatLearn, with the entropy of every token. slime: slime.
    /// ms_swift: ms-swift in GRPO and GKD. ms_swift_embedding: ms-swift's embeddings, which have no output layer.
    /// ms_swift_reranker: its generative rerankers, with the logits of two tokens.
    token_loss: TokenLoss = Field::choice(TokenLoss::NAMES, "megatron").at(Kernels, All, "tloss", "Loss computed by").own().also(&["defer_fp32_logits", "use_fused_kernels"]);
    /// Tokens whose logits NeMo-RL (logprob_chunk_size) or slime (log_probs_chunk_size) takes at a time.
    logprob_chunk_size: Option<u64> = Field::derived(1, 100_000_000, "all tokens at once").at(Kernels, All, "lpchunk", "Tokens of a chunk of logits").unit("tokens").own().relevant_if(ChunkedLogits);
    /// What slime divides the logits by. Any other temperature than 1 makes one more fp32 copy of the logits.
    rollout_temperature: Decimal = Field::decimal(1, 1_000_000_000, 1_000_000).at(Kernels, All, "temp", "Temperature of rollouts").own().relevant_if(SlimeLoss);
    /// The weight of the entropy in slime's loss. Unless it is 0, the entropy is trained, and the logits are kept for its
    /// backward pass.
    entropy_coef: Decimal = Field::decimal(0, 1_000_000_000, 0).at(Kernels, All, "entc", "Entropy coefficient").own().relevant_if(SlimeLoss);
    /// slime computes its loss again in the backward pass, and keeps only the logits until then.
    recompute_loss_function: bool = Field::flag(false).at(Kernels, All, "rclf", "Recompute the loss").own().relevant_if(SlimeLoss);
    /// Only kernels with reproducible results; decides the attention kernel on some GPUs.
    deterministic_mode: bool = Field::flag(false).at(Kernels, All, "det", "Deterministic").rarely_counts();
    /// Rotary embedding in one fused kernel.
    apply_rope_fusion: bool = Field::flag(true).at(Kernels, All, "ropef", "Fused rotary").also(&["no_rope_fusion"]).turned_off_by("no-rope-fusion");
    /// Bias and GELU in one kernel.
    bias_gelu_fusion: bool = Field::flag(true).at(Kernels, All, "bgf", "Fused bias + GELU").turned_off_by("no-bias-gelu-fusion");
    /// Bias and SwiGLU in one kernel.
    bias_swiglu_fusion: bool = Field::flag(true).at(Kernels, All, "bsf", "Fused bias + SwiGLU").turned_off_by("no-bias-swiglu-fusion");
    /// The fused SwiGLU keeps its input in 1 byte.
    activation_func_fp8_input_store: bool = Field::flag(false).at(Kernels, All, "act8", "SwiGLU input kept in fp8").without_flag();
    /// Bias, dropout and residual in one kernel.
    bias_dropout_fusion: bool = Field::flag(true).at(Kernels, All, "bdf", "Fused bias + dropout").turned_off_by("no-bias-dropout-fusion");
    /// Scaling, masking and softmax in one kernel.
    masked_softmax_fusion: bool = Field::flag(true).at(Kernels, All, "msf", "Fused masked softmax").turned_off_by("no-masked-softmax-fusion");
    /// Softmax of unfused attention in fp32.
    attention_softmax_in_fp32: bool = Field::flag(false).at(Kernels, All, "asfp32", "fp32 softmax");
    /// Scale queries and keys by the layer number.
    apply_query_key_layer_scaling: bool = Field::flag(false).at(Kernels, All, "qkls", "Q/K layer scaling").rarely_counts();
    /// Weight gradients are added to the main gradients inside the matrix product.
    gradient_accumulation_fusion: bool = Field::flag(true).at(Kernels, All, "gaf", "Fused gradient accumulation").turned_off_by("no-gradient-accumulation-fusion");
    /// The last stage puts the weight gradients of the output layer off to the end of the iteration.
    defer_embedding_wgrad_compute: bool = Field::flag(false).at(Kernels, All, "dew", "Defer output layer's gradient");
    /// Micro batches whose weight gradient may be put off; 0 is all of them.
    wgrad_deferral_limit: u64 = Field::int(0, 1_000_000, 0).at(Kernels, All, "dewl", "Deferred micro batches");
    /// The residual stream is kept in fp32.
    fp32_residual_connection: bool = Field::flag(false).at(Kernels, All, "res32", "fp32 residual");

    // Hardware
    /// The GPU whose memory the job must fit.
    gpu: Option<String> = Field::text(80, "no GPU chosen").at(Hardware, Essential, "gpu", "GPU").job().own();
    /// Memory of one GPU that a process can have, as CUDA reports it. Left out, the chosen GPU's.
    gpu_memory_mib: Option<u64> = Field::derived(1, 100_000_000, "of the chosen GPU").at(Hardware, More, "mem", "Usable memory").unit("MiB").job().own();
    /// The generation of a GPU that is not in the list: it decides which kernels run and how large their workspaces
    /// are. Left out, that of the chosen GPU, or Hopper where none is known.
    gpu_generation: Option<GpuGeneration> = Field::optional_choice(GpuGeneration::NAMES, "of the chosen GPU").at(Hardware, All, "gen", "GPU generation").job().own();
    /// PyTorch's allocator extends its segments (PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True). Without that, a
    /// block that would leave 1 MiB or less is not split.
    expandable_segments: bool = Field::flag(false).at(Hardware, All, "expseg", "Expandable segments").job().own();
    /// Blocks of PyTorch's allocator that have this size or more are not split for smaller requests, and larger requests
    /// get no block that is larger by 20 MiB or more (PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:N). Left out, every block
    /// is split.
    max_split_size_mb: Option<u64> = Field::derived(20, 100_000_000, "every block is split").at(Hardware, All, "maxsplit", "Largest block that is split").unit("MiB").job().own();
    /// When Megatron gives the free segments of PyTorch's allocator back: never with 0; with 1 after the passes of every
    /// iteration, before the optimizer step; with 2 after the step as well.
    empty_unused_memory_level: u64 = Field::int(0, 2, 0).at(Hardware, All, "emptyc", "Empty the allocator's cache").job();
    /// Workspace of one cuBLAS handle of PyTorch; two handles are in use. CUBLAS_WORKSPACE_CONFIG sets it. Left out, 32
    /// MiB from Hopper on, 8.125 MiB before.
    cublas_workspace_kib: Option<u64> = Field::derived(0, 10_000_000, "32 MiB from Hopper on, 8.125 MiB before").at(Hardware, All, "cublas", "cuBLAS workspace").unit("KiB").job().own();
    /// Workspace of one cuBLAS stream of Transformer Engine; one is in use, and four more for grouped experts. Left
    /// out, 32 MiB and 1 KiB from Hopper on, 4 MiB before.
    te_cublas_workspace_kib: Option<u64> = Field::derived(0, 10_000_000, "32 MiB and 1 KiB from Hopper on, 4 MiB before").at(Hardware, All, "tecublas", "TE cuBLAS workspace").unit("KiB").job().own();
    /// The least that the allocator reserves for each byte in use; where a GPU has no more room, expandable segments give
    /// back what is free. Published runs without fragmentation: 1.03 to 1.09.
    reserved_over_allocated_low: Decimal = Field::decimal(1_000_000, 10_000_000, 1_030_000).at(Hardware, All, "reslo", "Reserved over allocated, low").job().own();
    /// The most that the allocator reserves for each byte in use. Published runs without fragmentation: 1.03 to 1.09.
    reserved_over_allocated_high: Decimal = Field::decimal(1_000_000, 10_000_000, 1_090_000).at(Hardware, All, "reshi", "Reserved over allocated, high").job().own();
    /// Memory of a CUDA context, outside the allocator.
    cuda_context_mib: u64 = Field::int(0, 1_000_000, 500).at(Hardware, All, "cudactx", "CUDA context").unit("MiB").job().own();
    /// Memory of a NCCL communicator, outside the allocator; every process group has one.
    nccl_mib_per_group: u64 = Field::int(0, 1_000_000, 500).at(Hardware, All, "nccl", "NCCL per process group").unit("MiB").job().own();
    /// Memory of captured CUDA graphs.
    cuda_graphs_mib: u64 = Field::int(0, 10_000_000, 0).at(Hardware, All, "graphs", "CUDA graphs").unit("MiB").job().own();
    /// Bytes that one GPU sends over the network in a second, in GB: what its node's adapters reach, divided by the GPUs
    /// of the node. For the predicted time of a step alone. Left out, that of the vendor's reference system for the GPU.
    network_gb_per_second: Option<Decimal> = Field::optional_decimal(1_000, 10_000_000_000, "that of the GPU's reference system").at(Hardware, More, "netgb", "Network of each GPU").unit("GB/s").job().own();
    /// Factors on predicted step times, from measured ones of the same model, GPU and precision: of computing, of the
    /// host and of the network. The page makes it from a training log.
    step_time_calibration: Option<String> = Field::text(200, "not calibrated").at(Hardware, All, "timecal", "Calibration of step times").job().own();
    /// GPUs of one node.
    gpus_per_node: u64 = Field::int(1, 65_536, 8).at(Hardware, More, "node", "GPUs per node").job().own();

    /// Versions of the software that trains. megatron_main: what everything here is read from. te_2_18: the fused loss
    /// of Transformer Engine keeps an fp32 gradient. core_0_14_te_2_3: Transformer Engine before 2.10 holds no
    /// stand-ins for experts' weight gradients. core_0_12_te_2_3: the output layer has none either. core_0_9_te_1_13:
    /// no stand-ins at all. core_0_10_te_1_9: and Q/K norms keep views. core_0_8_te_1: and experts run on the package
    /// grouped_gemm. megatron_lm_2023: and the loss copies the logits once more. torch_only, rocm_torch_only: neither
    /// Transformer Engine nor Apex, so PyTorch's AdamW, which needs 4 bytes a parameter more in its step; on ROCm
    /// hipBLASLt's workspaces. megatron_dev: Megatron-LM's dev branch at d48bd6be, which builds hyper-connections and the
    /// layers of DeepSeek-V4.
    software_stack: SoftwareStack = Field::choice(SoftwareStack::NAMES, "megatron_main").at(Hardware, More, "stack", "Software").job().own().also(&["stack", "container", "Transformer Engine version", "Apex", "ROCm"]);
    /// The program that starts the job. any: what a single launcher refuses is only warned of. megatron_lm: pretrain_gpt.py or
    /// pretrain_hybrid.py of Megatron-LM, whose validate_args refuses some jobs that other launchers train.
    launcher: Launcher = Field::choice(Launcher::NAMES, "any").at(Hardware, All, "launch", "Launcher").job().own().also(&["pretrain_gpt", "pretrain_hybrid", "validate_args"]);
    /// Arguments of Megatron-LM that change no memory, but that its launcher looks at, as a command has them:
    /// --moe-router-pre-softmax, --hierarchical-context-parallel-sizes 2 4.
    launcher_arguments: Option<String> = Field::text(1_000, "none").at(Hardware, All, "largs", "Other launcher arguments").job().own().also(&["hierarchical_context_parallel_sizes", "moe_router_pre_softmax", "mrope_section", "calculate_per_token_loss", "check_for_nan_in_loss_and_grad"]);
    /// Single differences from megatron_main, besides those of the chosen software.
    software_facts: NameSet<SoftwareFact> = Field::set(SoftwareFact::NAMES, "").at(Hardware, All, "facts", "Software differences").job().own();

    // CUDA graphs
    /// What captures CUDA graphs: transformer_engine and local capture layer by layer, full_iteration all passes of an
    /// iteration.
    cuda_graph_impl: CudaGraphImpl = Field::choice(CudaGraphImpl::NAMES, "none").at(Kernels, All, "cg", "CUDA graphs").also(&["enable_cuda_graph", "external_cuda_graph"]);
    /// What graphs of layers capture; nothing chosen is whole layers.
    cuda_graph_modules: NameSet<CudaGraphModule> = Field::set(CudaGraphModule::NAMES, "").at(Kernels, All, "cgmod", "Captured modules").also(&["cuda_graph_scope"]).relevant_if(CudaGraphs);
    /// Iterations before graphs are captured. Their passes need what they need without graphs, and count for the peak.
    /// With cuda_graph_impl local these are passes of each layer before its capture, in the first iteration.
    cuda_graph_warmup_steps: u64 = Field::int(0, 1_000_000, 3).at(Kernels, All, "cgwarm", "Iterations before capture").unit("iterations").relevant_if(CudaGraphs);

    // Linear attention
    /// Layers with other attention. gdn: linear attention by the gated delta net of Qwen3-Next and Qwen3.5; gdn2: the
    /// same with gates for every channel, also for G in a layer pattern. dsa: sparse attention as in DeepSeek-V3.2,
    /// which needs MLA. dsv4_hybrid: compressed attention as in DeepSeek-V4, which Megatron-LM's dev branch builds.
    experimental_attention_variant: Option<AttentionVariant> = Field::optional_choice(AttentionVariant::NAMES, "softmax attention in every layer").at(Attention, All, "eav", "Attention variant").also(&["gated delta net", "linear attention", "DSA", "DeepSeek sparse attention"]);
    /// Which layers keep softmax attention: N for every N-th layer, or a list with 1 for linear and 0 for softmax
    /// layers.
    linear_attention_freq: LayerPattern = Field::layer_pattern().at(Attention, All, "lafreq", "Linear attention layers").relevant_if(LinearAttention).parsed_as_none();
    /// Width of the causal convolution over queries, keys and values of a linear attention layer.
    linear_conv_kernel_dim: u64 = Field::int(1, 1_000, 4).at(Attention, All, "laconv", "Convolution width").symbol("c").relevant_if(LinearAttention);
    /// Width of one query and key head of a linear attention layer.
    linear_key_head_dim: u64 = Field::int(1, 1_000_000, 128).at(Attention, All, "lakd", "Linear K head width").symbol("d_lk").relevant_if(LinearAttention);
    /// Width of one value head of a linear attention layer.
    linear_value_head_dim: u64 = Field::int(1, 1_000_000, 128).at(Attention, All, "lavd", "Linear V head width").symbol("d_lv").relevant_if(LinearAttention);
    /// Query and key heads of a linear attention layer.
    linear_num_key_heads: u64 = Field::int(1, 100_000, 16).at(Attention, All, "lank", "Linear K heads").symbol("n_lk").relevant_if(LinearAttention);
    /// Value heads of a linear attention layer.
    linear_num_value_heads: u64 = Field::int(1, 100_000, 32).at(Attention, All, "lanv", "Linear V heads").symbol("n_lv").relevant_if(LinearAttention);
    /// A gate on the output of softmax attention; linear_qkv makes it too and is one query wider.
    attention_output_gate: bool = Field::flag(false).at(Attention, All, "agate", "Attention output gate");

    // Encoder
    /// What a module starts with: a word embedding, patches of images, or a sound's spectrum. features means that it
    /// gets vectors from elsewhere. A module with a word embedding has an output layer too.
    front_end: Option<FrontEnd> = Field::optional_choice(FrontEnd::NAMES, "tokens for the language model, features for other modules").at(Encoder, More, "front", "Front end").own().also(&["vision", "audio", "encoder"]).relevant_if(IsEncoder);
    /// Height of an image in pixels.
    img_h: Option<u64> = Field::derived(1, 1_000_000, "the sequence length says how many tokens an item has").at(Encoder, More, "imgh", "Image height").unit("pixels").also(&["image_size"]).relevant_if(IsEncoder).rarely_counts();
    /// Width of an image in pixels.
    img_w: Option<u64> = Field::derived(1, 1_000_000, "the height").at(Encoder, More, "imgw", "Image width").unit("pixels").relevant_if(IsEncoder).rarely_counts();
    /// Side of a patch in pixels.
    patch_dim: u64 = Field::int(1, 10_000, 16).at(Encoder, More, "patch", "Patch size").symbol("p").unit("pixels").also(&["patch_size"]).relevant_if(IsEncoder).rarely_counts();
    /// Frames that one patch covers.
    temporal_patch_size: u64 = Field::int(1, 1_000, 1).at(Encoder, All, "tpatch", "Temporal patch").symbol("p_t").unit("frames").own().relevant_if(IsEncoder);
    /// Color channels of an image.
    num_channels: u64 = Field::int(1, 10_000, 3).at(Encoder, All, "chan", "Channels").symbol("c_in").also(&["in_channels"]).relevant_if(IsEncoder).rarely_counts();
    /// A bias on the patch embedding.
    patch_bias: bool = Field::flag(true).at(Encoder, All, "pbias", "Patch bias").own().relevant_if(IsEncoder);
    /// Tensor-parallel ranks split the patch embedding and gather its output, as RADIO's `embedder`.
    patch_embedding_split: bool = Field::flag(false).at(Encoder, All, "psplit", "Patch embedding split").own().relevant_if(IsEncoder);
    /// Frequency bands of a sound's spectrum.
    num_mel_bins: u64 = Field::int(1, 100_000, 128).at(Encoder, More, "mel", "Mel bins").symbol("n_mel").own().relevant_if(IsEncoder);
    /// Channels of the three 2-D convolutions with step 2 that a sound's spectrum goes through, as in Qwen3-Omni. Left
    /// out, it goes through two 1-D convolutions, as in Whisper.
    downsample_hidden_size: Option<u64> = Field::derived(1, 100_000, "two 1-D convolutions, as in Whisper").at(Encoder, All, "audconv", "Channels of audio convolutions").symbol("c_down").own().relevant_if(IsEncoder);
    /// Half of the frames of a chunk, in which the 2-D convolutions take a spectrum in.
    n_window: u64 = Field::int(1, 100_000, 50).at(Encoder, All, "audwin", "Half an audio chunk").symbol("w").unit("frames").own().relevant_if(IsEncoder);
    /// Learned tokens that stand before the patches.
    class_token_len: u64 = Field::int(0, 100_000, 0).at(Encoder, More, "cls", "Class tokens").symbol("n_cls").own().relevant_if(IsEncoder);
    /// Rows of an encoder's position table. Left out, one for every token of an item if positions are learned.
    num_position_embeddings: Option<u64> = Field::derived(0, 1_000_000_000, "one for every token of an item if positions are learned").at(Encoder, All, "npos", "Position table rows").own().relevant_if(IsEncoder);
    /// A norm before the first layer.
    encoder_pre_norm: bool = Field::flag(false).at(Encoder, All, "prenorm", "Norm before the layers").own().also(&["ln_pre"]).relevant_if(IsEncoder);
    /// A norm after the last layer.
    encoder_post_norm: bool = Field::flag(false).at(Encoder, All, "postnorm", "Norm after the layers").own().also(&["ln_post"]).relevant_if(IsEncoder);
    /// Every layer scales its attention's and its MLP's output by a learned vector.
    layer_scaling: bool = Field::flag(false).at(Encoder, All, "lscale", "Layer scaling").own().relevant_if(IsEncoder);
    /// The norms on queries and keys span all heads of a rank instead of one head.
    qk_layernorm_all_heads: bool = Field::flag(false).at(Attention, All, "qknall", "Q/K norm over all heads").own().relevant_if(OwnKeysAndValues);
    /// Items such as images or sounds in one sample, on average.
    items_per_sample: Decimal = Field::decimal(1, 100_000_000_000, 1_000_000).at(Encoder, More, "items", "Items per sample").unit("items").own().relevant_if(IsEncoder);
    /// Tokens of the language model that the images of one sample become, at most; of samples that are packed to one
    /// length, those of a whole row. They stand in for the size and the number of images.
    image_tokens_per_sample: Option<u64> = Field::derived(0, 100_000_000, "the size of an image and the items per sample").at(Encoder, More, "imgtok", "Image tokens per sample").unit("tokens").own().also(&["max_pixels", "image_max_token_num"]).relevant_if(IsEncoder);
    /// Tokens of the language model that the sounds of one sample become, at most; of samples that are packed to one
    /// length, those of a whole row. They stand in for the length and the number of sounds.
    audio_tokens_per_sample: Option<u64> = Field::derived(0, 100_000_000, "the rows of the position table and the items per sample").at(Encoder, More, "audtok", "Audio tokens per sample").unit("tokens").own().relevant_if(IsEncoder);
    /// Every tensor-parallel rank has the whole encoder and runs it on all images, as encoders of Hugging Face are
    /// built into a Megatron model.
    replicated: bool = Field::flag(false).at(Encoder, All, "replic", "Whole on every TP rank").own().relevant_if(IsEncoder);
    /// Tokens of the fullest micro batch over the mean. Images differ in size and number, and the fullest micro batch
    /// is what runs out of memory.
    token_imbalance: Decimal = Field::decimal(1_000_000, 1_000_000_000, 1_000_000).at(Encoder, More, "tokimb", "Token imbalance").own().relevant_if(IsEncoder);
    /// Neighboring patches that become one token of the language model, along each side; of sounds, neighboring tokens.
    spatial_merge_size: u64 = Field::int(1, 1_000, 1).at(Encoder, More, "merge", "Spatial merge").symbol("m").own().also(&["pixel_shuffle", "downsample_ratio"]).relevant_if(IsEncoder);
    /// How an encoder's output becomes the language model's input.
    projector: ProjectorKind = Field::choice(ProjectorKind::NAMES, "none").at(Encoder, More, "proj", "Projector").own().also(&["connector", "merger", "adapter"]).relevant_if(IsEncoder);
    /// Width of what the projector gets. Left out, the hidden size times the merged patches.
    projector_input_size: Option<u64> = Field::derived(1, 100_000_000, "the hidden size times the merged patches").at(Encoder, All, "projin", "Projector input").symbol("p_in").own().relevant_if(IsEncoder);
    /// Inner width of the projector. Left out, what it puts out.
    projector_hidden_size: Option<u64> = Field::derived(1, 100_000_000, "what it puts out").at(Encoder, All, "projf", "Projector inner width").symbol("p_f").own().relevant_if(IsEncoder);
    /// Width of what the projector puts out. Left out, the language model's hidden size.
    projector_output_size: Option<u64> = Field::derived(1, 100_000_000, "the language model's hidden size").at(Encoder, All, "projout", "Projector output").symbol("p_out").own().relevant_if(IsEncoder);
    /// A linear layer without a bias makes one vector of the hidden size out of merged patches before the projector, as
    /// in Mistral 3.
    projector_merger: bool = Field::flag(false).at(Encoder, All, "projm", "Projector merges by a layer").own().relevant_if(IsEncoder);
    /// Tensor-parallel ranks split the projector of an encoder that each of them has in full, as that of Gemma 3.
    projector_split: bool = Field::flag(false).at(Encoder, All, "projs", "Projector split").own().relevant_if(IsEncoder);
    /// Biases of the projector.
    projector_bias: bool = Field::flag(true).at(Encoder, All, "projb", "Projector biases").own().relevant_if(IsEncoder);
    /// The norm at the projector's entry: none, over one patch, or over the merged patches.
    projector_norm: ProjectorNorm = Field::choice(ProjectorNorm::NAMES, "none").at(Encoder, All, "projn", "Projector norm").own().relevant_if(IsEncoder);
    /// Further projectors on the output of inner layers, whose results the language model adds to its first layers.
    deepstack_projectors: u64 = Field::int(0, 1_000, 0).at(Encoder, All, "deep", "Deepstack projectors").own().also(&["deepstack_visual_indexes"]).relevant_if(IsEncoder);
    /// The projectors are not trained. The module's own switch leaves them alone.
    projector_frozen: bool = Field::flag(false).at(Encoder, All, "projz", "Projector frozen").own().relevant_if(IsEncoder);

    // Hybrid models
    /// The layers of a HybridModel, one letter each: M Mamba, * attention, - MLP, E MoE, G gated delta net, + MLA, D
    /// sparse attention. | ends a pipeline stage, / begins an MTP depth: M-M-|M-M*-/MM. It says how many layers and MTP
    /// depths there are.
    hybrid_layer_pattern: Option<String> = Field::text(20_000, "every layer has attention and an MLP").at(Model, More, "hyb", "Layer pattern").also(&["hybrid_override_pattern", "layers_block_type", "mamba", "nemotron"]);
    /// Layers with sizes of their own, one entry a layer: nkv8.f14336*3 are three layers with 8 query groups and an MLP
    /// of 14336, noattn and nomlp are layers without attention or MLP, - is a layer with the sizes above, and
    /// (nkv8,-*2)*4 repeats several. Behind / are the layers of an MTP depth. Megatron-LM has
    /// --heterogeneous-layers-config-path for it.
    layer_sizes: Option<String> = Field::text(20_000, "every layer has the sizes of the model").at(Model, All, "lsizes", "Sizes of single layers").own().also(&["heterogeneous_layers_config_encoded_json", "heterogeneous_layers_config_path", "block_configs", "puzzle"]);
    /// Which modules the letters of the pattern stand for. gated_delta_product_stack_spec builds gated delta products
    /// for M.
    spec: HybridStackSpec = Field::choice(HybridStackSpec::NAMES, "hybrid_stack_spec").at(Model, All, "spec", "Layer spec").relevant_if(HybridLayers).takes_many_words().parsed_as_none();
    /// Width of the state that a Mamba head keeps for each of its columns.
    mamba_state_dim: u64 = Field::int(1, 1_000_000, 128).at(Model, More, "mstate", "Mamba state size").symbol("N").also(&["ssm_state_size", "mamba_d_state"]).relevant_if(MambaLayers);
    /// Width of one Mamba head.
    mamba_head_dim: u64 = Field::int(1, 1_000_000, 64).at(Model, More, "mhead", "Mamba head width").symbol("d_m").also(&["mamba_d_head"]).relevant_if(MambaLayers);
    /// Groups of Mamba heads that share their input and output projections of the state. TP must divide them.
    mamba_num_groups: u64 = Field::int(1, 100_000, 8).at(Model, More, "mgroups", "Mamba groups").symbol("g_m").also(&["n_groups", "mamba_n_groups"]).relevant_if(MambaLayers);
    /// Mamba heads of each layer. Left out, twice the hidden size over the head width.
    mamba_num_heads: Option<u64> = Field::derived(1, 1_000_000, "2·h / Mamba head width").at(Model, More, "mheads", "Mamba heads").symbol("n_m").also(&["mamba_n_heads"]).relevant_if(MambaLayers);
    /// Convolution, scan and gate of Mamba in one kernel that computes most of its tensors again in the backward pass.
    use_mamba_mem_eff_path: bool = Field::flag(true).at(Kernels, All, "mmem", "Mamba's fused kernel").turned_off_by("disable-mamba-mem-eff-path").relevant_if(MambaLayers);
    /// All MTP depths share one set of parameters. Each depth still keeps its own activations.
    mtp_use_repeated_layer: bool = Field::flag(false).at(Model, All, "mtprep", "One MTP layer for all depths").relevant_if(MtpDepths);
    /// Squared ReLU of the experts and its product with the router's probability in one kernel, which keeps no result
    /// in between.
    use_fused_weighted_squared_relu: bool = Field::flag(false).at(Kernels, All, "wsrf", "Fused weighted squared ReLU").relevant_if(Experts);

    // Attention variants
    /// One projection makes compressed queries, keys and values of MLA and has the input norm in it. Tensor-parallel
    /// ranks split it, while each holds separate down projections in full. It needs q_lora_rank.
    mla_down_proj_fusion: bool = Field::flag(false).at(Attention, All, "mladp", "Fused down projection").relevant_if(LatentAttention);
    /// An L2 norm on queries and keys, which has no parameters. It takes the place of qk_layernorm's norms.
    qk_l2_norm: bool = Field::flag(false).at(Attention, All, "qkl2", "Q/K L2 norm").relevant_if(OwnKeysAndValues);
    /// Several residual streams that learned matrices mix before and after each half of a layer. Megatron-LM's dev branch
    /// builds such layers, as enable_hyper_connections; at the pinned revision no layer spec does.
    enable_mhc_connections: bool = Field::flag(false).at(Model, All, "mhc", "Hyper-connections").also(&["enable_hyper_connections", "mHC"]);
    /// Residual streams of a model with hyper-connections.
    mhc_num_residual_streams: u64 = Field::int(1, 1_000, 4).at(Model, All, "mhcn", "Residual streams").symbol("n_s").also(&["num_residual_streams", "hc_mult"]).relevant_if(HyperConnections);
    /// Layers of a group that recompute module mhc runs again together: it discards what it made for all of them when the
    /// last one is done. Left out, all layers of a chunk are one group.
    mhc_recompute_layer_num: Option<u64> = Field::derived(1, 10_000, "all layers of a chunk").at(MemorySavers, All, "mhcrc", "Layers of a group of mhc").relevant_if(HyperConnections);
    /// Fused kernels of hyper-connections. On Blackwell those of cuTile read the residual streams as they are; all others
    /// make a copy of them in fp32. An argument of Megatron-LM's dev branch.
    use_fused_mhc: bool = Field::flag(false).at(Kernels, All, "mhcf", "Fused hyper-connections").own().relevant_if(HyperConnections);
    /// Heads of the indexer of sparse attention, which scores every earlier token for each token.
    dsa_indexer_n_heads: Option<u64> = Field::derived(1, 100_000, "must be given for sparse attention").at(Attention, More, "dsan", "Indexer heads").symbol("n_i").also(&["index_n_heads", "lightning indexer"]).relevant_if(SparseAttention);
    /// Width of a head of the indexer.
    dsa_indexer_head_dim: Option<u64> = Field::derived(1, 1_000_000, "must be given for sparse attention").at(Attention, More, "dsad", "Indexer head width").symbol("d_i").also(&["index_head_dim"]).relevant_if(SparseAttention);
    /// Tokens that each token attends to: those with the best scores.
    dsa_indexer_topk: Option<u64> = Field::derived(1, 1_000_000_000, "must be given for sparse attention").at(Attention, More, "dsak", "Indexer top-k").symbol("k_i").unit("tokens").also(&["index_topk"]).relevant_if(SparseAttention);
    /// Only every N-th layer has an indexer; the layers after it use the tokens that it picked.
    dsa_indexer_topk_freq: u64 = Field::int(1, 10_000, 1).at(Attention, All, "dsaf", "Indexer every N layers").also(&["index_topk_freq"]).relevant_if(SparseAttention);
    /// The first layers that all have an indexer, where only every N-th later layer has one. 0 counts as 1.
    dsa_indexer_skip_topk_offset: u64 = Field::int(0, 10_000, 0).at(Attention, All, "dsao", "First layers with indexer").unit("layers").also(&["index_skip_topk_offset"]).relevant_if(SparseAttention);
    /// Weight of the loss that trains the indexer. Left out or 0, the indexer is not trained and keeps nothing for a
    /// backward pass.
    dsa_indexer_loss_coeff: Option<Decimal> = Field::optional_decimal(0, 1_000_000_000_000, "no loss: the indexer is not trained").at(Attention, All, "dsal", "Indexer loss weight").trains().relevant_if(SparseAttention);
    /// The indexer's loss looks only at the tokens that were picked instead of all earlier ones.
    dsa_indexer_use_sparse_loss: bool = Field::flag(false).at(Attention, All, "dsas", "Sparse indexer loss").trains().relevant_if(SparseAttention);
    /// Fused kernels of sparse attention. Without them, and for sizes that they do not support, PyTorch operations
    /// compute and keep the scores of all pairs of tokens.
    dsa_kernel_backend: DsaKernelBackend = Field::choice(DsaKernelBackend::NAMES, "none").at(Kernels, All, "dsakb", "Sparse attention kernels").relevant_if(SparseAttention);
    /// Tokens before it, with itself, that each token of compressed attention attends to one by one.
    csa_window_size: u64 = Field::int(1, 1_000_000_000, 128).at(Attention, More, "csaw", "Attention window").symbol("w").unit("tokens").own().relevant_if(CompressedAttention);
    /// How many tokens each layer of compressed attention makes one key of: 0 for a window alone; 4 for compressed sparse
    /// attention, where an indexer picks such keys; 128 for heavily compressed attention, to all of them. A Python list
    /// with an entry for each layer, and behind them one for each MTP depth: [0]*2+[4,128]*20+[4,0].
    csa_compress_ratios: Option<String> = Field::text(20_000, "must be given for compressed attention").at(Attention, More, "csar", "Tokens of a compressed key").own().also(&["compress_ratios", "CSA", "HCA"]).relevant_if(CompressedAttention);
    /// Layers of compressed sparse attention attend to all compressed keys and have no indexer.
    csa_dense_mode: bool = Field::flag(false).at(Attention, All, "csad", "All compressed keys").own().relevant_if(CompressedAttention);
    /// Groups of heads whose outputs compressed attention projects each by itself.
    o_groups: u64 = Field::int(1, 100_000, 8).at(Attention, More, "ogrp", "Output groups").symbol("g_o").own().relevant_if(CompressedAttention);
    /// Width of the projected output of a group of heads.
    o_lora_rank: u64 = Field::int(1, 1_000_000, 1024).at(Attention, More, "olora", "Output rank").symbol("r_o").own().relevant_if(CompressedAttention);
    /// First layers that send a token to experts by its number in the vocabulary, from a table, instead of by scores. An
    /// argument of Megatron-LM's dev branch.
    moe_n_hash_layers: u64 = Field::int(0, 10_000, 0).at(Moe, All, "hashl", "Hash-routed layers").unit("layers").own().also(&["num_hash_layers"]).relevant_if(Experts);
    /// Householder steps that a gated delta product takes for each token.
    gdp_num_householder: u64 = Field::int(1, 1_000, 3).at(Model, More, "gdph", "Householder steps").symbol("k_h").relevant_if(DeltaProducts);

    // Megatron FSDP
    /// Parameters, gradients and optimizer states are split over data-parallel ranks layer by layer, and gathered where
    /// a layer runs. It brings the distributed optimizer with it.
    use_megatron_fsdp: bool = Field::flag(false).at(Optimizer, More, "fsdp", "Megatron FSDP").also(&["use_custom_fsdp", "FSDP", "ZeRO-3"]);
    /// What Megatron FSDP splits over data-parallel ranks: nothing, the optimizer states, these and the gradients, or
    /// all of them and the parameters.
    data_parallel_sharding_strategy: ShardingStrategy = Field::choice(ShardingStrategy::NAMES, "optim_grads_params").at(Optimizer, More, "fsdps", "FSDP splits").also(&["ZeRO stage"]).relevant_if(MegatronFsdp);
    /// With several optimizer instances: whether main parameters and optimizer states are also split between the
    /// instances.
    outer_dp_sharding_strategy: OuterShardingStrategy = Field::choice(OuterShardingStrategy::NAMES, "no_shard").at(Optimizer, All, "fsdpo", "FSDP between instances").also(&["HSDP"]).relevant_if(MegatronFsdp);
    /// Dtype of main parameters with Megatron FSDP. auto keeps none: the optimizer updates the parameters themselves.
    megatron_fsdp_main_params_dtype: FsdpDtype = Field::choice(FsdpDtype::NAMES, "fp32").at(Optimizer, More, "fsdpmp", "FSDP main params").relevant_if(MegatronFsdp);
    /// Dtype of main gradients with Megatron FSDP. auto is the parameters' own, and bf16 for parameters in fp8.
    megatron_fsdp_main_grads_dtype: FsdpDtype = Field::choice(FsdpDtype::NAMES, "auto").at(Optimizer, More, "fsdpmg", "FSDP main grads").relevant_if(MegatronFsdp);
    /// Dtype in which Megatron FSDP reduces gradients. auto is that of the main gradients.
    megatron_fsdp_grad_comm_dtype: FsdpDtype = Field::choice(FsdpDtype::NAMES, "auto").at(Optimizer, All, "fsdpgc", "FSDP gradient reduction").relevant_if(MegatronFsdp);
    /// Elements of gathered parameters and unreduced gradients that may be in flight. Parameters are gathered ahead up
    /// to half of it. Left out, at least a billion.
    suggested_communication_unit_size: Option<u64> = Field::derived(1, 1_000_000_000_000, "a billion, or two layers where that is more").at(Optimizer, All, "fsdpu", "FSDP communication size").unit("elements").relevant_if(MegatronFsdp);
    /// Two sets of buffers for gathered parameters and unreduced gradients stay for the whole run, and every layer uses
    /// them in turn.
    fsdp_double_buffer: bool = Field::flag(false).at(Optimizer, All, "fsdpdb", "FSDP double buffer").relevant_if(MegatronFsdp);
    /// The double buffers are as large as the largest layer needs, so that layers of every kind use them. It turns the
    /// double buffer on.
    megatron_fsdp_max_pool_double_buffer: bool = Field::flag(false).at(Optimizer, All, "fsdpxp", "FSDP buffers for all layers").relevant_if(MegatronFsdp);
    /// What does not fit the double buffers has buffers of its own that stay, instead of new ones each time.
    fsdp_db_use_persist_buf_on_alloc_fail: bool = Field::flag(false).at(Optimizer, All, "fsdppb", "FSDP buffers stay").relevant_if(MegatronFsdp);
    /// Buffers for communication are registered with NCCL. With Megatron FSDP it turns the double buffer on.
    use_nccl_ub: bool = Field::flag(false).at(Optimizer, All, "ncclub", "NCCL user buffers").relevant_if(MegatronFsdp).stored_as("nccl_ub");
    /// Megatron FSDP keeps the transposed copies of weights in fp8 instead of dropping them after each layer.
    keep_fp8_transpose_cache: bool = Field::flag(false).at(Optimizer, All, "fsdptc", "FSDP keeps fp8 transposes").relevant_if(MegatronFsdp);
    /// Parameters are made layer by layer when they are split, so that the whole model is on no GPU at the start.
    init_model_with_meta_device: bool = Field::flag(false).at(Optimizer, All, "meta", "Model made on meta device").relevant_if(MegatronFsdp).rarely_counts();
    /// PyTorch's FSDP2: every parameter, gradient and optimizer state is split over data-parallel ranks along its first
    /// dimension, and layers are gathered while they run. It excludes the distributed optimizer.
    use_torch_fsdp2: bool = Field::flag(false).at(Optimizer, More, "fsdp2", "PyTorch FSDP2").also(&["fully_shard", "torch FSDP", "ZeRO-3"]);
    /// FSDP2 drops a layer's gathered parameters after its forward pass, and gathers them again for the backward pass.
    /// Otherwise they stay in between.
    torch_fsdp2_reshard_after_forward: bool = Field::flag(true).at(Optimizer, All, "fsdp2rs", "FSDP2 reshards after forward").turned_off_by("torch-fsdp2-no-reshard-after-forward").relevant_if(TorchFsdp2);

    // Norms and MTP
    /// A second norm after attention and after a dense MLP, before their output is added to the residual stream.
    /// Megatron-Bridge builds Gemma 2 and 3 so.
    post_layernorm: bool = Field::flag(false).at(Model, All, "postln", "Norms after attention and MLP").own().also(&["sandwich norm"]);
    /// Attention and the MLP of a layer read the same normed input, and both are added to the residual stream at once.
    /// NeMo 1 builds Falcon 7B so.
    parallel_attention: bool = Field::flag(false).at(Model, All, "parattn", "Attention beside the MLP").own().also(&["parallel residual", "Falcon"]);
    /// In a MoE layer routed experts, shared experts and the router each get their input through a norm of their own, and
    /// norms stand after routed experts, after shared experts and after the sum of both. Factors are learned for the
    /// router's input and for each expert. PyTorch runs these norms in fp32 and keeps fp32 copies. Megatron-Bridge builds
    /// Gemma 4 so.
    separate_moe_norms: bool = Field::flag(false).at(Model, All, "moenorms", "Separate norms around experts").own().relevant_if(Experts);
    /// The router's weight stays in fp32 although the model is trained in 16 bits, and the router keeps a copy of its input
    /// in fp32. Megatron-Bridge builds MiniMax-M3 so.
    moe_router_weight_in_fp32: bool = Field::flag(false).at(Moe, All, "rw32", "Router's weight in fp32").own().also(&["MiniMax-M3"]).relevant_if(Experts);
    /// Inner width of the experts of a second pool, which only tokens of images and videos visit: it has a router and as
    /// many experts of its own, beside the one for tokens of text. Megatron-Bridge builds ERNIE 4.5 VL so. All tokens are
    /// counted as text, whose experts are as wide or wider.
    moe_vision_ffn_hidden_size: Option<u64> = Field::derived(1, 10_000_000, "one pool of experts for all tokens").at(Moe, All, "fev", "Width of vision experts").symbol("f_v").own().also(&["ERNIE 4.5 VL", "vision_moe_layer", "moe_intermediate_size"]).relevant_if(Experts);
    /// A norm without weights on the values of attention, which PyTorch runs in fp32. Megatron-Bridge builds Gemma 4 so.
    value_layernorm: bool = Field::flag(false).at(Attention, All, "vnorm", "Norm on values").own().relevant_if(OwnKeysAndValues);
    /// PyTorch computes the norms of layers in fp32, one operation after the other, and keeps copies in fp32; linear
    /// layers and the core of attention are Megatron's own (transformer_impl local), and only the norm after the last layer
    /// is in one kernel. The output of each layer is multiplied by a number. Megatron-Bridge builds the dense models of
    /// Gemma 4 so.
    layer_norms_in_fp32: bool = Field::flag(false).at(Model, All, "norm32", "Norms of layers in fp32").own().also(&["Gemma 4", "Gemma4Dense"]);
    /// Width of the embeddings per layer: a second table has a row of them for every token, one for each layer, which
    /// joins a projection of the word embedding and is multiplied into the residual stream behind the layer's MLP.
    per_layer_embed_dim: Option<u64> = Field::derived(1, 1_000_000, "no embeddings per layer").at(Model, All, "ple", "Width of embeddings per layer").symbol("p").own().also(&["Gemma 4", "hidden_size_per_layer_input", "PLE"]);
    /// Rows of the table of embeddings per layer. Left out, the padded vocabulary.
    per_layer_embed_vocab_size: Option<u64> = Field::derived(1, 100_000_000, "the padded vocabulary").at(Model, All, "plev", "Vocabulary of embeddings per layer").symbol("v_p").own().also(&["vocab_size_per_layer_input"]);
    /// Every layer has a Mamba mixer beside its attention: both read the same normed input, and their outputs are added.
    /// Numbers multiply what goes into them and what comes out of them, out of the MLP and out of the output layer, which
    /// leaves the activation of the MLP unfused, and the residual stream is in fp32. Megatron-Bridge builds Falcon-H1 so.
    mamba_beside_attention: bool = Field::flag(false).at(Model, More, "mbeside", "Mamba beside attention").own().also(&["Falcon-H1", "parallel hybrid"]);
    /// The output of a Mamba mixer's scan goes through a norm.
    mamba_rms_norm: bool = Field::flag(true).at(Model, All, "mnorm", "Norm in Mamba mixers").own().relevant_if(MambaLayers);
    /// Tokens that one step of Mamba's scan works on.
    mamba_chunk_size: u64 = Field::int(1, 65_536, 128).at(Model, All, "mchunk", "Mamba chunk size").unit("tokens").own().relevant_if(MambaLayers);
    /// Layers of a block of Kimi K3, as Megatron-Bridge builds it. The first layer of each block takes a snapshot of the
    /// residual stream; attention and MLP of every layer read a weighted sum of all snapshots and the stream, which PyTorch
    /// computes in fp32. Layers that linear_attention_freq lists have delta attention, with linear_num_value_heads heads
    /// and a convolution of its own for queries, keys and values, the others latent attention without positions; the
    /// outputs of both have a gate, MLPs have SiTU, and a norm stands before routed experts leave the latent space.
    kimi_attn_res_block_size: Option<u64> = Field::derived(1, 10_000, "plain residual connections").at(Model, All, "attnres", "Layers of an attention residual").unit("layers").own().also(&["Kimi K3", "attn_res_block_size", "AttnRes", "attention residuals", "KDA", "kimi_kda_layers"]);
    /// The layer of an MTP depth has a dense MLP although the last layer of the model has experts. Megatron-Bridge
    /// builds K-EXAONE and Step-3.5 so.
    mtp_dense: bool = Field::flag(false).at(Model, All, "mtpdense", "MTP layers without experts").own().relevant_if(MtpDepths);
    /// Soft cap on the scores of attention, as Gemma 2 has one. NeMo 2 has attention of its own for it, which keeps
    /// scores and probabilities: that goes with attention_backend unfused. The other kernels keep what they keep
    /// without a cap, as FlexAttention in Megatron-Bridge does. The value changes no sizes.
    attn_logit_softcapping: Option<Decimal> = Field::optional_decimal(1, 1_000_000_000_000, "no cap").at(Attention, All, "acap", "Cap on attention scores").own();
    /// Soft cap on the logits of the output layer, as NeMo 2 and Megatron-Bridge build Gemma 2. It keeps a tensor as
    /// large as the logits. The value changes no sizes.
    final_logit_softcapping: Option<Decimal> = Field::optional_decimal(1, 1_000_000_000_000, "no cap").at(Model, All, "lcap", "Cap on logits").own();
    /// Labels of sequence classification. A layer with a logit for each label takes the place of the output layer over
    /// the vocabulary, as ms-swift builds it (task_type seq_cls, or a reward model with one label); every
    /// tensor-parallel rank has all of it, and beside adapters a copy of it is trained. Left out, a language model is
    /// trained.
    num_labels: Option<u64> = Field::derived(1, 1_000_000, "an output layer over the vocabulary").at(Model, All, "nlabels", "Labels").symbol("n_labels").own().also(&["seq_cls", "sequence classification", "reward model", "score head"]);

    // Adapters
    /// Adapters that are trained while the model's own parameters are frozen: LoRA, LoRA with separate matrices for
    /// queries, keys and values (canonical_lora), or DoRA, as Megatron-Bridge builds them.
    peft_type: AdapterType = Field::choice(AdapterType::NAMES, "none").at(Adapters, Essential, "peft", "Adapters").own().also(&["peft", "lora", "dora", "tuner_type", "train_type", "parameter-efficient fine-tuning"]);
    /// Rank of the adapters: columns of the first matrix and rows of the second. With 0 nothing is trained.
    peft_dim: u64 = Field::int(0, 100_000, 32).at(Adapters, Essential, "pdim", "Adapter rank").symbol("r").own().also(&["lora_rank", "rank"]).relevant_if(HasAdapters);
    /// Weight of the adapters' output, which is multiplied by alpha over the rank. It changes no sizes.
    peft_alpha: Option<u64> = Field::derived(0, 1_000_000_000, "32, or 64 with DoRA").at(Adapters, All, "palpha", "Adapter alpha").own().also(&["lora_alpha"]).relevant_if(HasAdapters);
    /// Probability of dropping values in adapters; above 0 a mask is kept.
    peft_dropout: Decimal = Field::decimal(0, 999_999, 0).at(Adapters, More, "pdrop", "Adapter dropout").own().also(&["lora_dropout"]).relevant_if(HasAdapters);
    /// Whether adapters drop values of their input or of their output.
    peft_dropout_position: AdapterDropout = Field::choice(AdapterDropout::NAMES, "pre").at(Adapters, All, "pdropat", "Adapter dropout position").own().relevant_if(HasAdapters);
    /// Linear layers that get adapters, separated by commas: names such as linear_qkv, or full names with *, such as
    /// *.layers.0.*.linear_qkv. Left out: linear_qkv, linear_proj, linear_fc1 and linear_fc2; with canonical_lora,
    /// linear_q, linear_k, linear_v, linear_proj, linear_fc1_up, linear_fc1_gate and linear_fc2.
    peft_target_modules: Option<String> = Field::text(20_000, "the projections of attention, MLPs and experts").at(Adapters, Essential, "ptarget", "Adapted layers").own().also(&["target_modules", "lora_modules"]).relevant_if(HasAdapters);
    /// In place of adapted layers: all linear layers get adapters but these. Names or full names with *, separated by
    /// commas.
    peft_exclude_modules: Option<String> = Field::text(20_000, "only the adapted layers have adapters").at(Adapters, All, "pexclude", "Layers without adapters").own().also(&["exclude_modules"]).relevant_if(HasAdapters);
    /// Tensor-parallel ranks split one matrix of an adapter and have the other in full, as in ms-swift: the first one
    /// beside column-parallel layers, the second beside row-parallel ones. Otherwise they split both, as in
    /// Megatron-Bridge.
    peft_whole_matrices: bool = Field::flag(false).at(Adapters, All, "pwhole", "Adapters split one matrix").own().relevant_if(HasAdapters);
    /// Modules of which PEFT trains a whole copy beside the adapters; the original stays, frozen.
    peft_modules_to_save: NameSet<ModuleToSave> = Field::set(ModuleToSave::NAMES, "").at(Adapters, More, "psave", "Modules trained as a whole").own().also(&["modules_to_save"]).relevant_if(HasAdapters);
    /// With sequence parallelism, adapters of linear_qkv and linear_fc1 keep this rank's part of their input and gather
    /// it again in the backward pass.
    peft_sequence_parallel_input_regather: bool = Field::flag(false).at(Adapters, More, "pgather", "Adapters gather their input again").own().also(&["sequence_parallel_input_regather"]).relevant_if(HasAdapters);
    /// Adapters of row-parallel layers exchange their output instead of gathering it, with sequence parallelism.
    peft_a2a_experimental: bool = Field::flag(false).at(Adapters, All, "pa2a", "Adapters exchange their output").own().also(&["a2a_experimental"]).relevant_if(HasAdapters);
    /// Adapters of routed experts have the rank divided by the number of experts that each token visits.
    peft_normalize_moe_lora: bool = Field::flag(false).at(Adapters, More, "pnorm", "Rank over top k for experts").own().also(&["normalize_moe_lora"]).relevant_if(ExpertAdapters);
    /// All routed experts of a rank share one adapter. Otherwise each has its own.
    peft_share_expert_adapters: bool = Field::flag(true).at(Adapters, More, "pshare", "One adapter for all experts").own().also(&["share_expert_adapters"]).relevant_if(ExpertAdapters);
    /// Routed experts share the first matrix of linear_fc1 and the second of linear_fc2, and each has the other two of
    /// its own.
    peft_experts_shared_outer_loras: bool = Field::flag(false).at(Adapters, All, "pouter", "Experts share outer matrices").own().also(&["experts_shared_outer_loras"]).relevant_if(ExpertAdapters);
}

impl FieldId {
    /// The field's kind and default, and what a form shows of it.
    #[must_use]
    pub fn field(self) -> &'static Field {
        #[allow(clippy::indexing_slicing, reason = "the table has one entry for every variant")]
        &FIELDS[self as usize]
    }

    /// The flag of Megatron-LM that sets the field; none where it has no flag for it.
    #[must_use]
    pub fn flag(self) -> Option<Flag> {
        #[allow(clippy::indexing_slicing, reason = "the table has one entry for every variant")]
        FLAGS[self as usize]
    }

    /// The name under which Megatron-LM's parser stores the field's value.
    #[must_use]
    pub fn destination(self) -> &'static str {
        self.flag().map_or(self.field().name, |flag| flag.destination)
    }

    /// Other names that readers and the search box accept: Megatron-Bridge's, Hugging Face's, plain words.
    #[must_use]
    pub fn aliases(self) -> &'static [&'static str] {
        #[allow(clippy::indexing_slicing, reason = "the table has one entry for every variant")]
        ALIASES[self as usize]
    }

    /// One or two sentences of help.
    #[must_use]
    pub fn help(self) -> &'static str {
        #[allow(clippy::indexing_slicing, reason = "the table has one entry for every variant")]
        HELP[self as usize]
    }

    /// The field with this Megatron name, in snake case or with dashes, or one of the accepted second names.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        const SECOND: &[(&str, FieldId)] = &[
            ("num_moe_experts", FieldId::num_experts),
            ("enable_hyper_connections", FieldId::enable_mhc_connections),
            ("num_residual_streams", FieldId::mhc_num_residual_streams),
            ("encoder_num_layers", FieldId::num_layers),
            ("encoder_seq_length", FieldId::seq_length),
            ("nccl_ub", FieldId::use_nccl_ub),
            ("use_custom_fsdp", FieldId::use_megatron_fsdp),
            (
                "microbatch_group_size_per_vp_stage",
                FieldId::microbatch_group_size_per_virtual_pipeline_stage,
            ),
        ];
        let name = name.trim_start_matches('-');
        let same = |(known, given): (u8, u8)| known == given || (known == b'_' && given == b'-');
        let is = |known: &str| known.len() == name.len() && known.bytes().zip(name.bytes()).all(same);
        let own = Self::ALL.iter().find(|id| is(id.field().name));
        own.copied().or_else(|| {
            let second = SECOND.iter().find(|(known, _)| is(known));
            second.map(|(_, id)| *id)
        })
    }

    /// The field whose value Megatron-LM's parser stores under this name.
    #[must_use]
    pub fn by_destination(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|id| id.destination() == name)
    }

    /// The field with this link key.
    #[must_use]
    pub fn by_key(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|id| id.field().key == key)
    }
}

/// Writes Megatron's name.
impl Serialize for FieldId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.field().name)
    }
}

/// Reads Megatron's name.
impl<'de> Deserialize<'de> for FieldId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<str>::deserialize(deserializer)?;
        Self::by_name(&name).ok_or_else(|| D::Error::custom(format!("no field is called {name}")))
    }
}
