//! Tests of `memory::allocator`: its rules as laws that hold for any requests.

use std::collections::BTreeMap;

use megatron_memory::memory::allocator::{
    AllocatorSettings, BlockId, BlockState, CachingAllocator, Filling, OutOfMemory, PlacedBlock, PoolKind, Stream,
    segment_size,
};
use proptest::collection::vec;
use proptest::prelude::*;

const MIB: u64 = 1 << 20;

/// Bytes of a tensor, a stream, and which of the live ones is freed before it is made.
type Step = (u64, u32, Option<prop::sample::Index>);

fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![
        1..=4096u64,
        1..=2 * MIB,
        MIB..=12 * MIB,
        10 * MIB..=80 * MIB,
        (1..=40u64).prop_map(|n| n * MIB),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    vec((bytes(), 0..2u32, any::<Option<prop::sample::Index>>()), 1..150)
}

fn settings() -> impl Strategy<Value = AllocatorSettings> {
    let limits = (
        any::<bool>(),
        prop::option::of((21..=64u64).prop_map(|n| n * MIB)),
        prop::option::of(1..=8u64),
        prop::option::of((50..=200u64).prop_map(|n| n * MIB)),
        prop::option::of((100..=400u64).prop_map(|n| n * MIB)),
    );
    limits.prop_map(|(expandable, split, divisions, garbage, capacity)| AllocatorSettings {
        expandable_segments: expandable,
        max_split_size: split,
        roundup_power2_divisions: divisions,
        garbage_collection: garbage,
        capacity,
    })
}

/// Plays requests; the tensors that are left, with their bytes.
fn play(allocator: &mut CachingAllocator, steps: &[Step]) -> Vec<(BlockId, u64)> {
    let mut live: Vec<(BlockId, u64)> = Vec::new();
    for (bytes, stream, freed) in steps {
        if let Some(freed) = freed
            && !live.is_empty()
        {
            let (id, _) = live.swap_remove(freed.index(live.len()));
            allocator.free(id);
        }
        if let Ok(id) = allocator.allocate(*bytes, Stream(*stream)) {
            live.push((id, *bytes));
        }
    }
    live
}

/// The blocks of each segment.
fn segments(allocator: &CachingAllocator) -> BTreeMap<usize, Vec<PlacedBlock>> {
    let mut out: BTreeMap<usize, Vec<PlacedBlock>> = BTreeMap::new();
    for block in allocator.placed() {
        out.entry(block.segment).or_default().push(block);
    }
    out
}

