//! What is given back to the driver: free segments where there is no room for a new one, or that were long unused.

use super::CachingAllocator;
use super::blocks::BlockId;
use super::free::Queue;
use super::settings::PoolKind;

impl CachingAllocator {
    /// Gives all free segments back (`release_cached_blocks`), and of expandable ones all free pages.
    pub(super) fn release_cached(&mut self) {
        for pool in [PoolKind::Large, PoolKind::Small] {
            for id in self.free.of_pool(pool) {
                if self.settings.expandable_segments {
                    self.unmap(id);
                } else {
                    self.release(id);
                }
            }
        }
    }

    /// Where blocks from some size on are not split, gives back enough of them for a request: one that is large
    /// enough, or several from the largest on (`release_available_cached_blocks`). Whether there were enough.
    pub(super) fn release_oversized(&mut self, queue: Queue, size: u64) -> bool {
        let Some(limit) = self.settings.max_split_size else {
            return false;
        };
        if self.settings.expandable_segments {
            return false;
        }
        let least = size.max(limit);
        if let Some((_, id)) = self.free.smallest(queue, least) {
            self.release(id);
            return true;
        }
        let oversized: Vec<(u64, BlockId)> = self.free.at_least(queue, limit).rev().collect();
        let mut released = 0u64;
        for (bytes, id) in oversized {
            if released >= least {
                break;
            }
            released = released.saturating_add(bytes);
            self.release(id);
        }
        released >= least
    }

    /// Gives back free segments that were unused for longer than others, once so much is reserved
    /// (`garbage_collect_cached_blocks`).
    pub(super) fn collect_garbage(&mut self) {
        let Some(threshold) = self.settings.garbage_collection else {
            return;
        };
        let target = self.reserved.saturating_sub(threshold);
        let mut whole = self.free.of_pool(PoolKind::Large);
        whole.retain(|id| self.is_whole(*id));
        let mut collected = 0u64;
        while collected < target && !whole.is_empty() {
            let ages = whole.iter().map(|id| self.age(*id));
            let sum = ages.fold(0u64, u64::saturating_add);
            let count = whole.len() as u64;
            let (old, young): (Vec<BlockId>, Vec<BlockId>) =
                whole.iter().partition(|id| self.age(**id).saturating_mul(count) >= sum);
            for id in &old {
                collected = collected.saturating_add(self.blocks.get(*id).map_or(0, |block| block.size));
                self.release(*id);
            }
            whole = young;
        }
    }

    /// How many requests there were since a block was freed.
    fn age(&self, id: BlockId) -> u64 {
        let block = self.blocks.get(id);
        block.map_or(0, |block| self.requests.saturating_sub(block.freed_at))
    }

    /// Gives a free block back to the driver, if it is a whole segment.
    fn release(&mut self, id: BlockId) {
        if !self.is_whole(id) {
            return;
        }
        self.remove_free(id);
        if let Some(block) = self.blocks.remove(id) {
            self.addresses.give(block.address, block.size);
            self.reserved = self.reserved.saturating_sub(block.size);
        }
    }
}
