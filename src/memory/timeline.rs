//! Memory over the steps of one iteration.

use super::bucket::{Bucket, ByBucket};
use super::graph_phase::GraphPhase;
use super::parameters::PartTable;
use super::peak::{PeakMoment, Stages};
use super::states::offloaded_in_passes;
use super::{JobMoment, StageRef};
use crate::config::job::Config;
use crate::model::Architecture;
use crate::model::tape::liveness::{TRANSIENT, Usage};
use crate::units::Bytes;

/// The memory of a stage during some consecutive steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelinePoint {
    /// The step with the most memory, counted from 0.
    pub step: u64,
    /// Bytes by bucket at that step's peak.
    pub memory: ByBucket,
    /// All buckets together.
    pub total: Bytes,
    /// The operation that runs at that step's peak.
    pub moment: PeakMoment,
    /// Micro batches in flight of each chunk.
    pub in_flight: Vec<u32>,
}

/// The forward and backward passes of one iteration on a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// The number of steps.
    pub steps: u64,
    /// The points, each for the step with the most memory of an equal share of the steps.
    pub points: Vec<TimelinePoint>,
    /// Bytes by bucket in the optimizer step, which follows the schedule.
    pub optimizer_step: ByBucket,
    /// Bytes that stay allocated between iterations.
    pub steady: Bytes,
}

/// The most points of a timeline.
const MAX_POINTS: u32 = 4096;

/// The timeline of one stage; `None` when there is no such stage.
#[must_use]
pub fn timeline(config: &Config, stage: StageRef, points: u32) -> Option<Timeline> {
    let m = config.modules().get(stage.module)?;
    let pp_rank = u32::try_from(stage.pp_rank).ok().filter(|rank| *rank < m.stages.pp())?;
    let architecture = Architecture::new(m);
    let local = PartTable::local(&architecture);
    let stages = Stages::new(m, &architecture, &local);
    let held = stages.estimate(pp_rank, JobMoment::default());
    // Captures are no iteration.
    let graph_phase = match held.moment.graph_phase {
        GraphPhase::Capture => GraphPhase::Replay,
        graph_phase => graph_phase,
    };
    let of_phase = if graph_phase == held.moment.graph_phase {
        held.memory
    } else {
        stages.need(pp_rank, graph_phase, JobMoment::default()).memory
    };
    let replay = stages.replay(pp_rank, graph_phase);
    let moments = replay.timeline(points.min(MAX_POINTS));
    let of_parameters = stages.rules.count(&held.parameters());
    let all_of_parameters = stages.rules.memory(&of_parameters);
    // The last argument is what the states have on the GPU that are elsewhere while passes run.
    let with = |usage: &Usage, offloaded: &ByBucket| {
        let mut memory = of_phase;
        for ((slot, offloaded), bucket) in memory.iter_mut().zip(offloaded).zip(Bucket::ALL) {
            let is_offloaded = |(of, _)| offloaded_in_passes(m, of);
            if bucket.state().is_some_and(is_offloaded) {
                *slot = *offloaded;
            }
            if let Some(index) = bucket.usage() {
                *slot = Bytes(usage.0.get(index).copied().unwrap_or(0));
            }
        }
        memory
    };
    let points = moments
        .into_iter()
        .map(|moment| {
            let memory = with(&replay.usage(&moment), &[Bytes::ZERO; Bucket::COUNT]);
            TimelinePoint {
                step: moment.step,
                total: memory.iter().copied().sum(),
                memory,
                moment: PeakMoment {
                    graph_phase,
                    ..replay.moment(&moment)
                },
                in_flight: moment.live,
            }
        })
        .collect();
    let copies = stages.optimizer_copies(&of_parameters);
    let mut step = Usage::default();
    step.add_to(
        TRANSIENT,
        (replay.totals.idle() + replay.totals.attributes() + copies.kept + copies.during).0,
    );
    Some(Timeline {
        steps: replay.totals.schedule.len(),
        points,
        optimizer_step: with(&step, &all_of_parameters),
        steady: held.steady,
    })
}
