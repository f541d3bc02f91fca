//! The sizes of what PyTorch's caching allocator asks the driver for, and of what it does not split
//! (`c10/cuda/CUDACachingAllocator.cpp`).

use super::allocator::{AllocatorSettings, segment_size};
use crate::units::{Bytes, MIB};

/// The size of the segment that PyTorch asks the driver for when no cached block has room for so many bytes.
#[must_use]
pub fn requested(bytes: Bytes) -> Bytes {
    Bytes(segment_size(AllocatorSettings::default().round(bytes.0)))
}

/// Whether a tensor gets a part of a segment of 20 MiB: smaller ones share segments of 2 MiB, larger ones have their own.
pub(crate) fn shares_a_segment(bytes: u64) -> bool {
    bytes > MIB && bytes < 10 * MIB
}

/// Bytes at the end of a tensor's own segment that stay with the tensor: segments come in multiples of 2 MiB, and a
/// rest of
/// 1 MiB or less is not split off. Smaller tensors share segments.
pub(crate) fn unsplit(bytes: u64) -> u64 {
    let rest = bytes.next_multiple_of(2 * MIB) - bytes;
    if bytes >= 10 * MIB && rest <= MIB { rest } else { 0 }
}
