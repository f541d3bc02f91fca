//! The memory of a GPU beside the memory that its device shows for a job.

use super::amount::Scale;
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

    /// The headroom in words, such as `7.0 to 13.3 GiB free`, `5.6 GiB free to 0.6 over` or `over by 1.7 to 1.8 TiB`.
    #[must_use]
    pub fn words(self, scale: Scale) -> String {
        match self {
            Self::Free { least, most } => format!("{} free", scale.range(least, most)),
            Self::Uncertain { free, missing } => {
                format!("{} free to {} over", scale.amount(free), scale.number(missing))
            }
            Self::Missing { least, most } => format!("over by {}", scale.short_range(least, most)),
        }
    }
}
