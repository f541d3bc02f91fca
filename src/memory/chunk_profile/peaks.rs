//! The heaviest moments of a chunk's passes, block by block.

use super::{BEFORE_CAPTURE, ChunkPeak, ChunkProfile, Pass};
use crate::memory::blocks::handed_on::HandedOn;
use crate::memory::blocks::{Block, BlockPasses};
use crate::model::tape::Family;
use crate::model::tape::liveness::{PassKind, TRANSIENT, Usage};

/// A backward pass whose caller holds on to the output's gradient, or does not.
fn backward(retained: bool) -> PassKind {
    if retained {
        PassKind::BackwardRetained
    } else {
        PassKind::Backward
    }
}

impl ChunkProfile<'_> {
    /// The heaviest moment of a forward pass.
    pub(super) fn forward_peak(&self) -> ChunkPeak {
        let mut best = ChunkPeak::default();
        for (index, _) in self.lighter.iter().enumerate().filter(|(_, skip)| !**skip) {
            best.offer(self.forward_at(index));
        }
        best
    }

    /// Of each block, whether a later block surely has heavier moments in both passes: it has the same tape and more is
    /// kept before it. The chunk's last block is another matter, since the gradient of its output may be retained.
    pub(super) fn lighter_than_later(&self) -> Vec<bool> {
        let inner = self.blocks.len().saturating_sub(1);
        let mut lighter = vec![false; self.blocks.len()];
        if !self.fsdp.is_empty() {
            return lighter;
        }
        // Of the blocks behind the one at hand, the nearest of each kind.
        let mut behind: Vec<(usize, &Block<'_>)> = Vec::new();
        let blocks = self.blocks.iter().enumerate().zip(&mut lighter).take(inner);
        for ((index, own), lighter) in blocks.rev() {
            let alike = |(_, other): &&mut (usize, &Block<'_>)| {
                core::ptr::eq(own.compiled, other.compiled)
                    && own.pooled == other.pooled
                    && own.handed_on == other.handed_on
                    && own.group.is_some() == other.group.is_some()
            };
            match behind.iter_mut().find(alike) {
                Some(later) => {
                    *lighter = self.is_lighter(index, later.0);
                    *later = (index, own);
                }
                None => behind.push((index, own)),
            }
        }
        lighter
    }

    /// Whether a block surely has lighter moments than a later one with the same tape, neither of them the last.
    fn is_lighter(&self, index: usize, later: usize) -> bool {
        let discarded = |index: usize| self.blocks.get(index).map_or(0, |block| block.discarded_before);
        let alone = |index: usize| {
            let group = self.blocks.get(index).and_then(|block| block.group);
            group.is_none_or(|group| group == (index, index + 1))
        };
        let (before, after) = (self.before(index), self.before(later));
        discarded(index) <= discarded(later)
            && alone(index)
            && alone(later)
            && self.capture(index) == self.capture(later)
            && before != after
            && before.0.iter().zip(&after.0).all(|(a, b)| a <= b)
    }

    /// The heaviest moment of one block's forward pass.
    pub(crate) fn forward_at(&self, index: usize) -> ChunkPeak {
        match self.blocks.get(index) {
            Some(block) => self.forward_of(block, index, self.before(index)),
            None => ChunkPeak::default(),
        }
    }

    /// The heaviest moment of the forward pass of the block at an index, before which so much is kept.
    pub(super) fn forward_of(&self, block: &BlockPasses<'_>, index: usize, before: Usage) -> ChunkPeak {
        let mut usage = before;
        usage.add_to(TRANSIENT, self.passing_mask);
        self.add_fsdp(&mut usage, index, Pass::Forward);
        let Some((first, _)) = block.group else {
            usage.add_to(TRANSIENT, self.prefetched_bytes);
            let capture = self.capture(index);
            usage.add_to(TRANSIENT, capture.gradients);
            let peak = block.compiled.peak(PassKind::Forward);
            let warmup = capture.warmup.saturating_add(capture.input);
            if warmup > peak.usage.total().saturating_add(capture.variables) {
                usage.add_to(TRANSIENT, warmup);
                return ChunkPeak::of(usage, index, BEFORE_CAPTURE, Pass::Forward);
            }
            usage.add_to(TRANSIENT, capture.variables);
            usage.add(&peak.usage);
            usage.take(Family::Residual as usize, block.pooled);
            usage.add_to(TRANSIENT, block.discarded_before);
            return ChunkPeak::of(usage, index, peak, Pass::Forward);
        };
        let peak = block.compiled.peak(PassKind::WithoutAutograd);
        let shared = block.handed_on.map_or(0, |handed_on| handed_on.shared);
        if first == index {
            usage.add(&peak.usage);
            usage.take(Family::Residual as usize, shared);
            if self.distributed {
                usage.add_to(Family::Residual as usize, self.input_kept);
            }
        } else {
            // The group's input is kept already; this layer's input is only passed on.
            usage.add_to(TRANSIENT, peak.usage.total().saturating_sub(shared));
        }
        ChunkPeak::of(usage, index, peak, Pass::Forward)
    }

    /// What waits beside a block's backward pass: a block that offloads takes its tensors from it, one by one,
    /// while those of the block before come back.
    pub(crate) fn prefetched_beside(&self, block: &BlockPasses<'_>) -> u64 {
        if block.compiled.moved == 0 {
            self.prefetched_bytes
        } else {
            0
        }
    }

    /// The heaviest moment of a backward pass.
    pub(super) fn backward_peak(&self, retained: bool) -> ChunkPeak {
        let mut best = ChunkPeak::default();
        let mut index = self.blocks.len();
        while index > 0 {
            if self.lighter.get(index - 1) == Some(&true) {
                index -= 1;
                continue;
            }
            let (peak, first) = self.backward_at(index - 1, retained);
            best.offer(peak);
            index = first.min(index - 1);
        }
        best
    }

    /// The heaviest moment of one block's backward pass, or of its whole group's, and the first block of that.
    pub(crate) fn backward_at(&self, index: usize, retained: bool) -> (ChunkPeak, usize) {
        let last = self.blocks.len().saturating_sub(1);
        let Some(block) = self.blocks.get(index) else {
            return (ChunkPeak::default(), 0);
        };
        let mut best = ChunkPeak::default();
        let Some((first, end)) = block.group else {
            let holds = retained && index == last || !self.captures.is_empty();
            best.offer(self.backward_of(block, index, self.before(index), (retained, holds)));
            return (best, index);
        };
        let group = self.blocks.get(first..end).unwrap_or_default();
        let group: Vec<BlockPasses<'_>> = group.iter().map(|block| block.passes).collect();
        self.group_peak(first, &group, self.before(first), (retained, end <= last), &mut best);
        (best, first)
    }

    /// The heaviest moment of the backward pass of the block at an index, which is in no group and before which so much
    /// is kept. The caller holds on to the gradient of an output where gradients are `retained`: to that of this block
    /// where it `holds` one.
    pub(super) fn backward_of(
        &self,
        block: &BlockPasses<'_>,
        index: usize,
        before: Usage,
        (retained, holds): (bool, bool),
    ) -> ChunkPeak {
        let peak = block.compiled.peak(backward(holds));
        let mut usage = before;
        usage.add(&peak.usage);
        usage.add_to(TRANSIENT, self.capture(index).backward);
        usage.take(Family::Residual as usize, block.pooled_kept());
        usage.add_to(TRANSIENT, block.discarded_before);
        usage.add_to(TRANSIENT, self.prefetched_beside(block));
        self.keep_output(&mut usage);
        self.add_fsdp(&mut usage, index, Pass::Backward);
        if retained && !holds {
            usage.add_to(TRANSIENT, self.sent);
        }
        ChunkPeak::of(usage, index, peak, Pass::Backward)
    }

    /// A group of layers that kept only its input: forward once more, then backward. The gradient it was called
    /// with and its output stay alive all the while: the function that recomputes has them as variables.
    /// All else than the group's input is there for a moment only. The group starts with the block at an index, before
    /// which so much is kept; the caller holds on to the gradient of the chunk's output where it is `retained` and blocks
    /// come `behind` the group.
    pub(super) fn group_peak(
        &self,
        start: usize,
        layers: &[BlockPasses<'_>],
        before: Usage,
        (retained, behind): (bool, bool),
        best: &mut ChunkPeak,
    ) {
        let mut base = before;
        base.add_to(
            Family::Residual as usize,
            layers.first().map_or(self.input_kept, |first| self.group_input(first)),
        );
        self.keep_output(&mut base);
        if retained && behind {
            base.add_to(TRANSIENT, self.sent);
        }
        let [called_with, output, unread] = self.group_output(layers.last());
        // Without the part of its input that is counted before it.
        let whole = |usage: &Usage, block: &BlockPasses<'_>, first: bool, has_input: bool| {
            let counted = match (has_input, first) {
                (false, _) => 0,
                (true, true) if self.distributed => 0,
                (true, true) => block.handed_on.map_or(self.residual, HandedOn::input),
                (true, false) => block.handed_on.map_or(0, |handed_on| handed_on.shared),
            };
            usage.total().saturating_sub(counted)
        };
        // What the layers before each one keep, the first aside.
        let mut sums = Vec::new();
        let mut sum = 0u64;
        for (offset, block) in layers.iter().enumerate() {
            if offset > 0 {
                sums.push(sum);
            }
            let peak = block.compiled.peak(PassKind::Forward);
            let mut usage = base;
            let now = whole(&peak.usage, block, offset == 0, true).saturating_add(called_with);
            usage.add_to(TRANSIENT, sum.saturating_add(now));
            self.add_fsdp(&mut usage, start + offset, Pass::RecomputedForward);
            best.offer(ChunkPeak::of(usage, start + offset, peak, Pass::RecomputedForward));
            let kept = whole(&block.compiled.kept, block, offset == 0, block.compiled.keeps_input);
            sum = sum.saturating_add(kept);
        }
        for (offset, block) in layers.iter().enumerate().rev() {
            let sum = sums.get(offset.wrapping_sub(1)).copied().unwrap_or(0);
            let last = offset + 1 == layers.len();
            let peak = block.compiled.peak(backward(last));
            let now = whole(&peak.usage, block, offset == 0, block.compiled.keeps_input);
            // The recomputed output, and below the last layer the gradient that came in; the tape of the last layer has
            // that of its own output.
            let retained = output.saturating_add(if last { unread } else { called_with });
            let mut usage = base;
            usage.add_to(TRANSIENT, sum.saturating_add(now).saturating_add(retained));
            self.add_fsdp(&mut usage, start + offset, Pass::Backward);
            best.offer(ChunkPeak::of(usage, start + offset, peak, Pass::Backward));
        }
    }

    /// Bytes of the gradients that a group whose last layer this is runs backwards with, of its recomputed output, and of
    /// those gradients that no tape has.
    pub(crate) fn group_output(&self, last: Option<&BlockPasses<'_>>) -> [u64; 3] {
        match last.and_then(|last| last.handed_on) {
            Some(handed_on) => [handed_on.gradient, handed_on.output, handed_on.unread],
            None => [self.residual, self.residual, 0],
        }
    }

    /// Which pass of the block's tape the heaviest moment belongs to.
    pub(crate) fn pass_kind(&self, peak: &ChunkPeak, retained: bool) -> PassKind {
        let block = self.blocks.get(peak.block);
        let group = block.and_then(|block| block.group);
        match peak.pass {
            Pass::Forward if group.is_some() => PassKind::WithoutAutograd,
            Pass::Forward | Pass::RecomputedForward => PassKind::Forward,
            Pass::Backward => {
                let last = match group {
                    Some((_, end)) => peak.block + 1 == end,
                    None => retained && peak.block + 1 == self.blocks.len() || !self.captures.is_empty(),
                };
                backward(last)
            }
        }
    }
}
