//! The work of the stages of a pipeline, and the pipeline bubble: the time that pipeline ranks wait, from a replay of
//! the schedules of all ranks.
//!
//! Every pass takes as long as its matrix products: a backward pass twice as long as the forward pass of its chunk, and
//! longer by what is recomputed. A pass begins when its rank is done with the pass before and the neighbouring stage
//! has sent what it needs; sending takes no time. With chunks of equal work this gives (PP - 1) / (VPP · micro
//! batches), the formula of [`Source::PipelineBubble`]; with unequal chunks the other ranks wait for the slowest one
//! too.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::rank_layers::RankLayers;
use crate::config::job::Module;
use crate::memory::savings::{Choice, ChunkWork, chunk_work, share_ppm};
#[allow(unused_imports, reason = "a link of the documentation")]
use crate::source::Source;
use crate::time::makespan::{Duration, makespan};

/// The most groups of micro batches that are replayed. After that many, every further group takes as long as the rank
/// with most work needs for it.
const GROUPS: u64 = 4;
/// The most passes of one direction that are replayed. A larger schedule gets the formula for chunks of equal work.
const MOST_PASSES: u64 = 1 << 20;

/// PP, VPP, the micro batches that are replayed, and the vocabulary of the output layer, whose padding depends on TP.
type Pipeline = (u32, Option<u32>, u64, u64);

/// The work and the waiting of the stages of a pipeline, whatever the number of micro batches behind those that are
/// replayed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PipelineWork {
    /// `None` where there is one stage alone, or where too many passes would be replayed.
    replay: Option<Replay>,
    /// Recomputation of all stages, in millionths of the matrix products of their forward passes.
    pub(super) recomputed_ppm: u64,
    /// The pipeline rank that works longest, which the others wait for.
    pub(super) slowest: u32,
    /// The layers of that rank.
    pub(super) slowest_layers: Rc<RankLayers>,
    /// Multiplications of matrix products for one token that the slowest rank runs again.
    pub(super) slowest_again: u128,
    /// Multiplications of one token's forward pass through the stage of an average rank.
    pub(super) mean_forward: u128,
}

/// A replay of the schedules of all ranks, in the time of one multiplication for each token of a micro batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Replay {
    /// From the first to the last pass of the micro batches that are replayed.
    makespan: u128,
    /// The passes of one micro batch on the rank that works longest.
    slowest: u128,
    /// The passes of one micro batch on all ranks.
    worked: u128,
}

/// The work of the layouts that were looked at, by PP, VPP, replayed micro batches and vocabulary, and then by what is
/// recomputed.
#[derive(Clone, Debug, Default)]
pub struct Bubbles(BTreeMap<Pipeline, Vec<(Choice, PipelineWork)>>);

impl Bubbles {
    /// The work of a layout. All layouts must be of the same model.
    pub(super) fn work(&mut self, m: &Module, choice: Choice) -> PipelineWork {
        let stages = &m.stages;
        let vocabulary = m.padded_vocab_size;
        let key = (stages.pp(), stages.vpp(), replayed_microbatches(m), vocabulary);
        let known = self.0.entry(key).or_default();
        if let Some((_, work)) = known.iter().find(|(of, _)| *of == choice) {
            return work.clone();
        }
        let work = PipelineWork::of(m, choice);
        known.push((choice, work.clone()));
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
            replay: Replay::of(m, &work),
            recomputed_ppm: share_ppm(all),
            slowest: slowest.0,
            slowest_layers: Rc::new(RankLayers::of(m, slowest.0, choice)),
            slowest_again: slowest.1.again,
            mean_forward: all.forward / u128::from(pp).max(1),
        }
    }

    /// The pipeline bubble of a layout with this work, in millionths of the working time.
    pub(super) fn bubble_ppm(&self, m: &Module) -> u64 {
        let pp = u128::from(m.stages.pp());
        if pp < 2 {
            return 0;
        }
        let all = m.num_microbatches;
        let (idle, worked) = match self.replay {
            Some(replay) => {
                let behind = all.saturating_sub(replayed_microbatches(m));
                let makespan = replay.makespan + replay.slowest * u128::from(behind);
                let worked = replay.worked * u128::from(all);
                ((makespan * pp).saturating_sub(worked), worked)
            }
            None => (pp - 1, u128::from(m.stages.chunks_per_rank()) * u128::from(all.max(1))),
        };
        let ppm = (idle * 1_000_000).checked_div(worked).unwrap_or(0);
        u64::try_from(ppm).unwrap_or(u64::MAX)
    }
}

/// The bubble of a layout in millionths of the working time.
#[must_use]
pub fn bubble_ppm(m: &Module, choice: Choice) -> u64 {
    PipelineWork::of(m, choice).bubble_ppm(m)
}

/// The number of micro batches that are replayed of a layout.
fn replayed_microbatches(m: &Module) -> u64 {
    let pp = u64::from(m.stages.pp());
    let group = match m.stages.vpp() {
        None => pp,
        Some(_) => m
            .args()
            .microbatch_group_size_per_virtual_pipeline_stage
            .unwrap_or(pp)
            .max(1),
    };
    let all = m.num_microbatches;
    if all > GROUPS * group {
        all % group + (GROUPS - 1) * group
    } else {
        all
    }
}

impl Replay {
    /// The replay of a layout whose chunks, rank by rank, compute this for one token.
    fn of(m: &Module, work: &[Vec<ChunkWork>]) -> Option<Self> {
        let replayed = replayed_microbatches(m);
        let stages = u64::try_from(m.stages.chunks().len()).unwrap_or(u64::MAX);
        if m.stages.pp() < 2 || stages.saturating_mul(replayed) > MOST_PASSES {
            return None;
        }
        let of_rank = |chunks: &Vec<ChunkWork>| chunks.iter().copied().map(duration).collect();
        let durations: Vec<Vec<Duration>> = work.iter().map(of_rank).collect();
        let of_ranks = || {
            durations
                .iter()
                .map(|rank| rank.iter().map(|d| d.forward + d.backward).sum())
        };
        Some(Self {
            makespan: makespan(m, &durations, replayed),
            slowest: of_ranks().max().unwrap_or(0),
            worked: of_ranks().sum(),
        })
    }
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
