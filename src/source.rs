//! Where numbers come from: one closed list of papers and of Megatron files and symbols at one pinned
//! revision. Moving the pin is one edit here and a run of the oracle tests.

mod citation;

pub use citation::{Citation, Origin};

/// The Megatron-LM commit that every Megatron-LM source is read at (2026-08-22).
pub const MEGATRON_LM_REVISION: &str = "d98e8a64ddf34856e74b24714e3bedb2f5a39553";
/// The commit of Megatron-LM's dev branch that sources of that branch are read at (2026-08-21).
pub const MEGATRON_LM_DEV_REVISION: &str = "d48bd6be0a85cc0d6d3cc71e8750cf357cc6bdb1";
/// The Megatron-Bridge commit that every Megatron-Bridge source is read at (2026-08-22).
pub const MEGATRON_BRIDGE_REVISION: &str = "067f987df03b8355b03192d88d70f1709fedf51a";

/// Declares the sources, each with its citation.
macro_rules! sources {
    ($($(#[doc = $what:literal])+ $name:ident = $citation:expr;)+) => {
        /// A place that states a number or a rule. Tensors carry it; programs that never show it are linked without the
        /// citations.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Source { $($(#[doc = $what])+ $name),+ }

        impl Source {
            /// Where to find it.
            #[must_use]
            pub const fn citation(self) -> Citation {
                match self { $(Self::$name => $citation),+ }
            }
        }
    };
}

sources! {
    /// `SelfAttention`: `linear_qkv` and `linear_proj`.
    SelfAttention = Citation::megatron("megatron/core/transformer/attention.py", "SelfAttention");
    /// Attention sinks.
    AttentionSinks = Citation::megatron(
        "megatron/core/transformer/dot_product_attention.py",
        "DotProductAttention.softmax_offset",
    );
    /// Multi-latent attention.
    Mla = Citation::megatron("megatron/core/transformer/multi_latent_attention.py", "MLASelfAttention");
    /// Down projections of MLA, which Transformer Engine holds in full on every rank.
    MlaDown = Citation::megatron(
        "megatron/core/transformer/multi_latent_attention.py",
        "MLASelfAttention.linear_kv_down_proj (parallel_mode duplicated)",
    );
    /// One projection in place of both down projections of MLA, which tensor-parallel ranks split.
    MlaFused = Citation::megatron("megatron/core/transformer/multi_latent_attention.py", "FusedMLASelfAttention");
    /// L2 norm on queries and keys.
    L2Norm = Citation::megatron("megatron/core/transformer/torch_norm.py", "L2Norm");
    /// The dense MLP.
    Mlp = Citation::megatron("megatron/core/transformer/mlp.py", "MLP");
    /// The router.
    Router = Citation::megatron("megatron/core/transformer/moe/router.py", "Router.weight");
    /// Grouped experts.
    Experts = Citation::megatron("megatron/core/transformer/moe/experts.py", "TEGroupedMLP");
    /// Shared experts.
    SharedExperts = Citation::megatron("megatron/core/transformer/moe/shared_experts.py", "SharedExpertMLP");
    /// Latent projections around the routed experts.
    Latent = Citation::megatron("megatron/core/transformer/moe/moe_layer.py", "MoELayer.fc1_latent_proj");
    /// The layer's norms.
    LayerNorms = Citation::megatron(
        "megatron/core/models/gpt/gpt_layer_specs.py",
        "get_gpt_layer_with_transformer_engine_submodules",
    );
    /// The norm after the last decoder layer.
    FinalNorm = Citation::megatron(
        "megatron/core/transformer/transformer_block.py",
        "TransformerBlock.final_layernorm",
    );
    /// Word and position embeddings.
    Embedding = Citation::megatron(
        "megatron/core/models/common/embeddings/language_model_embedding.py",
        "LanguageModelEmbedding",
    );
    /// The output layer.
    OutputLayer = Citation::megatron("megatron/core/models/gpt/gpt_model.py", "GPTModel.output_layer");
    /// Multi-token prediction.
    Mtp = Citation::megatron("megatron/core/transformer/multi_token_prediction.py", "MultiTokenPredictionLayer");
    /// Where the outputs of encoders join the embedded text.
    MimoModel = Citation::megatron("megatron/core/models/mimo/model/base.py", "MimoModel");
    /// Tensors between modules on different ranks.
    BridgeCommunicator = Citation::megatron(
        "megatron/core/pipeline_parallel/bridge_communicator.py",
        "BridgeCommunicator",
    );
    /// Image encoders: patches, class tokens, positions and the norm before the layers.
    ClipVit = Citation::megatron("megatron/core/models/vision/clip_vit_model.py", "CLIPViTModel");
    /// Audio encoders: two convolutions and a table of sines.
    WhisperEncoder = Citation::megatron_bridge(
        "examples/megatron_mimo/llava/whisper/whisper_model.py",
        "WhisperEncoder",
    );
    /// Audio encoders with 2-D convolutions: Qwen3-Omni's.
    Qwen3OmniAudio = Citation::transformers(
        "src/transformers/models/qwen3_omni_moe/modeling_qwen3_omni_moe.py",
        "Qwen3OmniMoeAudioEncoder",
    );
    /// The layers between an encoder and the language model.
    Projector = Citation::megatron("megatron/core/models/vision/multimodal_projector.py", "MultimodalProjector");
    /// Projectors of Qwen3-VL on the output of inner layers.
    PatchMerger = Citation::megatron_bridge(
        "src/megatron/bridge/models/qwen_vl/modelling_qwen3_vl/utils.py",
        "Qwen3VLVisionPatchMerger",
    );
    /// The biases of attention between text and images in Gemma 3.
    ImageAttentionBiases = Citation::megatron_bridge(
        "src/megatron/bridge/models/gemma_vl/modeling_gemma3_vl.py",
        "Gemma3VLModel._compute_attention_biases",
    );
    /// The projector of GLM-4.5V.
    GlmMerger = Citation::transformers("src/transformers/models/glm4v/modeling_glm4v.py", "Glm4vVisionPatchMerger");
    /// The layer of Mistral 3 that makes one vector out of four patches.
    Mistral3Merger = Citation::transformers(
        "src/transformers/models/mistral3/modeling_mistral3.py",
        "Mistral3PatchMerger",
    );
    /// Learned factors on the output of attention and MLP.
    LayerScaling = Citation::megatron("examples/multimodal/layer_scaling.py", "LayerScalingTransformerLayer");
    /// Norms on queries and keys over all heads of a rank.
    InternvitAttention = Citation::megatron("examples/multimodal/nvlm/internvit.py", "InternViTSelfAttention");
    /// Linear attention.
    GatedDeltaNet = Citation::megatron("megatron/core/ssm/gated_delta_net/common.py", "_GDNBase");
    /// Hyper-connections of the dev branch.
    HyperConnection = Citation::megatron_dev(
        "megatron/core/transformer/hyper_connection.py",
        "HyperConnectionModule, HyperConnectionTransformerLayer",
    );
    /// Their fused kernels.
    HyperConnectionFused = Citation::megatron_dev(
        "megatron/core/fusions/fused_mhc_kernels.py",
        "CutileProjRmsComputeH, TritonFusedSinkhorn",
    );
    /// One residual stream of all, behind the last layer.
    HyperConnectionHead = Citation::megatron_dev(
        "megatron/core/transformer/transformer_block.py",
        "TransformerBlock.postprocess_for_layer_schedule, learned_output_contract",
    );
    /// MTP between several residual streams.
    HyperConnectionMtp = Citation::megatron_dev(
        "megatron/core/transformer/multi_token_prediction.py",
        "MultiTokenPredictionLayer._concat_embeddings",
    );
    /// Groups of layers that recompute module `mhc` runs again together.
    HyperConnectionRecompute = Citation::megatron_dev(
        "megatron/core/tensor_parallel/random.py",
        "MHCCheckpointManager",
    );
    /// Compressed attention: its projections.
    Dsv4Attention = Citation::megatron_dev(
        "megatron/core/transformer/experimental_attention_variant/deepseek_v4_hybrid_attention.py",
        "DSv4HybridSelfAttention",
    );
    /// Compressed attention: its core, its compressors and its indexer.
    Csa = Citation::megatron_dev(
        "megatron/core/transformer/experimental_attention_variant/csa.py",
        "CompressedSparseAttention, Compressor, CSAIndexer",
    );
    /// Compressed attention by PyTorch operations.
    CsaUnfused = Citation::megatron_dev(
        "megatron/core/transformer/experimental_attention_variant/csa.py",
        "unfused_compressed_sparse_attn",
    );
    /// Compressed attention by fused kernels.
    CsaFused = Citation::megatron_dev(
        "megatron/core/transformer/experimental_attention_variant/ops/fused_sparse_attention.py",
        "CSASparseAttnFunc, FusedCSAIndexerSparseAttnFunc",
    );
    /// The loss of the indexer of compressed attention by PyTorch operations.
    CsaIndexerLoss = Citation::megatron_dev(
        "megatron/core/transformer/experimental_attention_variant/dsa.py",
        "FusedDSAIndexerLoss",
    );
    /// Routers that look experts up in a table of the vocabulary.
    HashRouting = Citation::megatron_dev("megatron/core/transformer/moe/router.py", "TopKRouter.tid2eid");
    /// Multi-latent attention in the latent space of keys and values.
    AbsorbedMla = Citation::megatron(
        "megatron/core/transformer/experimental_attention_variant/absorbed_mla.py",
        "AbsorbedMLASelfAttention",
    );
    /// Sparse attention.
    DsaAttention = Citation::megatron("megatron/core/transformer/experimental_attention_variant/dsa.py", "DSAttention");
    /// The indexer of sparse attention.
    DsaIndexer = Citation::megatron("megatron/core/transformer/experimental_attention_variant/dsa.py", "DSAIndexer");
    /// The loss of the indexer by PyTorch operations.
    DsaIndexerLoss = Citation::megatron(
        "megatron/core/transformer/experimental_attention_variant/dsa.py",
        "FusedDSAIndexerLoss",
    );
    /// `TileLang`'s kernels of sparse attention.
    DsaTilelang = Citation::megatron(
        "megatron/core/transformer/experimental_attention_variant/ops/tilelang_dsa.py",
        "fused_sparse_mla_absorbed, fused_qk_topk_lighting_with_streaming_sparse_kl",
    );
    /// Kernels of cuDNN and `FlashMLA` for sparse attention.
    DsaCudnn = Citation::megatron(
        "megatron/core/transformer/experimental_attention_variant/dsa_cudnn_kernels.py",
        "FusedIndexerSparseAttnFunc",
    );
    /// Gated delta net with gates for every channel.
    GatedDeltaNet2 = Citation::megatron("megatron/core/ssm/gated_delta_net/gdn2.py", "GatedDeltaNet2");
    /// Gated delta product.
    GatedDeltaProduct = Citation::megatron("megatron/core/ssm/gated_delta_product.py", "GatedDeltaProductMixer");
    /// Mamba-2 mixer.
    MambaMixer = Citation::megatron("megatron/core/ssm/mamba_mixer.py", "MambaMixer");
    /// Exchanges of the Mamba-2 mixer between context-parallel ranks.
    MambaContextParallel = Citation::megatron("megatron/core/ssm/mamba_context_parallel.py", "MambaContextParallel");
    /// Scan of the Mamba-2 mixer.
    MambaScan = Citation::mamba("mamba_ssm/ops/triton/ssd_combined.py", "MambaSplitConv1dScanCombinedFn");
    /// Gated norm of the Mamba-2 mixer.
    MambaNorm = Citation::mamba("mamba_ssm/ops/triton/layernorm_gated.py", "LayerNormFn");
    /// Parameter and gradient buffers.
    GradBuffer = Citation::megatron("megatron/core/distributed/param_and_grad_buffer.py", "_ParamAndGradBuffer");
    /// Sharded optimizer states.
    DistributedOptimizer = Citation::megatron("megatron/core/optimizer/distrib_optimizer.py", "DistributedOptimizer");
    /// Main parameters without the distributed optimizer.
    MainParams = Citation::megatron("megatron/core/optimizer/optimizer.py", "Float16OptimizerWithFloat16Params");
    /// Optimizers, with the states that they keep for each parameter.
    Optimizer = Citation::megatron(
        "megatron/core/optimizer/__init__.py",
        "_get_megatron_optimizer_based_on_param_groups",
    );
    /// Dtypes of the precision-aware optimizer.
    OptimizerConfig = Citation::megatron("megatron/core/optimizer/optimizer_config.py", "OptimizerConfig");
    /// A norm and the linear layer after it, in one module.
    TeLayernormLinear = Citation::transformer_engine(
        "transformer_engine/pytorch/module/layernorm_linear.py",
        "_LayerNormLinear",
    );
    /// Linear layers.
    TeLinear = Citation::transformer_engine("transformer_engine/pytorch/module/linear.py", "_Linear");
    /// Layouts of queries, keys and values.
    TeDotProduct = Citation::transformer_engine(
        "transformer_engine/pytorch/attention/dot_product_attention/utils.py",
        "get_qkv_layout",
    );
    /// cuDNN attention.
    CudnnAttention = Citation::transformer_engine(
        "transformer_engine/pytorch/attention/dot_product_attention/backends.py",
        "FusedAttnFunc",
    );
    /// `FlashAttention`.
    FlashAttention = Citation::transformer_engine(
        "transformer_engine/pytorch/attention/dot_product_attention/backends.py",
        "FlashAttention.forward",
    );
    /// Attention from matrix products.
    UnfusedAttention = Citation::transformer_engine(
        "transformer_engine/pytorch/attention/dot_product_attention/backends.py",
        "UnfusedDotProductAttention",
    );
    /// Megatron's own attention.
    LocalAttention = Citation::megatron(
        "megatron/core/transformer/dot_product_attention.py",
        "DotProductAttention.forward",
    );
    /// Rotary embedding.
    Rotary = Citation::megatron("megatron/core/models/common/embeddings/rope_utils.py", "apply_rotary_pos_emb");
    /// Rotary embedding in MLA.
    MlaRope = Citation::megatron(
        "megatron/core/transformer/multi_latent_attention.py",
        "MLASelfAttention.get_query_key_value_tensors",
    );
    /// Bias and activation function.
    BiasActivation = Citation::megatron("megatron/core/fusions/fused_bias_swiglu.py", "BiasSwiGLUFunction");
    /// Bias, dropout and residual.
    BiasDropout = Citation::megatron("megatron/core/fusions/fused_bias_dropout.py", "_bias_dropout_add_func");
    /// Tokens in the order of their experts.
    Permute = Citation::megatron("megatron/core/transformer/moe/moe_utils.py", "permute");
    /// Tokens on their way to the experts.
    Dispatch = Citation::megatron(
        "megatron/core/transformer/moe/token_dispatcher.py",
        "MoEAlltoAllTokenDispatcher.token_dispatch",
    );
    /// Tokens on their way back.
    Combine = Citation::megatron(
        "megatron/core/transformer/moe/token_dispatcher.py",
        "MoEAlltoAllTokenDispatcher.token_combine",
    );
    /// The activation function of experts, with the router's probability.
    ExpertActivation = Citation::megatron("megatron/core/transformer/moe/experts.py", "TEGroupedMLP.bias_act_func");
    /// Cross-entropy, step by step.
    CrossEntropy = Citation::megatron("megatron/core/tensor_parallel/cross_entropy.py", "_VocabParallelCrossEntropy");
    /// Cross-entropy, compiled.
    FusedCrossEntropy = Citation::megatron(
        "megatron/core/fusions/fused_cross_entropy.py",
        "_VocabParallelCrossEntropy",
    );
    /// Measured peaks of tests with compiled cross-entropy: one copy of the logits more than its source shows.
    FusedCrossEntropyRuns = Citation::megatron("tests/functional_tests/test_cases", "mem-max-allocated-bytes");
    /// Cross-entropy in one kernel.
    TeCrossEntropy = Citation::transformer_engine(
        "transformer_engine/pytorch/cross_entropy.py",
        "CrossEntropyFunction",
    );
    /// The attention mask that the data loader hands to a rank.
    AttentionMask = Citation::megatron("megatron/core/utils.py", "get_batch_on_this_tp_rank");
    /// Weight gradients of the output layer that wait for the end of an iteration.
    DeferredWgrad = Citation::megatron(
        "megatron/core/tensor_parallel/layers.py",
        "LinearWithGradAccumulationAndAsyncCommunication.backward",
    );
    /// Weight gradients of linear layers that are computed after the backward pass of several layers.
    DelayedWgrad = Citation::transformer_engine("transformer_engine/pytorch/module/_common.py", "WeightGradStore");
    /// Weight gradients of the output layer, computed at the end of an iteration.
    DrainedWgrad = Citation::megatron("megatron/core/utils.py", "drain_embedding_wgrad_compute");
    /// Where a data iterator keeps the micro batches of an iteration, of Megatron-Core 0.18.
    RerunDataIterator = Citation::page(
        "https://github.com/NVIDIA/Megatron-LM/blob/core_v0.18.2/megatron/core/rerun_state_machine.py",
        "RerunDataIterator.__next__",
    );
    /// How PyTorch's allocator splits blocks.
    SplitBlocks = Citation::pytorch("c10/cuda/CUDACachingAllocator.cpp", "should_split");
    /// Workspaces of cuBLAS handles.
    CublasWorkspace = Citation::pytorch("aten/src/ATen/cuda/CublasHandlePool.cpp", "parseChosenWorkspaceSize");
    /// The optimizer step of `PyTorch`'s `AdamW`.
    TorchAdamw = Citation::pytorch("torch/optim/adamw.py", "_multi_tensor_adamw");
    /// Workspaces of Transformer Engine.
    TeCublasWorkspace = Citation::transformer_engine(
        "transformer_engine/pytorch/cpp_extensions/gemm.py",
        "get_cublas_workspace",
    );
    /// Weights in fp8, kept from one micro batch to the next.
    TeFp8Weights = Citation::transformer_engine("transformer_engine/pytorch/module/base.py", "get_weight_workspace");
    /// Scales and amax histories of tensors in fp8.
    TeFp8State = Citation::transformer_engine("transformer_engine/pytorch/quantization.py", "RecipeState");
    /// Stand-ins for weight gradients that were added up already.
    DummyWgrad = Citation::transformer_engine("transformer_engine/pytorch/module/base.py", "get_dummy_wgrad");
    /// Buffers that all layers share.
    MemoryBuffer = Citation::megatron("megatron/core/utils.py", "GlobalMemoryBuffer");
    /// The table of rotary frequencies.
    RopeTable = Citation::megatron(
        "megatron/core/models/common/embeddings/rotary_pos_embedding.py",
        "RotaryEmbedding.forward",
    );
    /// The rotary tables of samples of different lengths.
    RopeTableCache = Citation::megatron(
        "megatron/core/models/common/embeddings/rotary_pos_embedding.py",
        "RotaryEmbedding.get_rotary_seq_len",
    );
    /// Cosines and sines that rotary embeddings with yarn keep.
    YarnTables = Citation::megatron(
        "megatron/core/models/common/embeddings/yarn_rotary_pos_embedding.py",
        "YarnRotaryEmbedding._set_cos_sin_cache",
    );
    /// Where each packed sample starts.
    CuSeqlens = Citation::megatron("megatron/core/packed_seq_params.py", "PackedSeqParams");
    /// The graph that a dispatcher's probabilities hold.
    GraphEnds = Citation::megatron("megatron/core/tensor_parallel/random.py", "CheckpointFunction.backward");
    /// The input that a stage holds on to.
    InputTensor = Citation::megatron(
        "megatron/core/transformer/transformer_block.py",
        "TransformerBlock.set_input_tensor",
    );
    /// Variables of the pipeline schedule.
    Schedules = Citation::megatron(
        "megatron/core/pipeline_parallel/schedules.py",
        "forward_backward_pipelining_without_interleaving",
    );
    /// Outputs of a pipeline stage that are sent.
    Deallocate = Citation::megatron("megatron/core/pipeline_parallel/schedules.py", "deallocate_output_tensor");
    /// Padding of parameter and gradient buffers.
    BufferLayout = Citation::megatron(
        "megatron/core/optimizer/distrib_optimizer.py",
        "DistributedOptimizer._compute_per_buffer_param_layout",
    );
    /// Adapters beside linear layers.
    Adapters = Citation::megatron_bridge("src/megatron/bridge/peft/utils.py", "ParallelLinearAdapter");
    /// Adapters of grouped experts, each expert with its own.
    ExpertAdapters = Citation::megatron_bridge("src/megatron/bridge/peft/utils.py", "GroupedExpertLinearAdapter");
    /// The lengths of rows that `DoRA` learns.
    Dora = Citation::megatron_bridge("src/megatron/bridge/peft/dora_layers.py", "DoRALinear");
    /// The buffers of Megatron FSDP.
    FsdpBuffers = Citation::megatron(
        "megatron/core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py",
        "ParamAndGradBuffer",
    );
    /// Parameters that Megatron FSDP gathers for a layer and ahead of it.
    FsdpGather = Citation::megatron(
        "megatron/core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py",
        "AllGatherPipeline.all_gather_params",
    );
    /// Gradients that wait to be reduced by Megatron FSDP.
    FsdpReduce = Citation::megatron(
        "megatron/core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py",
        "GradReducePipeline.reduce_gradients",
    );
    /// Parameters that PyTorch's FSDP2 gathers.
    TorchFsdp2Gather = Citation::pytorch(
        "torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py",
        "foreach_all_gather",
    );
    /// Gradients that PyTorch's FSDP2 reduces.
    TorchFsdp2Reduce = Citation::pytorch("torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py", "foreach_reduce");
    /// Recompute from kept inputs.
    Recompute = Citation::megatron("megatron/core/tensor_parallel/random.py", "CheckpointFunction");
    /// Gradients in fp32 for the optimizer step.
    GradientCopies = Citation::megatron(
        "megatron/core/optimizer/distrib_optimizer.py",
        "DistributedOptimizer._copy_model_grads_to_main_grads",
    );
    /// Moments in fp32 while the optimizer step runs.
    MomentCopies = Citation::transformer_engine(
        "transformer_engine/pytorch/optimizers/fused_adam.py",
        "FusedAdam.get_unscaled_state",
    );
    /// Main parameters in 16 bits, of which weights in fp8 are made.
    Fp8Cast = Citation::transformer_engine("transformer_engine/pytorch/tensor/utils.py", "cast_master_weights_to_fp8");
    /// Reserved beside allocated memory in published runs.
    ReservedRatio = Citation::page(
        "https://github.com/MooreThreads/SimuMax/blob/4dcaae513ba7679d56c116a17cd4a691ec41e252/docs/b200/b200_release_v1.2_summary.json",
        "max_reserved_mb over max_allocated_mb",
    );
    /// The sizes of `DeepEP`'s buffers (`Config`).
    DeepepBuffers = Citation::page(
        "https://github.com/deepseek-ai/DeepEP/blob/v1.2.1/csrc/config.hpp",
        "Config.get_nvl_buffer_size_hint",
    );
    /// The buffers of `HybridEP`.
    HybridEpBuffers = Citation::page(
        "https://github.com/deepseek-ai/DeepEP/blob/94a9f8f/csrc/hybrid_ep/buffer/intranode.cu",
        "NVLCoordinator::allocate_combine_buffers",
    );
    /// The map and the probabilities that the all-gather dispatcher keeps after a pass.
    GatheredTokens = Citation::megatron(
        "megatron/core/transformer/moe/token_dispatcher.py",
        "MoEAllGatherTokenDispatcher.dispatch_postprocess",
    );
    /// The maps that `HybridEP` makes of a layer's routing.
    HybridEpMaps = Citation::page(
        "https://github.com/deepseek-ai/DeepEP/blob/17cfb81/csrc/hybrid_ep/executor/executor.cu",
        "Executor::metadata_preprocess_core",
    );
    /// The rows of the tensors that experts get, where a rank has a fixed capacity.
    RankCapacity = Citation::megatron(
        "megatron/core/transformer/moe/token_dispatcher.py",
        "_HybridEPManager.setup_metadata",
    );
    /// The pages that hold what experts keep for their backward pass.
    PagedStash = Citation::megatron(
        "megatron/core/transformer/moe/paged_stash.py",
        "PagedStashManager.allocate_stash_buffers",
    );
    /// The numbers of the pages of one tensor.
    PagedTensor = Citation::megatron("megatron/core/transformer/moe/paged_stash.py", "PagedTensor");
    /// The output layer in MXFP8.
    OutputLayerInFp8 = Citation::megatron(
        "megatron/core/extensions/transformer_engine.py",
        "TELMHeadColumnParallelLinear",
    );
    /// The clamped input of fused quick GEGLU.
    ClampedQuickGeglu = Citation::megatron(
        "megatron/core/fusions/fused_bias_geglu.py",
        "weighted_bias_quick_geglu_impl",
    );
    /// The memory that captured graphs share.
    CudaGraphs = Citation::megatron("megatron/core/transformer/cuda_graphs.py", "CudaGraphManager");
    /// Inputs of captured layers: one for each layer and micro batch that are in flight at once.
    GraphInputs = Citation::megatron(
        "megatron/core/transformer/cuda_graphs.py",
        "TECudaGraphHelper._get_sample_arguments",
    );
    /// The attention mask among them.
    GraphMasks = Citation::megatron(
        "megatron/core/transformer/transformer_layer.py",
        "TransformerLayer.get_layer_static_inputs",
    );
    /// Gradients that replays of graphs read and write.
    GraphGradients = Citation::transformer_engine("transformer_engine/pytorch/graph.py", "_make_graphed_callables");
    /// Static inputs and outputs of local graphs, which lie in the pool of all graphs.
    GraphBuffers = Citation::megatron(
        "megatron/core/transformer/cuda_graphs.py",
        "_CudaGraphRunner._weakref_forward_buffers",
    );
    /// The passes of a layer before its local graph is captured, and the main gradients that are copied for them.
    GraphWarmup = Citation::megatron("megatron/core/transformer/cuda_graphs.py", "_CudaGraphRunner.create_fwd_graph");
    /// A CUDA context and a NCCL communicator.
    CudaContext = Citation::page(
        "https://okoge-kaz.github.io/tools/memory-estimator",
        "CUDA context 300 to 500 MB, NCCL about 0.5 GB a communicator",
    );
    /// The part of an iteration in which a pipeline stage waits.
    PipelineBubble = Citation::page("https://arxiv.org/abs/2104.04473", "sections 2.2.1 and 2.2.2: pipeline bubble");
    /// Bytes that a rank sends in a collective operation.
    Collectives = Citation::page(
        "https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md",
        "Bandwidth: bus bandwidth of each collective",
    );
    /// Exchanges of tensor-parallel ranks in column- and row-parallel layers.
    TpCollectives = Citation::megatron(
        "megatron/core/tensor_parallel/layers.py",
        "LinearWithGradAccumulationAndAsyncCommunication",
    );
    /// Keys, values and their gradients, which context-parallel ranks pass around a ring.
    CpRing = Citation::transformer_engine(
        "transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py",
        "AttnFuncWithCPAndKVP2P",
    );
    /// Tokens that expert-parallel ranks exchange.
    EpDispatch = Citation::megatron("megatron/core/transformer/moe/token_dispatcher.py", "MoEAlltoAllTokenDispatcher");
    /// Gradients and parameters that data-parallel ranks exchange once a step.
    DpCollectives = Citation::megatron(
        "megatron/core/distributed/param_and_grad_buffer.py",
        "_ParamAndGradBucketGroup",
    );
    /// The rates of an H100: 1,979 TFLOP/s of bf16 with sparsity, 900 GB/s of `NVLink` in both directions.
    H100 = Citation::page("https://www.nvidia.com/en-us/data-center/h100/", "product specifications: H100 SXM");

    // Layers that Megatron-Bridge has of its own for single models, and the kernels that these call.
    /// Attention whose values have a width of their own and are scaled.
    MimoV2FlashAttention = Citation::megatron_bridge(
        "src/megatron/bridge/models/mimo_v2_flash/modeling_mimo_v2_flash.py",
        "MiMoV2FlashTEDotProductAttention",
    );
    /// Norms that PyTorch runs in fp32 around experts.
    Gemma4Norm = Citation::megatron_bridge("src/megatron/bridge/models/gemma/modeling_gemma4.py", "_gemma4_rms_norm");
    /// Attention with a norm on its values.
    Gemma4Attention = Citation::megatron_bridge(
        "src/megatron/bridge/models/gemma/modeling_gemma4.py",
        "Gemma4SelfAttention.get_query_key_value_tensors",
    );
    /// Attention with Gemma 4's norm on its values, in a dense model.
    Gemma4DenseAttention = Citation::megatron_bridge(
        "src/megatron/bridge/models/gemma/modeling_gemma4.py",
        "Gemma4DenseSelfAttention",
    );
    /// Layers of a dense Gemma 4.
    Gemma4DenseLayer = Citation::megatron_bridge(
        "src/megatron/bridge/models/gemma/modeling_gemma4.py",
        "Gemma4DenseTransformerLayer",
    );
    /// Embeddings per layer, and the projection of the word embedding that they join.
    Gemma4PerLayerInputs = Citation::megatron_bridge(
        "src/megatron/bridge/models/gemma/modeling_gemma4.py",
        "_compute_per_layer_inputs",
    );
    /// A router whose input and probabilities are multiplied by learned factors.
    Gemma4Router = Citation::megatron_bridge("src/megatron/bridge/models/gemma/modeling_gemma4.py", "Gemma4TopKRouter");
    /// Layers with a Mamba mixer beside attention.
    FalconH1Layer = Citation::megatron_bridge(
        "src/megatron/bridge/models/falcon_h1/modeling_falconh1/falconh1_layer.py",
        "FalconH1Layer",
    );
    /// The factors on what `in_proj` of such a Mamba mixer puts out.
    FalconH1MambaMixer = Citation::megatron_bridge(
        "src/megatron/bridge/models/falcon_h1/modeling_falconh1/falconh1_layer.py",
        "FalconH1MambaMixer._scale_zxbc_dt",
    );
    /// The factor on the keys of such attention.
    FalconH1Attention = Citation::megatron_bridge(
        "src/megatron/bridge/models/falcon_h1/modeling_falconh1/falconh1_layer.py",
        "FalconH1SelfAttention",
    );
    /// The MLP of such layers.
    FalconH1Mlp = Citation::megatron_bridge(
        "src/megatron/bridge/models/falcon_h1/modeling_falconh1/falconh1_layer.py",
        "FalconH1MLP",
    );
    /// The factor on the logits of such models.
    FalconH1Model = Citation::megatron_bridge(
        "src/megatron/bridge/models/falcon_h1/modeling_falconh1/falconh1_model.py",
        "FalconH1Model",
    );
    /// Experts for text beside experts for images.
    Ernie45VlExperts = Citation::megatron_bridge(
        "src/megatron/bridge/models/ernie_vl/modeling_ernie45_vl/ernie_moe_layer.py",
        "ErnieMultiTypeMoE",
    );
    /// Attention of Kimi K3, whose projections have no sequence parallelism.
    KimiK3Attention = Citation::megatron_bridge("src/megatron/bridge/models/kimi/kimi_k3_layers.py", "KimiK3Attention");
    /// The experts of Kimi K3, with a norm behind them.
    KimiK3Experts = Citation::megatron_bridge("src/megatron/bridge/models/kimi/kimi_k3_layers.py", "KimiK3MoELayer");
    /// Attention residuals.
    KimiK3Residuals = Citation::megatron_bridge(
        "src/megatron/bridge/models/kimi/kimi_k3_layers.py",
        "KimiK3TransformerLayer, attn_res_aggregate",
    );
    /// The activation function of Kimi K3.
    KimiK3Activation = Citation::megatron_bridge("src/megatron/bridge/models/kimi/kimi_k3_ops.py", "situ_and_mul");
    /// The convolution before delta attention.
    FlaShortConvolution = Citation::page(
        "https://github.com/fla-org/flash-linear-attention/blob/bc3b101dcb/fla/modules/conv/triton/ops.py",
        "CausalConv1dFunction",
    );
    /// The kernel of delta attention.
    FlaChunkKda = Citation::page(
        "https://github.com/fla-org/flash-linear-attention/blob/bc3b101dcb/fla/ops/kda/chunk.py",
        "ChunkKDAFunction",
    );

    // Frameworks around Megatron, each at the commit in its address.
    /// Attention of `NeMo` 2 for Gemma 2.
    Gemma2Attention = Citation::page(
        "https://github.com/NVIDIA/NeMo/blob/8cfedd7203/nemo/collections/llm/gpt/model/gemma2.py",
        "Gemma2DotProductAttention.forward",
    );
    /// The output layer of `NeMo` 2 and of Megatron-Bridge for Gemma 2.
    Gemma2OutputLayer = Citation::page(
        "https://github.com/NVIDIA/NeMo/blob/8cfedd7203/nemo/collections/llm/gpt/model/gemma2.py",
        "Gemma2OutputLayer.forward",
    );
    /// `NeMo` 1's layers of Falcon.
    FalconLayer = Citation::page(
        "https://github.com/NVIDIA/NeMo/blob/8cfedd7203462cb251a914e700e5605444277561/nemo/collections/nlp/models/language_modeling/megatron/falcon/falcon_decoder_layer.py",
        "FalconTransformerLayer",
    );
    /// NeMo-RL's log-probabilities of tokens.
    NemoRlLogprobs = Citation::page(
        "https://github.com/NVIDIA-NeMo/RL/blob/7ea279abfb/nemo_rl/distributed/model_utils.py",
        "DistributedLogprob",
    );
    /// The same, some tokens at a time.
    NemoRlChunkedLogprobs = Citation::page(
        "https://github.com/NVIDIA-NeMo/RL/blob/7ea279abfb/nemo_rl/distributed/model_utils.py",
        "ChunkedDistributedLogprob",
    );
    /// slime's log-probabilities and entropies of tokens.
    SlimeLogprobs = Citation::page(
        "https://github.com/THUDM/slime/blob/624b824a/slime/utils/ppo_utils.py",
        "_VocabParallelLogProbEntropy, calculate_log_probs_and_entropy",
    );
    /// The logits that slime's loss takes, divided by the temperature of rollouts.
    SlimeTemperature = Citation::page(
        "https://github.com/THUDM/slime/blob/624b824a/slime/backends/megatron_utils/loss.py",
        "get_log_probs_and_entropy",
    );
    /// ms-swift's log-probabilities of tokens, which its trainers of GRPO and GKD make of logits.
    SwiftLogprobs = Citation::page(
        "https://github.com/modelscope/ms-swift/blob/3602360a56/swift/megatron/trainers/vocab_parallel_utils.py",
        "vocab_parallel_log_softmax, vocab_parallel_gather_logps",
    );
    /// verl's output layer and log-probabilities in one.
    VerlFusedLogprobs = Citation::page(
        "https://github.com/verl-project/verl/blob/1dda039b9c/verl/utils/kernel/kernels.py",
        "efficient_entropy_forward, efficient_entropy_backward",
    );
    /// The reference model of ms-swift's reinforcement learning.
    SwiftRefModels = Citation::page(
        "https://github.com/modelscope/ms-swift/blob/3602360a56/swift/megatron/trainers/rlhf_mixin.py",
        "MegatronRLHFTrainer.prepare_model",
    );
    /// The output layer of sequence classification, as ms-swift's models have it.
    LabelLayer = Citation::page(
        "https://github.com/modelscope/mcore-bridge/blob/f020e479a2/src/mcore_bridge/model/gpt_model.py",
        "OutputLayerLinear, GPTModel._postprocess",
    );
    /// The copies of whole modules that are trained beside adapters.
    ModulesToSave = Citation::page(
        "https://github.com/modelscope/ms-swift/blob/3602360a56/swift/megatron/utils/utils.py",
        "get_modules_to_save",
    );
    /// The output of models for embeddings, and that of generative rerankers.
    EmbeddingOutput = Citation::page(
        "https://github.com/modelscope/mcore-bridge/blob/f020e479a2/src/mcore_bridge/model/gpt_model.py",
        "GPTModel._postprocess, GPTModel._forward_generative_reranker",
    );
    /// The loss of sequence classification.
    LabelLoss = Citation::page(
        "https://github.com/modelscope/ms-swift/blob/3602360a56/swift/megatron/trainers/trainer.py",
        "MegatronTrainer.seq_cls_loss_func",
    );
    /// The critic of verl's PPO.
    VerlCritic = Citation::page(
        "https://github.com/verl-project/verl/blob/1dda039b9c/verl/workers/engine/megatron/transformer_impl.py",
        "MegatronEngineWithValueHead",
    );
    /// `ChatLearn`'s log-probabilities and entropies.
    ChatlearnLosses = Citation::page(
        "https://github.com/alibaba/ChatLearn/blob/b7af31a972/chatlearn/algorithm/grpo_utils/megatron_utils/train_helper.py",
        "_compute_all_losses, _VocabParallelEntropy",
    );
}
