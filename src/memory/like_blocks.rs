//! The blocks of a chunk, those that are alike counted once for all layouts that have such a chunk.

use std::rc::Rc;

/// A part of a chunk, whichever layers of the model it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartOfChunk {
    Embedding,
    /// A layer, by its place among the distinct ones of the model.
    Layer(usize),
    Head,
}

/// The blocks of a chunk that are alike: of the same part, behind blocks of the same part. Parts are given by their
/// places in [`ChunkBlocks::parts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LikeBlocks {
    pub(crate) part: usize,
    /// The part of the blocks before them; `None` at the beginning of the chunk.
    pub(crate) behind: Option<usize>,
}

/// The last block of a kind that has others behind it, or the chunk's last block.
#[derive(Clone, Debug)]
pub(crate) struct LastBlock {
    /// The number of the block.
    pub(crate) number: usize,
    /// Its kind, by its place among the kinds.
    pub(crate) kind: usize,
    /// How many blocks of which kinds lie between the last block before this one and itself: that one is counted, and
    /// this one is not.
    pub(crate) between: Vec<(usize, u64)>,
}

/// The blocks of a chunk by kind.
#[derive(Clone, Debug)]
pub(crate) struct ChunkBlocks {
    /// The parts, each once.
    pub(crate) parts: Vec<PartOfChunk>,
    /// The kinds of blocks, each with the number of its blocks, in the order of the last block of each.
    pub(crate) kinds: Vec<(LikeBlocks, u64)>,
    /// The kind of each block, by its place among the kinds.
    pub(crate) blocks: Vec<usize>,
    /// The last blocks, in their order: the chunk's own comes last.
    pub(crate) last: Vec<LastBlock>,
}

/// Chunks with the same blocks, of all that were met.
#[derive(Clone, Debug)]
pub(crate) struct NumberedShape {
    /// The number of their shape.
    pub(crate) number: usize,
    pub(crate) blocks: Rc<ChunkBlocks>,
}

impl ChunkBlocks {
    /// The blocks of a chunk with these parts.
    pub(crate) fn new(of_blocks: &[PartOfChunk]) -> Self {
        let mut parts = Vec::new();
        let of_blocks: Vec<usize> = of_blocks.iter().map(|part| place_in(&mut parts, *part)).collect();
        let like = |number: usize| LikeBlocks {
            part: of_blocks.get(number).copied().unwrap_or(0),
            behind: of_blocks.get(number.wrapping_sub(1)).copied(),
        };
        let mut kinds: Vec<LikeBlocks> = Vec::new();
        for number in (0..of_blocks.len()).rev() {
            place_in(&mut kinds, like(number));
        }
        kinds.reverse();
        let blocks = (0..of_blocks.len()).map(|number| place_in(&mut kinds, like(number)));
        let blocks: Vec<usize> = blocks.collect();
        let mut counted: Vec<(LikeBlocks, u64)> = kinds.into_iter().map(|kind| (kind, 0)).collect();
        let mut last = Vec::new();
        let mut between: Vec<(usize, u64)> = Vec::new();
        for (number, kind) in blocks.iter().enumerate() {
            let behind = blocks.get(number + 1..).unwrap_or_default();
            let inner = behind.split_last().map_or(&[][..], |(_, inner)| inner);
            if behind.is_empty() || !inner.contains(kind) {
                last.push(LastBlock {
                    number,
                    kind: *kind,
                    between: core::mem::take(&mut between),
                });
            }
            match between.iter_mut().find(|(of, _)| of == kind) {
                Some((_, count)) => *count += 1,
                None => between.push((*kind, 1)),
            }
            if let Some((_, count)) = counted.get_mut(*kind) {
                *count += 1;
            }
        }
        Self {
            parts,
            kinds: counted,
            blocks,
            last,
        }
    }
}

/// The place of something in a list, at whose end it is put where it is not in it.
fn place_in<T: PartialEq>(list: &mut Vec<T>, of: T) -> usize {
    let known = list.iter().position(|known| *known == of);
    known.unwrap_or_else(|| {
        list.push(of);
        list.len() - 1
    })
}
