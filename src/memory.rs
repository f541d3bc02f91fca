//! How much memory every pipeline stage of a checked job needs. [`estimate`] is the only entry point:
//! total, deterministic, and in whole bytes.

pub mod allocations;
mod assumptions;
pub mod blocks;
pub mod bucket;
pub mod buffers;
mod chunk_profile;
mod chunk_shape;
mod ep_overlap;
pub mod fsdp;
pub mod graph_phase;
mod job_moment;
pub mod line;
mod local_graphs;
pub mod methods;
pub mod overhead;
pub mod parameters;
pub mod peak;
pub mod ranks;
pub mod savings;
mod shared;
mod stage_bytes;
mod stage_totals;
pub mod states;
mod timeline;
mod torch_fsdp2;

use core::ops::Range;

use serde::{Deserialize, Serialize};

pub use assumptions::{assumptions, freezing};
pub use job_moment::JobMoment;
pub use ranks::{RankMemory, rank_memory};
pub(crate) use shared::{SharedTables, TooLarge};
pub(crate) use stage_bytes::StageBytes;
pub use timeline::{Timeline, TimelinePoint, timeline};

use crate::config::job::{Config, Module};
use crate::model::{Architecture, PartCounts};
use crate::units::Bytes;
use bucket::Bucket;
use parameters::{Parameters, PartTable};
use peak::{PeakMoment, Stages};
use states::StateRules;

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
    /// Bytes by bucket at the peak, indexed by [`Bucket`].
    pub memory: [Bytes; Bucket::COUNT],
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
    /// What the rank does at the peak.
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

/// Estimates a checked job: its later iterations, beside all states.
#[must_use]
pub fn estimate(config: &Config) -> Estimate {
    estimate_at(config, JobMoment::default())
}

/// Estimates a checked job at a moment of its life.
#[must_use]
pub fn estimate_at(config: &Config, moment: JobMoment) -> Estimate {
    estimate_of(config, moment, Replayed::EveryStage).unwrap_or_else(|| Estimate {
        modules: Vec::new(),
        worst: StageRef { module: 0, pp_rank: 0 },
        worst_rank: RankMemory::default(),
        average_batch: None,
    })
}

/// Estimates what the worst rank of a checked job needs in later iterations, unless a stage has a peak that is
/// `too_large`: then `None`, and the stages after that one are not looked at.
///
/// Of a job with one module, a stage that surely needs no more than the one before it has the estimate of that one, and
/// average micro batches of packed samples are left out. The worst stage and the worst rank are those of [`estimate`].
#[must_use]
pub fn estimate_within(config: &Config, too_large: impl Fn(Bytes) -> bool) -> Option<Estimate> {
    let replayed = Replayed::HeaviestStages { too_large: &too_large };
    estimate_of(config, JobMoment::default(), replayed)
}

/// The stages whose schedules are replayed.
#[derive(Clone, Copy)]
enum Replayed<'f> {
    EveryStage,
    /// Those among which the heaviest is, up to the first that is too large.
    HeaviestStages {
        too_large: &'f dyn Fn(Bytes) -> bool,
    },
}

fn estimate_of(config: &Config, moment: JobMoment, replayed: Replayed<'_>) -> Option<Estimate> {
    let modules = config.modules().iter();
    // What modules need together on a rank is known only where each stage has its own estimate.
    let replayed = if modules.len() > 1 {
        Replayed::EveryStage
    } else {
        replayed
    };
    let modules = modules.map(|m| estimate_module(m, moment, replayed));
    let modules = modules.collect::<Option<Vec<_>>>()?;
    let average_batch = match replayed {
        Replayed::EveryStage => average_batch(config, moment),
        Replayed::HeaviestStages { .. } => None,
    };
    let first = StageRef { module: 0, pp_rank: 0 };
    let mut estimate = Estimate {
        modules,
        worst: first,
        worst_rank: RankMemory::default(),
        average_batch,
    };
    if let Some(worst) = ranks::worst_rank(config, &estimate) {
        let total = |at: &StageRef| estimate.stage(*at).map(|stage| stage.total);
        let largest = worst.stages.iter().copied().reduce(
            |largest, next| {
                if total(&next) > total(&largest) { next } else { largest }
            },
        );
        estimate.worst = largest.unwrap_or(first);
        estimate.worst_rank = worst;
    }
    Some(estimate)
}

/// The memory with average micro batches.
fn average_batch(config: &Config, moment: JobMoment) -> Option<AverageBatch> {
    let average = config.with_average_batch()?;
    let tokens = |config: &Config| {
        let mut modules = config.modules().iter();
        modules.find_map(|m| Some(m.packing()?.batch().tokens))
    };
    Some(AverageBatch {
        tokens: tokens(&average)?,
        fullest: tokens(config)?,
        total: estimate_at(&average, moment).worst_rank.total,
    })
}

/// The most bytes that the model states of a stage take. The stage's peak is at least as much, and the states do not
/// depend on the micro batch or on what is recomputed.
#[must_use]
pub fn largest_states(m: &Module) -> Bytes {
    let architecture = Architecture::new(m);
    states_of_stages(m, &architecture, &PartTable::local(&architecture))
}

/// The most bytes that the model states of a stage take.
fn states_of_stages(m: &Module, architecture: &Architecture, local: &PartTable) -> Bytes {
    let rules = StateRules::new(m);
    let mut known: Vec<(PartCounts, Bytes)> = Vec::new();
    for pp_rank in 0..m.stages.pp() {
        let mut parts = PartCounts::new();
        for chunk in m.stages.rank(pp_rank) {
            let of_chunk = architecture.chunk_parts(m, chunk);
            parts.resize(of_chunk.len(), 0);
            for (sum, count) in parts.iter_mut().zip(of_chunk) {
                *sum += count;
            }
        }
        if known.iter().all(|(of, _)| *of != parts) {
            let held = rules.count(&local.total(&parts));
            let states = rules.memory(&held).into_iter().sum();
            known.push((parts, states));
        }
    }
    let states = known.into_iter().map(|(_, states)| states);
    states.max().unwrap_or_default()
}

fn estimate_module(m: &Module, moment: JobMoment, replayed: Replayed<'_>) -> Option<ModuleEstimate> {
    let architecture = Architecture::new(m);
    let (local, whole) = (PartTable::local(&architecture), PartTable::whole(&architecture));
    let replays = Stages::new(m, &architecture, &local);
    let mut stages: Vec<StageEstimate> = Vec::new();
    for pp_rank in 0..m.stages.pp() {
        let stage = match (replayed, stages.last()) {
            (Replayed::HeaviestStages { .. }, Some(before)) if replays.needs_no_more_than_before(pp_rank) => {
                before.clone()
            }
            _ => replays.estimate(pp_rank, moment),
        };
        if let Replayed::HeaviestStages { too_large } = replayed
            && too_large(stage.total)
        {
            return None;
        }
        stages.push(stage);
    }
    let parameters = whole.total(&architecture.whole_model_parts(m));
    Some(ModuleEstimate {
        active_parameters: parameters.active(m),
        parameters,
        stages,
    })
}
