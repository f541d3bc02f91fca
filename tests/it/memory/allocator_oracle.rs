//! The allocator beside what PyTorch's answered on a GPU, to the byte.

use megatron_memory::memory::allocator::{
    AllocatorSettings, BlockId, BlockState, CachingAllocator, PlacedBlock, Stream,
};
use serde_json::Value as Json;

use crate::oracle;

const MIB: u64 = 1 << 20;

fn settings(of: &Json) -> AllocatorSettings {
    let number = |name: &str| of[name].as_u64();
    let capacity = number("capacity");
    AllocatorSettings {
        expandable_segments: of["expandable_segments"] == true,
        max_split_size: number("max_split_size_mb").map(|mib| mib * MIB),
        roundup_power2_divisions: number("roundup_power2_divisions"),
        garbage_collection: number("garbage_collection_threshold_percent")
            .map(|percent| capacity.unwrap() * percent / 100),
        capacity,
    }
}

/// Plays one request: a number of bytes, or -1 minus the place of an earlier one that is freed. Whether there was room.
fn play(allocator: &mut CachingAllocator, made: &mut Vec<Option<BlockId>>, request: i64, stream: Stream) -> bool {
    if let Ok(bytes) = u64::try_from(request) {
        let block = allocator.allocate(bytes, stream).ok();
        made.push(block);
        return block.is_some();
    }
    let place = usize::try_from(-1 - request).unwrap();
    if let Some(block) = made[place].take() {
        allocator.free(block);
    }
    true
}

/// Of each segment its stream and the sizes of its blocks, negative where they are free, in order.
fn segments(allocator: &CachingAllocator) -> Vec<(u64, Vec<i64>)> {
    let placed: Vec<PlacedBlock> = allocator.placed().collect();
    let mapped = |block: &PlacedBlock| block.state != BlockState::Unmapped;
    // Address space without memory behind it separates what PyTorch calls segments.
    let same = |a: &PlacedBlock, b: &PlacedBlock| a.segment == b.segment && mapped(a) && mapped(b);
    let size = |block: &PlacedBlock| {
        let bytes = i64::try_from(block.bytes).unwrap();
        if block.state == BlockState::Allocated {
            bytes
        } else {
            -bytes
        }
    };
    let segments = placed.chunk_by(same).filter(|blocks| mapped(&blocks[0]));
    let mut segments: Vec<(u64, Vec<i64>)> = segments
        .map(|blocks| (u64::from(blocks[0].stream.0), blocks.iter().map(size).collect()))
        .collect();
    segments.sort_unstable();
    segments
}

#[test]
fn sequences_of_requests_get_the_blocks_that_pytorch_gave() {
    let oracle = oracle::json("allocator/requests.json");
    let mut played = 0;
    for sequence in oracle["sequences"].as_array().unwrap() {
        let name = &sequence["name"];
        let settings = settings(&sequence["settings"]);
        let mut allocator = CachingAllocator::new(settings);
        let mut made = Vec::new();
        for (number, step) in sequence["steps"].as_array().unwrap().iter().enumerate() {
            let stream = step[3].as_u64().map_or(0, |stream| u32::try_from(stream).unwrap());
            let room = play(&mut allocator, &mut made, step[0].as_i64().unwrap(), Stream(stream));
            assert_eq!(room, step[4].is_null(), "{name}, step {number}");
            let (allocated, reserved) = (allocator.allocated(), allocator.reserved());
            assert_eq!(
                (Some(allocated), Some(reserved)),
                (step[1].as_u64(), step[2].as_u64()),
                "{name}, step {number}"
            );
            played += 1;
        }
        let segment = |of: &Json| (of[1].as_u64().unwrap(), serde_json::from_value(of[3].clone()).unwrap());
        let mut theirs: Vec<(u64, Vec<i64>)> = sequence["segments"].as_array().unwrap().iter().map(segment).collect();
        theirs.sort_unstable();
        assert_eq!(segments(&allocator), theirs, "{name}");
    }
    assert!(played > 8_000, "{played}");
}

#[test]
fn training_steps_reserve_what_pytorch_reserved() {
    let oracle = oracle::json("allocator/training.json");
    let runs = oracle["runs"].as_array().unwrap();
    for run in runs {
        let name = &run["name"];
        let numbers = |field: &str| -> Vec<i64> { serde_json::from_value(run[field].clone()).unwrap() };
        let (requests, side) = (numbers("requests"), numbers("side_stream"));
        let mut allocator = CachingAllocator::new(AllocatorSettings::default());
        let (mut made, mut done) = (Vec::new(), 0);
        for report in run["reports"].as_array().unwrap() {
            let until = usize::try_from(report[0].as_u64().unwrap()).unwrap();
            for request in &requests[done..until] {
                let place = i64::try_from(made.len()).unwrap();
                let stream = Stream(u32::from(*request >= 0 && side.contains(&place)));
                assert!(play(&mut allocator, &mut made, *request, stream), "{name}");
            }
            done = until;
            let ours = [
                allocator.allocated(),
                allocator.most_allocated(),
                allocator.reserved(),
                allocator.most_reserved(),
            ];
            let theirs: Vec<u64> = (2..6).map(|i| report[i].as_u64().unwrap()).collect();
            assert_eq!(ours[..], theirs[..], "{name}, {}", report[1]);
        }
    }
    assert_eq!(runs.len(), 3);
}
