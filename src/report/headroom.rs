//! The memory of a GPU beside the memory that its device shows for a job.

use super::amount::{Scale, percent};
use crate::units::Bytes;

/// What stays free on a GPU, or is missing, over the range of memory that the device may show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headroom {
    /// Memory stays free even with the largest overheads.
    Free {
        /// What stays free with the largest overheads.
        least: Bytes,
        /// What stays free with the smallest overheads.
        most: Bytes,
    },
    /// Memory stays free with the smallest overheads, and is missing with the largest.
    Uncertain {
        /// What stays free with the smallest overheads.
        free: Bytes,
        /// What is missing with the largest overheads.
        missing: Bytes,
    },
    /// Memory is missing even with the smallest overheads.
    Missing {
        /// What is missing with the smallest overheads.
        least: Bytes,
        /// What is missing with the largest overheads.
        most: Bytes,
    },
}

impl Headroom {
    /// Compares the memory that the device shows, from `low` to `high`, with the memory of the GPU.
    #[must_use]
    pub fn of((low, high): (Bytes, Bytes), gpu: Bytes) -> Self {
        let beyond = |device: Bytes| device.saturating_sub(gpu);
        let free = |device: Bytes| gpu.saturating_sub(device);
        if low > gpu {
            Self::Missing {
                least: beyond(low),
                most: beyond(high),
            }
        } else if high > gpu {
            Self::Uncertain {
                free: free(low),
                missing: beyond(high),
            }
        } else {
            Self::Free {
                least: free(high),
                most: free(low),
            }
        }
    }

    /// The headroom in words, such as `7.0 to 13.3 GiB free`.
    #[must_use]
    pub fn words(self, scale: Scale) -> String {
        match self {
            Self::Free { least, most } => format!("{} free", scale.range(least, most)),
            Self::Uncertain { free, missing } => {
                format!("{} free to {} too little", scale.amount(free), scale.amount(missing))
            }
            Self::Missing { least, most } => format!("{} too little", scale.range(least, most)),
        }
    }

    /// The headroom in words with its share of the GPU's memory, such as `7.0 to 13.3 GiB free, 8.8 to 16.7 %`. There
    /// is no share where it is uncertain whether memory stays free.
    #[must_use]
    pub fn words_with_share(self, scale: Scale, gpu: Bytes) -> String {
        let words = self.words(scale);
        let (least, most) = match self {
            Self::Uncertain { .. } => return words,
            Self::Free { least, most } | Self::Missing { least, most } => (percent(least, gpu), percent(most, gpu)),
        };
        match least.strip_suffix(" %") {
            Some(low) if least != most => format!("{words}, {low} to {most}"),
            _ => format!("{words}, {most}"),
        }
    }
}
