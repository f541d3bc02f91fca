//! The parts of a chunk with their tapes, each made and run once for all chunks that have it.

use core::fmt;
use std::borrow::Cow;

use super::graph_phase::GraphPhase;
use crate::config::choices::{RecomputeGranularity, RecomputeMethod};
use crate::config::job::Module;
use crate::model::sizes::Sizes;
use crate::model::tape::liveness::CompiledTape;
use crate::model::tape::{AutogradTape, Part};
use crate::model::tensor::{Shape, factor};
use crate::model::{Architecture, LayerSpec, head_tape};
use crate::parallel::stages::Chunk;

/// A part of a chunk whose passes the schedule runs as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// The embedding.
    Embedding,
    /// A decoder or encoder layer.
    Layer(LayerSpec),
    /// What follows the layers: final norm, MTP, output layer, loss.
    Head,
}

/// What the page calls it.
impl fmt::Display for BlockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedding => f.write_str("embedding"),
            Self::Layer(spec) => spec.fmt(f),
            Self::Head => f.write_str("output"),
        }
    }
}

/// The tapes of a module in one phase of its CUDA graphs, one for every distinct block.
pub(crate) struct CompiledTapes<'a> {
    sizes: Sizes<'a>,
    architecture: &'a Architecture,
    pub(crate) graph_phase: GraphPhase,
    embedding: CompiledTape<'a>,
    /// In the order of [`Architecture::specs`].
    layers: Vec<CompiledTape<'a>>,
    /// By the MTP depths of a chunk and whether it has the output layer.
    heads: Vec<((u32, bool), CompiledTape<'a>)>,
}

impl<'a> CompiledTapes<'a> {
    /// The tapes of a module in this phase. The output layer's weight gradient takes `gradient_bucket` bytes of a bucket
    /// until it is reduced.
    pub(crate) fn new(
        m: &'a Module,
        architecture: &'a Architecture,
        graph_phase: GraphPhase,
        gradient_bucket: u64,
    ) -> Self {
        let sizes = Sizes::new(m);
        let compiled = |tape: Cow<'a, AutogradTape>| {
            let tape = match graph_phase {
                GraphPhase::Plain | GraphPhase::BeforeCapture => tape,
                GraphPhase::Capture => Cow::Owned(tape.into_owned().part(Part::Inside)),
                GraphPhase::Replay => Cow::Owned(tape.into_owned().part(Part::Outside)),
            };
            CompiledTape::new(tape, sizes.recompute_options)
        };
        let mut heads: Vec<((u32, bool), CompiledTape<'a>)> = Vec::new();
        for chunk in m.stages.chunks().iter().filter(|chunk| has_head(chunk)) {
            let ends = (chunk.mtp, chunk.output);
            if heads.iter().all(|(other, _)| *other != ends) {
                let head = head_tape(&sizes, u64::from(chunk.mtp), chunk.output, gradient_bucket);
                heads.push((ends, compiled(Cow::Owned(head))));
            }
        }
        let layers = architecture.layer_tapes().iter().map(Cow::Borrowed);
        Self {
            graph_phase,
            embedding: compiled(Cow::Borrowed(architecture.embedding())),
            layers: layers.map(compiled).collect(),
            heads,
            sizes,
            architecture,
        }
    }

    /// The parts of the module.
    pub(crate) fn architecture(&self) -> &'a Architecture {
        self.architecture
    }

    /// The shapes behind the tapes.
    pub(crate) fn sizes(&self) -> &Sizes<'a> {
        &self.sizes
    }

    /// The tape of one kind of block of a chunk.
    pub(crate) fn tape(&self, kind: BlockKind, chunk: &Chunk) -> Option<&CompiledTape<'a>> {
        match kind {
            BlockKind::Embedding => Some(&self.embedding),
            BlockKind::Layer(spec) => {
                let place = self.architecture.specs().binary_search(&spec).ok()?;
                self.layers.get(place)
            }
            BlockKind::Head => {
                let ends = (chunk.mtp, chunk.output);
                let mut heads = self.heads.iter();
                heads.find(|(of, _)| *of == ends).map(|(_, tape)| tape)
            }
        }
    }
}

/// Whether a chunk has more than embedding and layers.
fn has_head(chunk: &Chunk) -> bool {
    chunk.output || chunk.mtp > 0
}

