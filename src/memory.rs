//! How much memory every pipeline stage of a checked job needs. [`estimate`] is the only entry point:
//! total, deterministic, and in whole bytes.

mod assumptions;
pub mod bucket;
pub mod buffers;
pub mod line;
pub mod parameters;
pub mod passes;
pub mod peak;
pub mod states;

use core::ops::Range;

pub use assumptions::assumptions;

use crate::config::job::{Config, Module};
use crate::model::{Architecture, PartCounts, whole_model_parts};
use crate::units::Bytes;
use bucket::Bucket;
use parameters::{Parameters, PartTable};
use peak::{PeakMoment, Stages};

/// What a whole job needs.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// One entry a module, in the job's order.
    pub modules: Vec<ModuleEstimate>,
    /// The stage that needs most.
    pub worst: StageRef,
}

/// A pipeline stage of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StageRef {
    /// Index of the module.
    pub module: usize,
    /// Pipeline rank within the module.
    pub pp_rank: usize,
}

/// What one module needs on each of its stages.
#[derive(Clone, Debug)]
pub struct ModuleEstimate {
    /// Parameters of the whole model, each counted once.
    pub parameters: Parameters,
    /// Parameters that one token meets: of the routed experts only the chosen ones, in the MTP block too.
    pub active_parameters: u64,
    /// One entry a pipeline rank.
    pub stages: Vec<StageEstimate>,
}

/// What one pipeline stage needs on each of its GPUs.
#[derive(Clone, Debug)]
pub struct StageEstimate {
    /// The chunks of this pipeline rank.
    pub chunks: Vec<ChunkEstimate>,
    /// Bytes by bucket at the heaviest moment, indexed by [`Bucket`].
    pub memory: [Bytes; Bucket::COUNT],
    /// All buckets together: what `torch.cuda.max_memory_allocated` shows.
    pub total: Bytes,
    /// What stays between optimizer steps: what `torch.cuda.memory_allocated` shows then.
    pub steady: Bytes,
    /// The heaviest moment; the same amount as `total`.
    pub peak: Bytes,
    /// When that is.
    pub moment: PeakMoment,
    /// Micro batches of each chunk that are alive at that moment.
    pub in_flight: Vec<u32>,
}

/// What one chunk of a pipeline rank holds.
#[derive(Clone, Debug)]
pub struct ChunkEstimate {
    /// Decoder layers, counted over the whole model from 0.
    pub layers: Range<u32>,
    /// How many of each part it holds.
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

impl Estimate {
    /// The stage that needs most.
    #[must_use]
    pub fn worst_stage(&self) -> Option<&StageEstimate> {
        self.modules
            .get(self.worst.module)?
            .stages
            .get(self.worst.pp_rank)
    }
}

/// Estimates a checked job.
#[must_use]
pub fn estimate(config: &Config) -> Estimate {
    let modules: Vec<_> = config.modules().iter().map(estimate_module).collect();
    let mut worst = (
        Bytes::ZERO,
        StageRef {
            module: 0,
            pp_rank: 0,
        },
    );
    for (module, estimate) in modules.iter().enumerate() {
        for (pp_rank, stage) in estimate.stages.iter().enumerate() {
            if stage.total > worst.0 {
                worst = (stage.total, StageRef { module, pp_rank });
            }
        }
    }
    Estimate {
        modules,
        worst: worst.1,
    }
}

fn estimate_module(m: &Module) -> ModuleEstimate {
    let architecture = Architecture::new(m);
    let (local, whole) = (
        PartTable::local(&architecture),
        PartTable::whole(&architecture),
    );
    let parameters = whole.total(&whole_model_parts(m));
    let stages = Stages::new(m, &architecture, &local);
    ModuleEstimate {
        active_parameters: parameters.active(m),
        parameters,
        stages: (0..m.stages.pp())
            .map(|pp_rank| stages.estimate(pp_rank))
            .collect(),
    }
}