proptest! {
    #[test]
    fn blocks_tile_their_segments(settings in settings(), steps in steps()) {
        let mut allocator = CachingAllocator::new(settings);
        let live = play(&mut allocator, &steps);
        let (mut allocated, mut mapped) = (0, 0);
        for blocks in segments(&allocator).values() {
            for pair in blocks.windows(2) {
                prop_assert_eq!(pair[0].address + pair[0].bytes, pair[1].address);
                prop_assert_eq!((pair[0].pool, pair[0].stream), (pair[1].pool, pair[1].stream));
                // Free neighbours are one block.
                prop_assert!(pair[0].state == BlockState::Allocated || pair[0].state != pair[1].state);
            }
            for block in blocks {
                prop_assert!(block.bytes > 0 && block.bytes % 512 == 0);
                match block.state {
                    BlockState::Allocated => {
                        allocated += block.bytes;
                        mapped += block.bytes;
                    }
                    BlockState::Free => mapped += block.bytes,
                    BlockState::Unmapped => {}
                }
            }
        }
        prop_assert_eq!(allocated, allocator.allocated());
        prop_assert_eq!(mapped, allocator.reserved());
        let tensors: u64 = live.iter().map(|(_, bytes)| bytes).sum();
        prop_assert!(tensors <= allocated && allocated <= mapped);
        prop_assert!(allocator.most_reserved() >= allocator.most_allocated());
        if let Some(capacity) = settings.capacity {
            prop_assert!(allocator.most_reserved() <= capacity);
        }
        for (id, bytes) in live {
            prop_assert!(allocator.size(id) >= bytes);
        }
    }

    #[test]
    fn freeing_everything_leaves_whole_segments(settings in settings(), steps in steps()) {
        let mut allocator = CachingAllocator::new(settings);
        for (id, _) in play(&mut allocator, &steps) {
            allocator.free(id);
        }
        prop_assert_eq!(allocator.allocated(), 0);
        for blocks in segments(&allocator).values() {
            let mapped: Vec<_> = blocks.iter().filter(|block| block.state != BlockState::Unmapped).collect();
            prop_assert!(mapped.iter().all(|block| block.state == BlockState::Free));
            prop_assert!(settings.expandable_segments || mapped.len() == 1);
        }
        allocator.empty_cache();
        prop_assert_eq!(allocator.reserved(), 0);
    }

    /// Of two streams, each is as if the other were not there.
    #[test]
    fn streams_share_nothing(steps in steps()) {
        let reserved = |streams: &[u32]| {
            let mut allocator = CachingAllocator::new(AllocatorSettings::default());
            for (index, (bytes, stream, freed)) in steps.iter().enumerate() {
                if streams.contains(stream) {
                    let id = allocator.allocate(*bytes, Stream(*stream)).unwrap();
                    if freed.is_some() && index % 2 == 0 {
                        allocator.free(id);
                    }
                }
            }
            allocator.reserved()
        };
        prop_assert_eq!(reserved(&[0, 1]), reserved(&[0]) + reserved(&[1]));
    }

    /// The closed form for tensors that stay is what placing them one by one gives.
    #[test]
    fn filling_is_placing(runs in vec((bytes(), 1..40u64), 1..12)) {
        let mut allocator = CachingAllocator::new(AllocatorSettings::default());
        let mut filling = Filling::new();
        let (mut tensors, mut rests) = (0, 0);
        for (bytes, count) in runs {
            rests += filling.allocate(bytes, count);
            for _ in 0..count {
                allocator.allocate(bytes, Stream(0)).unwrap();
                tensors += bytes.next_multiple_of(512);
            }
        }
        prop_assert_eq!(allocator.allocated(), tensors + rests);
        prop_assert_eq!(large_segments(&allocator), filling.reserved());
    }

    /// The closed form for tensors that are made of copies is what placing them one by one gives. Of free blocks of equal
    /// size the lower one is taken, and the closed form does not know which it is: so there are none before.
    #[test]
    fn filling_by_copies_is_placing_them(bytes in bytes(), count in 1..60u64) {
        let mut allocator = CachingAllocator::new(AllocatorSettings::default());
        let mut filling = Filling::new();
        let rests = filling.allocate_by_copies(bytes / 2, bytes, count);
        for _ in 0..count {
            let copy = allocator.allocate(bytes / 2, Stream(0)).unwrap();
            allocator.allocate(bytes, Stream(0)).unwrap();
            allocator.free(copy);
        }
        prop_assert_eq!(allocator.allocated(), bytes.next_multiple_of(512) * count + rests);
        prop_assert_eq!(large_segments(&allocator), filling.reserved());
    }
}

/// Bytes of the segments of large blocks.
fn large_segments(allocator: &CachingAllocator) -> u64 {
    let large = allocator.placed().filter(|block| block.pool == PoolKind::Large);
    large.map(|block| block.bytes).sum()
}

#[test]
fn segments_have_the_sizes_that_are_documented() {
    let cases = [
        (512, 2 * MIB),
        (MIB, 2 * MIB),
        (MIB + 512, 20 * MIB),
        (10 * MIB - 512, 20 * MIB),
        (10 * MIB, 10 * MIB),
        (11 * MIB, 12 * MIB),
    ];
    for (size, segment) in cases {
        assert_eq!(segment_size(size), segment, "{size}");
    }
}

/// Four parameters of 4 MiB and one of 3.5 leave half a MiB of a segment of 20 MiB, which stays with the last one.
#[test]
fn a_rest_of_up_to_one_mib_stays_with_its_block() {
    let mut allocator = CachingAllocator::new(AllocatorSettings::default());
    for bytes in [4 * MIB, 4 * MIB, 4 * MIB, 4 * MIB, 7 * MIB / 2] {
        allocator.allocate(bytes, Stream(0)).unwrap();
    }
    assert_eq!((allocator.allocated(), allocator.reserved()), (20 * MIB, 20 * MIB));
    let mut expandable = CachingAllocator::new(AllocatorSettings {
        expandable_segments: true,
        ..AllocatorSettings::default()
    });
    for bytes in [4 * MIB, 4 * MIB, 4 * MIB, 4 * MIB, 7 * MIB / 2] {
        expandable.allocate(bytes, Stream(0)).unwrap();
    }
    assert_eq!(expandable.allocated(), 39 * MIB / 2);
}

/// Cached segments are given back before an allocation fails, so that a job near the limit still runs.
#[test]
fn free_segments_make_room() {
    let mut allocator = CachingAllocator::new(AllocatorSettings {
        capacity: Some(100 * MIB),
        ..AllocatorSettings::default()
    });
    let first = allocator.allocate(60 * MIB, Stream(0)).unwrap();
    assert_eq!(allocator.allocate(60 * MIB, Stream(0)), Err(OutOfMemory));
    allocator.free(first);
    assert_eq!(allocator.reserved(), 60 * MIB);
    allocator.allocate(80 * MIB, Stream(0)).unwrap();
    assert_eq!(allocator.reserved(), 80 * MIB);
}
