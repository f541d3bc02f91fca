//! The blocks of all segments. Those of one segment are a list in the order of their addresses.

use super::Stream;
use super::free::Queue;
use super::settings::PoolKind;

/// A block of the allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockId(usize);

impl BlockId {
    /// The smallest id.
    pub(super) const FIRST: Self = Self(0);
    /// The largest id.
    pub(super) const LAST: Self = Self(usize::MAX);
}

/// What a block is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockState {
    /// A tensor has it.
    Allocated,
    /// It is kept for later requests.
    Free,
    /// It is address space of an expandable segment without memory behind it.
    Unmapped,
}

/// A block and where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedBlock {
    /// The number of its segment.
    pub segment: usize,
    /// Its stream.
    pub stream: Stream,
    /// Its pool.
    pub pool: PoolKind,
    /// Its first byte.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// What it is used for.
    pub state: BlockState,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) segment: usize,
    pub(super) queue: Queue,
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) state: BlockState,
    /// The number of requests when it was freed last.
    pub(super) freed_at: u64,
    before: Option<BlockId>,
    after: Option<BlockId>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    /// `None` for places that are free for new blocks.
    slots: Vec<Option<Block>>,
    vacant: Vec<usize>,
    segments: usize,
}

impl Blocks {
    pub(super) fn get(&self, id: BlockId) -> Option<&Block> {
        self.slots.get(id.0)?.as_ref()
    }

    fn get_mut(&mut self, id: BlockId) -> Option<&mut Block> {
        self.slots.get_mut(id.0)?.as_mut()
    }

    pub(super) fn before(&self, id: BlockId) -> Option<BlockId> {
        self.get(id)?.before
    }

    pub(super) fn after(&self, id: BlockId) -> Option<BlockId> {
        self.get(id)?.after
    }

    pub(super) fn set_state(&mut self, id: BlockId, state: BlockState) {
        if let Some(block) = self.get_mut(id) {
            block.state = state;
        }
    }

    pub(super) fn set_age(&mut self, id: BlockId, requests: u64) {
        if let Some(block) = self.get_mut(id) {
            block.freed_at = requests;
        }
    }

    /// A new segment at an address as one free block.
    pub(super) fn segment(&mut self, queue: Queue, address: u64, size: u64) -> BlockId {
        let block = Block {
            segment: self.segments,
            queue,
            address,
            size,
            state: BlockState::Free,
            freed_at: 0,
            before: None,
            after: None,
        };
        self.segments += 1;
        self.add(block)
    }

    fn add(&mut self, block: Block) -> BlockId {
        let place = self.vacant.pop().unwrap_or(self.slots.len());
        match self.slots.get_mut(place) {
            Some(slot) => *slot = Some(block),
            None => self.slots.push(Some(block)),
        }
        BlockId(place)
    }

    /// Cuts a block after `size` bytes; the rest, which has its state.
    pub(super) fn cut(&mut self, id: BlockId, size: u64) -> BlockId {
        let Some(block) = self.get(id).copied() else { return id };
        let rest = self.add(Block {
            address: block.address + size,
            size: block.size - size,
            before: Some(id),
            ..block
        });
        if let Some(block) = self.get_mut(id) {
            block.size = size;
            block.after = Some(rest);
        }
        if let Some(after) = block.after.and_then(|after| self.get_mut(after)) {
            after.before = Some(rest);
        }
        rest
    }

    /// Joins a block with the one after it.
    pub(super) fn merge(&mut self, id: BlockId) {
        let Some(gone) = self.after(id) else { return };
        let Some(other) = self.remove(gone) else { return };
        if let Some(block) = self.get_mut(id) {
            block.size += other.size;
            block.after = other.after;
        }
        if let Some(after) = other.after.and_then(|after| self.get_mut(after)) {
            after.before = Some(id);
        }
    }

    /// Forgets a block that is a whole segment, or that another one has swallowed.
    pub(super) fn remove(&mut self, id: BlockId) -> Option<Block> {
        let block = self.slots.get_mut(id.0)?.take();
        if block.is_some() {
            self.vacant.push(id.0);
        }
        block
    }

    /// Every block with a state, by its address.
    pub(super) fn with_state(&self, state: BlockState) -> Vec<BlockId> {
        let ids = (0..self.slots.len()).map(BlockId);
        let mut found: Vec<(u64, BlockId)> = ids
            .filter_map(|id| self.get(id).map(|block| (block, id)))
            .filter(|(block, _)| block.state == state)
            .map(|(block, id)| (block.address, id))
            .collect();
        found.sort_unstable();
        found.into_iter().map(|(_, id)| id).collect()
    }

    /// All blocks by their addresses.
    pub(super) fn placed(&self) -> impl Iterator<Item = PlacedBlock> {
        let mut all: Vec<PlacedBlock> = self.slots.iter().flatten().map(PlacedBlock::from).collect();
        all.sort_unstable_by_key(|block| block.address);
        all.into_iter()
    }
}
