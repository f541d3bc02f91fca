//! Where numbers come from: one closed list of papers and of Megatron files and symbols at one pinned
//! revision. Moving the pin is one edit here and a run of the oracle tests.

mod bridge_models;
mod citation;
mod frameworks;

pub use bridge_models::*;
pub use citation::{Origin, Source};
pub use frameworks::*;

/// The Megatron-LM commit that every Megatron-LM source is read at (2026-08-22).
pub const MEGATRON_LM_REVISION: &str = "d98e8a64ddf34856e74b24714e3bedb2f5a39553";
/// The commit of Megatron-LM's dev branch that sources of that branch are read at (2026-08-21).
pub const MEGATRON_LM_DEV_REVISION: &str = "d48bd6be0a85cc0d6d3cc71e8750cf357cc6bdb1";
/// The Megatron-Bridge commit that every Megatron-Bridge source is read at (2026-08-22).
pub const MEGATRON_BRIDGE_REVISION: &str = "067f987df03b8355b03192d88d70f1709fedf51a";

/// `SelfAttention`: `linear_qkv` and `linear_proj`.
pub const SELF_ATTENTION: Source = Source::megatron("megatron/core/transformer/attention.py", "SelfAttention");
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
/// One projection in place of both down projections of MLA, which tensor-parallel ranks split.
pub const MLA_FUSED: Source = Source::megatron(
    "megatron/core/transformer/multi_latent_attention.py",
    "FusedMLASelfAttention",
);
/// L2 norm on queries and keys.
pub const L2_NORM: Source = Source::megatron("megatron/core/transformer/torch_norm.py", "L2Norm");
/// The dense MLP.
pub const MLP: Source = Source::megatron("megatron/core/transformer/mlp.py", "MLP");
/// The router.
pub const ROUTER: Source = Source::megatron("megatron/core/transformer/moe/router.py", "Router.weight");
/// Grouped experts.
pub const EXPERTS: Source = Source::megatron("megatron/core/transformer/moe/experts.py", "TEGroupedMLP");
/// Shared experts.
pub const SHARED_EXPERTS: Source =
    Source::megatron("megatron/core/transformer/moe/shared_experts.py", "SharedExpertMLP");
/// Latent projections around the routed experts.
pub const LATENT: Source = Source::megatron("megatron/core/transformer/moe/moe_layer.py", "MoELayer.fc1_latent_proj");
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
pub const OUTPUT_LAYER: Source = Source::megatron("megatron/core/models/gpt/gpt_model.py", "GPTModel.output_layer");
/// Multi-token prediction.
pub const MTP: Source = Source::megatron(
    "megatron/core/transformer/multi_token_prediction.py",
    "MultiTokenPredictionLayer",
);
/// Where the outputs of encoders join the embedded text.
pub const MIMO_MODEL: Source = Source::megatron("megatron/core/models/mimo/model/base.py", "MimoModel");
/// Tensors between modules on different ranks.
pub const BRIDGE_COMMUNICATOR: Source = Source::megatron(
    "megatron/core/pipeline_parallel/bridge_communicator.py",
    "BridgeCommunicator",
);
/// Image encoders: patches, class tokens, positions and the norm before the layers.
pub const CLIP_VIT: Source = Source::megatron("megatron/core/models/vision/clip_vit_model.py", "CLIPViTModel");
/// Audio encoders: two convolutions and a table of sines.
pub const WHISPER_ENCODER: Source = Source::megatron_bridge(
    "examples/megatron_mimo/llava/whisper/whisper_model.py",
    "WhisperEncoder",
);
/// Audio encoders with 2-D convolutions: Qwen3-Omni's.
pub const QWEN3_OMNI_AUDIO: Source = Source::transformers(
    "src/transformers/models/qwen3_omni_moe/modeling_qwen3_omni_moe.py",
    "Qwen3OmniMoeAudioEncoder",
);
/// The layers between an encoder and the language model.
pub const PROJECTOR: Source = Source::megatron(
    "megatron/core/models/vision/multimodal_projector.py",
    "MultimodalProjector",
);
/// Projectors of Qwen3-VL on the output of inner layers.
pub const PATCH_MERGER: Source = Source::megatron_bridge(
    "src/megatron/bridge/models/qwen_vl/modelling_qwen3_vl/utils.py",
    "Qwen3VLVisionPatchMerger",
);
/// The biases of attention between text and images in Gemma 3.
pub const IMAGE_ATTENTION_BIASES: Source = Source::megatron_bridge(
    "src/megatron/bridge/models/gemma_vl/modeling_gemma3_vl.py",
    "Gemma3VLModel._compute_attention_biases",
);
/// The projector of GLM-4.5V.
pub const GLM_MERGER: Source = Source::transformers(
    "src/transformers/models/glm4v/modeling_glm4v.py",
    "Glm4vVisionPatchMerger",
);
/// The layer of Mistral 3 that makes one vector out of four patches.
pub const MISTRAL_3_MERGER: Source = Source::transformers(
    "src/transformers/models/mistral3/modeling_mistral3.py",
    "Mistral3PatchMerger",
);
/// Learned factors on the output of attention and MLP.
pub const LAYER_SCALING: Source =
    Source::megatron("examples/multimodal/layer_scaling.py", "LayerScalingTransformerLayer");
