//! The step of a schedule with the most live bytes, found without walking every step.
//!
//! Passes come in runs of one chunk. Within a run the live bytes change by the same amount every turn, so their maximum
//! is at one end of the run; and a turn has as many live bytes as the turn one period of full groups earlier, so only
//! the first period is examined. That leaves a few runs for each chunk, whatever the number of microbatches.

use super::Schedule;
use super::order::Runs;

/// The bytes that one chunk keeps alive, by their lifetimes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkBytes {
    /// Bytes for each live microbatch.
    pub stored: u64,
    /// Further bytes during a forward pass of this chunk.
    pub forward: u64,
    /// Further bytes during a backward pass of this chunk.
    pub backward: u64,
    /// Bytes while no microbatch of this chunk is alive: its last input and the gradient of that input.
    pub idle: u64,
    /// Bytes from the end of a backward pass of this chunk until the next backward pass ends: the variable
    /// `input_tensor_grad`.
    pub input_grad: u64,
    /// Bytes from the end of a backward pass of this chunk until the next backward pass begins: the variables
    /// `output_tensor_grad` and `output_tensor`, the latter unless it is deallocated once it is sent.
    pub output: u64,
    /// Bytes for each of the first `deferrals` backward passes of this chunk, from its end until the end of the
    /// schedule: the tensors that a deferred weight gradient needs.
    pub deferred: u64,
    /// The number of backward passes of this chunk that defer a weight gradient.
    pub deferrals: u64,
}

impl ChunkBytes {
    /// Bytes that all deferred weight gradients of the chunk wait with at most, in a schedule of so many forward passes.
    pub(super) fn deferred_at_most(&self, passes: u64) -> u128 {
        u128::from(self.deferred) * u128::from(self.deferrals.min(passes))
    }
}

/// The live bytes and microbatches during one step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// The index of the step, for [`Schedule::step`].
    pub step: u64,
    /// The live bytes: those of live microbatches, and those that only this step needs.
    pub bytes: u128,
    /// Live microbatches of each chunk during the step, the one that it works on included; of a step with both passes
    /// only the one of its backward pass.
    pub live: Vec<u32>,
    /// The part of `bytes` that chunks without a live microbatch and earlier backward passes left behind.
    pub left: u128,
    /// The part of `bytes` that deferred weight gradients need.
    pub deferred: u128,
}

/// The most deferred weight gradients that are followed one by one.
const MOST_DEFERRED: u64 = 1024;

/// The step with the most live bytes so far.
#[derive(Clone, Copy)]
struct Best {
    step: u64,
    bytes: u128,
    done: (u64, u64),
    left: u128,
    deferred: u128,
}

/// The live bytes of the two microbatches that a step with both passes works on, given the chunks of its forward and
/// of its backward pass.
pub type PairBytes<'a> = &'a dyn Fn(u32, u32) -> u64;

/// A walk over runs of steps.
struct Walk<'a> {
    schedule: &'a Schedule,
    chunks: &'a [ChunkBytes],
    pair: Option<PairBytes<'a>>,
    /// Bytes kept for live microbatches before the next step.
    kept: u128,
    /// The chunk of the last backward pass before the next step.
    last: Option<u32>,
    /// Whether any chunk defers weight gradients.
    defers: bool,
    /// What all chunks hold while no microbatch of theirs is alive.
    all_idle: u128,
    /// The most that can be alive during a backward pass beside what is kept for live microbatches.
    beside_backward: u128,
    best: Option<Best>,
}

/// Numbers of forward and backward passes that are done, and the chunks whose passes run.
type Idle = ((u64, u64), [u32; 2]);

impl Schedule {
    /// The first moment at which most bytes are alive; `chunks` are the chunks of this rank in order,
    /// and those missing weigh nothing.
    ///
    /// A forward pass counts with all that it will have saved, a backward pass with all that it is about to
    /// free, and two passes that run at once with the larger of the two.
    #[must_use]
    pub fn peak(&self, chunks: &[ChunkBytes]) -> Moment {
        self.peak_between(chunks, None, 0, self.len())
    }

    /// [`peak`](Self::peak) with a function `pair` for the bytes of steps with both passes.
    #[must_use]
    pub fn peak_with(&self, chunks: &[ChunkBytes], pair: PairBytes<'_>) -> Moment {
        self.peak_between(chunks, Some(pair), 0, self.len())
    }

    /// At most `points` moments for a chart, each the peak of an equal share of the steps.
    #[must_use]
    pub fn timeline(&self, chunks: &[ChunkBytes], points: u32) -> Vec<Moment> {
        self.shares(chunks, None, points)
    }

