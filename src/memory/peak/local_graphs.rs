//! The memory of a stage, from start to end of a job, with CUDA graphs of layers (`cuda_graph_impl` local).

use std::rc::Rc;

use super::Stages;
use crate::memory::graph_phase::GraphPhase;
use crate::memory::stage_totals::StageTotals;
use crate::memory::{JobMoment, MomentPeak, StageEstimate};
use crate::units::Bytes;

impl Stages<'_> {
    /// One stage's estimate at a moment of the job. Local graphs are captured in its first iteration, and again in the
    /// first after it was resumed, behind the backward passes and before the optimizer step (`create_cudagraphs`).
    pub(super) fn estimate_with_local_graphs(&self, pp_rank: u32, moment: JobMoment) -> StageEstimate {
        let replay = |moment| self.need(pp_rank, GraphPhase::Replay, moment);
        let pool = self.local_pool(pp_rank);
        // Nothing empties the allocator's cache, so the pool is reserved beside the most that was ever outside of it.
        let life = |first, later: Option<JobMoment>| {
            let before = self.need(pp_rank, GraphPhase::BeforeCapture, first);
            let capture = self.need(pp_rank, GraphPhase::Capture, first);
            let replay = later.map(replay);
            let outside = before.total.max(capture.total.saturating_sub(pool));
            let outside = replay.iter().fold(outside, |most, r| most.max(r.total));
            let steady = replay.as_ref().map_or(before.steady, |r| r.steady);
            let phases = [Some(before), Some(capture), replay].into_iter().flatten();
            let most = phases.reduce(|a, b| if b.total > a.total { b } else { a });
            most.map(|most| StageEstimate {
                steady,
                graphs: (outside + pool).saturating_sub(most.total),
                ..most
            })
        };
        let of = |moment| {
            use JobMoment as M;
            let estimate = match moment {
                M::FirstIteration => life(M::FirstIteration, None),
                M::SkippedSteps => life(M::SkippedSteps, Some(M::SkippedSteps)),
                M::LaterIteration => life(M::FirstIteration, Some(M::LaterIteration)),
                M::FirstIterationAfterResume => life(M::FirstIterationAfterResume, Some(M::LaterIteration)),
                M::SavingCheckpoint => None,
            };
            estimate.unwrap_or_else(|| replay(moment))
        };
        let mut estimate = of(moment);
        estimate.moments = JobMoment::EACH.map(|moment| {
            let at = of(moment);
            MomentPeak {
                moment,
                steady: at.steady,
                total: at.total,
                at: at.moment,
            }
        });
        estimate
    }

    /// The largest size of the pool of a stage's local CUDA graphs, which are captured in the order of its schedule.
    fn local_pool(&self, pp_rank: u32) -> Bytes {
        let graph_phase = GraphPhase::Capture;
        let replay = self.replay(pp_rank, graph_phase);
        let totals = replay.chunks.iter().map(|chunk| Rc::new(chunk.pool_totals()));
        let totals = StageTotals::new(&self.place(pp_rank, graph_phase), totals.collect());
        let most = totals.peak(&|_, _| 0).bytes;
        Bytes(u64::try_from(most).unwrap_or(u64::MAX))
    }
}