/// Norms on queries and keys over all heads of a rank.
pub const INTERNVIT_ATTENTION: Source =
    Source::megatron("examples/multimodal/nvlm/internvit.py", "InternViTSelfAttention");
/// Linear attention.
pub const GATED_DELTA_NET: Source = Source::megatron("megatron/core/ssm/gated_delta_net/common.py", "_GDNBase");
/// Hyper-connections of the dev branch.
pub const HYPER_CONNECTION: Source = Source::megatron_dev(
    "megatron/core/transformer/hyper_connection.py",
    "HyperConnectionModule, HyperConnectionTransformerLayer",
);
/// Their fused kernels.
pub const HYPER_CONNECTION_FUSED: Source = Source::megatron_dev(
    "megatron/core/fusions/fused_mhc_kernels.py",
    "CutileProjRmsComputeH, TritonFusedSinkhorn",
);
/// One residual stream of all, behind the last layer.
pub const HYPER_CONNECTION_HEAD: Source = Source::megatron_dev(
    "megatron/core/transformer/transformer_block.py",
    "TransformerBlock.postprocess_for_layer_schedule, learned_output_contract",
);
/// MTP between several residual streams.
pub const HYPER_CONNECTION_MTP: Source = Source::megatron_dev(
    "megatron/core/transformer/multi_token_prediction.py",
    "MultiTokenPredictionLayer._concat_embeddings",
);
/// Groups of layers that recompute module `mhc` runs again together.
pub const HYPER_CONNECTION_RECOMPUTE: Source =
    Source::megatron_dev("megatron/core/tensor_parallel/random.py", "MHCCheckpointManager");
