//! Reserved memory: the segments of PyTorch's allocator, found by a replay of what a rank asks it for.
//!
//! The replay makes parameters, buffers of gradients and main parameters as Megatron does, runs the passes of an
//! iteration with every tensor that the tapes record, makes the optimizer's states in the first step, and runs further
//! iterations. What the allocator cannot use again of what was freed is what reserved memory has beyond allocated
//! memory.

mod holes;
mod iterations;
mod passes;
mod range;
mod states;
mod storages;

pub use holes::{Holes, ReplayMoment};
pub use range::{LEAST_OF_REPLAY, MOST_OF_REPLAY, ReservedRange, reserved};

use super::allocator::AllocatorSettings;
use super::buffers::BufferKind;
use super::graph_phase::GraphPhase;
use super::parameters::PartTable;
use super::peak::{StageReplay, Stages};
use super::{JobMoment, RankMemory, StageRef};
use crate::config::choices::CudaGraphImpl;
use crate::config::job::{Config, Module};
use crate::model::Architecture;
use crate::units::{Bytes, multiply};
use iterations::{BesidePasses, Iterations};
use passes::{COMPUTE, Passes};
use states::StageStates;
use storages::Storages;

/// The most ranks of a stage that are replayed.
const MOST_RANKS: u64 = 4;
/// Later iterations that are replayed. The second still reserves more: the first step's states have cut what the passes
/// before it had left.
const LATER_ITERATIONS: u32 = 2;

/// Allocated and reserved memory of a replay: at its end, and the most at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocatorReplay {
    /// Bytes in use once the replay is over.
    pub allocated: Bytes,
    /// The most bytes that were in use.
    pub most_allocated: Bytes,
    /// Bytes of all segments at the end.
    pub reserved: Bytes,
    /// The most bytes that segments had.
    pub most_reserved: Bytes,
    /// The most bytes that were in use, had blocks been split that `max_split_size_mb` keeps whole.
    pub most_split: Bytes,
    /// What was free when the allocator took more of the GPU's memory for the last time.
    pub holes: Holes,
}

impl AllocatorReplay {
    /// Bytes that segments have beyond what is in use, each at its most. What blocks have that are kept whole counts as
    /// unused.
    #[must_use]
    pub fn unused(&self) -> Bytes {
        self.most_reserved.saturating_sub(self.most_split)
    }
}

/// The micro batches whose passes are replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MicroBatches {
    /// Every one.
    All,
    /// Only until the allocator is in a state in which it was before: later micro batches repeat what followed then.
    UntilTheyRepeat,
}

/// Bytes that the segments of a rank have beyond what is allocated, on the ranks of its stages that have least and most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnusedRange {
    /// On the rank that has least.
    pub low: Bytes,
    /// On the rank that has most.
    pub high: Bytes,
    /// What is free when the allocator takes more of the GPU's memory for the last time, on the rank that has most unused.
    pub holes: Holes,
}

/// Bytes that the ranks with these stages reserve beyond their allocated peaks. `None` with CUDA graphs, which have
/// pools of their own and are not replayed, and for stages of a million tensors and more.
///
/// Ranks that share optimizer states have different shards, which fit what was freed differently. Of more than 4 such
/// ranks, 4 are replayed.
#[must_use]
pub fn unused(config: &Config, rank: &RankMemory, moment: JobMoment) -> Option<UnusedRange> {
    let mut range = UnusedRange::default();
    for stage in &rank.stages {
        let replays = StageRanks::new(config, *stage)?.replay(moment)?;
        range.low += replays.low;
        range.high += replays.high;
        if replays.holes.free >= range.holes.free {
            range.holes = replays.holes;
        }
    }
    Some(range)
}

/// Replays what one rank of a stage asks the allocator for up to a moment of the job; `None` where there is no such
/// stage, it has CUDA graphs, or a million tensors and more. `rank` is its place among the ranks that share optimizer
/// states of dense parameters.
#[must_use]
pub fn replay_allocator(
    config: &Config,
    stage: StageRef,
    rank: u64,
    moment: JobMoment,
    micro_batches: MicroBatches,
) -> Option<AllocatorReplay> {
    let ranks = StageRanks::new(config, stage)?;
    let architecture = Architecture::new(ranks.m);
    let local = PartTable::local(&architecture);
    let stages = Stages::new(ranks.m, &architecture, &local);
    let replay = stages.replay(ranks.pp_rank, GraphPhase::Plain);
    ranks.replay_rank(&stages, &replay, rank, moment, micro_batches)
}

/// The ranks of a stage.
struct StageRanks<'a> {
    m: &'a Module,
    pp_rank: u32,
}

