//! The order of forward and backward passes on one pipeline rank.
//!
//! A replay of `schedules.py` in `megatron/core/pipeline_parallel`, for its three schedules: no pipelining,
//! 1F1B and interleaved 1F1B. Every schedule is *warm-up* forward passes, a *steady* part of one forward
//! and one backward pass in turn, and a *cool-down* of backward passes; `get_pp_rank_microbatches` says how
//! many are warm-up. The interleaved schedule hands out microbatches in groups: a group passes all chunks
//! of the rank before the next one starts (`get_schedule_table`), backward passes take the chunks in
//! reverse. There is no special case for as many microbatches as ranks at the pinned revision.
//!
//! Lifetimes:
//! - The tensors that autograd saves for a microbatch and chunk live from its forward pass to the end of its
//!   backward pass, when the graph is freed. The counts of live microbatches here are about these tensors; a
//!   microbatch counts during both of these passes.
//! - The chunk's output is needed only until it is sent: with `deallocate_pipeline_outputs` (always set by
//!   Megatron-LM) `deallocate_output_tensor` replaces its data by one element and only the graph is kept. Without it the
//!   output stays until the end of its micro batch's backward pass, and with 1F1B until the next forward pass ends, since
//!   the variable `output_tensor` still has it.
//!   1F1B does that before the backward pass of the same turn; the interleaved schedule with p2p overlap
//!   only before the next forward pass, so one output is still there during the backward pass.
//! - A received input is kept as long as its microbatch is alive.
//! - With EP overlap a steady turn runs both passes at once, layer by layer (`combined_1f1b.py`): each
//!   layer that the forward pass adds meets one that the backward pass frees, so the two are one
//!   [`Step`]. The extra warm-up pass brings a microbatch that waits for that turn.

mod bound;
mod order;
mod peak;
mod problem;
mod steps;

use order::Order;
pub use peak::{ChunkBytes, Moment, PairBytes};
pub use problem::ScheduleProblem;
pub use steps::Steps;

/// The most chunks of a schedule, which bounds all work. Real jobs have a few dozen.
pub const MAX_VPP: u32 = 4096;

/// The sizes that decide the order of passes, under Megatron's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScheduleInput {
    /// Pipeline ranks; for a multi-module pipeline, the stages on the longest way through its modules.
    pub pp: u32,
    /// The rank that is replayed; for a multi-module pipeline, its stage on that way.
    pub pp_rank: u32,
    /// Virtual chunks per rank; `None` is 1F1B, `Some` the interleaved schedule.
    pub vpp: Option<u32>,
    /// Microbatches of one optimizer step on this data-parallel rank.
    pub num_microbatches: u32,
    /// Microbatches in a group; `None` is `pp`. Only read with interleaving.
    pub microbatch_group_size_per_vp_stage: Option<u32>,
    /// Whether expert-parallel all-to-alls are hidden behind the other pass of a pair.
    pub overlap_moe_expert_parallel_comm: bool,
}

/// One microbatch through one chunk, in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The microbatch, from 0.
    pub microbatch: u32,
    /// The virtual chunk on this rank, from 0.
    pub chunk: u32,
}

/// The part of the schedule that a step belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Forward passes only.
    WarmUp,
    /// One forward and one backward pass in turn.
    Steady,
    /// Backward passes only.
    CoolDown,
}

impl Phase {
    /// The part's name.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::WarmUp => "warm-up",
            Self::Steady => "steady",
            Self::CoolDown => "cool-down",
        }
    }
}

/// One step of a rank: a forward or a backward pass, or with EP overlap both at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The forward pass, if there is one.
    pub forward: Option<Pass>,
    /// The backward pass, if there is one.
    pub backward: Option<Pass>,
    /// The part of the schedule.
    pub phase: Phase,
}

/// Steps that repeat: each of them is like the one that is so many steps before it, with later micro batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repetition {
    /// The first step.
    pub start: u64,
    /// The step after the last.
    pub end: u64,
    /// The number of steps after which they repeat, at least 1.
    pub steps: u64,
    /// By how many micro batches the repeated steps are later.
    pub microbatches: u32,
}

/// The schedule of one pipeline rank: a description of constant size, whatever the number of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    input: ScheduleInput,
    order: Order,
    /// Forward passes before the first backward pass.
    warm_up: u64,
    /// Whether the two passes of a steady turn are one step.
    paired: bool,
}

