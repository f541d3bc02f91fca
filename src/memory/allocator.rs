//! PyTorch's caching allocator as a model: which blocks of which segments tensors get, and what is reserved for them.
//!
//! The allocator asks the driver for *segments*, cuts *blocks* from them and keeps what is freed for later requests. What
//! `torch.cuda.memory_allocated` counts are the blocks in use, and `memory_reserved` counts the segments. The rules are
//! those of `DeviceCachingAllocator` in PyTorch's `c10/cuda/CUDACachingAllocator.cpp`.
//!
//! The addresses that the driver gives to segments are those that were seen on an H100 (`addresses.rs`).

mod addresses;
mod blocks;
mod expandable;
mod filling;
mod free;
mod release;
mod settings;

pub use blocks::{BlockId, BlockState, PlacedBlock};
pub use filling::Filling;
pub use settings::{AllocatorSettings, PoolKind, segment_size};

use addresses::Addresses;
use blocks::{Block, Blocks};
use free::{FreeBlocks, Queue};

/// A CUDA stream. Blocks that were made for one are not given to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stream(pub u32);

/// No block could be had: what is free does not have the size, and the GPU has no room for a new segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory;

/// The allocator of one GPU.
#[derive(Clone, Debug)]
pub struct CachingAllocator {
    settings: AllocatorSettings,
    addresses: Addresses,
    blocks: Blocks,
    free: FreeBlocks,
    allocated: u64,
    most_allocated: u64,
    reserved: u64,
    most_reserved: u64,
    requests: u64,
}

impl CachingAllocator {
    /// An allocator that has reserved nothing.
    #[must_use]
    pub fn new(settings: AllocatorSettings) -> Self {
        Self {
            settings,
            addresses: Addresses::default(),
            blocks: Blocks::default(),
            free: FreeBlocks::default(),
            allocated: 0,
            most_allocated: 0,
            reserved: 0,
            most_reserved: 0,
            requests: 0,
        }
    }

    /// Bytes of the blocks in use (`torch.cuda.memory_allocated`).
    #[must_use]
    pub fn allocated(&self) -> u64 {
        self.allocated
    }

    /// The most bytes that were in use (`torch.cuda.max_memory_allocated`).
    #[must_use]
    pub fn most_allocated(&self) -> u64 {
        self.most_allocated
    }

    /// Bytes of all segments (`torch.cuda.memory_reserved`).
    #[must_use]
    pub fn reserved(&self) -> u64 {
        self.reserved
    }

    /// The most bytes that segments had (`torch.cuda.max_memory_reserved`).
    #[must_use]
    pub fn most_reserved(&self) -> u64 {
        self.most_reserved
    }

    /// All blocks, segment by segment, in the order of their addresses.
    pub fn placed(&self) -> impl Iterator<Item = PlacedBlock> {
        self.blocks.placed()
    }

    /// The free blocks, pool by pool, from the smallest on.
    pub fn free_blocks(&self) -> impl Iterator<Item = PlacedBlock> {
        let ids = self.free.all();
        ids.filter_map(|id| self.blocks.get(id)).map(PlacedBlock::from)
    }

    /// Bytes of a block in use; 0 of any other.
    #[must_use]
    pub fn size(&self, id: BlockId) -> u64 {
        let block = self.blocks.get(id);
        block
            .filter(|block| block.state == BlockState::Allocated)
            .map_or(0, |block| block.size)
    }

    /// Bytes that a block has beyond the request it was found for, since blocks of its size are not split.
    #[must_use]
    pub fn kept_whole(&self, id: BlockId, request: u64) -> u64 {
        self.settings.kept_whole(request, self.size(id))
    }

    /// The first byte of a block in use; `None` of any other.
    #[must_use]
    pub fn address(&self, id: BlockId) -> Option<u64> {
        let block = self.blocks.get(id);
        let used = block.filter(|block| block.state == BlockState::Allocated);
        used.map(|block| block.address)
    }

    /// A block for so many bytes on a stream (`DeviceCachingAllocator::malloc`).
    ///
    /// # Errors
    /// Where neither a free block nor a new segment has room for it, even after all free segments were released.
    pub fn allocate(&mut self, bytes: u64, stream: Stream) -> Result<BlockId, OutOfMemory> {
        let size = self.settings.round(bytes);
        let queue = Queue {
            pool: PoolKind::of(size),
            stream,
        };
        self.requests += 1;
        let found = self.take_free(queue, size).or_else(|| {
            self.collect_garbage();
            self.extend(queue, size)
                .or_else(|| {
                    let released = self.release_oversized(queue, size);
                    released.then(|| self.extend(queue, size)).flatten()
                })
                .or_else(|| {
                    self.release_cached();
                    self.extend(queue, size)
                })
        });
        let id = found.ok_or(OutOfMemory)?;
        self.split(id, size);
        self.blocks.set_state(id, BlockState::Allocated);
        self.allocated += self.size(id);
        self.most_allocated = self.most_allocated.max(self.allocated);
        Ok(id)
    }