impl<'a> StageRanks<'a> {
    fn new(config: &'a Config, stage: StageRef) -> Option<Self> {
        let m = config.modules().get(stage.module)?;
        let pp_rank = u32::try_from(stage.pp_rank).ok().filter(|rank| *rank < m.stages.pp())?;
        (m.args.cuda_graph_impl == CudaGraphImpl::None).then_some(Self { m, pp_rank })
    }

    /// Bytes that segments have beyond what is allocated, over ranks with different shards of optimizer states.
    fn replay(&self, moment: JobMoment) -> Option<UnusedRange> {
        let architecture = Architecture::new(self.m);
        let local = PartTable::local(&architecture);
        let stages = Stages::new(self.m, &architecture, &local);
        let all = self.m.dense_shard().max(1);
        let some = all.min(MOST_RANKS);
        let replay = stages.replay(self.pp_rank, GraphPhase::Plain);
        // From the first to the last, as far from each other as can be.
        let chosen = (0..some).map(|n| multiply(n, all - 1) / (some - 1).max(1));
        let mut range: Option<UnusedRange> = None;
        for rank in chosen {
            let replay = self.replay_rank(&stages, &replay, rank, moment, MicroBatches::UntilTheyRepeat)?;
            let unused = replay.unused();
            let own = UnusedRange {
                low: unused,
                high: unused,
                holes: replay.holes,
            };
            let known = range.unwrap_or(own);
            let most = if unused > known.high { own } else { known };
            range = Some(UnusedRange {
                low: known.low.min(unused),
                ..most
            });
        }
        range
    }

    fn replay_rank(
        &self,
        stages: &Stages<'_>,
        replay: &StageReplay<'_>,
        rank: u64,
        moment: JobMoment,
        micro_batches: MicroBatches,
    ) -> Option<AllocatorReplay> {
        let a = &self.m.args;
        let settings = AllocatorSettings {
            expandable_segments: a.expandable_segments,
            max_split_size: a.max_split_size_mb.map(|mib| Bytes::mib(mib).0),
            ..AllocatorSettings::default()
        };
        let mut storages = Storages::new(settings);
        let of_stage = StageStates::new(stages, self.pp_rank, rank)?;
        of_stage.set_up(&mut storages);
        let beside = self.make_buffers(stages, &mut storages);
        let passes = Passes::new(self.m, storages);
        let mut iterations = Iterations::new(replay, &of_stage, passes, beside, a.empty_unused_memory_level);
        let resumed = moment == JobMoment::FirstIterationAfterResume;
        let steps = moment != JobMoment::SkippedSteps;
        if resumed {
            of_stage.first_step(&mut iterations.passes.storages);
        }
        iterations.run(micro_batches);
        if steps {
            iterations.optimizer_step(!resumed);
        }
        let later = matches!(moment, JobMoment::LaterIteration | JobMoment::SavingCheckpoint);
        for _ in 0..if later { LATER_ITERATIONS } else { 0 } {
            iterations.run(micro_batches);
            iterations.optimizer_step(false);
        }
        let storages = &iterations.passes.storages;
        let allocator = &storages.allocator;
        (!storages.out_of_memory).then(|| AllocatorReplay {
            allocated: Bytes(allocator.allocated()),
            most_allocated: Bytes(allocator.most_allocated()),
            reserved: Bytes(allocator.reserved()),
            most_reserved: Bytes(allocator.most_reserved()),
            most_split: Bytes(storages.most_split),
            holes: storages.holes,
        })
    }

    /// Makes the buffers that are there before the first pass; what iterations allocate beside their passes.
    fn make_buffers(&self, stages: &Stages<'_>, storages: &mut Storages) -> BesidePasses {
        let mut beside = BesidePasses::default();
        let site = stages.site(self.pp_rank);
        for buffer in stages.buffers.buffers(&site) {
            match buffer.kind {
                BufferKind::Tensor | BufferKind::Workspace => {
                    storages.allocate(buffer.bytes, COMPUTE);
                }
                // Buffers of states have their padding, and the allocator leaves its own rests.
                BufferKind::Padding | BufferKind::Unsplit => {}
                BufferKind::DummyWgrads => {
                    let width = self.m.precision.bytes();
                    let shapes = stages.buffers.stand_ins(&site).into_iter();
                    let bytes = shapes.map(|(rows, columns)| multiply(multiply(rows, columns), width));
                    beside.stand_ins = bytes.collect();
                    // The order of backward passes, from the output layer on, is about that of sizes.
                    beside.stand_ins.sort_unstable_by(|a, b| b.cmp(a));
                }
            }
        }
        let chunks = stages.chunks(self.pp_rank);
        let held = chunks.iter().map(|chunk| &chunk.parameters).sum();
        let copies = stages.optimizer_copies(&stages.rules.count(&held));
        beside.gradients = copies.kept;
        beside.during_step = copies.during;
        beside
    }
}
