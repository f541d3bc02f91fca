//! Where the driver puts segments. PyTorch takes the lowest of free blocks of equal size, so this decides which holes are
//! filled first.
//!
//! CUDA's documentation does not say; this is what the segments of an H100 with driver 580 show: address space is taken
//! in regions of whole 32 MiB, each below those before, and a segment lies in the lowest free place that is large enough.
//! The context has the first 6 MiB of the highest region.

use std::collections::BTreeMap;

use crate::units::MIB;

/// What the size of a region is a multiple of.
const REGION: u64 = 32 * MIB;
/// What the context has of the highest region.
const CONTEXT: u64 = 6 * MIB;
/// The end of the highest region.
const TOP: u64 = 1 << 47;

/// The address space of a process.
#[derive(Clone, Debug)]
pub(super) struct Addresses {
    /// Bytes of free places by their starts. Neighbours are joined.
    free: BTreeMap<u64, u64>,
    /// The start of the lowest region.
    lowest: u64,
    /// The end of the address space of expandable segments.
    expandable: u64,
}

impl Default for Addresses {
    fn default() -> Self {
        Self {
            free: BTreeMap::from([(TOP - REGION + CONTEXT, REGION - CONTEXT)]),
            lowest: TOP - REGION,
            expandable: 0,
        }
    }
}

impl Addresses {
    /// The start of a new segment.
    pub(super) fn take(&mut self, bytes: u64) -> u64 {
        let mut free = self.free.iter().map(|(start, size)| (*start, *size));
        let place = free.find(|(_, size)| *size >= bytes);
        let (start, size) = place.unwrap_or_else(|| self.region(bytes));
        self.free.remove(&start);
        if size > bytes {
            self.free.insert(start.saturating_add(bytes), size - bytes);
        }
        start
    }

    /// A new region for a segment, with its size.
    fn region(&mut self, bytes: u64) -> (u64, u64) {
        let size = bytes.checked_next_multiple_of(REGION).unwrap_or(u64::MAX);
        self.lowest = self.lowest.saturating_sub(size);
        (self.lowest, size)
    }

    /// The start of so many bytes of address space for an expandable segment.
    pub(super) fn expandable(&mut self, bytes: u64) -> u64 {
        let start = self.expandable;
        self.expandable = self.expandable.saturating_add(bytes);
        start
    }

    /// Frees the place of a segment.
    pub(super) fn give(&mut self, start: u64, bytes: u64) {
        let (mut start, mut size) = (start, bytes);
        if let Some(after) = self.free.remove(&start.saturating_add(bytes)) {
            size = size.saturating_add(after);
        }
        if let Some((before, bytes)) = self.free.range(..start).next_back().map(|(at, bytes)| (*at, *bytes))
            && before.saturating_add(bytes) == start
        {
            start = before;
            size = size.saturating_add(bytes);
        }
        self.free.insert(start, size);
    }
}
