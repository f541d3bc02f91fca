//! Storages in the allocator's blocks, each freed once nothing refers to it any more.

use super::holes::{Holes, ReplayMoment};
use crate::memory::allocator::{AllocatorSettings, BlockId, CachingAllocator, Stream};
use crate::units::Bytes;

/// A storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StorageId(usize);

/// A block that storages may refer to.
#[derive(Clone, Copy, Debug)]
struct Storage {
    block: BlockId,
    /// How many refer to it.
    references: u32,
    /// Bytes that it has beyond its tensor since it is not split for its size.
    kept_whole: u64,
}

/// The storages of a process.
#[derive(Debug)]
pub(super) struct Storages {
    pub(super) allocator: CachingAllocator,
    /// None has references at places that are free for new ones.
    blocks: Vec<Storage>,
    vacant: Vec<usize>,
    /// Bytes that blocks in use have beyond their tensors since they are not split for their size.
    kept_whole: u64,
    /// The most bytes that were in use without these.
    pub(super) most_split: u64,
    /// Whether a request failed.
    pub(super) out_of_memory: bool,
    /// The moment of the replay.
    pub(super) moment: ReplayMoment,
    /// What was free when the allocator took more of the GPU's memory for the last time.
    pub(super) holes: Holes,
}

impl Storages {
    pub(super) fn new(settings: AllocatorSettings) -> Self {
        Self {
            allocator: CachingAllocator::new(settings),
            blocks: Vec::new(),
            vacant: Vec::new(),
            kept_whole: 0,
            most_split: 0,
            out_of_memory: false,
            moment: ReplayMoment::default(),
            holes: Holes::default(),
        }
    }

    /// A storage of so many bytes, which one refers to; `None` where there are no bytes, or no room.
    pub(super) fn allocate(&mut self, bytes: u64, stream: Stream) -> Option<StorageId> {
        if bytes == 0 {
            return None;
        }
        let before = self.allocator.most_reserved();
        let Ok(block) = self.allocator.allocate(bytes, stream) else {
            self.out_of_memory = true;
            return None;
        };
        if self.allocator.most_reserved() > before {
            let free = self.allocator.reserved().saturating_sub(self.allocator.allocated());
            self.holes = Holes {
                moment: self.moment,
                free: Bytes(free),
            };
        }
        let storage = Storage {
            block,
            references: 1,
            kept_whole: self.allocator.kept_whole(block, bytes),
        };
        self.kept_whole += storage.kept_whole;
        self.most_split = self
            .most_split
            .max(self.allocator.allocated().saturating_sub(self.kept_whole));
        let place = self.vacant.pop().unwrap_or(self.blocks.len());
        match self.blocks.get_mut(place) {
            Some(slot) => *slot = storage,
            None => self.blocks.push(storage),
        }
        Some(StorageId(place))
    }

    /// One more refers to a storage.
    pub(super) fn hold(&mut self, storage: Option<StorageId>) -> Option<StorageId> {
        if let Some(known) = storage.and_then(|id| self.blocks.get_mut(id.0)) {
            known.references += 1;
        }
        storage
    }

    /// One less refers to a storage.
    pub(super) fn release(&mut self, storage: Option<StorageId>) {
        let Some(StorageId(place)) = storage else { return };
        let Some(known) = self.blocks.get_mut(place).filter(|known| known.references > 0) else {
            return;
        };
        known.references -= 1;
        if known.references == 0 {
            self.allocator.free(known.block);
            self.kept_whole -= known.kept_whole;
            self.vacant.push(place);
        }
    }

    /// The first byte of a storage.
    pub(super) fn address(&self, storage: Option<StorageId>) -> Option<u64> {
        self.allocator.address(self.blocks.get(storage?.0)?.block)
    }

    /// One less refers to each of these.
    pub(super) fn release_all(&mut self, storages: impl IntoIterator<Item = Option<StorageId>>) {
        for storage in storages {
            self.release(storage);
        }
    }
}
