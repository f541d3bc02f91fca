//! The types of an estimate: modules, their pipeline stages and the chunks of these, and the heaviest rank.

use core::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::bucket::{Bucket, ByBucket};
use super::job_moment::JobMoment;
use super::parameters::Parameters;
use super::peak::PeakMoment;
use crate::model::{Architecture, PartCounts};
use crate::units::Bytes;

/// The estimate of a whole job.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// One entry a module, in the job's order.
    pub modules: Vec<ModuleEstimate>,
    /// The stage with the largest peak among those that the worst rank runs.
    pub worst: StageRef,
    /// The rank with the largest peak. Modules may share ranks, so its total can be more than any stage's.
    pub worst_rank: RankMemory,
    /// The memory with average micro batches of packed samples, beside that with the fullest one; `None` where samples
    /// are not packed, every micro batch is full, or the average sample is not known.
    pub average_batch: Option<AverageBatch>,
}

/// The memory of a job with average micro batches of packed samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AverageBatch {
    /// Tokens of the average micro batch over context-parallel ranks, padding included.
    pub tokens: u64,
    /// Tokens of the fullest micro batch, which the estimate is of.
    pub fullest: u64,
    /// The peak of the rank that needs most.
    pub total: Bytes,
}

/// The memory of one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankMemory {
    /// The rank.
    pub rank: u64,
    /// The stages that the rank runs, one for each of its modules.
    pub stages: Vec<StageRef>,
    /// Bytes by bucket at the peak.
    pub memory: ByBucket,
    /// The peak: all buckets together.
    pub total: Bytes,
    /// Bytes that stay allocated between iterations.
    pub steady: Bytes,
    /// Bytes that CUDA graphs reserve beyond the total.
    pub graphs: Bytes,
}

/// A pipeline stage of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StageRef {
    /// Index of the module.
    pub module: usize,
    /// Pipeline rank within the module.
    pub pp_rank: usize,
}

/// The estimate of one module.
#[derive(Clone, Debug)]
pub struct ModuleEstimate {
    /// The parts of the module's model, with the tapes of their passes: what explains the estimate need not make them anew.
    pub architecture: Arc<Architecture>,
    /// Parameters of the whole model, each counted once.
    pub parameters: Parameters,
    /// Parameters that take part in the computation for one token: of the routed experts only the top k, in the MTP
    /// block too.
    pub active_parameters: u64,
    /// One entry a pipeline rank.
    pub stages: Vec<StageEstimate>,
}

/// The estimate of one pipeline stage: the memory of each of its GPUs.
#[derive(Clone, Debug)]
pub struct StageEstimate {
    /// The chunks of this pipeline rank.
    pub chunks: Vec<ChunkEstimate>,
    /// Bytes by bucket at the peak.
    pub memory: ByBucket,
    /// The peak: all buckets together, as `torch.cuda.max_memory_allocated` reports it.
    pub total: Bytes,
    /// Bytes that stay allocated between iterations, as `torch.cuda.memory_allocated` reports them.
    pub steady: Bytes,
    /// The part of `steady` that a process has once, however many modules it runs: the workspaces of cuBLAS.
    pub workspaces: Bytes,
    /// Gradients and optimizer states that frozen parameters would need in addition if they were trained.
    pub saved_by_freezing: Bytes,
    /// Bytes that CUDA graphs keep reserved beyond `total`: their memory pool, and memory that stays cached beside it.
    pub graphs: Bytes,
    /// The moment of the peak.
    pub moment: PeakMoment,
    /// Micro batches in flight of each chunk, at the peak of the forward and backward passes.
    pub in_flight: Vec<u32>,
    /// The memory at every moment of the job, in the order of [`JobMoment::EACH`]. `total`, `steady`, `memory` and
    /// `moment` are those of the moment that was asked for: later iterations, unless another one was.
    pub moments: [MomentPeak; JobMoment::EACH.len()],
}

/// The memory of a stage at one moment of the job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MomentPeak {
    /// The moment.
    pub moment: JobMoment,
    /// Bytes that are allocated once the moment is over.
    pub steady: Bytes,
    /// The peak.
    pub total: Bytes,
    /// The pass, layer and operation at work at the peak.
    pub at: PeakMoment,
}

/// The estimate of one chunk of a pipeline rank.
#[derive(Clone, Debug)]
pub struct ChunkEstimate {
    /// Indices of the decoder layers, counted over the whole model from 0.
    pub layers: Range<u32>,
    /// Activations that one micro batch keeps in the chunk from its forward to its backward pass.
    pub kept: Bytes,
    /// The number of each part of the model in the chunk.
    pub parts: PartCounts,
    /// Parameters on one rank.
    pub parameters: Parameters,
}

impl StageEstimate {
    /// Bytes of one bucket.
    #[must_use]
    pub fn bytes(&self, bucket: Bucket) -> Bytes {
        #[allow(clippy::indexing_slicing, reason = "one entry for every bucket")]
        self.memory[bucket as usize]
    }

    /// Weights, gradients and optimizer states.
    #[must_use]
    pub fn states(&self) -> Bytes {
        let buckets = Bucket::ALL.into_iter().filter(|b| b.state().is_some());
        buckets.map(|bucket| self.bytes(bucket)).sum()
    }

    /// Parameters of all chunks on one rank.
    #[must_use]
    pub fn parameters(&self) -> Parameters {
        self.chunks.iter().map(|chunk| &chunk.parameters).sum()
    }
}

impl RankMemory {
    /// Bytes of one bucket.
    #[must_use]
    pub fn bytes(&self, bucket: Bucket) -> Bytes {
        #[allow(clippy::indexing_slicing, reason = "one entry for every bucket")]
        self.memory[bucket as usize]
    }
}

impl Estimate {
    /// The estimate of the worst stage.
    #[must_use]
    pub fn worst_stage(&self) -> Option<&StageEstimate> {
        self.stage(self.worst)
    }

    /// The estimate of a stage; `None` where the job has no such stage.
    #[must_use]
    pub fn stage(&self, at: StageRef) -> Option<&StageEstimate> {
        self.modules.get(at.module)?.stages.get(at.pp_rank)
    }
}
