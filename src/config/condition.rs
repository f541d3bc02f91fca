//! Conditions on a job that make fields matter.

use strum::VariantArray;

/// A condition on a job under which a field matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, VariantArray)]
pub enum Condition {
    /// There are routed experts.
    Experts,
    /// Experts get their tokens by the flex dispatcher.
    FlexDispatcher,
    /// Attention is multi-latent.
    LatentAttention,
    /// Attention is not multi-latent: heads have keys and values of their own.
    OwnKeysAndValues,
    /// Several query heads share one key and value head.
    QueryGroups,
    /// Some layers have linear attention.
    LinearAttention,
    /// A pattern says what each layer is.
    HybridLayers,
    /// Some layers are Mamba-2 mixers.
    MambaLayers,
    /// Some layers have sparse attention.
    SparseAttention,
    /// Layers have compressed attention.
    CompressedAttention,
    /// Some layers are gated delta products.
    DeltaProducts,
    /// Layers have hyper-connections.
    HyperConnections,
    /// There are MTP depths.
    MtpDepths,
    /// There is more than one pipeline stage.
    PipelineStages,
    /// Samples are packed.
    PackedSamples,
    /// Whole layers are recomputed.
    FullRecompute,
    /// Chosen modules are recomputed.
    SelectiveRecompute,
    /// The optimizer is precision-aware: its states have dtypes of their own.
    PrecisionAware,
    /// Megatron FSDP splits the model over data-parallel ranks.
    MegatronFsdp,
    /// PyTorch's FSDP2 splits the model over data-parallel ranks.
    TorchFsdp2,
    /// Adapters are trained instead of the model's own parameters.
    Adapters,
    /// Adapters are trained, and there are routed experts.
    ExpertAdapters,
    /// Matrix products are in fp8 or fp4.
    Fp8,
    /// Optimizer states are in host memory.
    OptimizerOffload,
    /// Chosen modules' activations are in host memory.
    FineGrainedOffload,
    /// CUDA graphs are captured.
    CudaGraphs,
    /// The loss is one fused kernel.
    FusedLoss,
    /// The loss can take the logits some tokens at a time.
    ChunkedLogits,
    /// slime computes the loss.
    SlimeLoss,
    /// The module reads something else than tokens.
    Encoder,
}