/// The mask that the data loader makes for every sample, one byte for each pair of tokens.
pub(crate) fn attention_mask(m: &Module) -> Shape {
    let (s, b) = (
        factor("s", m.args.seq_length),
        factor("b", m.args.micro_batch_size),
    );
    Shape::of(&[s, s, b]).over(factor("CP", m.sequence_parts()))
}

/// The gradient of the logits that a deferred weight gradient of the output layer waits with, and the bytes of its
/// elements. Its input waits too.
pub(crate) fn deferred_logits(sizes: &Sizes<'_>) -> (Shape, u64) {
    let vocabulary = factor("V", sizes.m.padded_vocab_size);
    (sizes.columns(&[vocabulary]), sizes.width())
}

/// One block of a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'t> {
    pub(crate) kind: BlockKind,
    /// The layer's number over the whole model.
    pub(crate) layer: Option<u32>,
    pub(crate) compiled: &'t CompiledTape<'t>,
    /// Bytes of its input, where that lies in the pool of the graph before.
    pub(crate) pooled: u64,
    /// For a layer whose group keeps only its input: the first block of the group and the one after its last.
    pub(crate) group: Option<(usize, usize)>,
}

impl Block<'_> {
    /// Bytes of its input in a pool, where it would keep them.
    pub(crate) fn pooled_kept(&self) -> u64 {
        if self.compiled.keeps_input {
            self.pooled
        } else {
            0
        }
    }
}

/// The offloaded tensors that are on the GPU all the same between the passes of a stage: those of the last layer of the
/// chunk whose backward pass is next. They stay (`post_warmup_callback`, `should_bulk_offload`) or are back already
/// (`pre_reload_last_layer`), and with them reloading stays one layer ahead.
pub(crate) fn prefetched(
    m: &Module,
    tapes: &CompiledTapes<'_>,
    pp_rank: u32,
) -> Option<(BlockKind, u64)> {
    let options = &tapes.sizes().recompute_options;
    if options.offload.is_none() && !options.stash {
        return None;
    }
    let chunks = m.stages.rank(pp_rank).iter();
    let last = chunks.filter_map(|chunk| {
        let blocks = blocks(m, tapes, chunk);
        let offloads = |s: &&Block<'_>| s.group.is_none() && s.compiled.moved > 0;
        let last = blocks.iter().rev().find(offloads)?;
        Some((last.kind, last.compiled.moved))
    });
    last.max_by_key(|(_, bytes)| *bytes)
}

/// The parts of a chunk in order, with the groups that full recompute makes of its layers.
pub(super) fn blocks<'t>(
    m: &Module,
    tapes: &'t CompiledTapes<'_>,
    chunk: &Chunk,
) -> Vec<Block<'t>> {
    let a = &m.args;
    let mut out = Vec::with_capacity(chunk.num_layers() as usize + 2);
    let mut push = |kind, layer| {
        if let Some(compiled) = tapes.tape(kind, chunk) {
            let before = out.last().map(|before: &Block<'_>| &before.compiled.tape);
            out.push(Block {
                kind,
                layer,
                compiled,
                pooled: before.map_or(0, |tape| tape.pooled_output()),
                group: None,
            });
        }
    };
    if chunk.embedding {
        push(BlockKind::Embedding, None);
    }
    for layer in chunk.layers.clone() {
        if let Some(spec) = tapes.architecture.layer(layer) {
            push(BlockKind::Layer(spec), Some(layer));
        }
    }
    if has_head(chunk) {
        push(BlockKind::Head, None);
    }
    let detached = a.frozen && !m.io.is_language();
    if detached || a.recompute_granularity != Some(RecomputeGranularity::Full) {
        return out;
    }
    let first = usize::from(chunk.embedding);
    let layers = chunk.num_layers() as usize;
    let size = usize::try_from(a.recompute_num_layers.unwrap_or(1)).unwrap_or(usize::MAX);
    let block = a.recompute_method == Some(RecomputeMethod::Block);
    for offset in 0..layers {
        let group = if block {
            (offset < size).then_some((first + offset, first + offset + 1))
        } else {
            let start = offset / size.max(1) * size.max(1);
            Some((
                first + start,
                first + start.saturating_add(size.max(1)).min(layers),
            ))
        };
        if let Some(block) = out.get_mut(first + offset) {
            block.group = group;
        }
    }
    out
}
