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

/// The passes of one direction from a position on. Consecutive ones of the same chunk are a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Runs {
    order: Order,
    reversed: bool,
    /// The place of the run in its group.
    place: u32,
    /// The microbatch of the next pass.
    microbatch: u64,
    /// The number of passes left in the run, at least 1.
    left: u64,
    /// The position after the run.
    end: u64,
}

impl Runs {
    /// The chunk of the next pass.
    pub(super) fn chunk(&self) -> u32 {
        if self.reversed {
            self.order.reversed(self.place)
        } else {
            self.place
        }
    }

    /// The next pass.
    pub(super) fn pass(&self) -> Pass {
        Pass {
            microbatch: narrow(self.microbatch),
            chunk: self.chunk(),
        }
    }

    /// The number of passes left in the run, at least 1.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Goes on by some of the passes that are left in the run.
    pub(super) fn advance(&mut self, passes: u64) {
        self.microbatch += passes;
        self.left = self.left.saturating_sub(passes);
        if self.left > 0 {
            return;
        }
        let group = self.order.group_at(self.end - 1);
        self.place += 1;
        if self.place < self.order.chunks {
            // The microbatches of the group pass the next chunk.
            self.microbatch -= group;
            self.left = group;
        } else {
            self.place = 0;
            self.left = self.order.group_at(self.end);
        }
        self.left = self.left.max(1);
        self.end += self.left;
    }
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
        (group, position % self.period(), self.group_at(position))
    }

    /// The microbatches of the group at a position.
    fn group_at(self, position: u64) -> u64 {
        let full = position < self.full_end;
        u64::from(if full { self.group } else { self.rest })
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

    /// The forward passes from a position on, run by run.
    pub(super) fn forward_runs(self, position: u64) -> Runs {
        self.runs(position, false)
    }

    /// The backward passes from a position on, run by run.
    pub(super) fn backward_runs(self, position: u64) -> Runs {
        self.runs(position, true)
    }

    fn runs(self, position: u64, reversed: bool) -> Runs {
        let (group, within, size) = self.split(position);
        let size = size.max(1);
        let (place, done) = (within / size, within % size);
        Runs {
            order: self,
            reversed,
            place: narrow(place),
            microbatch: group * u64::from(self.group) + done,
            left: size - done,
            end: group * self.period() + (place + 1) * size,
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

    /// Microbatches of a chunk that are alive at once at most, where `warm_up` forward passes come before the first
    /// backward pass.
    pub(super) fn most_live(self, chunk: u32, warm_up: u64) -> u64 {
        let all = u64::from(self.microbatches);
        if self.rest > 0 {
            return all;
        }
        // Each backward pass comes behind `warm_up` more forward passes and one. In every group the number grows until
        // the chunk's first backward pass, and is what it was once all of them are done.
        let forward = u64::from(self.reversed(chunk)) * u64::from(self.group) + warm_up + 1;
        let (groups, within) = (forward / self.period(), forward % self.period());
        let begun = Passed {
            in_full_groups: groups * u64::from(self.group),
            within,
            size: self.group.into(),
        };
        begun.of(chunk).min(all)
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
