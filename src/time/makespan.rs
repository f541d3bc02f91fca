//! The time from the first to the last pass of a pipeline's schedule, from a replay of all its ranks.

use core::iter::Peekable;

use crate::config::job::Module;
use crate::parallel::schedule::{Pass, Schedule, ScheduleInput, Steps};

/// How long the passes of a chunk take, in any unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Duration {
    /// The forward pass.
    pub(crate) forward: u128,
    /// The backward pass, with what is recomputed for it.
    pub(crate) backward: u128,
}

/// The passes of a schedule that are done, by stage and micro batch, with the time of their end.
struct Ends {
    micro_batches: usize,
    ends: Vec<Option<u128>>,
}

impl Ends {
    fn place(&self, stage: u32, micro_batch: u32) -> usize {
        stage as usize * self.micro_batches + micro_batch as usize
    }

    fn get(&self, stage: u32, micro_batch: u32) -> Option<u128> {
        let at = self.place(stage, micro_batch);
        self.ends.get(at).copied().flatten()
    }

    fn set(&mut self, stage: u32, micro_batch: u32, end: u128) {
        let at = self.place(stage, micro_batch);
        if let Some(slot) = self.ends.get_mut(at) {
            *slot = Some(end);
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
    let empty = || {
        let micro_batches = usize::try_from(micro_batches).unwrap_or(usize::MAX);
        Ends {
            micro_batches,
            ends: vec![None; micro_batches.saturating_mul(stages as usize)],
        }
    };
    let (mut forward, mut backward) = (empty(), empty());
    loop {
        let mut moved = false;
        for (rank, (steps, free)) in (0..pp).zip(&mut ranks) {
            while let Some(step) = steps.peek().copied() {
                let stage = |pass: &Pass| pass.chunk * pp + rank;
                let duration = |pass: &Pass| {
                    let chunks = durations.get(rank as usize);
                    chunks.and_then(|chunks| chunks.get(pass.chunk as usize))
                };
                // When what a pass needs from another stage is there; `None` where it is not known yet.
                let ready_forward = step.forward.map_or(Some(0), |pass| match stage(&pass) {
                    0 => Some(0),
                    stage => forward.get(stage - 1, pass.microbatch),
                });
                let ready_backward = step.backward.map_or(Some(0), |pass| {
                    let own = stage(&pass);
                    if own + 1 == stages {
                        forward.get(own, pass.microbatch)
                    } else {
                        backward.get(own + 1, pass.microbatch)
                    }
                });
                let (Some(one), Some(other)) = (ready_forward, ready_backward) else {
                    break;
                };
                let mut end = one.max(other).max(*free);
                let passes = [(step.forward, false), (step.backward, true)];
                for (pass, is_backward) in passes {
                    let Some(pass) = pass else { continue };
                    let duration = duration(&pass).copied().unwrap_or_default();
                    if is_backward {
                        end += duration.backward;
                        backward.set(stage(&pass), pass.microbatch, end);
                    } else {
                        end += duration.forward;
                        forward.set(stage(&pass), pass.microbatch, end);
                    }
                }
                *free = end;
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
