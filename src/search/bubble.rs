//! The work of the stages of a pipeline, and the pipeline bubble: the time that pipeline ranks wait, from a replay of
//! the schedules of all ranks.
//!
//! Every pass takes as long as its matrix products: a backward pass twice as long as the forward pass of its chunk, and
//! longer by what is recomputed. A pass begins when its rank is done with the pass before and the neighbouring stage
//! has sent what it needs; sending takes no time. With chunks of equal work this gives (PP - 1) / (VPP · micro
//! batches), the formula of [`PIPELINE_BUBBLE`]; with unequal chunks the other ranks wait for the slowest one too.

use std::collections::BTreeMap;

use crate::config::job::Module;
use crate::memory::savings::{Choice, ChunkWork, chunk_work, share_ppm};
#[allow(unused_imports, reason = "a link of the documentation")]
use crate::source::PIPELINE_BUBBLE;
use crate::time::makespan::{Duration, makespan};

/// The most groups of micro batches that are replayed. After that many, every further group takes as long as the rank
/// with most work needs for it.
const GROUPS: u64 = 4;
/// The most passes of one direction that are replayed. A larger schedule gets the formula for chunks of equal work.
const MOST_PASSES: u64 = 1 << 20;

/// PP, VPP, micro batches, and the vocabulary of the output layer, whose padding depends on TP.
type Pipeline = (u32, Option<u32>, u64, u64);

/// The work and the waiting of the stages of a pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PipelineWork {
    /// The pipeline bubble in millionths of the working time.
    pub(super) bubble_ppm: u64,
    /// Recomputation of all stages, in millionths of the matrix products of their forward passes.
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
    let of_rank = |chunks: &Vec<ChunkWork>| chunks.iter().copied().map(duration).collect();
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

/// How long the passes of a chunk with this work take.
fn duration(work: ChunkWork) -> Duration {
    // A chunk without layers still takes its turn.
    let forward = work.forward.max(1);
    Duration {
        forward,
        backward: 2 * forward + work.repeated(),
    }
}