/// Compressed attention: its projections.
pub const DSV4_ATTENTION: Source = Source::megatron_dev(
    "megatron/core/transformer/experimental_attention_variant/deepseek_v4_hybrid_attention.py",
    "DSv4HybridSelfAttention",
);
/// Compressed attention: its core, its compressors and its indexer.
pub const CSA: Source = Source::megatron_dev(
    "megatron/core/transformer/experimental_attention_variant/csa.py",
    "CompressedSparseAttention, Compressor, CSAIndexer",
);
/// Compressed attention by PyTorch operations.
pub const CSA_UNFUSED: Source = Source::megatron_dev(
    "megatron/core/transformer/experimental_attention_variant/csa.py",
    "unfused_compressed_sparse_attn",
);
/// Compressed attention by fused kernels.
pub const CSA_FUSED: Source = Source::megatron_dev(
    "megatron/core/transformer/experimental_attention_variant/ops/fused_sparse_attention.py",
    "CSASparseAttnFunc, FusedCSAIndexerSparseAttnFunc",
);
/// The loss of the indexer of compressed attention by PyTorch operations.
pub const CSA_INDEXER_LOSS: Source = Source::megatron_dev(
    "megatron/core/transformer/experimental_attention_variant/dsa.py",
    "FusedDSAIndexerLoss",
);
/// Routers that look experts up in a table of the vocabulary.
pub const HASH_ROUTING: Source = Source::megatron_dev("megatron/core/transformer/moe/router.py", "TopKRouter.tid2eid");
/// Multi-latent attention in the latent space of keys and values.
pub const ABSORBED_MLA: Source = Source::megatron(
    "megatron/core/transformer/experimental_attention_variant/absorbed_mla.py",
    "AbsorbedMLASelfAttention",
);
/// Sparse attention.
pub const DSA_ATTENTION: Source = Source::megatron(
    "megatron/core/transformer/experimental_attention_variant/dsa.py",
    "DSAttention",
);
/// The indexer of sparse attention.
pub const DSA_INDEXER: Source = Source::megatron(
    "megatron/core/transformer/experimental_attention_variant/dsa.py",
    "DSAIndexer",
);
/// The loss of the indexer by PyTorch operations.
pub const DSA_INDEXER_LOSS: Source = Source::megatron(
    "megatron/core/transformer/experimental_attention_variant/dsa.py",
    "FusedDSAIndexerLoss",
);
/// `TileLang`'s kernels of sparse attention.
pub const DSA_TILELANG: Source = Source::megatron(
    "megatron/core/transformer/experimental_attention_variant/ops/tilelang_dsa.py",
    "fused_sparse_mla_absorbed, fused_qk_topk_lighting_with_streaming_sparse_kl",
);
/// Kernels of cuDNN and `FlashMLA` for sparse attention.
pub const DSA_CUDNN: Source = Source::megatron(
    "megatron/core/transformer/experimental_attention_variant/dsa_cudnn_kernels.py",
    "FusedIndexerSparseAttnFunc",
);
/// Gated delta net with gates for every channel.
pub const GATED_DELTA_NET_2: Source = Source::megatron("megatron/core/ssm/gated_delta_net/gdn2.py", "GatedDeltaNet2");
/// Gated delta product.
pub const GATED_DELTA_PRODUCT: Source =
    Source::megatron("megatron/core/ssm/gated_delta_product.py", "GatedDeltaProductMixer");
/// Mamba-2 mixer.
pub const MAMBA_MIXER: Source = Source::megatron("megatron/core/ssm/mamba_mixer.py", "MambaMixer");
/// Exchanges of the Mamba-2 mixer between context-parallel ranks.
pub const MAMBA_CONTEXT_PARALLEL: Source =
    Source::megatron("megatron/core/ssm/mamba_context_parallel.py", "MambaContextParallel");
/// Scan of the Mamba-2 mixer.
pub const MAMBA_SCAN: Source = Source::mamba("mamba_ssm/ops/triton/ssd_combined.py", "MambaSplitConv1dScanCombinedFn");
/// Gated norm of the Mamba-2 mixer.
pub const MAMBA_NORM: Source = Source::mamba("mamba_ssm/ops/triton/layernorm_gated.py", "LayerNormFn");
/// Parameter and gradient buffers.
pub const GRAD_BUFFER: Source = Source::megatron(
    "megatron/core/distributed/param_and_grad_buffer.py",
    "_ParamAndGradBuffer",
);
/// Sharded optimizer states.
pub const DISTRIBUTED_OPTIMIZER: Source =
    Source::megatron("megatron/core/optimizer/distrib_optimizer.py", "DistributedOptimizer");
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
pub const OPTIMIZER_CONFIG: Source = Source::megatron("megatron/core/optimizer/optimizer_config.py", "OptimizerConfig");
/// A norm and the linear layer after it, in one module.
pub const TE_LAYERNORM_LINEAR: Source = Source::transformer_engine(
    "transformer_engine/pytorch/module/layernorm_linear.py",
    "_LayerNormLinear",
);
/// Linear layers.
pub const TE_LINEAR: Source = Source::transformer_engine("transformer_engine/pytorch/module/linear.py", "_Linear");
/// Layouts of queries, keys and values.
pub const TE_DOT_PRODUCT: Source = Source::transformer_engine(
    "transformer_engine/pytorch/attention/dot_product_attention/utils.py",
    "get_qkv_layout",
);
/// cuDNN attention.
pub const CUDNN_ATTENTION: Source = Source::transformer_engine(
    "transformer_engine/pytorch/attention/dot_product_attention/backends.py",
    "FusedAttnFunc",
);
/// `FlashAttention`.
pub const FLASH_ATTENTION: Source = Source::transformer_engine(
    "transformer_engine/pytorch/attention/dot_product_attention/backends.py",
    "FlashAttention.forward",
);
/// Attention from matrix products.
pub const UNFUSED_ATTENTION: Source = Source::transformer_engine(
    "transformer_engine/pytorch/attention/dot_product_attention/backends.py",
    "UnfusedDotProductAttention",
);
/// Megatron's own attention.
pub const LOCAL_ATTENTION: Source = Source::megatron(
    "megatron/core/transformer/dot_product_attention.py",
    "DotProductAttention.forward",
);
/// Rotary embedding.
pub const ROTARY: Source = Source::megatron(
    "megatron/core/models/common/embeddings/rope_utils.py",
    "apply_rotary_pos_emb",
);
/// Rotary embedding in MLA.
pub const MLA_ROPE: Source = Source::megatron(
    "megatron/core/transformer/multi_latent_attention.py",
    "MLASelfAttention.get_query_key_value_tensors",
);
/// Bias and activation function.
pub const BIAS_ACTIVATION: Source =
    Source::megatron("megatron/core/fusions/fused_bias_swiglu.py", "BiasSwiGLUFunction");
