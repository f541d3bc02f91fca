//! The time of all micro batches, with the times of the chunks of every pipeline rank.

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

/// Seconds of all micro batches of a step.
pub(super) fn pipeline(m: &Module, ranks: &[Vec<ChunkTime>], replay: Replay) -> f64 {
    let all = m.num_microbatches.max(1);
    let of_rank = |rank: &Vec<ChunkTime>| rank.iter().map(|chunk| chunk.both()).sum::<f64>();
    let slowest = ranks.iter().map(of_rank).fold(0.0, f64::max);
    let pp = u64::from(m.stages.pp());
    if pp < 2 {
        return slowest * wide(all);
    }
    if replay == Replay::ClosedForm {
        let others = ranks.iter().map(of_rank).sum::<f64>() - slowest;
        return slowest * wide(all) + others / wide(m.stages.chunks_per_rank().into());
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
    let durations: Vec<Vec<Duration>> = ranks.iter().map(|rank| rank.iter().map(duration).collect()).collect();
    seconds(makespan(m, &durations, replayed)) + slowest * wide(all - replayed)
}

/// In whole nanoseconds.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times are positive and below 2^63 ns"
)]
fn duration(chunk: &ChunkTime) -> Duration {
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
