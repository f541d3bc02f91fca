//! The sizes that requests are rounded to, and when blocks are split (`round_size`, `get_allocation_size`,
//! `should_split`).

use crate::model::tape::block;
use crate::units::MIB;

/// The largest size in the pool of small blocks (`kSmallSize`).
pub(super) const SMALL: u64 = MIB;
/// The size of a segment of small blocks (`kSmallBuffer`).
pub(super) const SMALL_SEGMENT: u64 = 2 * MIB;
/// The size of a segment for large blocks below [`LARGE`] (`kLargeBuffer`).
pub(super) const LARGE_SEGMENT: u64 = 20 * MIB;
/// The smallest size that has a segment of its own (`kMinLargeAlloc`).
const LARGE: u64 = 10 * MIB;
/// What the size of such a segment is a multiple of (`kRoundLarge`).
const LARGE_MULTIPLE: u64 = 2 * MIB;
/// The smallest block (`kMinBlockSize`).
const SMALLEST: u64 = 512;

/// The pool of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PoolKind {
    /// Blocks of up to 1 MiB.
    Small,
    /// Larger blocks.
    Large,
}

impl PoolKind {
    /// The pool of a block of so many bytes (`get_pool`).
    #[must_use]
    pub const fn of(size: u64) -> Self {
        if size <= SMALL { Self::Small } else { Self::Large }
    }
}

/// What `PYTORCH_CUDA_ALLOC_CONF` sets, and the memory that there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocatorSettings {
    /// Whether segments grow page by page (`expandable_segments`).
    pub expandable_segments: bool,
    /// Blocks from this size on, in bytes, are not split (`max_split_size_mb`); `None` for no limit.
    pub max_split_size: Option<u64>,
    /// Sizes are rounded up to so many steps between powers of two (`roundup_power2_divisions`); `None` for multiples of
    /// 512 bytes.
    pub roundup_power2_divisions: Option<u64>,
    /// Reserved bytes from which on free segments that were long unused are released (`garbage_collection_threshold`
    /// of the memory that the process may have). PyTorch looks at it only where the process has set its share of the GPU
    /// (`set_per_process_memory_fraction`).
    pub garbage_collection: Option<u64>,
    /// The most bytes that segments may have; `None` for no limit.
    pub capacity: Option<u64>,
}

impl AllocatorSettings {
    /// The size of the block for a request (`round_size`).
    #[must_use]
    pub fn round(&self, bytes: u64) -> u64 {
        match self.roundup_power2_divisions {
            Some(divisions) if divisions > 1 && bytes > SMALLEST.saturating_mul(divisions) => {
                next_division(bytes, divisions)
            }
            _ => block(bytes.max(1)),
        }
    }

    /// Whether a block of which a request needs `size` is split off the `rest`.
    #[must_use]
    pub fn splits(&self, pool: PoolKind, size: u64, rest: u64) -> bool {
        if pool == PoolKind::Small || self.expandable_segments {
            rest >= SMALLEST
        } else {
            self.max_split_size.is_none_or(|limit| size < limit) && rest > SMALL
        }
    }

    /// Bytes that a block has beyond a request that it was found for and was not split for, since it is too large
    /// (`max_split_size_mb`).
    #[must_use]
    pub fn kept_whole(&self, bytes: u64, block: u64) -> u64 {
        let size = self.round(bytes);
        let rest = block.saturating_sub(size);
        let pool = PoolKind::of(size);
        let unlimited = Self {
            max_split_size: None,
            ..*self
        };
        let kept = unlimited.splits(pool, size, rest) && !self.splits(pool, size, rest);
        if kept { rest } else { 0 }
    }
}

/// The size of a new segment for a block (`get_allocation_size`).
#[must_use]
pub const fn segment_size(size: u64) -> u64 {
    match PoolKind::of(size) {
        PoolKind::Small => SMALL_SEGMENT,
        PoolKind::Large if size < LARGE => LARGE_SEGMENT,
        PoolKind::Large => match size.checked_next_multiple_of(LARGE_MULTIPLE) {
            Some(size) => size,
            None => u64::MAX,
        },
    }
}

/// The next of so many equal steps between two powers of two (`roundup_power2_next_division`).
fn next_division(bytes: u64, divisions: u64) -> u64 {
    let floor = 1u64 << bytes.ilog2();
    let step = floor >> divisions.ilog2();
    if bytes.is_power_of_two() {
        bytes
    } else if step == 0 {
        floor.saturating_mul(2)
    } else {
        bytes.checked_next_multiple_of(step).unwrap_or(u64::MAX)
    }
}
