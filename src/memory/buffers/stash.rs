//! The paged stash: a buffer of pages for what fused experts keep for their backward pass, shared by all layers and
//! micro batches of a stage. Megatron allocates it at the start of the second iteration, for as many tokens as were in
//! flight in the first.

use super::{Buffer, BufferKind, List};
use crate::config::field::Decimal;
use crate::config::job::Module;
use crate::memory::blocks::Block;
use crate::memory::peak::StageReplay;
use crate::model::tape::recompute::Offloaded;
use crate::model::tape::{ActivationTensor, BLOCK, block};
use crate::model::tensor::{Shape, factor};
use crate::parallel::schedule::ChunkBytes;
use crate::source::Source;
use crate::units::multiply;

/// Rows that have one scale by columns (`SCALE_INV_BLOCK_SIZE`).
const SCALE_BLOCK: u64 = 32;

/// The buffers of a stage's paged stash; none where nothing is stashed.
pub(crate) fn buffers(m: &Module, replay: &StageReplay<'_>) -> Vec<Buffer> {
    let mut out = List(Vec::new());
    let blocks = || replay.chunks.iter().flat_map(|chunk| &chunk.blocks);
    let Some(one) = blocks().find(|block| groups(block) > 0) else {
        return out.0;
    };
    let layers = in_flight(replay);
    let a = &m.args;
    let capacity = a.moe_expert_rank_capacity_factor.unwrap_or(Decimal::ONE);
    let page = a.moe_paged_stash_page_size.max(1);
    let mut numbers = 0u64;
    for (name, tensor, rows) in tensors(one) {
        let (what, together) = pages_of(name, &tensor);
        let row_bytes = tensor.bytes() / (rows / together).max(1);
        let mean = divided(rows, capacity) / together;
        let size = a.moe_paged_stash_buffer_size_factor_cuda;
        let tokens = u128::from(multiply(layers, mean)) * u128::from(size.0) / 1_000_000;
        let pages = u64::try_from(tokens).unwrap_or(u64::MAX).div_ceil(page);
        let factors = [
            factor("pages", pages),
            factor("tokens of a page", page),
            factor("bytes of a token", row_bytes),
        ];
        out.tensor(what, Shape::of(&factors), 1, Source::PagedStash);
        // Two lists of free pages; and of every stashed tensor its pages, and whether they are on the host.
        let lists = multiply(2, block(multiply(8, pages)));
        let own = block(multiply(8, rows.div_ceil(page))) + BLOCK;
        let all = lists.saturating_add(multiply(layers, own));
        numbers = numbers.saturating_add(all);
    }
    let shape = Shape::of(&[factor("blocks of the allocator", numbers / BLOCK)]);
    let what = "page numbers of the paged stash";
    out.add(BufferKind::Tensor, what, (shape, BLOCK), numbers, Source::PagedTensor);
    out.0
}

/// Fused groups of experts of a block whose tensors are stashed: one of a layer, several where MTP layers follow.
fn groups(block: &Block<'_>) -> u64 {
    let mut firsts: Vec<usize> = stashed(block).map(|moved| moved.first).collect();
    firsts.dedup();
    firsts.len() as u64
}

fn stashed<'b>(block: &Block<'b>) -> impl Iterator<Item = &'b Offloaded> + use<'b> {
    let moved = block.compiled.planned.plan.moved.iter();
    moved.filter(|moved| moved.stashed)
}

/// The tensors of the first group, each with the operation that keeps it and the rows of the group.
fn tensors(block: &Block<'_>) -> Vec<(&'static str, ActivationTensor, u64)> {
    let tape = &block.compiled.tape;
    let first = stashed(block).next().map(|moved| moved.first);
    let of_group = stashed(block).filter(|moved| Some(moved.first) == first);
    let tensors = of_group.filter_map(|moved| {
        let op = tape.ops.get(moved.op)?;
        Some((op.name, *tape.get(moved.tensor)?))
    });
    let tensors: Vec<_> = tensors.collect();
    // Probabilities have one number a row.
    let rows = tensors.iter().map(|(_, tensor)| tensor.elements()).min();
    let rows = rows.unwrap_or_default();
    tensors.into_iter().map(|(op, t)| (op, t, rows)).collect()
}

/// What the pages of a tensor are called, and how many rows they take together: scales go along 32 rows.
fn pages_of(operation: &str, tensor: &ActivationTensor) -> (&'static str, u64) {
    match (operation, tensor.what) {
        ("experts.linear_fc1", "scales") => ("stash: scales of the input of linear_fc1", SCALE_BLOCK),
        ("experts.linear_fc1", _) => ("stash: input of linear_fc1", 1),
        ("experts.linear_fc2", "scales") => ("stash: scales of the input of linear_fc2", SCALE_BLOCK),
        ("experts.linear_fc2", _) => ("stash: input of linear_fc2", 1),
        _ if tensor.shape.factors().count() > 1 => ("stash: output of linear_fc1", 1),
        _ => ("stash: probabilities", 1),
    }
}

/// Whole rows without the room that a capacity factor adds.
fn divided(rows: u64, capacity: Decimal) -> u64 {
    let rows = u128::from(rows) * 1_000_000 / u128::from(capacity.0.max(1));
    u64::try_from(rows).unwrap_or(u64::MAX)
}

/// The most layers whose tensors are stashed at once, over all micro batches. With EP overlap a layer goes forwards
/// before another goes backwards.
fn in_flight(replay: &StageReplay<'_>) -> u64 {
    let weights: Vec<ChunkBytes> = replay
        .chunks
        .iter()
        .map(|chunk| {
            let of = |grouped: bool| {
                let blocks = chunk.blocks.iter();
                let blocks = blocks.filter(move |block| block.group.is_some() == grouped);
                blocks.map(groups).fold(0, u64::saturating_add)
            };
            ChunkBytes {
                stored: of(false),
                // Recomputed layers have their tensors in the backward pass alone.
                backward: of(true),
                ..ChunkBytes::default()
            }
        })
        .collect();
    let stored = |chunk: u32| weights.get(chunk as usize).map_or(0, |chunk| chunk.stored);
    let pair = |up: u32, down: u32| stored(up).max(stored(down).saturating_add(1));
    let most = replay.totals.schedule.peak_with(&weights, &pair);
    u64::try_from(most.bytes).unwrap_or(u64::MAX)
}