/// Bias, dropout and residual.
pub const BIAS_DROPOUT: Source =
    Source::megatron("megatron/core/fusions/fused_bias_dropout.py", "_bias_dropout_add_func");
/// Tokens in the order of their experts.
pub const PERMUTE: Source = Source::megatron("megatron/core/transformer/moe/moe_utils.py", "permute");
/// Tokens on their way to the experts.
pub const DISPATCH: Source = Source::megatron(
    "megatron/core/transformer/moe/token_dispatcher.py",
    "MoEAlltoAllTokenDispatcher.token_dispatch",
);
/// Tokens on their way back.
pub const COMBINE: Source = Source::megatron(
    "megatron/core/transformer/moe/token_dispatcher.py",
    "MoEAlltoAllTokenDispatcher.token_combine",
);
/// The activation function of experts, with the router's probability.
pub const EXPERT_ACTIVATION: Source =
    Source::megatron("megatron/core/transformer/moe/experts.py", "TEGroupedMLP.bias_act_func");
/// Cross-entropy, step by step.
pub const CROSS_ENTROPY: Source = Source::megatron(
    "megatron/core/tensor_parallel/cross_entropy.py",
    "_VocabParallelCrossEntropy",
);
/// Cross-entropy, compiled.
pub const FUSED_CROSS_ENTROPY: Source = Source::megatron(
    "megatron/core/fusions/fused_cross_entropy.py",
    "_VocabParallelCrossEntropy",
);
/// What the tests that use it measure, which is one copy more than its source shows.
pub const FUSED_CROSS_ENTROPY_RUNS: Source =
    Source::megatron("tests/functional_tests/test_cases", "mem-max-allocated-bytes");
/// Cross-entropy in one kernel.
pub const TE_CROSS_ENTROPY: Source =
    Source::transformer_engine("transformer_engine/pytorch/cross_entropy.py", "CrossEntropyFunction");
/// The attention mask that the data loader hands to a rank.
pub const ATTENTION_MASK: Source = Source::megatron("megatron/core/utils.py", "get_batch_on_this_tp_rank");
/// Weight gradients of the output layer that wait for the end of an iteration.
pub const DEFERRED_WGRAD: Source = Source::megatron(
    "megatron/core/tensor_parallel/layers.py",
    "LinearWithGradAccumulationAndAsyncCommunication.backward",
);
/// Weight gradients of linear layers that are computed after the backward pass of several layers.
pub const DELAYED_WGRAD: Source =
    Source::transformer_engine("transformer_engine/pytorch/module/_common.py", "WeightGradStore");
