//! What a change costs.

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
    /// Gradients or moments in fewer bytes.
    Precision,
    /// Optimizer states live in host memory.
    OptimizerOffload,
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
    /// GPUs of one model replica: the larger of TP · CP and ETP · EP, times PP.
    ReplicaGpus(u64),
    /// Recomputed operations of matrix products on the fullest stage, in millionths of those of its forward pass.
    Recomputed(u64),
    /// Parameters are gathered, and gradients reduced, for every micro batch.
    Gathers,
    /// Bytes of a parameter's gradient and moments that are given up.
    LostBytes(u64),
    /// The part of the optimizer states that lives in host memory, in percent.
    OnHost(u64),
}

/// Changes that recompute at most this much, in millionths of the forward pass, come before those that move data.
const LITTLE_RECOMPUTE: u64 = 50_000;

impl Cost {
    /// The order in which changes of different kinds are offered: first what costs nothing, then what costs little
    /// time, and last what changes the arithmetic or needs the host's memory.
    pub(super) const fn rank(self, replica_now: u64) -> u8 {
        match self {
            Self::Nothing => 0,
            Self::Recomputed(ppm) if ppm <= LITTLE_RECOMPUTE => 1,
            Self::OffloadedModules(_) => 2,
            Self::MicroBatches(_) => 3,
            Self::ReplicaGpus(gpus) if gpus <= replica_now => 4,
            Self::ReplicaGpus(_) => 5,
            Self::Recomputed(_) => 6,
            Self::Gathers => 7,
            Self::LostBytes(_) => 8,
            Self::OnHost(_) => 9,
        }
    }
}