    /// Gives a block back, which joins free neighbours of its segment (`free_block`). Blocks that are not in use stay as
    /// they are.
    pub fn free(&mut self, id: BlockId) {
        let size = self.size(id);
        if size == 0 {
            return;
        }
        self.allocated -= size;
        self.blocks.set_state(id, BlockState::Free);
        self.join(id);
    }

    /// Gives all free segments back to the driver (`torch.cuda.empty_cache`).
    pub fn empty_cache(&mut self) {
        self.release_cached();
    }

    /// The smallest free block that is large enough (`get_free_block`), taken out of the free ones.
    fn take_free(&mut self, queue: Queue, size: u64) -> Option<BlockId> {
        let (found, id) = self.smallest_free(queue, size)?;
        // A block that could be split is not kept whole for a small request, and a large request takes no block that
        // is larger by a segment or more.
        if let Some(limit) = self.settings.max_split_size {
            let too_large = if size < limit {
                found >= limit
            } else {
                found >= size.saturating_add(settings::LARGE_SEGMENT)
            };
            if too_large {
                return None;
            }
        }
        self.remove_free(id);
        Some(id)
    }

    /// The smallest free block that is large enough. One that can grow counts with the address space behind it.
    fn smallest_free(&self, queue: Queue, size: u64) -> Option<(u64, BlockId)> {
        let mut found = self.free.at_least(queue, size);
        let mut best = found.next()?;
        if self.settings.expandable_segments {
            let room = |(bytes, id): (u64, BlockId)| {
                let after = self.blocks.after(id).and_then(|id| self.blocks.get(id));
                let growth = after.filter(|after| after.state == BlockState::Unmapped);
                bytes.saturating_add(growth.map_or(0, |after| after.size))
            };
            for next in found {
                if room(next) >= room(best) {
                    break;
                }
                best = next;
            }
        }
        Some(best)
    }

    /// A block of new memory, larger than asked for by as much as the driver is asked for at once.
    fn extend(&mut self, queue: Queue, size: u64) -> Option<BlockId> {
        if self.settings.expandable_segments {
            return self.expand(queue, size);
        }
        let bytes = segment_size(size);
        self.reserve(bytes)?;
        let address = self.addresses.take(bytes);
        Some(self.blocks.segment(queue, address, bytes))
    }

    /// Counts so many bytes as reserved, if the GPU has them.
    fn reserve(&mut self, bytes: u64) -> Option<()> {
        let reserved = self.reserved.checked_add(bytes)?;
        if self.settings.capacity.is_some_and(|capacity| reserved > capacity) {
            return None;
        }
        self.reserved = reserved;
        self.most_reserved = self.most_reserved.max(reserved);
        Some(())
    }

    /// Cuts off what a block has more than `size`, if that is not too little (`should_split`).
    fn split(&mut self, id: BlockId, size: u64) {
        let Some(block) = self.blocks.get(id) else { return };
        if self.settings.splits(block.queue.pool, size, block.size - size) {
            let rest = self.blocks.cut(id, size);
            self.insert_free(rest);
        }
    }

    /// Joins a free block with its free neighbours and puts it among the free ones.
    fn join(&mut self, id: BlockId) {
        let mut id = id;
        if let Some(before) = self.blocks.before(id).filter(|id| self.is(*id, BlockState::Free)) {
            self.remove_free(before);
            self.blocks.merge(before);
            id = before;
        }
        if let Some(after) = self.blocks.after(id).filter(|id| self.is(*id, BlockState::Free)) {
            self.remove_free(after);
            self.blocks.merge(id);
        }
        self.insert_free(id);
    }

    fn is(&self, id: BlockId, state: BlockState) -> bool {
        self.blocks.get(id).is_some_and(|block| block.state == state)
    }

    fn insert_free(&mut self, id: BlockId) {
        self.blocks.set_age(id, self.requests);
        if let Some(block) = self.blocks.get(id) {
            self.free.insert(block, id);
        }
    }

    fn remove_free(&mut self, id: BlockId) {
        if let Some(block) = self.blocks.get(id) {
            self.free.remove(block, id);
        }
    }

    /// Whether a block is a whole segment.
    fn is_whole(&self, id: BlockId) -> bool {
        self.blocks.before(id).is_none() && self.blocks.after(id).is_none()
    }
}

/// A block by its size and place.
impl From<&Block> for PlacedBlock {
    fn from(block: &Block) -> Self {
        Self {
            segment: block.segment,
            stream: block.queue.stream,
            pool: block.queue.pool,
            address: block.address,
            bytes: block.size,
            state: block.state,
        }
    }
}
