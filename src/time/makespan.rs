//! The time from the first to the last pass of a pipeline's schedule, from a replay of all its ranks.

use core::iter::Peekable;
use core::num::NonZero;

use crate::config::job::Module;
use crate::parallel::schedule::{Pass, Schedule, ScheduleInput, Steps};

/// How long the passes of a chunk take, in any unit: at least 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Duration {
    /// The forward pass.
    pub(crate) forward: u128,
    /// The backward pass, with what is recomputed for it.
    pub(crate) backward: u128,
}

/// The times at which the passes of a schedule end, by stage and micro batch; `None` for those that are not done yet.
struct Ends {
    micro_batches: usize,
    ends: Vec<Option<NonZero<u128>>>,
}

impl Ends {
    fn place(&self, stage: u32, pass: Pass) -> usize {
        stage as usize * self.micro_batches + pass.microbatch as usize
    }

    fn get(&self, stage: u32, pass: Pass) -> Option<u128> {
        let end = self.ends.get(self.place(stage, pass)).copied().flatten();
        end.map(NonZero::get)
    }

    fn set(&mut self, stage: u32, pass: Pass, end: u128) {
        let at = self.place(stage, pass);
        if let Some(slot) = self.ends.get_mut(at) {
            *slot = NonZero::new(end);
        }
    }
}

/// The time from the first pass to the last one of all ranks, with these durations of the chunks of each rank. A pass
/// begins when its rank is done with the pass before and the neighbouring stage has sent what it needs; sending takes no
/// time.
pub(crate) fn makespan(m: &Module, durations: &[Vec<Duration>], micro_batches: u64) -> u128 {
    let pp = m.stages.pp();
    let narrow = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    let schedule = |pp_rank| {
        Schedule::new(ScheduleInput {
            pp,
            pp_rank,
            vpp: m.stages.vpp(),
            num_microbatches: narrow(micro_batches),
            microbatch_group_size_per_vp_stage: m.args().microbatch_group_size_per_virtual_pipeline_stage.map(narrow),
            overlap_moe_expert_parallel_comm: m.args().overlap_moe_expert_parallel_comm,
        })
    };
    // The steps of each rank that are left, and when the rank is done with those before.
    let mut ranks: Vec<(Peekable<Steps>, u128)> = (0..pp).map(|rank| (schedule(rank).steps().peekable(), 0)).collect();
    let stages = pp.saturating_mul(m.stages.chunks_per_rank());
    let none = || {
        let micro_batches = usize::try_from(micro_batches).unwrap_or(usize::MAX);
        Ends {
            micro_batches,
            ends: vec![None; micro_batches.saturating_mul(stages as usize)],
        }
    };
    let (mut forward, mut backward) = (none(), none());
    loop {
        let mut moved = false;
        for ((rank, chunks), (steps, free)) in (0..pp).zip(durations).zip(&mut ranks) {
            let stage = |pass: Pass| pass.chunk * pp + rank;
            let duration = |pass: Pass| chunks.get(pass.chunk as usize).copied().unwrap_or_default();
            while let Some(step) = steps.peek() {
                // When what a pass needs from another stage is there; `None` where it is not known yet.
                let ready_forward = step.forward.map_or(Some(0), |pass| match stage(pass) {
                    0 => Some(0),
                    stage => forward.get(stage - 1, pass),
                });
                let ready_backward = step.backward.map_or(Some(0), |pass| match stage(pass) + 1 {
                    behind if behind == stages => forward.get(behind - 1, pass),
                    behind => backward.get(behind, pass),
                });
                let (Some(one), Some(other)) = (ready_forward, ready_backward) else {
                    break;
                };
                *free = one.max(other).max(*free);
                if let Some(pass) = step.forward {
                    *free += duration(pass).forward;
                    forward.set(stage(pass), pass, *free);
                }
                if let Some(pass) = step.backward {
                    *free += duration(pass).backward;
                    backward.set(stage(pass), pass, *free);
                }
                steps.next();
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    ranks.iter().map(|(_, free)| *free).max().unwrap_or(0)
}
