//! Storages in the allocator's blocks, each freed once nothing refers to it any more.

use super::holes::{Holes, ReplayMoment};
use crate::memory::allocator::{AllocatorSettings, BlockId, CachingAllocator, Stream};
use crate::units::Bytes;

/// A storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StorageId(usize);

/// The storages of a process.
#[derive(Debug)]
pub(super) struct Storages {
    pub(super) allocator: CachingAllocator,
    /// The block of each storage and how many refer to it; none for places that are free for new ones.
    blocks: Vec<(BlockId, u32)>,
    vacant: Vec<usize>,
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
        let place = self.vacant.pop().unwrap_or(self.blocks.len());
        match self.blocks.get_mut(place) {
            Some(slot) => *slot = (block, 1),
            None => self.blocks.push((block, 1)),
        }
        Some(StorageId(place))
    }

    /// One more refers to a storage.
    pub(super) fn hold(&mut self, storage: Option<StorageId>) -> Option<StorageId> {
        if let Some((_, references)) = storage.and_then(|id| self.blocks.get_mut(id.0)) {
            *references += 1;
        }
        storage
    }

    /// One less refers to a storage.
    pub(super) fn release(&mut self, storage: Option<StorageId>) {
        let Some(StorageId(place)) = storage else { return };
        let Some((block, references)) = self.blocks.get_mut(place).filter(|(_, references)| *references > 0) else {
            return;
        };
        *references -= 1;
        if *references == 0 {
            self.allocator.free(*block);
            self.vacant.push(place);
        }
    }

    /// The first byte of a storage.
    pub(super) fn address(&self, storage: Option<StorageId>) -> Option<u64> {
        let (block, _) = self.blocks.get(storage?.0)?;
        self.allocator.address(*block)
    }

    /// One less refers to each of these.
    pub(super) fn release_all(&mut self, storages: impl IntoIterator<Item = Option<StorageId>>) {
        for storage in storages {
            self.release(storage);
        }
    }
}