/// How they are computed then.
pub const DRAINED_WGRAD: Source = Source::megatron("megatron/core/utils.py", "drain_embedding_wgrad_compute");
/// Where a data iterator keeps the micro batches of an iteration, of Megatron-Core 0.18.
pub const RERUN_DATA_ITERATOR: Source = Source::page(
    "https://github.com/NVIDIA/Megatron-LM/blob/core_v0.18.2/megatron/core/rerun_state_machine.py",
    "RerunDataIterator.__next__",
);
/// How PyTorch's allocator splits blocks.
pub const SPLIT_BLOCKS: Source = Source::pytorch("c10/cuda/CUDACachingAllocator.cpp", "should_split");
/// Workspaces of cuBLAS handles.
pub const CUBLAS_WORKSPACE: Source =
    Source::pytorch("aten/src/ATen/cuda/CublasHandlePool.cpp", "parseChosenWorkspaceSize");
/// The optimizer step of `PyTorch`'s `AdamW`.
pub const TORCH_ADAMW: Source = Source::pytorch("torch/optim/adamw.py", "_multi_tensor_adamw");
/// Workspaces of Transformer Engine.
pub const TE_CUBLAS_WORKSPACE: Source = Source::transformer_engine(
    "transformer_engine/pytorch/cpp_extensions/gemm.py",
    "get_cublas_workspace",
);
/// Weights in fp8, kept from one micro batch to the next.
pub const TE_FP8_WEIGHTS: Source =
    Source::transformer_engine("transformer_engine/pytorch/module/base.py", "get_weight_workspace");
/// What a recipe keeps for every tensor that it turns into fp8.
pub const TE_FP8_STATE: Source =
    Source::transformer_engine("transformer_engine/pytorch/quantization.py", "RecipeState");
/// Stand-ins for weight gradients that were added up already.
pub const DUMMY_WGRAD: Source =
    Source::transformer_engine("transformer_engine/pytorch/module/base.py", "get_dummy_wgrad");
/// Buffers that all layers share.
pub const MEMORY_BUFFER: Source = Source::megatron("megatron/core/utils.py", "GlobalMemoryBuffer");
/// The table of rotary frequencies.
pub const ROPE_TABLE: Source = Source::megatron(
    "megatron/core/models/common/embeddings/rotary_pos_embedding.py",
    "RotaryEmbedding.forward",
);
/// The rotary tables of samples of different lengths.
pub const ROPE_TABLE_CACHE: Source = Source::megatron(
    "megatron/core/models/common/embeddings/rotary_pos_embedding.py",
    "RotaryEmbedding.get_rotary_seq_len",
);
/// Cosines and sines that rotary embeddings with yarn keep.
pub const YARN_TABLES: Source = Source::megatron(
    "megatron/core/models/common/embeddings/yarn_rotary_pos_embedding.py",
    "YarnRotaryEmbedding._set_cos_sin_cache",
);
/// Where each packed sample starts.
pub const CU_SEQLENS: Source = Source::megatron("megatron/core/packed_seq_params.py", "PackedSeqParams");
/// The graph that a dispatcher's probabilities hold.
pub const GRAPH_ENDS: Source =
    Source::megatron("megatron/core/tensor_parallel/random.py", "CheckpointFunction.backward");
/// The input that a stage holds on to.
pub const INPUT_TENSOR: Source = Source::megatron(
    "megatron/core/transformer/transformer_block.py",
    "TransformerBlock.set_input_tensor",
);
/// Variables of the pipeline schedule.
pub const SCHEDULES: Source = Source::megatron(
    "megatron/core/pipeline_parallel/schedules.py",
    "forward_backward_pipelining_without_interleaving",
);
/// Outputs of a pipeline stage that are sent.
pub const DEALLOCATE: Source = Source::megatron(
    "megatron/core/pipeline_parallel/schedules.py",
    "deallocate_output_tensor",
);
/// Padding of parameter and gradient buffers.
pub const BUFFER_LAYOUT: Source = Source::megatron(
    "megatron/core/optimizer/distrib_optimizer.py",
    "DistributedOptimizer._compute_per_buffer_param_layout",
);
/// Adapters beside linear layers.
pub const ADAPTERS: Source = Source::megatron_bridge("src/megatron/bridge/peft/utils.py", "ParallelLinearAdapter");
/// Adapters of grouped experts, each expert with its own.
pub const EXPERT_ADAPTERS: Source =
    Source::megatron_bridge("src/megatron/bridge/peft/utils.py", "GroupedExpertLinearAdapter");
