//! The totals of a chunk without its profile, kind by kind of its blocks, for searches through very many chunks.

use super::{ChunkPeak, ChunkProfile};
use crate::config::job::Module;
use crate::memory::blocks::{BlockPasses, CompiledTapes, layers_in_own_groups, recomputes_mhc};
use crate::memory::like_blocks::{ChunkBlocks, LastBlock, LikeBlocks, PartOfChunk};
use crate::memory::stage_totals::ChunkTotals;
use crate::model::tape::liveness::Usage;
use crate::model::tape::{ActivationTensor, Family};
use crate::parallel::stages::Chunk;
use crate::units::add_times;

/// The totals of a chunk without FSDP and of which nothing is fetched from the host, the same as those of its profile.
/// `None` where blocks of a kind differ in more than what is kept before them: where some layers alone are recomputed,
/// or several in a group, where layers are offloaded or captured in local CUDA graphs, and where recomputed ones have
/// attention residuals. `blocks` are those of the chunk.
pub(crate) fn totals_of_blocks(
    m: &Module,
    tapes: &CompiledTapes<'_>,
    (chunk, blocks): (&Chunk, &ChunkBlocks),
    retained: bool,
) -> Option<ChunkTotals> {
    let offloads = tapes.sizes().recompute_options.layers > 0;
    if offloads || recomputes_mhc(m) || super::captures_locally(m, tapes) {
        return None;
    }
    let recomputed = match layers_in_own_groups(m)? {
        0 => false,
        usize::MAX if !tapes.have_attention_residuals() => true,
        _ => return None,
    };
    let passes = |kind: &LikeBlocks| passes_of_kind(tapes, (chunk, blocks), kind, recomputed);
    let of_block = |kind: Option<&usize>| passes(&blocks.kinds.get(*kind?)?.0);
    let ends = [blocks.blocks.first(), blocks.blocks.last()].map(of_block);
    let around = ChunkProfile::around(m, tapes, chunk, recomputed && chunk.num_layers() > 0, ends);
    let kinds = blocks.kinds.iter();
    let kinds = kinds.map(|(kind, _)| LikePasses::new(&around, passes(kind)?));
    let kinds: Vec<LikePasses<'_>> = kinds.collect::<Option<_>>()?;
    let mut walk = Walk {
        around: &around,
        retained,
        kept: around.kept_around(),
        forward: Heaviest::default(),
        backward: Heaviest::default(),
        attributes: 0,
    };
    walk.take_all(blocks, &kinds);
    around.keep_output(&mut walk.kept);
    Some(ChunkTotals {
        kept: walk.kept,
        forward: walk.forward.usage,
        backward: walk.backward.usage,
        received: around.received,
        received_stays: around.received_stays,
        sent: around.sent,
        output_kept: around.output_kept,
        deferred: around.deferred,
        deferrals: around.deferrals,
        attributes: walk.attributes,
    })
}

/// The passes over the blocks of a kind of a chunk, whose layers are all groups of their own where they are
/// `recomputed`.
fn passes_of_kind<'t>(
    tapes: &'t CompiledTapes<'_>,
    (chunk, blocks): (&Chunk, &ChunkBlocks),
    kind: &LikeBlocks,
    recomputed: bool,
) -> Option<BlockPasses<'t>> {
    let tape = |part: usize| tapes.shared_part(*blocks.parts.get(part)?, chunk);
    let before = kind.behind.and_then(tape).map(|before| &**before);
    let is_layer = matches!(blocks.parts.get(kind.part), Some(PartOfChunk::Layer(_)));
    Some(BlockPasses {
        group: (recomputed && is_layer).then_some((0, 1)),
        ..BlockPasses::new(tape(kind.part)?, before)
    })
}

/// The passes over blocks that are alike, and what a live micro batch keeps of each.
struct LikePasses<'t> {
    block: BlockPasses<'t>,
    kept: Usage,
}

impl<'t> LikePasses<'t> {
    /// `None` where such a block keeps less than it takes off what is kept before it.
    fn new(around: &ChunkProfile<'_>, block: BlockPasses<'t>) -> Option<Self> {
        let residual = block.compiled.kept.0.get(Family::Residual as usize);
        if block.group.is_none() && residual.is_none_or(|kept| *kept < block.pooled_kept()) {
            return None;
        }
        let mut kept = Usage::default();
        around.keep_block(&mut kept, 0, &block);
        Some(Self { block, kept })
    }

    /// One of the blocks with what is kept before it, which is as much before each of these numbers.
    fn placed(&self, before: Usage, numbers: [usize; 2]) -> PlacedBlock<'t> {
        let [first, _] = numbers;
        PlacedBlock {
            block: BlockPasses {
                group: self.block.group.map(|_| (first, first + 1)),
                ..self.block
            },
            before,
            numbers,
        }
    }
}

/// A block with what is kept before it.
#[derive(Clone, Copy)]
struct PlacedBlock<'t> {
    block: BlockPasses<'t>,
    before: Usage,
    /// The first and the last of the blocks that are like it and have as much kept before them, by their numbers.
    numbers: [usize; 2],
}