impl Schedule {
    /// The schedule for an input without [problems](ScheduleInput::problems).
    ///
    /// For any other input the result is that of the same arithmetic, with sizes of 0 taken as 1 and groups of
    /// fewer microbatches than ranks taken as groups of as many.
    #[must_use]
    pub fn new(input: ScheduleInput) -> Self {
        let pp = input.pp.max(1);
        let pp_rank = input.pp_rank.min(pp - 1);
        let vpp = (input.vpp.filter(|_| pp > 1)).map(|vpp| vpp.clamp(1, MAX_VPP));
        let group = input.group().max(pp);
        let order = Order::new(vpp.unwrap_or(1), group, input.num_microbatches);

        // Without interleaving, pipelines cannot overlap all-to-alls: Megatron refuses that.
        let paired = input.overlap_moe_expert_parallel_comm && (vpp.is_some() || pp == 1);
        let after = u64::from(pp - 1 - pp_rank);
        let warm_up = match vpp {
            None => after,
            Some(vpp) => after * 2 + u64::from(vpp - 1) * u64::from(group),
        };
        Self {
            input,
            order,
            warm_up: (warm_up + u64::from(paired)).min(order.len()),
            paired,
        }
    }

    /// The input that the schedule was made from.
    #[must_use]
    pub fn input(&self) -> ScheduleInput {
        self.input
    }

    /// Chunks on the rank, at least 1.
    #[must_use]
    pub fn num_chunks(&self) -> u32 {
        self.order.chunks()
    }

    /// Forward passes before the first backward pass, over all chunks; as many backward passes come
    /// after the last forward pass.
    #[must_use]
    pub fn warm_up(&self) -> u64 {
        self.warm_up
    }

    /// Turns of the steady part, each one forward and one backward pass.
    fn turns(&self) -> u64 {
        self.order.len() - self.warm_up
    }

    /// Steps in one turn.
    fn steps_per_turn(&self) -> u64 {
        if self.paired { 1 } else { 2 }
    }

    /// The number of steps.
    #[must_use]
    pub fn len(&self) -> u64 {
        2 * self.warm_up + self.turns() * self.steps_per_turn()
    }

    /// Whether there are no steps.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers of forward and of backward passes that are done before a step.
    fn done_before(&self, step: u64) -> (u64, u64) {
        let Some(after) = step.checked_sub(self.warm_up) else {
            return (step, 0);
        };
        let steady = self.turns() * self.steps_per_turn();
        if after < steady {
            let turn = after / self.steps_per_turn();
            let forward_done = after % self.steps_per_turn();
            (self.warm_up + turn + forward_done, turn)
        } else {
            let total = self.order.len();
            (total, (self.turns() + after - steady).min(total))
        }
    }

    /// The step at an index, or `None` past the end.
    #[must_use]
    pub fn step(&self, index: u64) -> Option<Step> {
        if index >= self.len() {
            return None;
        }
        let (forward, backward) = self.done_before(index);
        let phase = if index < self.warm_up {
            Phase::WarmUp
        } else if backward < self.turns() {
            Phase::Steady
        } else {
            Phase::CoolDown
        };
        // In a steady turn that is two steps, the backward pass is due once the forward pass is done.
        let (does_forward, does_backward) = match phase {
            Phase::WarmUp => (true, false),
            Phase::Steady if self.paired => (true, true),
            Phase::Steady => {
                let due = forward == self.warm_up + backward;
                (due, !due)
            }
            Phase::CoolDown => (false, true),
        };
        Some(Step {
            forward: does_forward.then(|| self.order.forward(forward)),
            backward: does_backward.then(|| self.order.backward(backward)),
            phase,
        })
    }

    /// The part of the schedule whose passes repeat with later micro batches.
    #[must_use]
    pub fn repetition(&self) -> Repetition {
        // With one chunk every turn is like the one before; else the order within a full group matters.
        let (turns, microbatches) = match self.num_chunks() {
            1 => (1, 1),
            chunks => (self.order.period(), self.order.period() / u64::from(chunks)),
        };
        let full = self.order.full_end().saturating_sub(self.warm_up);
        Repetition {
            start: self.warm_up,
            end: self.warm_up + full * self.steps_per_turn(),
            steps: turns * self.steps_per_turn(),
            microbatches: u32::try_from(microbatches).unwrap_or(u32::MAX),
        }
    }

    /// All steps in order.
    #[must_use]
    pub fn steps(&self) -> Steps {
        Steps::new(*self)
    }
}
