//! The free blocks of every pool and stream, by size and then by address (`BlockPool::blocks`).

use std::collections::BTreeSet;

use super::Stream;
use super::blocks::{Block, BlockId};
use super::settings::PoolKind;

/// A pool of one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Queue {
    pub(super) pool: PoolKind,
    pub(super) stream: Stream,
}

#[derive(Clone, Debug, Default)]
pub(super) struct FreeBlocks(BTreeSet<(Queue, u64, u64, BlockId)>);

fn key(block: &Block, id: BlockId) -> (Queue, u64, u64, BlockId) {
    (block.queue, block.size, block.address, id)
}

impl FreeBlocks {
    pub(super) fn insert(&mut self, block: &Block, id: BlockId) {
        self.0.insert(key(block, id));
    }

    pub(super) fn remove(&mut self, block: &Block, id: BlockId) {
        self.0.remove(&key(block, id));
    }

    /// The blocks of a queue from a size on, the smallest first, with their sizes.
    pub(super) fn at_least(&self, queue: Queue, size: u64) -> impl DoubleEndedIterator<Item = (u64, BlockId)> {
        let least = BlockId::FIRST;
        let most = BlockId::LAST;
        let range = (queue, size, 0, least)..=(queue, u64::MAX, u64::MAX, most);
        self.0.range(range).map(|(_, size, _, id)| (*size, *id))
    }

    /// The smallest block of a queue that is large enough, with its size.
    pub(super) fn smallest(&self, queue: Queue, size: u64) -> Option<(u64, BlockId)> {
        self.at_least(queue, size).next()
    }

    /// All free blocks, by pool, stream, size and address.
    pub(super) fn all(&self) -> impl Iterator<Item = BlockId> {
        self.0.iter().map(|(.., id)| *id)
    }

    /// All free blocks of a pool.
    pub(super) fn of_pool(&self, pool: PoolKind) -> Vec<BlockId> {
        let all = self.0.iter().filter(|(queue, ..)| queue.pool == pool);
        all.map(|(.., id)| *id).collect()
    }
}
