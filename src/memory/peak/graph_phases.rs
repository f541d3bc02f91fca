//! What a stage needs before CUDA graphs are captured, while they are, and after. The largest of these is what
//! `torch.cuda.max_memory_allocated` shows: nothing resets it.

use super::{Copies, PeakMoment, Stages};
use crate::config::choices::CudaGraphImpl;
use crate::config::job::Module;
use crate::memory::StageEstimate;
use crate::memory::bucket::{Bucket, State};
use crate::memory::buffers::{Buffer, graphs};
use crate::memory::graph_phase::GraphPhase;
use crate::model::LayerSpec;
use crate::model::tape::Capture;
use crate::model::tape::liveness::{TRANSIENT, Usage};
use crate::units::Bytes;

impl Stages<'_> {
    /// One stage's estimate.
    pub(crate) fn estimate(&self, pp_rank: u32) -> StageEstimate {
        if self.graphs.is_none() {
            return self.need(pp_rank, GraphPhase::Plain);
        }
        let mut most = self.need(pp_rank, GraphPhase::Replay);
        let capture = self.need(pp_rank, GraphPhase::Capture);
        let steady = most.steady;
        let device = most.total + capture.graphs;
        if capture.total > most.total {
            most = capture;
        }
        if self.warms_up() {
            let before = self.need(pp_rank, GraphPhase::BeforeCapture);
            if before.total >= most.total {
                most = before;
            }
        }
        most.steady = steady;
        most.graphs = device.saturating_sub(most.total);
        most
    }

    /// Whether steps come before the capture.
    fn warms_up(&self) -> bool {
        self.m.args.cuda_graph_warmup_steps > 0
    }

    /// What a stage needs in one part of the job's life. Of the capture, `graphs` is the whole pool.
    pub(crate) fn need(&self, pp_rank: u32, graph_phase: GraphPhase) -> StageEstimate {
        let mut chunks = self.chunks(pp_rank);
        let standing = self.standing(pp_rank, &chunks);
        let copies = standing.copies;
        let replay = self.replay(pp_rank, graph_phase);
        for (chunk, passes) in chunks.iter_mut().zip(&replay.chunks) {
            chunk.kept = Bytes(passes.kept_total);
        }
        let moment = replay.peak();
        let passes = Bytes(u64::try_from(moment.bytes).unwrap_or(u64::MAX));
        let beside = self.beside(pp_rank, graph_phase, &copies);
        let between = replay.idle() + copies.kept;
        let mut usage = Usage::default();
        let mut at = PeakMoment::default();
        if graph_phase != GraphPhase::Capture && between + copies.during >= passes {
            usage.add_to(TRANSIENT, (between + copies.during).0);
        } else {
            usage = replay.usage(&moment);
            usage.add_to(TRANSIENT, beside.0);
            at = replay.moment(&moment);
        }
        let mut memory = standing.memory;
        let buffers = self.graph_buffers(pp_rank, graph_phase);
        let buffers: Bytes = buffers.iter().map(|b| Bytes(b.bytes)).sum();
        // Adam has no moments before its first step.
        let cold = graph_phase == GraphPhase::Capture && !self.warms_up();
        let mut persistent = Bytes::ZERO;
        for (bucket, slot) in Bucket::ALL.into_iter().zip(&mut memory) {
            if let Some(index) = bucket.usage() {
                *slot = Bytes(usage.0.get(index).copied().unwrap_or(0));
                continue;
            }
            match bucket.state() {
                None => *slot += buffers,
                Some((State::ExpAvg | State::ExpAvgSq, _)) if cold => *slot = Bytes::ZERO,
                Some(_) => {}
            }
            persistent += *slot;
        }
        let total: Bytes = memory.iter().copied().sum();
        let steady = persistent + between;
        let graphs = match (graph_phase, self.m.args.cuda_graph_impl) {
            (GraphPhase::Capture, _) => passes,
            // One graph of all passes leaves all that they need in its pool.
            (_, CudaGraphImpl::FullIteration) => {
                (steady + copies.during + passes).saturating_sub(total)
            }
            _ => Bytes::ZERO,
        };
        StageEstimate {
            chunks,
            memory,
            total,
            steady,
            workspaces: standing.workspaces,
            saved_by_freezing: standing.saved_by_freezing,
            graphs,
            moment: PeakMoment { graph_phase, ..at },
            in_flight: moment.live,
        }
    }

    /// The static tensors of graphs, once they are captured.
    pub(crate) fn graph_buffers(&self, pp_rank: u32, graph_phase: GraphPhase) -> Vec<Buffer> {
        match (&self.graphs, graph_phase) {
            (Some(_), GraphPhase::Capture | GraphPhase::Replay) => {
                let replay = self.replay(pp_rank, GraphPhase::Capture);
                graphs::buffers(
                    self.tapes(GraphPhase::Capture),
                    &replay.schedule,
                    &replay.chunks,
                )
            }
            _ => Vec::new(),
        }
    }

    /// What earlier iterations leave beside the capture.
    pub(crate) fn beside(&self, pp_rank: u32, graph_phase: GraphPhase, copies: &Copies) -> Bytes {
        if graph_phase == GraphPhase::Capture && self.warms_up() {
            self.replay(pp_rank, GraphPhase::Replay).idle() + copies.kept
        } else {
            Bytes::ZERO
        }
    }
}

/// Whether Transformer Engine captures layers of a module. In one that is not trained nothing is.
pub(super) fn captures(m: &Module) -> bool {
    let trained = m.io.is_language() || !m.args.frozen;
    let graphs = m.args.cuda_graph_impl == CudaGraphImpl::TransformerEngine;
    let mut specs = LayerSpec::all(m).into_iter();
    trained && graphs && specs.any(|spec| Capture::of(m, spec).is_some())
}