    /// [`timeline`](Self::timeline) with a function `pair` for the bytes of steps with both passes.
    #[must_use]
    pub fn timeline_with(&self, chunks: &[ChunkBytes], pair: PairBytes<'_>, points: u32) -> Vec<Moment> {
        self.shares(chunks, Some(pair), points)
    }

    fn shares(&self, chunks: &[ChunkBytes], pair: Option<PairBytes<'_>>, points: u32) -> Vec<Moment> {
        let points = u64::from(points).min(self.len());
        let edge = |point: u64| {
            let step = u128::from(self.len()) * u128::from(point) / u128::from(points.max(1));
            u64::try_from(step).unwrap_or(u64::MAX)
        };
        (0..points)
            .map(|point| self.peak_between(chunks, pair, edge(point), edge(point + 1)))
            .collect()
    }

    /// The first peak among the steps from `start` to before `end`.
    fn peak_between(&self, chunks: &[ChunkBytes], pair: Option<PairBytes<'_>>, start: u64, end: u64) -> Moment {
        let largest = |of: fn(&ChunkBytes) -> u64| u128::from(chunks.iter().map(of).max().unwrap_or(0));
        let all_idle = chunks.iter().map(|chunk| u128::from(chunk.idle)).sum();
        let passes = self.order.len();
        let deferred: u128 = chunks.iter().map(|chunk| chunk.deferred_at_most(passes)).sum();
        let mut walk = Walk {
            schedule: self,
            chunks,
            pair,
            kept: 0,
            last: None,
            defers: chunks.iter().any(|chunk| chunk.deferred > 0),
            all_idle,
            beside_backward: largest(|chunk| chunk.backward) + largest(|chunk| chunk.input_grad) + all_idle + deferred,
            best: None,
        };
        walk.run(start, end.min(self.len()));
        let best = walk.best.unwrap_or(Best {
            step: start,
            bytes: 0,
            done: self.done_before(start),
            left: 0,
            deferred: 0,
        });
        let live = self.order.live(best.done.0, best.done.1);
        Moment {
            step: best.step,
            bytes: best.bytes,
            live: (0..self.num_chunks()).map(|chunk| live.of(chunk)).collect(),
            left: best.left,
            deferred: best.deferred,
        }
    }
}

