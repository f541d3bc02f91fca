//! The memory of a stage before CUDA graphs are captured, while they are, and after. The largest of these is what
//! `torch.cuda.max_memory_allocated` shows: nothing resets it.

use super::{Copies, PassName, PeakMoment, StageBaseline, Stages};
use crate::config::choices::CudaGraphImpl;
use crate::config::job::Module;
use crate::memory::bucket::{Bucket, ByBucket, State};
use crate::memory::buffers::{Buffer, graphs, stash};
use crate::memory::chunk_graphs::ChunkGraphs;
use crate::memory::chunk_profile::ChunkProfile;
use crate::memory::chunk_shape::{LayoutShapes, StageShape};
use crate::memory::graph_phase::GraphPhase;
use crate::memory::stage_totals::StageTotals;
use crate::memory::states::{made_by_first_step, offloaded_in_passes};
use crate::memory::{JobMoment, MomentPeak, StageEstimate};
use crate::model::LayerSpec;
use crate::model::tape::Capture;
use crate::model::tape::liveness::{TRANSIENT, Usage};
use crate::parallel::schedule::Moment;
use crate::units::Bytes;

/// The bytes of a stage in one phase of its CUDA graphs, from which its memory at every moment of the job follows.
pub(super) struct PhaseMemory<'s> {
    m: &'s Module,
    graph_phase: GraphPhase,
    /// Bytes of states and buffers by bucket, with all states of the optimizer.
    pub(super) baseline: ByBucket,
    /// Bytes of the passes at their peak, and the same by use.
    passes: Bytes,
    usage: Usage,
    at: PeakMoment,
    /// Bytes that lie between iterations beside states and buffers.
    between: Bytes,
    /// Bytes of the buffers in `baseline` that are released between iterations.
    released: Bytes,
    /// Bytes of the copies that only the optimizer step holds.
    during_step: Bytes,
}

/// The totals of a stage's chunks in the phases of its CUDA graphs.
pub(crate) struct StagePhases {
    /// Without graphs, and before they are captured.
    pub(crate) plain: StageTotals,
    /// While they are captured, and once they are; `None` where nothing is captured.
    pub(super) graphs: Option<[StageTotals; 2]>,
}

/// The memory of a stage at a moment of the job.
pub(super) struct AtMoment {
    pub(super) memory: ByBucket,
    pub(super) total: Bytes,
    steady: Bytes,
    at: PeakMoment,
}

impl<'s> PhaseMemory<'s> {
    /// The memory of a stage whose passes have their peak at `moment`, with this usage. The peak has no name yet, and
    /// buffers are those of all phases.
    pub(super) fn new(
        m: &'s Module,
        graph_phase: GraphPhase,
        baseline: &StageBaseline,
        totals: &StageTotals,
        moment: &Moment,
        usage: Usage,
    ) -> Self {
        let copies = baseline.copies;
        Self {
            m,
            graph_phase,
            baseline: baseline.memory,
            passes: Bytes(u64::try_from(moment.bytes).unwrap_or(u64::MAX)),
            usage,
            at: PeakMoment::default(),
            between: totals.idle() + totals.attributes() + copies.kept,
            released: baseline.released,
            during_step: copies.during,
        }
    }

    /// Bytes that CUDA graphs keep reserved beyond the memory at a moment; of the capture, the whole pool.
    pub(super) fn graphs(&self, at: &AtMoment) -> Bytes {
        match (self.graph_phase, self.m.args.cuda_graph_impl) {
            (GraphPhase::Capture, _) => self.passes,
            // One graph of all passes leaves all that they need in its pool.
            (_, CudaGraphImpl::FullIteration) => (at.steady + self.during_step + self.passes).saturating_sub(at.total),
            _ => Bytes::ZERO,
        }
    }

    /// The memory at a moment of the job.
    pub(super) fn at(&self, moment: JobMoment) -> AtMoment {
        let captures = self.graph_phase == GraphPhase::Capture;
        // The first step comes after a capture in the first iteration, or before it.
        let local = self.m.args.cuda_graph_impl == CudaGraphImpl::Local;
        let first = if local {
            moment != JobMoment::FirstIterationAfterResume
        } else {
            self.m.args.cuda_graph_warmup_steps == 0
        };
        let cold = captures && first;
        let stepped = moment != JobMoment::SkippedSteps && !cold;
        let made_by_step = |state| made_by_first_step(self.m, state);
        let after_step = if stepped {
            self.baseline
        } else {
            self.without(made_by_step)
        };
        // Graphs are captured between iterations, when all states are on the GPU.
        let offloaded = |state| !captures && offloaded_in_passes(self.m, state);
        let beside_all = stepped && moment.passes_beside_all_states();
        let in_passes = self.without(|state| offloaded(state) || !beside_all && made_by_step(state));
        let missing = sum(&after_step).saturating_sub(sum(&in_passes));
        let during = match moment {
            JobMoment::SkippedSteps | JobMoment::SavingCheckpoint => Bytes::ZERO,
            _ => self.during_step,
        };
        let step = self.between + during;
        let saves = moment == JobMoment::SavingCheckpoint;
        let in_step = saves || !captures && step + missing >= self.passes;
        let mut memory = if in_step { after_step } else { in_passes };
        let mut of_step = Usage::default();
        of_step.add_to(TRANSIENT, step.0);
        let usage = if in_step { &of_step } else { &self.usage };
        for (bucket, slot) in Bucket::ALL.into_iter().zip(&mut memory) {
            if let Some(index) = bucket.usage() {
                *slot = Bytes(usage.0.get(index).copied().unwrap_or(0));
            }
        }
        let at = match (in_step, saves) {
            (true, true) => PeakMoment {
                pass: PassName::BetweenIterations,
                ..PeakMoment::default()
            },
            (true, false) => PeakMoment::default(),
            (false, _) => self.at,
        };
        AtMoment {
            total: sum(&memory),
            memory,
            steady: (sum(&after_step) + self.between).saturating_sub(self.released),
            at: PeakMoment {
                graph_phase: self.graph_phase,
                ..at
            },
        }
    }

