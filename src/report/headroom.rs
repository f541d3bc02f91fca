//! The memory that stays free on a GPU, or is missing, in words.

use super::amount::Scale;
use crate::config::gpus::GpuMemory;
use crate::units::Bytes;
pub use crate::verdict::Headroom;

impl GpuMemory {
    /// The memory in words beside what the device may show at the least: a range where only some such GPUs have that.
    #[must_use]
    pub fn words(self, low: Bytes, scale: Scale) -> String {
        if low > self.least && low <= self.most {
            scale.range(self.least, self.most)
        } else {
            scale.amount(self.least)
        }
    }
}

impl Headroom {
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