impl Walk<'_> {
    fn weight(&self, chunk: u32) -> ChunkBytes {
        self.chunks.get(chunk as usize).copied().unwrap_or_default()
    }

    /// The bytes of live microbatches after the given numbers of forward and backward passes.
    fn stored(&self, (forward, backward): (u64, u64)) -> u128 {
        let mut sum = 0u128;
        let live = self.schedule.order.live(forward, backward);
        for (chunk, weight) in (0..self.schedule.num_chunks()).zip(self.chunks) {
            let live = live.of(chunk);
            sum += u128::from(live) * u128::from(weight.stored); // at most MAX_VPP times 2^96
        }
        sum
    }

    /// Compares a step with the best one so far. `left` are the bytes that earlier backward passes left behind, `idle`
    /// the moment and the chunks at work for those that [idle](Self::idle) chunks hold.
    fn offer(&mut self, step: u64, bytes: u128, done: (u64, u64), left: u128, idle: Idle) {
        let deferred = self.deferred(done.1);
        let without_idle = bytes + left + deferred;
        let most = without_idle + self.all_idle;
        if self.best.is_some_and(|best| most <= best.bytes) {
            return;
        }
        let idle = self.idle(idle);
        let (bytes, left) = (without_idle + idle, left + idle);
        if self.best.is_none_or(|best| bytes > best.bytes) {
            self.best = Some(Best {
                step,
                bytes,
                done,
                left,
                deferred,
            });
        }
    }

    /// The bytes that deferred weight gradients need after `backward` backward passes.
    fn deferred(&self, backward: u64) -> u128 {
        let mut sum = 0;
        if !self.defers {
            return sum;
        }
        for (chunk, weight) in (0..self.schedule.num_chunks()).zip(self.chunks) {
            if weight.deferred > 0 {
                let passed = self.schedule.order.ended(chunk, backward);
                sum += u128::from(weight.deferred) * u128::from(passed.min(weight.deferrals));
            }
        }
        sum
    }

    /// The number of further backward passes of a chunk that defer a weight gradient.
    fn until_full(&self, chunk: u32, backward: u64) -> u64 {
        let ended = self.schedule.order.ended(chunk, backward);
        self.weight(chunk).deferrals.saturating_sub(ended)
    }

    /// The largest [`until_full`](Self::until_full) of all chunks.
    fn filling(&self, backward: u64) -> u64 {
        if !self.defers {
            return 0;
        }
        let chunks = (0..self.schedule.num_chunks()).zip(self.chunks);
        let deferring = chunks.filter(|(_, weight)| weight.deferred > 0);
        let until = deferring.map(|(chunk, _)| self.until_full(chunk, backward));
        until.max().unwrap_or(0)
    }

    /// The bytes that chunks without a live microbatch hold, other than the two chunks whose passes run. Microbatches
    /// enter the last chunk last and leave it first, so that these are the last chunks.
    fn idle(&self, (done, at_work): Idle) -> u128 {
        let live = self.schedule.order.live(done.0, done.1);
        let chunks = (0..self.schedule.num_chunks()).zip(self.chunks);
        let idle = chunks.rev().take_while(|(chunk, _)| live.of(*chunk) == 0);
        let others = idle.filter(|(chunk, _)| !at_work.contains(chunk));
        others.map(|(_, weight)| u128::from(weight.idle)).sum()
    }

    /// The bytes that the last backward pass leaves behind: until the next one ends, and until the next one begins.
    fn left(&self) -> (u128, u128) {
        self.last.map_or((0, 0), |chunk| self.left_by(chunk))
    }

    fn left_by(&self, chunk: u32) -> (u128, u128) {
        let weight = self.weight(chunk);
        (u128::from(weight.input_grad), u128::from(weight.output))
    }

    fn run(&mut self, start: u64, end: u64) {
        let (warm_up, turns) = (self.schedule.warm_up, self.schedule.turns());
        let (order, per_turn) = (self.schedule.order, self.schedule.steps_per_turn());
        let mut done = self.schedule.done_before(start);
        self.kept = self.stored(done);
        let last = done.1.checked_sub(1);
        self.last = last.map(|last| order.backward(last).chunk);
        let (mut up, mut down) = (order.forward_runs(done.0), order.backward_runs(done.1));
        let mut step = start;
        let mut first_turn = None;
        while step < end {
            let (forward, backward) = done;
            let left = end - step;
            if step < warm_up {
                let passes = up.left().min(warm_up - step).min(left);
                let chunk = up.chunk();
                up.advance(passes);
                self.forward_run(step, done, chunk, passes, (&up, end));
                done.0 += passes;
                step += passes;
            } else if backward >= turns {
                if self.only_lighter_passes_follow() {
                    return;
                }
                let chunk = down.chunk();
                let same = self.left() == self.left_by(chunk);
                let passes = if same { down.left().min(left) } else { 1 };
                self.backward_run(step, done, chunk, passes);
                down.advance(passes);
                done.1 += passes;
                step += passes;
            } else if forward > warm_up + backward {
                // The range starts in the middle of a turn.
                self.backward_run(step, done, down.chunk(), 1);
                down.advance(1);
                done.1 += 1;
                step += 1;
            } else if left < per_turn {
                let chunk = up.chunk();
                up.advance(1);
                self.forward_run(step, done, chunk, 1, (&up, end));
                done.0 += 1;
                step += 1;
            } else {
                // The first turn has no bytes left behind by earlier ones, so the repeating period starts after it. No
                // period repeats while the number of deferred weight gradients grows.
                let filling = self.filling(backward);
                let again = if (1..=MOST_DEFERRED).contains(&filling) {
                    u64::MAX
                } else {
                    *first_turn.get_or_insert(backward) + order.period() + 1
                };
                let whole = (backward + left / per_turn).min(turns);
                // Turns whose forward pass is in a full group equal those one period earlier.
                let repeated = order.full_end().saturating_sub(warm_up).min(whole);
                // While deferred weight gradients accumulate, the last of these periods has the most live bytes.
                let walked = if filling > 0 {
                    repeated.saturating_sub(order.period())
                } else {
                    repeated
                };
                let passes = if backward == again && walked > backward {
                    self.kept = self.stored((warm_up + walked, walked));
                    self.last = Some(order.backward(walked - 1).chunk);
                    (up, down) = (order.forward_runs(warm_up + walked), order.backward_runs(walked));
                    walked - backward
                } else {
                    let mut turns = (whole - backward).min(up.left()).min(down.left());
                    if backward < again {
                        turns = turns.min(again - backward);
                    }
                    if self.left() != self.left_by(down.chunk()) {
                        turns = 1;
                    }
                    self.turns(step, done, (up.chunk(), down.chunk()), turns);
                    up.advance(turns);
                    down.advance(turns);
                    turns
                };
                done = (forward + passes, backward + passes);
                step += passes * per_turn;
            }
        }
    }

    /// Whether no backward pass after the last forward pass has more live bytes than the best step so far: what is kept
    /// only shrinks from then on.
    fn only_lighter_passes_follow(&self) -> bool {
        self.best
            .is_some_and(|best| self.kept + self.beside_backward <= best.bytes)
    }

    /// Forward passes of one chunk: live bytes never shrink from one to the next. The `next` passes come behind them,
    /// those that are part of the walk up to a step.
    fn forward_run(&mut self, step: u64, done: (u64, u64), chunk: u32, passes: u64, next: (&Runs, u64)) {
        let weight = self.weight(chunk);
        let stored = u128::from(weight.stored);
        self.kept += stored * u128::from(passes);
        if self.next_forward_run_needs_more(step + passes, weight, next) {
            return;
        }
        let at = if weight.stored > 0 { passes } else { 1 };
        let bytes = self.kept - stored * u128::from(passes - at) + u128::from(weight.forward);
        let (to_end, to_begin) = self.left();
        let left = to_end + to_begin;
        let idle = (done, [chunk; 2]);
        self.offer(step + at - 1, bytes, (done.0 + at, done.1), left, idle);
    }

    /// Whether the warm-up goes on at `step` with forward passes of a chunk that need more than the passes of another
    /// chunk before them: what they keep and need is more than what those needed, and than what the chunk holds while
    /// it is idle.
    fn next_forward_run_needs_more(&self, step: u64, before: ChunkBytes, (next, end): (&Runs, u64)) -> bool {
        let warm_up_ends = self.schedule.warm_up.min(end);
        if step >= warm_up_ends {
            return false;
        }
        let passes = u128::from(next.left().min(warm_up_ends - step));
        let next = self.weight(next.chunk());
        u128::from(next.stored) * passes + u128::from(next.forward) > u128::from(before.forward) + u128::from(next.idle)
    }

    /// Backward passes of one chunk: live bytes are largest at the first.
    fn backward_run(&mut self, step: u64, done: (u64, u64), chunk: u32, passes: u64) {
        let weight = self.weight(chunk);
        let left = self.left().0;
        let idle = (done, [chunk; 2]);
        let bytes = self.kept + u128::from(weight.backward);
        self.offer(step, bytes, done, left, idle);
        // Deferred bytes may grow faster than stored bytes shrink, until all deferrals are made.
        let full = if weight.deferred > weight.stored {
            self.until_full(chunk, done.1).min(passes - 1)
        } else {
            0
        };
        if full > 0 {
            let kept = u128::from(weight.stored) * u128::from(full);
            let kept = self.kept.saturating_sub(kept) + u128::from(weight.backward);
            self.offer(step + full, kept, (done.0, done.1 + full), left, idle);
        }
        let freed = u128::from(weight.stored) * u128::from(passes);
        self.kept = self.kept.saturating_sub(freed);
        self.last = Some(chunk);
    }

    /// Steady turns with the same two chunks.
    fn turns(&mut self, step: u64, done: (u64, u64), chunks: (u32, u32), turns: u64) {
        let (up, down) = (self.weight(chunks.0), self.weight(chunks.1));
        let kept_after = |kept: u128, turns: u64| {
            let more = kept + u128::from(up.stored) * u128::from(turns);
            more.saturating_sub(u128::from(down.stored) * u128::from(turns))
        };
        let idle = (done, [chunks.0, chunks.1]);
        let (to_end, to_begin) = self.left();
        let (forward, backward) = (u128::from(up.forward), u128::from(down.backward));
        let offer = |walk: &mut Self, before: u64| {
            let kept = kept_after(walk.kept, before);
            let done = (done.0 + before, done.1 + before);
            if walk.schedule.paired {
                let both = walk.pair.map_or_else(
                    || u128::from(up.stored.max(down.stored)) + forward + backward,
                    |pair| u128::from(pair(chunks.0, chunks.1)),
                );
                let others = kept.saturating_sub(u128::from(down.stored));
                walk.offer(step + before, others + both, done, to_end, idle);
            } else {
                let kept = kept + u128::from(up.stored);
                let done = (done.0 + 1, done.1);
                let step = step + 2 * before;
                walk.offer(step, kept + forward, done, to_end + to_begin, idle);
                walk.offer(step + 1, kept + backward, done, to_end, idle);
            }
        };
        // Stored bytes change by the same amount every turn, and deferred bytes grow until all deferrals are made. So
        // the peak is at one of these turns.
        if down.deferred > 0 {
            let last = turns - 1;
            let full = self.until_full(chunks.1, done.1).min(last);
            offer(self, 0);
            if full > 0 {
                offer(self, full);
            }
            if last > full {
                offer(self, last);
            }
        } else if up.stored > down.stored {
            offer(self, turns - 1);
        } else {
            offer(self, 0);
        }
        self.kept = kept_after(self.kept, turns);
        self.last = Some(chunks.1);
    }
}