    /// `baseline` without some states.
    fn without(&self, absent: impl Fn(State) -> bool) -> ByBucket {
        let mut memory = self.baseline;
        for (bucket, slot) in Bucket::ALL.into_iter().zip(&mut memory) {
            let state = bucket.state();
            if state.is_some_and(|(state, _)| absent(state)) {
                *slot = Bytes::ZERO;
            }
        }
        memory
    }
}

fn sum(memory: &ByBucket) -> Bytes {
    memory.iter().copied().sum()
}

impl Stages<'_> {
    /// One stage's estimate at a moment of the job.
    pub(crate) fn estimate(&self, pp_rank: u32, moment: JobMoment) -> StageEstimate {
        if self.graphs.is_none() {
            return self.need(pp_rank, GraphPhase::Plain, moment);
        }
        if self.captures_within_an_iteration() {
            return self.estimate_with_local_graphs(pp_rank, moment);
        }
        let replays = matches!(
            moment,
            JobMoment::LaterIteration | JobMoment::FirstIterationAfterResume | JobMoment::SavingCheckpoint
        );
        let later = self.with_graphs(pp_rank, JobMoment::LaterIteration);
        let before = self.need(pp_rank, GraphPhase::BeforeCapture, moment);
        let mut estimate = match moment {
            JobMoment::SavingCheckpoint => self.need(pp_rank, GraphPhase::Replay, moment),
            _ if replays || !self.warms_up() => later.clone(),
            _ => before.clone(),
        };
        for (slot, early) in estimate.moments.iter_mut().zip(&before.moments) {
            let captured = match slot.moment {
                JobMoment::FirstIteration | JobMoment::SkippedSteps => !self.warms_up(),
                JobMoment::SavingCheckpoint => continue,
                JobMoment::LaterIteration | JobMoment::FirstIterationAfterResume => true,
            };
            *slot = if captured {
                MomentPeak {
                    moment: slot.moment,
                    steady: later.steady,
                    total: later.total,
                    at: later.moment,
                }
            } else {
                *early
            };
        }
        estimate
    }

    /// The estimate of one stage whose layers are captured, over the whole life of the job.
    fn with_graphs(&self, pp_rank: u32, moment: JobMoment) -> StageEstimate {
        let replay = self.need(pp_rank, GraphPhase::Replay, moment);
        let steady = replay.steady;
        let capture = self.need(pp_rank, GraphPhase::Capture, moment);
        let before = || self.need(pp_rank, GraphPhase::BeforeCapture, moment);
        let before = self.warms_up().then(before);
        let (mut most, graphs) = fullest_phase(replay, capture, before, |stage| (stage.total, stage.graphs));
        most.steady = steady;
        most.graphs = graphs;
        most
    }

    /// Whether graphs are captured within an iteration, and not between two.
    pub(super) fn captures_within_an_iteration(&self) -> bool {
        self.m.args.cuda_graph_impl == CudaGraphImpl::Local
    }

    /// Whether iterations come before the capture.
    pub(super) fn warms_up(&self) -> bool {
        !self.captures_within_an_iteration() && self.m.args.cuda_graph_warmup_steps > 0
    }

    /// The memory of a stage in one phase of its CUDA graphs. Of the capture, `graphs` is the whole pool.
    pub(crate) fn need(&self, pp_rank: u32, graph_phase: GraphPhase, job_moment: JobMoment) -> StageEstimate {
        let mut chunks = self.chunks(pp_rank);
        let baseline = self.baseline(pp_rank);
        let replay = self.replay(pp_rank, graph_phase);
        for (chunk, passes) in chunks.iter_mut().zip(&replay.chunks) {
            chunk.kept = Bytes(passes.kept_total);
        }
        let moment = replay.peak();
        let mut usage = replay.usage(&moment);
        usage.add_to(TRANSIENT, self.beside(pp_rank, graph_phase, &baseline.copies).0);
        let mut buffers = self.graph_buffers(pp_rank, graph_phase);
        buffers.extend(stash::buffers(self.m, &replay));
        let mut phase = PhaseMemory::new(self.m, graph_phase, &baseline, &replay.totals, &moment, usage);
        phase.at = replay.moment(&moment);
        if let Some(slot) = phase.baseline.get_mut(Bucket::Buffers as usize) {
            *slot += buffers.iter().map(|b| Bytes(b.bytes)).sum();
        }
        let at = phase.at(job_moment);
        let graphs = phase.graphs(&at);
        StageEstimate {
            chunks,
            memory: at.memory,
            total: at.total,
            steady: at.steady,
            workspaces: baseline.workspaces,
            saved_by_freezing: baseline.saved_by_freezing,
            graphs,
            moment: at.at,
            in_flight: moment.live,
            moments: JobMoment::EACH.map(|moment| {
                let at = phase.at(moment);
                MomentPeak {
                    moment,
                    steady: at.steady,
                    total: at.total,
                    at: at.at,
                }
            }),
        }
    }

    /// The static tensors of graphs, once they are captured.
    pub(crate) fn graph_buffers(&self, pp_rank: u32, graph_phase: GraphPhase) -> Vec<Buffer> {
        match (&self.graphs, graph_phase) {
            // Local graphs have theirs in their pool.
            _ if self.captures_within_an_iteration() => Vec::new(),
            (Some(_), GraphPhase::Capture | GraphPhase::Replay) => {
                let replay = self.replay(pp_rank, GraphPhase::Capture);
                let of_chunks: Vec<ChunkGraphs> = replay.chunks.iter().map(ChunkProfile::graphs).collect();
                let tapes = self.tapes(GraphPhase::Capture);
                graphs::buffers(tapes, replay.totals.schedule, &of_chunks, &self.in_flight)
            }
            _ => Vec::new(),
        }
    }

    /// Bytes of these static tensors, of a stage of a [shared](Self::shared) layout.
    pub(crate) fn static_tensors(&self, layout: &LayoutShapes, stage: &StageShape) -> Bytes {
        if self.graphs.is_none() {
            return Bytes::ZERO;
        }
        let tapes = self.tapes(GraphPhase::Capture);
        let schedule = self.place(stage.pp_rank, GraphPhase::Capture).schedule;
        tapes.static_tensors(schedule, || {
            let chunks = self.m.stages.rank(stage.pp_rank).iter().zip(&stage.chunks);
            let graphs = chunks.map(|(chunk, shape)| {
                let shape = layout.shapes.get(*shape);
                shape.map_or_else(ChunkGraphs::default, |shape| tapes.graphs(chunk, &shape.blocks))
            });
            let of_chunks: Vec<ChunkGraphs> = graphs.collect();
            let buffers = graphs::buffers(tapes, schedule, &of_chunks, &self.in_flight);
            buffers.iter().map(|buffer| Bytes(buffer.bytes)).sum()
        })
    }

    /// Bytes that earlier iterations, or the passes before, leave beside the capture.
    pub(crate) fn beside(&self, pp_rank: u32, graph_phase: GraphPhase, copies: &Copies) -> Bytes {
        if graph_phase == GraphPhase::Capture && self.captures_within_an_iteration() {
            self.replay(pp_rank, GraphPhase::BeforeCapture).totals.idle()
        } else if graph_phase == GraphPhase::Capture && self.warms_up() {
            self.replay(pp_rank, GraphPhase::Replay).totals.idle() + copies.kept
        } else {
            Bytes::ZERO
        }
    }
}

/// The phase in which a stage with graphs of Transformer Engine needs most, and what its graphs keep reserved beyond
/// that. `sizes` are the total of a phase and what its graphs keep reserved.
pub(super) fn fullest_phase<T>(
    replay: T,
    capture: T,
    before: Option<T>,
    sizes: impl Fn(&T) -> (Bytes, Bytes),
) -> (T, Bytes) {
    let total = |phase: &T| sizes(phase).0;
    let device = total(&replay) + sizes(&capture).1;
    let later = if total(&capture) > total(&replay) {
        capture
    } else {
        replay
    };
    let most = match before {
        Some(before) if total(&before) >= total(&later) => before,
        _ => later,
    };
    let graphs = device.saturating_sub(total(&most));
    (most, graphs)
}

/// Whether layers of a module are captured. In one that is not trained nothing is.
pub(crate) fn captures(m: &Module) -> bool {
    match m.args.cuda_graph_impl {
        CudaGraphImpl::None | CudaGraphImpl::FullIteration => false,
        CudaGraphImpl::TransformerEngine | CudaGraphImpl::Local => {
            let trained = m.io.is_language() || !m.args.frozen;
            trained && LayerSpec::kinds(m).any(|spec| Capture::of(m, spec).is_some())
        }
    }
}
