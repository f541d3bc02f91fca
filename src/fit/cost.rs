//! The cost of a change, by the measure of its kind.

/// The kind of a change. Costs are compared within a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// Settings that change neither results nor speed noticeably.
    Free,
    /// A smaller micro batch, and more of them.
    MicroBatch,
    /// Activations of some modules move to host memory until the backward pass.
    Offload,
    /// Another tensor-parallel size.
    Tensor,
    /// Another pipeline-parallel size.
    Pipeline,
    /// Another expert-parallel size.
    Expert,
    /// Another expert-tensor-parallel size.
    ExpertTensor,
    /// Another context-parallel size.
    Context,
    /// Activations are recomputed in the backward pass.
    Recompute,
    /// Megatron FSDP splits optimizer states, gradients and parameters over data-parallel ranks.
    Fsdp,
    /// Gradients or optimizer moments in a narrower dtype.
    Precision,
    /// Optimizer states live in host memory.
    OptimizerOffload,
    /// More GPUs, and so more data-parallel ranks.
    MoreGpus,
    /// Shorter samples: longer ones are cut.
    Sequence,
}

/// The cost of a change, by the measure of its kind. Of two costs of one kind, the smaller one is the cheaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cost {
    /// Nothing.
    Nothing,
    /// The number of micro batches of a step on each rank.
    MicroBatches(u64),
    /// The number of kinds of modules whose activations move to the host.
    OffloadedModules(u64),
    /// How far a size is from the one that the job has, in thousandths of a factor of one, and whether it is larger.
    Distance(u64, bool),
    /// GPUs of one model replica: the larger of TP · CP and ETP · EP, times PP.
    ReplicaGpus(u64),
    /// Recomputation of all stages, in millionths of the matrix products of their forward passes.
    Recomputed(u64),
    /// Parameters are gathered, and gradients reduced, for every micro batch.
    Gathers,
    /// Bytes of a parameter's gradient and moments that are given up.
    LostBytes(u64),
    /// The part of the optimizer states that lives in host memory, in percent.
    OnHost(u64),
    /// The number of GPUs.
    Gpus(u64),
    /// Tokens that are cut off the longest samples.
    CutTokens(u64),
}

/// What a change of each kind asks of those who train, least first: the order in which changes are offered. Within one
/// of them, those come first that add least to a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sacrifice {
    /// Nothing.
    Nothing,
    /// Little time.
    LittleTime,
    /// Copies to and from the host beside the passes, which may hide behind them.
    HostCopies,
    /// Time.
    Time,
    /// Context parallelism over sequences that are too short for it.
    ShortSequences,
    /// Another way of data parallelism.
    Fsdp,
    /// Precision of gradients and moments.
    Precision,
    /// A step of the optimizer on the CPU.
    HostOptimizer,
    /// More GPUs.
    Gpus,
    /// Training on whole samples.
    WholeSamples,
}
