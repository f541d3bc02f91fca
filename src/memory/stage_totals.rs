//! The passes of a stage in bytes: the totals of its chunks with the schedule that runs them. No block, operation or
//! name is kept, so that a search can share the totals of chunks between layouts.

use std::rc::Rc;

use crate::model::tape::liveness::{TRANSIENT, Usage};
use crate::parallel::schedule::{ChunkBytes, Moment, PairBytes, Schedule};
use crate::units::Bytes;

/// The sizes of a chunk that its stage's schedule needs.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChunkTotals {
    /// Bytes by use that one live micro batch keeps.
    pub(crate) kept: Usage,
    /// Bytes by use that a micro batch has alive at the heaviest moment of its forward pass.
    pub(crate) forward: Usage,
    /// Bytes by use that a micro batch has alive at the heaviest moment of its backward pass.
    pub(crate) backward: Usage,
    /// Bytes of the tensor that the chunk receives.
    pub(crate) received: u64,
    /// Bytes of that tensor that stay until the next one: none where the norm that reads it is offloaded, which gives up
    /// its storage.
    pub(crate) received_stays: u64,
    /// Bytes of the tensor that the chunk sends.
    pub(crate) sent: u64,
    /// Bytes of that tensor that a live micro batch keeps, counted in `kept` and `backward`.
    pub(crate) output_kept: u64,
    /// Bytes that a deferred weight gradient of the output layer needs after each backward pass.
    pub(crate) deferred: u64,
    /// The number of backward passes that defer a weight gradient.
    pub(crate) deferrals: u64,
    /// Bytes that attributes of modules keep between iterations.
    pub(crate) attributes: u64,
}

/// The schedule of a stage, and what its place in the pipeline means for its chunks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StagePlace {
    pub(crate) schedule: Schedule,
    /// Whether there are other stages.
    pub(crate) pipelined: bool,
    /// Whether the gradient of a chunk's output stays alive until the next backward pass begins.
    pub(crate) retained: bool,
    /// Whether a graph is captured, which holds gradients itself.
    pub(crate) captured: bool,
}

/// The totals of a stage's chunks with the schedule that runs their passes.
#[derive(Clone, Debug)]
pub(crate) struct StageTotals {
    pub(crate) schedule: Schedule,
    chunks: Vec<Rc<ChunkTotals>>,
    weights: Vec<ChunkBytes>,
}

/// The totals of a chunk, with the bytes that a schedule adds up of it.
#[derive(Clone, Debug)]
pub(crate) struct WeighedChunk {
    totals: Rc<ChunkTotals>,
    weight: ChunkBytes,
}

impl WeighedChunk {
    /// A chunk of the stage at a place. In every other stage that retains gradients as this one does, it weighs the same.
    pub(crate) fn new(place: &StagePlace, totals: Rc<ChunkTotals>) -> Self {
        Self {
            weight: weight(place, &totals),
            totals,
        }
    }
}

impl StageTotals {
    pub(crate) fn new(place: &StagePlace, chunks: Vec<Rc<ChunkTotals>>) -> Self {
        let weighed = chunks.into_iter().map(|totals| WeighedChunk::new(place, totals));
        Self::of_weighed(place, weighed)
    }

    /// The totals of a stage whose chunks are weighed already.
    pub(crate) fn of_weighed(place: &StagePlace, weighed: impl ExactSizeIterator<Item = WeighedChunk>) -> Self {
        let (mut chunks, mut weights) = (Vec::with_capacity(weighed.len()), Vec::with_capacity(weighed.len()));
        for WeighedChunk { totals, weight } in weighed {
            chunks.push(totals);
            weights.push(weight);
        }
        Self {
            schedule: place.schedule,
            chunks,
            weights,
        }
    }

    /// The heaviest moment; `pair` has the bytes of steps with both passes.
    pub(crate) fn peak(&self, pair: PairBytes<'_>) -> Moment {
        self.schedule.peak_with(&self.weights, pair)
    }

    /// Heaviest moments of equal shares of the steps.
    pub(crate) fn timeline(&self, pair: PairBytes<'_>, points: u32) -> Vec<Moment> {
        self.schedule.timeline_with(&self.weights, pair, points)
    }

    /// Bytes that every replay has alive at least: those of the heaviest single pass.
    pub(crate) fn heaviest_pass(&self) -> Bytes {
        let passes = self.chunks.iter().flat_map(|c| [&c.forward, &c.backward]);
        Bytes(passes.map(Usage::total).max().unwrap_or(0))
    }

    /// Bytes that no replay has alive more of, where no two passes run at once.
    pub(crate) fn most(&self) -> Bytes {
        Bytes(u64::try_from(self.schedule.at_most(&self.weights)).unwrap_or(u64::MAX))
    }

    /// Bytes of tensors that attributes of modules keep between iterations.
    pub(crate) fn attributes(&self) -> Bytes {
        self.chunks.iter().map(|chunk| Bytes(chunk.attributes)).sum()
    }

    /// Bytes of the tensors that chunks hold while no pass of theirs runs.
    pub(crate) fn idle(&self) -> Bytes {
        self.weights.iter().map(|w| Bytes(w.idle)).sum()
    }

    /// Bytes by use at a moment. Of a step with both passes, `both` is the chunk of the backward pass and what the two
    /// micro batches have alive.
    pub(crate) fn usage(&self, moment: &Moment, both: Option<(u32, Usage)>) -> Usage {
        let at_work = match both {
            Some(both) => Some(both),
            None => self.pass(moment),
        };
        let mut usage = Usage::default();
        for (index, (chunk, live)) in (0u32..).zip(self.chunks.iter().zip(&moment.live)) {
            let working = at_work.is_some_and(|(chunk, _)| chunk == index);
            let others = u64::from(*live).saturating_sub(u64::from(working));
            usage.add_many(&chunk.kept, others);
        }
        if let Some((_, alive)) = at_work {
            usage.add(&alive);
        }
        let left = moment.left + moment.deferred;
        usage.add_to(TRANSIENT, u64::try_from(left).unwrap_or(u64::MAX));
        usage
    }

    /// The chunk whose pass runs at a moment, and what the micro batch has alive.
    fn pass(&self, moment: &Moment) -> Option<(u32, Usage)> {
        let step = self.schedule.step(moment.step)?;
        let pass = step.forward.or(step.backward)?;
        let chunk = self.chunks.get(pass.chunk as usize)?;
        let alive = match step.forward {
            Some(_) => chunk.forward,
            None => chunk.backward,
        };
        Some((pass.chunk, alive))
    }
}

/// The bytes of a chunk that a schedule adds up.
fn weight(place: &StagePlace, chunk: &ChunkTotals) -> ChunkBytes {
    let kept = chunk.kept.total();
    let (received, sent) = (chunk.received, chunk.sent);
    ChunkBytes {
        stored: kept,
        forward: chunk.forward.total().saturating_sub(kept),
        backward: chunk.backward.total().saturating_sub(kept),
        // With the gradient.
        idle: received.saturating_add(chunk.received_stays),
        input_grad: if place.pipelined { received } else { 0 },
        output: if place.retained && !place.captured {
            sent.saturating_add(chunk.output_kept)
        } else {
            0
        },
        deferred: chunk.deferred,
        deferrals: chunk.deferrals,
    }
}
