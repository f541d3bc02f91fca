//! The memory of a stage as a search compares it: bytes by bucket, without names.

use super::bucket::ByBucket;
use super::estimate::StageEstimate;
use crate::units::Bytes;

/// The memory of each GPU of a stage at its peak in later iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StageBytes {
    /// Bytes by bucket, as in [`StageEstimate::memory`].
    pub(crate) memory: ByBucket,
    /// All buckets together.
    pub(crate) total: Bytes,
    /// Bytes that CUDA graphs keep reserved beyond `total`.
    pub(crate) graphs: Bytes,
}

impl From<&StageEstimate> for StageBytes {
    fn from(estimate: &StageEstimate) -> Self {
        Self {
            memory: estimate.memory,
            total: estimate.total,
            graphs: estimate.graphs,
        }
    }
}
