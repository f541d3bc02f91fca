//! What the allocator makes of large tensors that stay, in closed form: equal ones are counted, not placed one by one.
//!
//! Where nothing is freed, the smallest free block that is large enough is cut until it is used up, since what is left of
//! it is smaller still. So of each free block as many tensors are cut as it has room for, and what is left behind the
//! last one stays with it where it is 1 MiB or less. Small tensors leave nothing behind and share no segments with large
//! ones, so they are not looked at. The result is that of [`CachingAllocator`](super::CachingAllocator).

use std::collections::BTreeMap;

use super::settings::{AllocatorSettings, PoolKind, segment_size};

/// The free blocks of the large pool of one stream.
#[derive(Clone, Debug, Default)]
pub struct Filling {
    /// How many free blocks there are of each size.
    free: BTreeMap<u64, u64>,
    /// How many segments there are of each size.
    segments: BTreeMap<u64, u64>,
}

impl Filling {
    /// No segments so far.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Allocates so many tensors of as many bytes each, one after the other. The bytes that the blocks have more than
    /// the tensors, rounded up to 512 bytes.
    pub fn allocate(&mut self, bytes: u64, count: u64) -> u64 {
        let settings = AllocatorSettings::default();
        let size = settings.round(bytes);
        if bytes == 0 || PoolKind::of(size) == PoolKind::Small {
            return 0;
        }
        let (mut left, mut rests) = (count, 0u64);
        while left > 0 {
            let known = self.free.range(size..).next().map(|(bytes, count)| (*bytes, *count));
            let (block, blocks) = known.unwrap_or((segment_size(size), u64::MAX));
            let room = (block / size).max(1);
            // As many blocks as are used up, or one that is not.
            let (used, each) = match left / room {
                0 => (1, left),
                whole => (whole.min(blocks), room),
            };
            match known {
                Some(_) => take(&mut self.free, block, used),
                None => put(&mut self.segments, block, used),
            }
            let rest = block.saturating_sub(size.saturating_mul(each));
            if settings.splits(PoolKind::Large, size, rest) {
                put(&mut self.free, rest, used);
            } else {
                rests = rests.saturating_add(rest.saturating_mul(used));
            }
            left -= each.saturating_mul(used).min(left);
        }
        rests
    }

    /// Allocates so many tensors like [`Filling::allocate`], each of which is made of a smaller copy that is freed once
    /// the tensor is there. The bytes that the blocks have more than the tensors.
    ///
    /// A copy and its tensor that were cut from one block leave a hole, which serves all further copies. Otherwise the
    /// copy joins what it was cut from, and nothing is left of it.
    pub fn allocate_by_copies(&mut self, copy: u64, bytes: u64, count: u64) -> u64 {
        let settings = AllocatorSettings::default();
        let (copy, size) = (settings.round(copy), settings.round(bytes));
        if PoolKind::of(copy) == PoolKind::Small || copy >= size {
            return self.allocate(bytes, count);
        }
        let (mut left, mut rests) = (count, 0u64);
        while left > 0 {
            let block = self.free.range(copy..).next().map(|(size, _)| *size);
            let block = block.unwrap_or_else(|| {
                let segment = segment_size(copy);
                put(&mut self.segments, segment, 1);
                put(&mut self.free, segment, 1);
                segment
            });
            let behind = block - copy;
            take(&mut self.free, block, 1);
            let next = self.free.range(size..).next().map(|(size, count)| (*size, *count));
            let cut = settings.splits(PoolKind::Large, copy, behind) && behind >= size;
            let smaller = next.filter(|(next, _)| *next < behind);
            if let Some((next, blocks)) = smaller.filter(|_| cut) {
                // While the copies are in their block, tensors are cut from smaller ones than what is left of it.
                let together = left.min((next / size).saturating_mul(blocks));
                rests = rests.saturating_add(self.allocate(bytes, together));
                left -= together;
            } else if cut {
                put(&mut self.free, behind, 1);
                rests = rests.saturating_add(self.allocate(bytes, left));
                put(&mut self.free, copy, 1);
                return rests;
            } else {
                // No tensor fits beside a copy.
                rests = rests.saturating_add(self.allocate(bytes, left));
                left = 0;
            }
            put(&mut self.free, block, 1);
        }
        rests
    }

    /// Adds the segments of others, all of whose blocks are freed.
    pub fn add_segments(&mut self, of: Self) {
        for (size, count) in of.segments {
            put(&mut self.free, size, count);
            put(&mut self.segments, size, count);
        }
    }

    /// Bytes of all segments.
    #[must_use]
    pub fn reserved(&self) -> u64 {
        let bytes = self.segments.iter().map(|(size, count)| size.saturating_mul(*count));
        bytes.fold(0, u64::saturating_add)
    }
}

fn put(sizes: &mut BTreeMap<u64, u64>, size: u64, count: u64) {
    let known = sizes.entry(size).or_default();
    *known = known.saturating_add(count);
}

fn take(sizes: &mut BTreeMap<u64, u64>, size: u64, count: u64) {
    if let Some(known) = sizes.get_mut(&size) {
        *known = known.saturating_sub(count);
        if *known == 0 {
            sizes.remove(&size);
        }
    }
}
