//! Reserved memory: the segments of PyTorch's allocator, found by a replay of a stage's requests.

mod iterations;
mod passes;
mod states;
mod storages;

use super::allocator::AllocatorSettings;
use super::buffers::BufferKind;
use super::graph_phase::GraphPhase;
use super::parameters::PartTable;
use super::peak::Stages;
use super::{JobMoment, StageRef};
use crate::config::job::{Config, Module};
use crate::model::Architecture;
use crate::units::Bytes;
use iterations::Iterations;
use passes::{COMPUTE, Passes};
use states::StageStates;
use storages::Storages;

/// What the allocator has at the end of a replay.
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
}

/// Replays what a stage asks the allocator for up to a moment of the job; `None` where there is no such stage.
#[must_use]
pub fn replay_allocator(config: &Config, stage: StageRef, moment: JobMoment) -> Option<AllocatorReplay> {
    let m = config.modules().get(stage.module)?;
    let pp_rank = u32::try_from(stage.pp_rank).ok().filter(|rank| *rank < m.stages.pp())?;
    let architecture = Architecture::new(m);
    let local = PartTable::local(&architecture);
    let stages = Stages::new(m, &architecture, &local);
    Some(replay_stage(m, &stages, pp_rank, moment))
}

fn replay_stage(m: &Module, stages: &Stages<'_>, pp_rank: u32, moment: JobMoment) -> AllocatorReplay {
    let settings = AllocatorSettings {
        expandable_segments: m.args.expandable_segments,
        ..AllocatorSettings::default()
    };
    let mut storages = Storages::new(settings);
    let states = StageStates::new(stages, pp_rank);
    states.set_up(&mut storages);
    let site = stages.site(pp_rank);
    for buffer in stages.buffers.buffers(&site) {
        if !matches!(buffer.kind, BufferKind::Padding | BufferKind::Unsplit) {
            storages.allocate(buffer.bytes, COMPUTE);
        }
    }
    let replay = stages.replay(pp_rank, GraphPhase::Plain);
    let held = stages.rules.count(&{
        let chunks = stages.chunks(pp_rank);
        chunks.iter().map(|chunk| &chunk.parameters).sum()
    });
    let copies = stages.optimizer_copies(&held);
    let mut iterations = Iterations::new(
        &replay,
        &states,
        Passes::new(storages),
        [copies.kept, copies.during],
        m.stages.pp() > 1,
    );
    let resumed = moment == JobMoment::FirstIterationAfterResume;
    if resumed {
        states.first_step(&mut iterations.passes.storages);
    }
    iterations.run();
    iterations.step(!resumed);
    if moment.is_default() {
        for _ in 0..2 {
            iterations.run();
            iterations.step(false);
        }
    }
    let allocator = &iterations.passes.storages.allocator;
    AllocatorReplay {
        allocated: Bytes(allocator.allocated()),
        most_allocated: Bytes(allocator.most_allocated()),
        reserved: Bytes(allocator.reserved()),
        most_reserved: Bytes(allocator.most_reserved()),
    }
}