/// The lengths of rows that `DoRA` learns.
pub const DORA: Source = Source::megatron_bridge("src/megatron/bridge/peft/dora_layers.py", "DoRALinear");
/// The buffers of Megatron FSDP.
pub const FSDP_BUFFERS: Source = Source::megatron(
    "megatron/core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py",
    "ParamAndGradBuffer",
);
/// Parameters that Megatron FSDP gathers for a layer and ahead of it.
pub const FSDP_GATHER: Source = Source::megatron(
    "megatron/core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py",
    "AllGatherPipeline.all_gather_params",
);
/// Gradients that wait to be reduced by Megatron FSDP.
pub const FSDP_REDUCE: Source = Source::megatron(
    "megatron/core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py",
    "GradReducePipeline.reduce_gradients",
);
/// Parameters that PyTorch's FSDP2 gathers.
pub const TORCH_FSDP2_GATHER: Source = Source::pytorch(
    "torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py",
    "foreach_all_gather",
);
/// Gradients that PyTorch's FSDP2 reduces.
pub const TORCH_FSDP2_REDUCE: Source = Source::pytorch(
    "torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py",
    "foreach_reduce",
);
/// Recompute from kept inputs.
pub const RECOMPUTE: Source = Source::megatron("megatron/core/tensor_parallel/random.py", "CheckpointFunction");
/// Gradients in fp32 for the optimizer step.
pub const GRADIENT_COPIES: Source = Source::megatron(
    "megatron/core/optimizer/distrib_optimizer.py",
    "DistributedOptimizer._copy_model_grads_to_main_grads",
);
/// Moments in fp32 while the optimizer step runs.
pub const MOMENT_COPIES: Source = Source::transformer_engine(
    "transformer_engine/pytorch/optimizers/fused_adam.py",
    "FusedAdam.get_unscaled_state",
);
/// Main parameters in 16 bits, of which weights in fp8 are made.
pub const FP8_CAST: Source = Source::transformer_engine(
    "transformer_engine/pytorch/tensor/utils.py",
    "cast_master_weights_to_fp8",
);
/// Reserved beside allocated memory in published runs.
pub const RESERVED_RATIO: Source = Source::page(
    "https://github.com/MooreThreads/SimuMax/blob/4dcaae513ba7679d56c116a17cd4a691ec41e252/docs/b200/b200_release_v1.2_summary.json",
    "max_reserved_mb over max_allocated_mb",
);
/// The sizes of `DeepEP`'s buffers (`Config`).
pub const DEEPEP_BUFFERS: Source = Source::page(
    "https://github.com/deepseek-ai/DeepEP/blob/v1.2.1/csrc/config.hpp",
    "Config.get_nvl_buffer_size_hint",
);
/// The buffers of `HybridEP`.
pub const HYBRID_EP_BUFFERS: Source = Source::page(
    "https://github.com/deepseek-ai/DeepEP/blob/94a9f8f/csrc/hybrid_ep/buffer/intranode.cu",
    "NVLCoordinator::allocate_combine_buffers",
);
/// The map and the probabilities that the all-gather dispatcher keeps after a pass.
pub const GATHERED_TOKENS: Source = Source::megatron(
    "megatron/core/transformer/moe/token_dispatcher.py",
    "MoEAllGatherTokenDispatcher.dispatch_postprocess",
);
/// The maps that `HybridEP` makes of a layer's routing.
pub const HYBRID_EP_MAPS: Source = Source::page(
    "https://github.com/deepseek-ai/DeepEP/blob/17cfb81/csrc/hybrid_ep/executor/executor.cu",
    "Executor::metadata_preprocess_core",
);
/// The rows of the tensors that experts get, where a rank has a fixed capacity.
pub const RANK_CAPACITY: Source = Source::megatron(
    "megatron/core/transformer/moe/token_dispatcher.py",
    "_HybridEPManager.setup_metadata",
);
/// The pages that hold what experts keep for their backward pass.
pub const PAGED_STASH: Source = Source::megatron(
    "megatron/core/transformer/moe/paged_stash.py",
    "PagedStashManager.allocate_stash_buffers",
);
/// The numbers of the pages of one tensor.
pub const PAGED_TENSOR: Source = Source::megatron("megatron/core/transformer/moe/paged_stash.py", "PagedTensor");
/// The output layer in MXFP8.
pub const OUTPUT_LAYER_IN_FP8: Source = Source::megatron(
    "megatron/core/extensions/transformer_engine.py",
    "TELMHeadColumnParallelLinear",
);
/// The clamped input of fused quick GEGLU.
pub const CLAMPED_QUICK_GEGLU: Source = Source::megatron(
    "megatron/core/fusions/fused_bias_geglu.py",
    "weighted_bias_quick_geglu_impl",
);
/// The memory that captured graphs share.
pub const CUDA_GRAPHS: Source = Source::megatron("megatron/core/transformer/cuda_graphs.py", "CudaGraphManager");
/// Inputs of captured layers: one for each layer and micro batch that are in flight at once.
pub const GRAPH_INPUTS: Source = Source::megatron(
    "megatron/core/transformer/cuda_graphs.py",
    "TECudaGraphHelper._get_sample_arguments",
);
/// The attention mask among them.
pub const GRAPH_MASKS: Source = Source::megatron(
    "megatron/core/transformer/transformer_layer.py",
    "TransformerLayer.get_layer_static_inputs",
);
/// Gradients that replays of graphs read and write.
pub const GRAPH_GRADIENTS: Source =
    Source::transformer_engine("transformer_engine/pytorch/graph.py", "_make_graphed_callables");
