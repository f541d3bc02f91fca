//! Chunks that have the same blocks, whichever layers of the model these are.

use core::cell::RefCell;
use std::rc::Rc;

use super::like_blocks::{ChunkBlocks, NumberedShape, PartOfChunk};
use super::peak::Stages;
use crate::config::job::Module;
use crate::model::Architecture;
use crate::parallel::stages::{Chunk, StageLayout};

/// The blocks of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ChunkShape {
    /// The places of the chunk's layers among the distinct ones of the model.
    layers: Vec<Option<usize>>,
    embedding: bool,
    output: bool,
    final_layernorm: bool,
    mtp: u32,
}

impl ChunkShape {
    fn of(architecture: &Architecture, chunk: &Chunk) -> Self {
        let layers = chunk.layers.clone();
        Self {
            layers: layers.map(|layer| architecture.place(layer)).collect(),
            embedding: chunk.embedding,
            output: chunk.output,
            final_layernorm: chunk.final_layernorm,
            mtp: chunk.mtp,
        }
    }

    fn blocks(&self) -> ChunkBlocks {
        let layers = self.layers.iter().flatten().map(|place| PartOfChunk::Layer(*place));
        let embedding = self.embedding.then_some(PartOfChunk::Embedding).into_iter();
        let head = (self.output || self.mtp > 0).then_some(PartOfChunk::Head);
        ChunkBlocks::new(&embedding.chain(layers).chain(head).collect::<Vec<PartOfChunk>>())
    }
}

/// A stage by the shapes of its chunks.
#[derive(Clone, Debug)]
pub(crate) struct StageShape {
    pub(crate) pp_rank: u32,
    /// The place of each chunk's shape among those of the layout.
    pub(crate) chunks: Vec<usize>,
}

/// Stages of a layout by the shapes of their chunks.
#[derive(Clone, Debug, Default)]
pub(crate) struct LayoutShapes {
    pub(crate) stages: Vec<StageShape>,
    /// The shapes, each once.
    pub(crate) shapes: Vec<NumberedShape>,
}

impl LayoutShapes {
    /// The place of a shape among those of the layout.
    fn place(&mut self, shape: NumberedShape) -> usize {
        let known = self.shapes.iter().position(|known| known.number == shape.number);
        known.unwrap_or_else(|| {
            self.shapes.push(shape);
            self.shapes.len() - 1
        })
    }
}

/// The shapes of the chunks of all layouts that were met.
#[derive(Debug, Default)]
pub(crate) struct ChunkShapes {
    shapes: RefCell<Vec<(ChunkShape, Rc<ChunkBlocks>)>>,
    layouts: RefCell<Vec<(StageLayout, Rc<LayoutShapes>)>>,
}

impl ChunkShapes {
    /// The stages of a module among which the heaviest is: of inner ones with the same chunks the first, where later ones
    /// [need no more](Stages::later_need_no_more).
    pub(crate) fn heaviest_stages(&self, m: &Module, stages: &Stages<'_>) -> Rc<LayoutShapes> {
        let known = self.layouts.borrow();
        if let Some((_, shapes)) = known.iter().find(|(layout, _)| *layout == m.stages) {
            return shapes.clone();
        }
        drop(known);
        let mut shapes = LayoutShapes::default();
        let may_leave_out = stages.later_need_no_more();
        for pp_rank in 0..m.stages.pp() {
            let chunks = m.stages.rank(pp_rank).iter();
            let place = |chunk| shapes.place(self.numbered(ChunkShape::of(stages.architecture(), chunk)));
            let chunks: Vec<usize> = chunks.map(place).collect();
            let is_inner = |rank: u32| rank > 0 && rank + 1 < m.stages.pp();
            let is_like = |before: &StageShape| is_inner(before.pp_rank) && before.chunks == chunks;
            if !(may_leave_out && is_inner(pp_rank) && shapes.stages.iter().any(is_like)) {
                shapes.stages.push(StageShape { pp_rank, chunks });
            }
        }
        let shapes = Rc::new(shapes);
        let known = (m.stages.clone(), shapes.clone());
        self.layouts.borrow_mut().push(known);
        shapes
    }

    /// A shape with its number.
    fn numbered(&self, shape: ChunkShape) -> NumberedShape {
        let mut shapes = self.shapes.borrow_mut();
        let known = shapes.iter().position(|(known, _)| *known == shape);
        let number = known.unwrap_or_else(|| {
            let blocks = Rc::new(shape.blocks());
            shapes.push((shape, blocks));
            shapes.len() - 1
        });
        let blocks = shapes.get(number).map(|(_, blocks)| blocks.clone());
        NumberedShape {
            number,
            blocks: blocks.unwrap_or_else(|| Rc::new(ChunkBlocks::new(&[]))),
        }
    }
}
