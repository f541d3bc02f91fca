//! The time of all micro batches, with the times of the chunks of every pipeline rank.

use super::contents::PipelineContents;
use super::makespan::{Duration, makespan};
use super::passes::wide;
use crate::config::job::Module;

/// The most groups of micro batches that are replayed. After that many, every further group takes as long as the rank
/// with most work needs for it.
const GROUPS: u64 = 4;

/// The forward and the backward pass of one chunk for one micro batch, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ChunkTime {
    pub(super) forward: f64,
    pub(super) backward: f64,
}

impl ChunkTime {
    pub(super) fn both(self) -> f64 {
        self.forward + self.backward
    }
}

/// How the time of a pipeline is worked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// The schedules of all ranks are replayed, pass by pass.
    EveryPass,
    /// The slowest rank works without a pause, and waits once for the passes of one micro batch on the others, divided
    /// by the chunks of a rank. Equal to the replay where all chunks take the same time.
    ClosedForm,
}

/// A pipeline with the times of its chunks.
pub(super) struct Pipeline<'c> {
    /// The chunks of the pipeline.
    pub(super) contents: &'c PipelineContents,
    /// The times of each kind of chunk.
    pub(super) chunks: Vec<ChunkTime>,
}

impl Pipeline<'_> {
    /// The passes of one micro batch on a pipeline rank.
    fn rank(&self, pp_rank: usize) -> impl Iterator<Item = ChunkTime> {
        let kinds = self.contents.ranks.get(pp_rank).map_or(&[][..], Vec::as_slice);
        kinds
            .iter()
            .map(|kind| self.chunks.get(*kind).copied().unwrap_or_default())
    }

    /// Seconds that a pipeline rank of each kind computes for one micro batch: the first such rank, how many there are,
    /// and the seconds of each.
    fn by_rank(&self) -> impl Iterator<Item = (usize, u64, f64)> {
        let kinds = self.contents.kinds.iter();
        kinds.map(|kind| {
            let seconds = self.rank(kind.first).map(ChunkTime::both).sum();
            (kind.first, kind.count, seconds)
        })
    }

    /// The first of the ranks that compute longest, with its seconds for one micro batch.
    pub(super) fn slowest(&self) -> (usize, f64) {
        self.by_rank().fold(
            (0, 0.0),
            |slowest, (rank, _, seconds)| {
                if seconds > slowest.1 { (rank, seconds) } else { slowest }
            },
        )
    }

    /// Seconds of all micro batches of a step of a module with this pipeline.
    pub(super) fn seconds(&self, m: &Module, replay: Replay) -> f64 {
        let all = m.num_microbatches.max(1);
        let (_, slowest) = self.slowest();
        let pp = u64::from(m.stages.pp());
        if pp < 2 {
            return slowest * wide(all);
        }
        if replay == Replay::ClosedForm {
            let together: f64 = self.by_rank().map(|(_, count, seconds)| wide(count) * seconds).sum();
            return slowest * wide(all) + (together - slowest) / wide(m.stages.chunks_per_rank().into());
        }
        let group = match m.stages.vpp() {
            None => pp,
            Some(_) => m
                .args
                .microbatch_group_size_per_virtual_pipeline_stage
                .unwrap_or(pp)
                .max(1),
        };
        let replayed = if all > GROUPS * group {
            all % group + (GROUPS - 1) * group
        } else {
            all
        };
        let ranks = 0..self.contents.ranks.len();
        let durations: Vec<Vec<Duration>> = ranks.map(|rank| self.rank(rank).map(duration).collect()).collect();
        seconds(makespan(m, &durations, replayed)) + slowest * wide(all - replayed)
    }
}

/// In whole nanoseconds.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times are positive and below 2^63 ns"
)]
fn duration(chunk: ChunkTime) -> Duration {
    let nanoseconds = |seconds: f64| (seconds * 1e9) as u128;
    Duration {
        forward: nanoseconds(chunk.forward).max(1),
        backward: nanoseconds(chunk.backward).max(1),
    }
}

#[allow(clippy::cast_precision_loss, reason = "nanoseconds as a time in seconds")]
fn seconds(nanoseconds: u128) -> f64 {
    nanoseconds as f64 * 1e-9
}
