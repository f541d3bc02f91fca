//! The order in which microbatches pass the chunks of a rank: Megatron's `get_schedule_table`.

use super::Pass;

/// Groups of microbatches, each through all chunks before the next; only the last may be smaller.
///
/// A position in this order is what Megatron calls a virtual microbatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    chunks: u32,
    group: u32,
    microbatches: u32,
    /// The position after the last full group.
    full_end: u64,
    /// The microbatches of the group after the full ones.
    rest: u32,
}

/// Consecutive positions with the same chunk.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) chunk: u32,
    /// The number of positions left in the run, at least 1.
    pub(super) left: u64,
}

impl Order {
    pub(super) fn new(chunks: u32, group: u32, microbatches: u32) -> Self {
        // With one chunk the groups make no difference, and one group is least work.
        let group = if chunks == 1 { microbatches } else { group }.max(1);
        let rest = microbatches % group;
        Self {
            chunks,
            group,
            microbatches,
            full_end: u64::from(microbatches - rest) * u64::from(chunks),
            rest,
        }
    }

    pub(super) fn chunks(self) -> u32 {
        self.chunks
    }

    /// The number of positions.
    pub(super) fn len(self) -> u64 {
        u64::from(self.microbatches) * u64::from(self.chunks)
    }

    /// The number of positions of a full group. Chunks repeat with this period.
    pub(super) fn period(self) -> u64 {
        u64::from(self.group) * u64::from(self.chunks)
    }

    /// The position after the last full group.
    pub(super) fn full_end(self) -> u64 {
        self.full_end
    }

    /// The number of groups before a position, the position in its group, and that group's microbatches.
    fn split(self, position: u64) -> (u64, u64, u64) {
        let group = position / self.period();
        let microbatches = if position < self.full_end {
            self.group
        } else {
            self.rest
        };
        (group, position % self.period(), u64::from(microbatches))
    }

    /// The forward pass at a position before the end.
    pub(super) fn forward(self, position: u64) -> Pass {
        let (group, within, size) = self.split(position);
        let microbatch = group * u64::from(self.group) + within.checked_rem(size).unwrap_or(0);
        Pass {
            microbatch: narrow(microbatch),
            chunk: narrow(within.checked_div(size).unwrap_or(0)),
        }
    }

    /// The backward pass at a position before the end: the same order with the chunks reversed.
    pub(super) fn backward(self, position: u64) -> Pass {
        let Pass { microbatch, chunk } = self.forward(position);
        Pass {
            microbatch,
            chunk: self.reversed(chunk),
        }
    }

    fn reversed(self, chunk: u32) -> u32 {
        (self.chunks - 1).saturating_sub(chunk)
    }

    /// The forward passes from a position on that have the same chunk.
    pub(super) fn forward_run(self, position: u64) -> Run {
        let (_, within, size) = self.split(position);
        let size = size.max(1);
        Run {
            chunk: narrow(within / size),
            left: size - within % size,
        }
    }

    /// The backward passes from a position on that have the same chunk.
    pub(super) fn backward_run(self, position: u64) -> Run {
        let run = self.forward_run(position);
        Run {
            chunk: self.reversed(run.chunk),
            left: run.left,
        }
    }

    /// The numbers of forward passes of each chunk among the first `positions` forward passes.
    fn passed(self, positions: u64) -> Passed {
        let (group, within, size) = self.split(positions);
        Passed {
            in_full_groups: group * u64::from(self.group),
            within,
            size,
        }
    }

    /// The number of backward passes of a chunk among the first `backward` backward passes.
    pub(super) fn ended(self, chunk: u32, backward: u64) -> u64 {
        self.passed(backward).of(self.reversed(chunk))
    }

    /// The live microbatches after `forward` forward and `backward` backward passes.
    pub(super) fn live(self, forward: u64, backward: u64) -> Live {
        Live {
            order: self,
            begun: self.passed(forward),
            ended: self.passed(backward),
        }
    }
}

/// The passes of one direction that are done.
#[derive(Clone, Copy)]
struct Passed {
    /// Passes of each chunk in groups that are done.
    in_full_groups: u64,
    /// Passes of the last group, chunk by chunk.
    within: u64,
    /// Microbatches of the last group.
    size: u64,
}

impl Passed {
    /// Passes of the chunk at a place of the order.
    fn of(self, chunk: u32) -> u64 {
        let of_last = self.within.saturating_sub(u64::from(chunk) * self.size);
        self.in_full_groups + of_last.min(self.size)
    }
}

/// The live microbatches at a moment.
#[derive(Clone, Copy)]
pub(super) struct Live {
    order: Order,
    begun: Passed,
    ended: Passed,
}

impl Live {
    /// The number of live microbatches of a chunk.
    pub(super) fn of(self, chunk: u32) -> u32 {
        let begun = self.begun.of(chunk);
        let ended = self.ended.of(self.order.reversed(chunk));
        narrow(begun.saturating_sub(ended))
    }
}

fn narrow(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
