//! The forward pass of one micro batch and the backward pass of another at the same time, as
//! `overlap_moe_expert_parallel_comm` runs them so that one computes while the other exchanges tokens
//! (`TransformerModelChunkSchedulePlan.run`). First the one goes forwards through the embedding and the other backwards
//! through the loss; then each takes a layer in turn; at last the one goes forwards through the loss and the other
//! backwards through the embedding.

use super::blocks::{Block, BlockKind};
use super::chunk_profile::{ChunkPeak, ChunkProfile};
use crate::model::tape::liveness::{PassKind, TRANSIENT, Usage};

/// The heaviest moment of the two passes together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OverlapPeak {
    /// Bytes by use that both micro batches have alive.
    pub(crate) usage: Usage,
    /// Its total.
    pub(crate) total: u64,
    /// Whether the forward pass is at work.
    pub(crate) forward: bool,
    /// The pass at work, with what its own micro batch has alive.
    pub(crate) peak: ChunkPeak,
    /// Segments of the other micro batch that are kept: those done forwards, or those not yet done backwards.
    pub(crate) kept: usize,
    /// Tensors of the residual stream's size on their way between layers.
    pub(crate) passing: u64,
    /// Inputs and output gradients that wait for the weight gradients of the first layer of the backward pass.
    pub(crate) delayed: u64,
}

struct Overlap<'a> {
    forward: &'a ChunkProfile<'a>,
    backward: &'a ChunkProfile<'a>,
    /// Where the forward pass has its loss, or ends.
    head: usize,
    /// Blocks before the first layer of the backward pass.
    embedding: usize,
    done: usize,
    left: usize,
    begun: bool,
    /// Bytes that the weight gradients of the first layer wait with.
    delayed: u64,
    best: OverlapPeak,
}

/// The heaviest moment of a forward pass of `forward` and a backward pass of `backward`.
pub(crate) fn overlap(forward: &ChunkProfile<'_>, backward: &ChunkProfile<'_>) -> OverlapPeak {
    let is_head = |s: &Block<'_>| s.kind == BlockKind::Head;
    let head = forward.blocks.iter().position(is_head);
    let head = head.unwrap_or(forward.blocks.len());
    let embeds = |chunk: &ChunkProfile<'_>| {
        let first = chunk.blocks.first();
        first.is_some_and(|s| s.kind == BlockKind::Embedding)
    };
    let embedding = usize::from(embeds(backward));
    let mut overlap = Overlap {
        forward,
        backward,
        head,
        embedding,
        done: 0,
        left: backward.blocks.len(),
        begun: false,
        delayed: 0,
        best: OverlapPeak::default(),
    };
    if embeds(forward) {
        overlap.forward();
    }
    if backward.blocks.last().is_some_and(is_head) {
        overlap.backward();
    }
    while overlap.done < head {
        overlap.forward();
        if overlap.left > embedding {
            overlap.backward();
        }
    }
    while overlap.left > embedding {
        overlap.backward();
    }
    // The gradient of the embedding waits for the loss of the other micro batch.
    while overlap.done < forward.blocks.len() {
        overlap.forward();
    }
    while overlap.left > 0 {
        overlap.backward();
    }
    overlap.best
}

impl Overlap<'_> {
    fn offer(&mut self, peak: ChunkPeak, forward: bool, kept: usize, passing: bool) {
        let other = if forward { self.backward } else { self.forward };
        let mut usage = peak.usage;
        if kept > 0 {
            usage.add(&other.before(kept));
        }
        // Its own output stays until the end of the backward pass.
        if forward && kept < other.blocks.len() {
            other.keep_output(&mut usage);
        }
        let passing = if passing { self.backward.residual } else { 0 };
        let delayed = self.delayed;
        usage.add_to(TRANSIENT, passing.saturating_add(delayed));
        let total = usage.total();
        if total > self.best.total {
            self.best = OverlapPeak {
                usage,
                total,
                forward,
                peak,
                kept,
                passing,
                delayed,
            };
        }
    }

    fn forward(&mut self) {
        // The gradient between two layers of the backward pass.
        let passing = self.begun && (self.left > 0 || self.backward.received > 0);
        let peak = self.forward.forward_at(self.done);
        self.offer(peak, true, self.left, passing);
        self.done += 1;
        // They are computed between the last layer and the loss.
        if self.done >= self.head {
            self.delayed = 0;
        }
    }

    fn backward(&mut self) {
        let Some(index) = self.left.checked_sub(1) else {
            return;
        };
        let (peak, first) = self.backward.backward_at(index, false);
        // The output of the latest layer of the forward pass; after the loss there is none.
        let passing = self.done > 0 && self.done <= self.head;
        self.offer(peak, false, self.done, passing);
        self.left = first.min(index);
        self.begun = true;
        let first_layer = self.done < self.head && self.left <= self.embedding;
        if first_layer && let Some(block) = self.backward.blocks.get(self.left) {
            self.delayed = block.compiled.peak(PassKind::Backward).delayed;
        }
    }
}
