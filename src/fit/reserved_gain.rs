//! Expandable segments of PyTorch's allocator as a change that costs nothing: the reserved memory that they would save,
//! found by replaying the job's allocations without and with them.

use super::candidates::expandable_segments;
use super::offer::Change;
use crate::config::job::Config;
use crate::config::raw::RawJob;
use crate::config::validate;
use crate::memory::reserved::{ReservedRange, reserved};
use crate::memory::{JobMoment, estimate};
use crate::units::Bytes;

/// Expandable segments in a job that has none, with what the fullest GPU reserves.
#[derive(Clone, Debug, PartialEq)]
pub struct ReservedGain {
    /// The change.
    pub change: Change,
    /// The index of the module that it is made in.
    pub module: usize,
    /// The reserved memory of the job as it is.
    pub now: ReservedRange,
    /// The reserved memory of the job with the change.
    pub then: ReservedRange,
}

impl ReservedGain {
    /// The reserved bytes that the change saves, on the ranks that reserve most.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.now.replayed.1.saturating_sub(self.then.replayed.1)
    }
}

/// What a job would gain by expandable segments; `None` where it has them or gains nothing, where Megatron refuses the
/// job with or without them, and where the allocator is not replayed.
#[must_use]
pub fn reserved_gain(job: &RawJob) -> Option<ReservedGain> {
    let (config, module, now) = replayed(job)?;
    let change = expandable_segments(config.modules().get(module)?)?;
    let mut changed = job.clone();
    change.apply(&mut changed, module);
    let (_, _, then) = replayed(&changed)?;
    let gain = ReservedGain {
        change,
        module,
        now,
        then,
    };
    (gain.bytes() > Bytes::ZERO).then_some(gain)
}

/// A job, the module of its fullest stage, and what its fullest GPU reserves.
fn replayed(job: &RawJob) -> Option<(Config, usize, ReservedRange)> {
    let config = validate(job).config?;
    let estimate = estimate(&config);
    let range = reserved(&config, &estimate.worst_rank, JobMoment::default())?;
    Some((config, estimate.worst.module, range))
}
