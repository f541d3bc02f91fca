//! Expandable segments: each pool of a stream has one, which gets memory page by page (`try_allocate_expandable_block`).

use super::CachingAllocator;
use super::blocks::{BlockId, BlockState};
use super::free::Queue;
use super::settings::{LARGE_SEGMENT, PoolKind, SMALL_SEGMENT};

/// Address space of an expandable segment: whole pages, and more than any GPU has, so that one segment is enough. PyTorch
/// reserves 9/8 of the GPU's memory, and begins another segment in the rare case that this is full of holes.
const ADDRESSES: u64 = LARGE_SEGMENT << 25;

/// The size of a page.
const fn page(pool: PoolKind) -> u64 {
    match pool {
        PoolKind::Small => SMALL_SEGMENT,
        PoolKind::Large => LARGE_SEGMENT,
    }
}

impl CachingAllocator {
    /// A free block of at least this size, with memory for what it lacks.
    pub(super) fn expand(&mut self, queue: Queue, size: u64) -> Option<BlockId> {
        let mut id = self.expandable(queue, size);
        if self.is(id, BlockState::Unmapped) {
            id = self.map(id, size)?;
        } else {
            self.remove_free(id);
        }
        while let Some(block) = self.blocks.get(id)
            && block.size < size
        {
            let missing = size - block.size;
            let next = self.blocks.after(id)?;
            if self.is(next, BlockState::Unmapped) {
                if self.map(next, missing).is_none() {
                    self.join(id);
                    return None;
                }
            } else {
                self.remove_free(next);
            }
            self.blocks.merge(id);
        }
        // Pages that were mapped again join the free block behind them.
        if let Some(after) = self.blocks.after(id).filter(|id| self.is(*id, BlockState::Free)) {
            self.remove_free(after);
            self.blocks.merge(id);
        }
        Some(id)
    }

    /// Where a block of this size can lie with the least new memory before its end: the first place at the lowest
    /// address (`find_expandable_block`).
    fn expandable(&mut self, queue: Queue, size: u64) -> BlockId {
        let unmapped = self.blocks.with_state(BlockState::Unmapped);
        for id in unmapped {
            if self.blocks.get(id).is_none_or(|block| block.queue != queue) {
                continue;
            }
            let before = self.blocks.before(id).filter(|id| self.is(*id, BlockState::Free));
            let first = before.unwrap_or(id);
            let mut room = 0u64;
            let mut next = Some(first);
            while let Some(block) = next.and_then(|id| self.blocks.get(id))
                && block.state != BlockState::Allocated
                && room < size
            {
                room = room.saturating_add(block.size);
                next = next.and_then(|id| self.blocks.after(id));
            }
            if room >= size {
                return first;
            }
        }
        let address = self.addresses.expandable(ADDRESSES);
        let id = self.blocks.segment(queue, address, ADDRESSES);
        self.blocks.set_state(id, BlockState::Unmapped);
        id
    }

    /// Puts memory behind whole pages from the start of an unmapped block on; the mapped part, which is free but not
    /// among the free blocks.
    fn map(&mut self, id: BlockId, size: u64) -> Option<BlockId> {
        let block = self.blocks.get(id)?;
        let bytes = size.min(block.size).checked_next_multiple_of(page(block.queue.pool))?;
        let bytes = bytes.min(block.size);
        let rest = block.size - bytes;
        self.reserve(bytes)?;
        if rest > 0 {
            self.blocks.cut(id, bytes);
        }
        self.blocks.set_state(id, BlockState::Free);
        Some(id)
    }

    /// Takes the memory from all whole pages of a free block (`unmap_block`).
    pub(super) fn unmap(&mut self, id: BlockId) {
        let Some(block) = self.blocks.get(id) else { return };
        let page = page(block.queue.pool);
        let start = block.address.next_multiple_of(page);
        let end = (block.address + block.size) / page * page;
        if start >= end {
            return;
        }
        let (before, bytes, size) = (start - block.address, end - start, block.size);
        self.remove_free(id);
        let mut unmapped = id;
        if before > 0 {
            unmapped = self.blocks.cut(id, before);
            self.insert_free(id);
        }
        if size > before + bytes {
            let after = self.blocks.cut(unmapped, bytes);
            self.insert_free(after);
        }
        self.blocks.set_state(unmapped, BlockState::Unmapped);
        self.reserved -= bytes;
        let neighbour = |id: Option<BlockId>| id.filter(|id| self.is(*id, BlockState::Unmapped));
        let (before, after) = (
            neighbour(self.blocks.before(unmapped)),
            neighbour(self.blocks.after(unmapped)),
        );
        if after.is_some() {
            self.blocks.merge(unmapped);
        }
        if let Some(before) = before {
            self.blocks.merge(before);
        }
    }
}