/// The heaviest moment of one direction so far.
#[derive(Default)]
struct Heaviest {
    usage: Usage,
    total: u64,
    /// The number of the block at work.
    number: usize,
}

impl Heaviest {
    /// Compares with another moment. Of equal moments that of the `earlier` block counts, or that of the later one.
    fn offer(&mut self, peak: &ChunkPeak, number: usize, earlier: bool) {
        let comes_first = (number < self.number) == earlier;
        if peak.total > self.total || peak.total == self.total && comes_first {
            *self = Self {
                usage: peak.usage,
                total: peak.total,
                number,
            };
        }
    }
}

/// A walk through the blocks of a chunk. Of blocks that are alike only the last has to be looked at, since more is kept
/// before it than before the others ([`ChunkProfile::lighter_than_later`] has the same); the chunk's last block is
/// another matter.
struct Walk<'t> {
    /// What is around the blocks.
    around: &'t ChunkProfile<'t>,
    /// Whether the gradient of the chunk's output is retained.
    retained: bool,
    /// Bytes by use that all blocks so far keep.
    kept: Usage,
    forward: Heaviest,
    backward: Heaviest,
    attributes: u64,
}

impl<'t> Walk<'t> {
    /// Finds the heaviest moments of a block, with others `behind` it or none.
    fn look_at(&mut self, placed: &PlacedBlock<'t>, behind: bool) {
        let PlacedBlock { block, before, numbers } = placed;
        let [first, last] = *numbers;
        self.forward
            .offer(&self.around.forward_of(block, first, *before), first, true);
        let mut backward = ChunkPeak::default();
        if block.group.is_some() {
            let layer = core::slice::from_ref(block);
            let retained = (self.retained, behind);
            self.around.group_peak(last, layer, *before, retained, &mut backward);
        } else {
            let holds = self.retained && !behind;
            backward = self.around.backward_of(block, last, *before, (self.retained, holds));
        }
        // Backward passes go from the last block to the first.
        self.backward.offer(&backward, last, false);
    }

    /// Goes through all blocks of the chunk, whose `kinds` have these passes, at once.
    fn take_all(&mut self, blocks: &ChunkBlocks, kinds: &[LikePasses<'t>]) {
        for ((_, count), passes) in blocks.kinds.iter().zip(kinds) {
            let compiled = passes.block.compiled;
            let attributes = compiled.lasting.attributes.iter().map(ActivationTensor::allocated);
            let attributes = attributes.fold(0, u64::saturating_add);
            add_times(&mut self.attributes, attributes, *count);
            let of_graphs = self.around.graph_ends.of_blocks(&passes.block, *count);
            self.attributes = self.attributes.saturating_add(of_graphs);
        }
        let first = blocks.blocks.first().and_then(|kind| kinds.get(*kind));
        let twice = self.around.graph_ends.counted_twice(first.map(|kind| &kind.block));
        self.attributes = self.attributes.saturating_sub(twice);
        let mut last = blocks.last.iter();
        while let Some(LastBlock { number, kind, between }) = last.next() {
            for (kind, count) in between {
                if let Some(passes) = kinds.get(*kind) {
                    self.kept.add_many(&passes.kept, *count);
                }
            }
            let Some(passes) = kinds.get(*kind) else {
                continue;
            };
            let behind = last.as_slice();
            if behind.is_empty() {
                self.look_at(&passes.placed(self.kept, [*number; 2]), false);
                self.kept.add(&passes.kept);
            } else if !is_lighter_than_later(passes, behind, kinds) {
                let first = first_with_as_much_before(blocks, kinds, *number);
                self.look_at(&passes.placed(self.kept, [first, *number]), true);
            }
        }
    }
}

/// The number of the first block like the one with this number before which as much is kept: blocks that keep nothing
/// lie between the two.
fn first_with_as_much_before(blocks: &ChunkBlocks, kinds: &[LikePasses<'_>], number: usize) -> usize {
    let kind = |number: usize| blocks.blocks.get(number).copied();
    let keeps_nothing = |number: &usize| {
        let passes = kind(*number).and_then(|kind| kinds.get(kind));
        passes.is_some_and(|passes| passes.kept == Usage::default())
    };
    let between = (0..number).rev().take_while(keeps_nothing);
    between
        .filter(|other| kind(*other) == kind(number))
        .last()
        .unwrap_or(number)
}

/// Whether one of the blocks behind a block surely has heavier moments: it has the same tape, and more is kept before
/// it. The last of them is another matter.
fn is_lighter_than_later(passes: &LikePasses<'_>, behind: &[LastBlock], kinds: &[LikePasses<'_>]) -> bool {
    let inner = behind.split_last().map_or(&[][..], |(_, inner)| inner);
    let alike = |later: &LastBlock| {
        let later = kinds.get(later.kind).map(|later| &later.block);
        later.is_some_and(|later| {
            core::ptr::eq(later.compiled, passes.block.compiled) && later.pooled == passes.block.pooled
        })
    };
    passes.kept != Usage::default() && inner.iter().any(alike)
}
