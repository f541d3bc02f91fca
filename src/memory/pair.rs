//! A forward and a backward pass at once, as EP overlap has them (`TransformerModelChunkSchedulePlan.run`): the embedding
//! forwards, the loss backwards, layer by layer in turn, the loss forwards, and at last the embedding backwards.

use super::passes::{ChunkHigh, ChunkPasses};
use super::segments::{Segment, SegmentKind};
use crate::model::tape::replay::{TRANSIENT, Usage};

/// The heaviest moment of the two passes together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PairHigh {
    /// What both micro batches have alive.
    pub(crate) usage: Usage,
    /// Its total.
    pub(crate) total: u64,
    /// Whether the forward pass is at work.
    pub(crate) forward: bool,
    /// The pass at work, with what its own micro batch has alive.
    pub(crate) high: ChunkHigh,
    /// Segments of the other micro batch that are kept: those done forwards, or those not yet done backwards.
    pub(crate) kept: usize,
    /// Tensors of the residual stream's size on their way between layers.
    pub(crate) passing: u64,
}

struct Pair<'a> {
    up: &'a ChunkPasses<'a>,
    down: &'a ChunkPasses<'a>,
    /// Where the forward pass has its loss, or ends.
    head: usize,
    done: usize,
    left: usize,
    begun: bool,
    best: PairHigh,
}

/// The heaviest moment of a forward pass of `up` and a backward pass of `down`.
pub(crate) fn pair(up: &ChunkPasses<'_>, down: &ChunkPasses<'_>) -> PairHigh {
    let is_head = |s: &Segment<'_>| s.kind == SegmentKind::Head;
    let head = up.segments.iter().position(is_head);
    let head = head.unwrap_or(up.segments.len());
    let mut pair = Pair {
        up,
        down,
        head,
        done: 0,
        left: down.segments.len(),
        begun: false,
        best: PairHigh::default(),
    };
    let embeds = |chunk: &ChunkPasses<'_>| {
        let first = chunk.segments.first();
        first.is_some_and(|s| s.kind == SegmentKind::Embedding)
    };
    if embeds(up) {
        pair.forward();
    }
    if down.segments.last().is_some_and(is_head) {
        pair.backward();
    }
    let embedding = usize::from(embeds(down));
    while pair.done < head {
        pair.forward();
        if pair.left > embedding {
            pair.backward();
        }
    }
    while pair.left > embedding {
        pair.backward();
    }
    // The gradient of the embedding waits for the loss of the other micro batch.
    while pair.done < up.segments.len() {
        pair.forward();
    }
    while pair.left > 0 {
        pair.backward();
    }
    pair.best
}

impl Pair<'_> {
    fn offer(&mut self, high: ChunkHigh, forward: bool, kept: usize, passing: bool) {
        let other = if forward { self.down } else { self.up };
        let mut usage = high.usage;
        if kept > 0 {
            usage.add(&other.before(kept));
        }
        let passing = if passing { self.down.residual } else { 0 };
        usage.add_to(TRANSIENT, passing);
        let total = usage.total();
        if total > self.best.total {
            self.best = PairHigh {
                usage,
                total,
                forward,
                high,
                kept,
                passing,
            };
        }
    }

    fn forward(&mut self) {
        // The gradient between two layers of the backward pass.
        let passing = self.begun && (self.left > 0 || self.down.received > 0);
        self.offer(self.up.forward_at(self.done), true, self.left, passing);
        self.done += 1;
    }

    fn backward(&mut self) {
        let Some(index) = self.left.checked_sub(1) else {
            return;
        };
        let (high, first) = self.down.backward_at(index, false);
        // The output of the latest layer of the forward pass; after the loss there is none.
        let passing = self.done > 0 && self.done <= self.head;
        self.offer(high, false, self.done, passing);
        self.left = first.min(index);
        self.begun = true;
    }
}
