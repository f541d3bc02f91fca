//! The stage of a layout that needs most in later iterations, found with few replays of schedules: of the phases of
//! CUDA graphs that stages go through, only those are replayed that may need as much as the heaviest one so far.

use core::cmp::Reverse;

use super::graph_phases::{PhaseMemory, StagePhases, fullest_phase};
use super::{StageBaseline, Stages};
use crate::memory::bucket::Bucket;
use crate::memory::graph_phase::GraphPhase;
use crate::memory::stage_totals::StageTotals;
use crate::memory::{JobMoment, StageBytes};
use crate::model::tape::liveness::TRANSIENT;
use crate::units::Bytes;

/// A stage by what layouts share: its memory between iterations, and the totals of its chunks. It has no local CUDA
/// graphs, no paged stash and no overlapping passes.
pub(crate) struct ComparedStage {
    pub(crate) pp_rank: u32,
    pub(crate) baseline: StageBaseline,
    /// Bytes of the static tensors of its CUDA graphs.
    pub(crate) static_tensors: Bytes,
    pub(crate) phases: StagePhases,
}

/// The most phases of CUDA graphs that a stage goes through.
const MOST_PHASES: usize = 3;

/// A stage in one phase of its CUDA graphs.
struct StageInPhase<'s> {
    stage: &'s ComparedStage,
    graph_phase: GraphPhase,
    totals: &'s StageTotals,
    /// Bytes of the static tensors of the graphs.
    buffers: Bytes,
    /// Bytes that earlier iterations leave beside the passes.
    beside: Bytes,
}

impl<'s> StageInPhase<'s> {
    /// A stage in iterations without graphs, or before they are captured.
    fn without_graphs(graph_phase: GraphPhase, stage: &'s ComparedStage) -> Self {
        Self {
            stage,
            graph_phase,
            totals: &stage.phases.plain,
            buffers: Bytes::ZERO,
            beside: Bytes::ZERO,
        }
    }

    /// Bytes that the stage does not exceed in this phase, without a replay of the schedule.
    fn most(&self) -> Bytes {
        let (baseline, totals) = (&self.stage.baseline, self.totals);
        let copies = baseline.copies;
        let step = totals.idle() + totals.attributes() + copies.kept + copies.during;
        baseline.total() + self.buffers + step.max(totals.most() + self.beside)
    }
}

impl Stages<'_> {
    /// The stage that needs most, the first of several: its pipeline rank, and the bytes that
    /// [`estimate`](Self::estimate) gives. `None` where a phase of a stage is `too_large`.
    pub(crate) fn heaviest_stage(
        &self,
        stages: &[ComparedStage],
        too_large: impl Fn(Bytes) -> bool,
    ) -> Option<(u32, StageBytes)> {
        let mut phases: Vec<(Bytes, StageInPhase<'_>)> = Vec::with_capacity(MOST_PHASES * stages.len());
        for stage in stages {
            phases.extend(self.in_phases(stage).map(|phase| (phase.most(), phase)));
        }
        phases.sort_by_key(|(most, _)| Reverse(*most));
        let mut known: Vec<(&StageInPhase<'_>, StageBytes)> = Vec::new();
        let mut largest = Bytes::ZERO;
        for (most, phase) in &phases {
            if *most < largest {
                break;
            }
            let bytes = self.bytes_in(phase);
            if too_large(bytes.total) {
                return None;
            }
            largest = largest.max(bytes.total);
            known.push((phase, bytes));
        }
        let order = |phase: &StageInPhase<'_>, bytes: &StageBytes| (bytes.total, Reverse(phase.stage.pp_rank));
        let (heaviest, _) = known.iter().max_by_key(|(phase, bytes)| order(phase, bytes))?;
        let pp_rank = heaviest.stage.pp_rank;
        let replayed = |graph_phase: GraphPhase| {
            let mut of_stage = known.iter().filter(|(phase, _)| phase.stage.pp_rank == pp_rank);
            let of_phase = of_stage.find(|(phase, _)| phase.graph_phase == graph_phase);
            of_phase.map(|(_, bytes)| *bytes)
        };
        let of_phase = |graph_phase| {
            if let Some(bytes) = replayed(graph_phase) {
                return Some(bytes);
            }
            let mut phases = phases.iter().map(|(_, phase)| phase);
            let phase = phases.find(|phase| phase.stage.pp_rank == pp_rank && phase.graph_phase == graph_phase)?;
            Some(self.bytes_in(phase))
        };
        if let Some(plain) = replayed(GraphPhase::Plain) {
            return Some((pp_rank, plain));
        }
        // What graphs keep reserved follows from these two, whichever needs most.
        let (replay, capture) = (of_phase(GraphPhase::Replay)?, of_phase(GraphPhase::Capture)?);
        let before_capture = replayed(GraphPhase::BeforeCapture);
        let (most, graphs) = fullest_phase(replay, capture, before_capture, |stage| (stage.total, stage.graphs));
        Some((pp_rank, StageBytes { graphs, ..most }))
    }

    /// A stage in each phase that it goes through.
    fn in_phases<'s>(&self, stage: &'s ComparedStage) -> impl Iterator<Item = StageInPhase<'s>> {
        let phases: [Option<StageInPhase<'s>>; MOST_PHASES] = match &stage.phases.graphs {
            None => [Some(StageInPhase::without_graphs(GraphPhase::Plain, stage)), None, None],
            Some([capture, replay]) => {
                let with_graphs = |graph_phase, totals, beside| StageInPhase {
                    stage,
                    graph_phase,
                    totals,
                    buffers: stage.static_tensors,
                    beside,
                };
                let warms_up = self.warms_up();
                let left = if warms_up {
                    replay.idle() + stage.baseline.copies.kept
                } else {
                    Bytes::ZERO
                };
                [
                    Some(with_graphs(GraphPhase::Replay, replay, Bytes::ZERO)),
                    Some(with_graphs(GraphPhase::Capture, capture, left)),
                    warms_up.then(|| StageInPhase::without_graphs(GraphPhase::BeforeCapture, stage)),
                ]
            }
        };
        phases.into_iter().flatten()
    }

    /// The bytes of a stage in a phase, as [`need`](Self::need) has them in later iterations.
    fn bytes_in(&self, phase: &StageInPhase<'_>) -> StageBytes {
        let StageInPhase {
            stage,
            graph_phase,
            totals,
            ..
        } = phase;
        // No step has both passes.
        let moment = totals.peak(&|_, _| 0);
        let mut usage = totals.usage(&moment, None);
        usage.add_to(TRANSIENT, phase.beside.0);
        let mut memory = PhaseMemory::new(self.m, *graph_phase, &stage.baseline, totals, &moment, usage);
        if let Some(slot) = memory.baseline.get_mut(Bucket::Buffers as usize) {
            *slot += phase.buffers;
        }
        let at = memory.at(JobMoment::default());
        StageBytes {
            graphs: memory.graphs(&at),
            memory: at.memory,
            total: at.total,
        }
    }
}