/// Static inputs and outputs of local graphs, which lie in the pool of all graphs.
pub const GRAPH_BUFFERS: Source = Source::megatron(
    "megatron/core/transformer/cuda_graphs.py",
    "_CudaGraphRunner._weakref_forward_buffers",
);
/// The passes of a layer before its local graph is captured, and the main gradients that are copied for them.
pub const GRAPH_WARMUP: Source = Source::megatron(
    "megatron/core/transformer/cuda_graphs.py",
    "_CudaGraphRunner.create_fwd_graph",
);
/// A CUDA context and a NCCL communicator.
pub const CUDA_CONTEXT: Source = Source::page(
    "https://okoge-kaz.github.io/tools/memory-estimator",
    "CUDA context 300 to 500 MB, NCCL about 0.5 GB a communicator",
);
/// The part of an iteration in which a pipeline stage waits.
pub const PIPELINE_BUBBLE: Source = Source::page(
    "https://arxiv.org/abs/2104.04473",
    "sections 2.2.1 and 2.2.2: pipeline bubble",
);
/// What a rank sends in a collective operation, by the number of ranks.
pub const COLLECTIVES: Source = Source::page(
    "https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md",
    "Bandwidth: bus bandwidth of each collective",
);
/// What tensor-parallel ranks exchange for a column- and a row-parallel layer.
pub const TP_COLLECTIVES: Source = Source::megatron(
    "megatron/core/tensor_parallel/layers.py",
    "LinearWithGradAccumulationAndAsyncCommunication",
);
/// What context-parallel ranks pass around the ring.
pub const CP_RING: Source = Source::transformer_engine(
    "transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py",
    "AttnFuncWithCPAndKVP2P",
);
/// What expert-parallel ranks exchange.
pub const EP_DISPATCH: Source = Source::megatron(
    "megatron/core/transformer/moe/token_dispatcher.py",
    "MoEAlltoAllTokenDispatcher",
);
/// What data-parallel ranks exchange once a step.
pub const DP_COLLECTIVES: Source = Source::megatron(
    "megatron/core/distributed/param_and_grad_buffer.py",
    "_ParamAndGradBucketGroup",
);
/// The rates of an H100: 1,979 TFLOP/s of bf16 with sparsity, 900 GB/s of `NVLink` in both directions.
pub const H100: Source = Source::page(
    "https://www.nvidia.com/en-us/data-center/h100/",
    "product specifications: H100 SXM",
);
