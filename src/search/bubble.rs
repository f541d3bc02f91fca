//! What the stages of a pipeline compute, and the pipeline bubble: the time that pipeline ranks wait, from a replay of the
//! schedules of all ranks.
//!
//! Every pass takes as long as its matrix products: a backward pass twice as long as the forward pass of its chunk, and
//! longer by what is recomputed. A pass begins when its rank is done with the pass before and the neighbouring stage
//! has sent what it needs; sending takes no time. With chunks of equal work this gives (PP - 1) / (VPP · micro
//! batches), the formula of [`PIPELINE_BUBBLE`]; with unequal chunks the other ranks wait for the slowest one too.

use std::collections::BTreeMap;

use crate::config::job::Module;
use crate::memory::savings::{Choice, ChunkWork, chunk_work, share_ppm};
use crate::parallel::schedule::{Pass, Schedule, ScheduleInput};
#[allow(unused_imports, reason = "a link of the documentation")]
use crate::source::PIPELINE_BUBBLE;

/// The most groups of micro batches that are replayed. After that many, every further group takes as long as the rank
/// with most work needs for it.
const GROUPS: u64 = 4;
/// The most passes of one direction that are replayed. A larger schedule gets the formula for chunks of equal work.
const MOST_PASSES: u64 = 1 << 20;

/// PP, VPP, micro batches, and the vocabulary of the output layer, whose padding depends on TP.
type Pipeline = (u32, Option<u32>, u64, u64);

/// What the stages of a pipeline compute and wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PipelineWork {
    /// The pipeline bubble in millionths of the working time.
    pub(super) bubble_ppm: u64,
    /// What is recomputed on all stages, in millionths of the matrix products of their forward passes.
    pub(super) recomputed_ppm: u64,
    /// The pipeline rank that works longest, which the others wait for.
    pub(super) slowest: u32,
    /// Multiplications of matrix products for one token that the slowest rank runs again.
    pub(super) slowest_again: u128,
    /// Multiplications of one token's forward pass through the stage of an average rank.
    pub(super) mean_forward: u128,
}

/// The work of the layouts that were looked at, by PP, VPP, micro batches and vocabulary, and then by what is
/// recomputed.
#[derive(Clone, Debug, Default)]
pub struct Bubbles(BTreeMap<Pipeline, Vec<(Choice, PipelineWork)>>);

impl Bubbles {
    /// The work of a layout. All layouts must be of the same model.
    pub(super) fn work(&mut self, m: &Module, choice: Choice) -> PipelineWork {
        let stages = &m.stages;
        let vocabulary = m.padded_vocab_size;
        let key = (stages.pp(), stages.vpp(), m.num_microbatches, vocabulary);
        let known = self.0.entry(key).or_default();
        if let Some((_, work)) = known.iter().find(|(of, _)| *of == choice) {
            return *work;
        }
        let work = PipelineWork::of(m, choice);
        known.push((choice, work));
        work
    }
}

impl PipelineWork {
    pub(super) fn of(m: &Module, choice: Choice) -> Self {
        let pp = m.stages.pp();
        let of_chunks = |rank| m.stages.rank(rank).iter().map(|chunk| chunk_work(m, chunk, choice));
        let work: Vec<Vec<ChunkWork>> = (0..pp).map(|rank| of_chunks(rank).collect()).collect();
        let mut all = ChunkWork::default();
        let mut slowest = (0, ChunkWork::default());
        let time = |work: ChunkWork| 3 * work.forward + work.repeated();
        for (rank, chunks) in (0..pp).zip(&work) {
            let mut of_rank = ChunkWork::default();
            for chunk in chunks {
                of_rank += *chunk;
            }
            if time(of_rank) > time(slowest.1) {
                slowest = (rank, of_rank);
            }
            all += of_rank;
        }
        Self {
            bubble_ppm: bubble(m, &work),
            recomputed_ppm: share_ppm(all),
            slowest: slowest.0,
            slowest_again: slowest.1.again,
            mean_forward: all.forward / u128::from(pp).max(1),
        }
    }
}

/// The bubble of a layout in millionths of the working time.
#[must_use]
pub fn bubble_ppm(m: &Module, choice: Choice) -> u64 {
    PipelineWork::of(m, choice).bubble_ppm
}

/// The bubble of a layout whose chunks, rank by rank, compute this for one token.
fn bubble(m: &Module, work: &[Vec<ChunkWork>]) -> u64 {
    let pp = m.stages.pp();
    if pp < 2 {
        return 0;
    }
    let of_rank = |chunks: &Vec<ChunkWork>| chunks.iter().copied().map(Duration::of).collect();
    let durations: Vec<Vec<Duration>> = work.iter().map(of_rank).collect();
    let group = match m.stages.vpp() {
        None => u64::from(pp),
        Some(_) => m
            .args()
            .microbatch_group_size_per_virtual_pipeline_stage
            .unwrap_or_else(|| pp.into())
            .max(1),
    };
    let all = m.num_microbatches;
    let replayed = if all > GROUPS * group {
        all % group + (GROUPS - 1) * group
    } else {
        all
    };
    let stages = u64::try_from(m.stages.chunks().len()).unwrap_or(u64::MAX);
    if stages.saturating_mul(replayed) > MOST_PASSES {
        let passes = u128::from(m.stages.chunks_per_rank()) * u128::from(all.max(1));
        let ppm = u128::from(pp - 1) * 1_000_000 / passes;
        return u64::try_from(ppm).unwrap_or(u64::MAX);
    }
    let total = |rank: &Vec<Duration>| rank.iter().map(|d| d.forward + d.backward).sum::<u128>();
    let slowest = durations.iter().map(total).max().unwrap_or(0);
    let makespan = makespan(m, &durations, replayed) + slowest * u128::from(all.saturating_sub(replayed));
    let worked: u128 = durations.iter().map(total).sum::<u128>() * u128::from(all);
    let idle = (makespan * u128::from(pp)).saturating_sub(worked);
    let ppm = (idle * 1_000_000).checked_div(worked).unwrap_or(0);
    u64::try_from(ppm).unwrap_or(u64::MAX)
}

/// How long the passes of a chunk take.
#[derive(Clone, Copy, Debug, Default)]
struct Duration {
    forward: u128,
    backward: u128,
}

impl Duration {
    fn of(work: ChunkWork) -> Self {
        // A chunk without layers still takes its turn.
        let forward = work.forward.max(1);
        Self {
            forward,
            backward: 2 * forward + work.repeated(),
        }
    }
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

/// The time from the first pass to the last one of all ranks.
fn makespan(m: &Module, durations: &[Vec<Duration>], micro_batches: u64) -> u128 {
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
    let schedules: Vec<Schedule> = (0..pp).map(schedule).collect();
    let stages = pp.saturating_mul(m.stages.chunks_per_rank());
    let empty = || {
        let micro_batches = usize::try_from(micro_batches).unwrap_or(usize::MAX);
        Ends {
            micro_batches,
            ends: vec![None; micro_batches.saturating_mul(stages as usize)],
        }
    };
    let (mut forward, mut backward) = (empty(), empty());
    // The step of each rank that is next, and when the rank is done with the one before.
    let mut at = vec![(0_u64, 0_u128); pp as usize];
    loop {
        let mut moved = false;
        for ((rank, schedule), (next, free)) in (0..pp).zip(&schedules).zip(&mut at) {
            while let Some(step) = schedule.step(*next) {
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
                *next += 1;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    at.iter().map(|(_, free)| *free).max().unwrap_or(0)
}
