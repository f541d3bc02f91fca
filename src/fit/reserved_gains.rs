//! Settings of PyTorch's allocator as changes that cost little: the reserved memory that each would save, found by
//! replaying the job's allocations without and with it.

use serde::{Deserialize, Serialize};

use crate::config::fields::{Args, FieldId};
use crate::config::job::Config;
use crate::config::raw::RawJob;
use crate::config::validate;
use crate::memory::reserved::{ReservedRange, reserved};
use crate::memory::{JobMoment, estimate};
use crate::units::Bytes;
use crate::value::Value;

/// A setting of the allocator, or of when Megatron gives its free segments back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AllocatorSetting {
    /// Segments grow page by page (`expandable_segments`).
    ExpandableSegments,
    /// Free segments are given back in every iteration, at the places of this level (`empty_unused_memory_level`).
    EmptyUnusedMemory(u64),
    /// Blocks from so many MiB on are not split (`max_split_size_mb`).
    MaxSplitSize(u64),
}

/// The settings that are tried, kind by kind. Those sizes are tried that are powers of two between the smallest that
/// PyTorch takes and what few tensors are larger than.
const TRIED: [&[AllocatorSetting]; 3] = {
    use AllocatorSetting::{EmptyUnusedMemory, ExpandableSegments, MaxSplitSize};
    [
        &[ExpandableSegments],
        &[EmptyUnusedMemory(1), EmptyUnusedMemory(2)],
        &[
            MaxSplitSize(64),
            MaxSplitSize(128),
            MaxSplitSize(256),
            MaxSplitSize(512),
        ],
    ]
};

impl AllocatorSetting {
    /// The field that it sets, with its value.
    #[must_use]
    pub fn field(self) -> (FieldId, Value) {
        let number = |number: u64| Value::Int(number.into());
        match self {
            Self::ExpandableSegments => (FieldId::expandable_segments, Value::Bool(true)),
            Self::EmptyUnusedMemory(level) => (FieldId::empty_unused_memory_level, number(level)),
            Self::MaxSplitSize(mib) => (FieldId::max_split_size_mb, number(mib)),
        }
    }

    /// The setting in words, such as `expandable segments` or `max_split_size_mb 256`.
    #[must_use]
    pub fn label(self) -> String {
        match self {
            Self::ExpandableSegments => "expandable segments".to_owned(),
            Self::EmptyUnusedMemory(level) => format!("empty_unused_memory_level {level}"),
            Self::MaxSplitSize(mib) => format!("max_split_size_mb {mib}"),
        }
    }

    /// Whether it costs no time. With the others the driver is asked for segments more often.
    #[must_use]
    pub const fn costs_nothing(self) -> bool {
        match self {
            Self::ExpandableSegments => true,
            Self::EmptyUnusedMemory(_) | Self::MaxSplitSize(_) => false,
        }
    }

    /// Whether a module may be given the setting: it has none of its kind, or less of it.
    fn is_new(self, a: &Args) -> bool {
        match self {
            Self::ExpandableSegments => !a.expandable_segments,
            Self::EmptyUnusedMemory(level) => a.empty_unused_memory_level < level,
            Self::MaxSplitSize(_) => a.max_split_size_mb.is_none(),
        }
    }
}

/// A setting that a job does not have, with what the fullest GPU reserves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservedGain {
    /// The setting.
    pub setting: AllocatorSetting,
    /// The index of the module that it is made in.
    pub module: usize,
    /// The reserved memory of the job as it is.
    pub now: ReservedRange,
    /// The reserved memory of the job with the setting.
    pub then: ReservedRange,
}

impl ReservedGain {
    /// The reserved bytes that the setting saves, on the ranks that reserve most.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.now.replayed.1.saturating_sub(self.then.replayed.1)
    }

    /// Makes the setting in a job.
    pub fn apply(&self, job: &mut RawJob) {
        let (field, value) = self.setting.field();
        job.put(self.module, field, value);
    }
}

/// The settings of the allocator with which a job would reserve less, each taken alone. Of levels and of sizes only the
/// one is listed that saves most. Empty where Megatron refuses the job, and where the allocator is not replayed.
#[must_use]
pub fn reserved_gains(job: &RawJob) -> Vec<ReservedGain> {
    let Some((config, module, now)) = replayed(job) else {
        return Vec::new();
    };
    let Some(m) = config.modules().get(module) else {
        return Vec::new();
    };
    let gain = |setting: AllocatorSetting| {
        let gain = |then: ReservedRange| ReservedGain {
            setting,
            module,
            now,
            then,
        };
        let mut changed = job.clone();
        gain(now).apply(&mut changed);
        let (_, _, then) = replayed(&changed)?;
        Some(gain(then)).filter(|gain| gain.bytes() > Bytes::ZERO)
    };
    let kinds = TRIED.iter().filter_map(|kind| {
        let new = kind.iter().filter(|setting| setting.is_new(m.args()));
        let gains = new.filter_map(|setting| gain(*setting));
        gains.reduce(|most, next| if next.bytes() > most.bytes() { next } else { most })
    });
    kinds.collect()
}

/// A job, the module of its fullest stage, and what its fullest GPU reserves.
fn replayed(job: &RawJob) -> Option<(Config, usize, ReservedRange)> {
    let config = validate(job).config?;
    let estimate = estimate(&config);
    let range = reserved(&config, &estimate.worst_rank, JobMoment::default())?;
    Some((config, estimate.worst.module, range))
}
