//! The largest sizes with which the job fits: a sequence, a micro batch, and the fewest GPUs.

use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::fit::{Limit, fewest_gpus, largest_micro_batch, longest_sequence, longest_sequence_is_of_samples};
use megatron_memory::report::amount::grouped;

/// A size whose largest value that fits can be found, or, of the number of GPUs, the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitSize {
    /// The longest sequence, or sample where samples are packed.
    Sequence,
    /// The largest micro batch.
    MicroBatch,
    /// The fewest GPUs.
    Gpus,
}

impl LimitSize {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 3] = [Self::Sequence, Self::MicroBatch, Self::Gpus];

    /// The size that is the largest value of a field; `None` for a field without one, and for the number of GPUs.
    pub fn of_field(field: FieldId) -> Option<Self> {
        let largest = [Self::Sequence, Self::MicroBatch];
        largest.into_iter().find(|size| size.field() == field)
    }

    /// Works it out for a job.
    pub fn of(self, job: &RawJob) -> LargestSize {
        let found = match self {
            Self::Sequence => longest_sequence(job),
            Self::MicroBatch => largest_micro_batch(job),
            Self::Gpus => fewest_gpus(job),
        };
        found.map_or(LargestSize::NoneFits, LargestSize::Fits)
    }

    /// The name of the size for a job.
    pub fn label(self, job: &RawJob) -> &'static str {
        match self {
            Self::Sequence if longest_sequence_is_of_samples(job) => "Longest sample",
            Self::Sequence => "Longest sequence",
            Self::MicroBatch => "Largest micro batch",
            Self::Gpus => "Fits safely from",
        }
    }

    /// A value with its unit.
    pub fn words(self, value: u64) -> String {
        // What the number counts: one of them, and several.
        let [one, several] = match self {
            Self::Sequence => ["token", "tokens"],
            Self::MicroBatch => ["sample", "samples"],
            Self::Gpus => ["GPU", "GPUs"],
        };
        format!("{} {}", grouped(value), if value == 1 { one } else { several })
    }

    /// The field that has the size.
    pub const fn field(self) -> FieldId {
        match self {
            Self::Sequence => FieldId::seq_length,
            Self::MicroBatch => FieldId::micro_batch_size,
            Self::Gpus => FieldId::world_size,
        }
    }

    pub const fn test_id(self) -> &'static str {
        match self {
            Self::Sequence => "longest-sequence",
            Self::MicroBatch => "largest-micro-batch",
            Self::Gpus => "fewest-gpus",
        }
    }
}

/// What is known of a size.
#[derive(Clone, Default, PartialEq)]
pub enum LargestSize {
    /// It has not been worked out yet.
    #[default]
    Nothing,
    /// No value fits.
    NoneFits,
    /// This value fits.
    Fits(Limit),
}

impl LargestSize {
    /// The answer so far, in words.
    pub fn words(&self, size: LimitSize) -> String {
        match self {
            Self::Nothing => String::from("…"),
            Self::NoneFits => String::from("none fits"),
            Self::Fits(limit) => size.words(limit.value),
        }
    }
}
