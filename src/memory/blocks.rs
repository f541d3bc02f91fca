//! The parts of a chunk with their tapes, each made and run once for all chunks that have it.

mod groups;
pub(crate) mod handed_on;

use core::cell::{OnceCell, RefCell};
use core::fmt;
use core::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use self::groups::{group_by_mhc, group_recomputed, recomputes_groups};
pub(super) use self::groups::{layers_in_own_groups, recomputes_mhc};
use self::handed_on::HandedOn;
use super::chunk_graphs::ChunkGraphs;
use super::graph_phase::GraphPhase;
use super::like_blocks::{ChunkBlocks, NumberedShape, PartOfChunk};
use super::plain_tapes::{ChunkTapes, LayoutPlainTapes, PlainTape};
use super::stage_totals::ChunkTotals;
use crate::config::choices::CudaGraphImpl;
use crate::config::job::Module;
use crate::model::sizes::Sizes;
use crate::model::tape::liveness::{CompiledTape, PassKind};
use crate::model::tape::recompute::RecomputeOptions;
use crate::model::tape::{AutogradTape, Part, block};
use crate::model::tensor::{Shape, factor};
use crate::model::{Architecture, LayerSpec, embedding_tape, head_tape, layer_tape, received_stream, sent_stream};
use crate::parallel::schedule::Schedule;
use crate::parallel::stages::Chunk;
use crate::units::{Bytes, multiply};

/// A part of a chunk whose passes the schedule runs as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// The embedding.
    Embedding,
    /// A decoder or encoder layer.
    Layer(LayerSpec),
    /// All that follows the layers: final norm, MTP, output layer, loss.
    Head,
}

/// The name of the block on the page and in reports.
impl fmt::Display for BlockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedding => f.write_str("embedding"),
            Self::Layer(spec) => spec.fmt(f),
            Self::Head => f.write_str("output"),
        }
    }
}

/// The totals of chunks, in the order of the numbers of their shapes and of whether the gradient of their output is
/// retained.
type KnownTotals = Vec<((usize, bool), Rc<ChunkTotals>)>;

/// The compiled tapes of the distinct blocks of a module, each made when it is first asked for.
#[derive(Debug)]
pub(crate) struct BlockTapes {
    embedding: OnceCell<Rc<CompiledTape>>,
    /// In the order of [`Architecture::specs`].
    layers: Vec<OnceCell<Rc<CompiledTape>>>,
    /// By whether a chunk has MTP depths, of which it has all or none, and by whether it has the output layer.
    heads: [[OnceCell<Rc<CompiledTape>>; 2]; 2],
    chunks: RefCell<KnownTotals>,
}

impl BlockTapes {
    /// No tapes so far.
    pub(crate) fn new(architecture: &Architecture) -> Self {
        Self {
            embedding: OnceCell::new(),
            layers: vec![OnceCell::new(); architecture.specs().len()],
            heads: Default::default(),
            chunks: RefCell::default(),
        }
    }
}

/// The tapes of a module in one phase of its CUDA graphs, one for every distinct block.
pub(crate) struct CompiledTapes<'a> {
    sizes: Sizes<'a>,
    architecture: &'a Architecture,
    pub(crate) graph_phase: GraphPhase,
    /// Bytes of the residual stream on this rank.
    residual: OnceCell<u64>,
    /// Bytes of a bucket that the output layer's weight gradient takes until it is reduced.
    gradient_bucket: u64,
    tapes: Rc<BlockTapes>,
    /// The tapes before anything is recomputed, where layouts share tapes: then the architecture is of one of these
    /// layouts, and its activations are of other sizes.
    plain: Option<LayoutPlainTapes>,
}

impl<'a> CompiledTapes<'a> {
    /// The tapes of a module in this phase. The output layer's weight gradient takes `gradient_bucket` bytes of a
    /// bucket until it is reduced.
    pub(crate) fn new(
        m: &'a Module,
        architecture: &'a Architecture,
        graph_phase: GraphPhase,
        gradient_bucket: u64,
    ) -> Self {
        Self {
            sizes: Sizes::new(m),
            architecture,
            graph_phase,
            residual: OnceCell::new(),
            gradient_bucket,
            tapes: Rc::new(BlockTapes::new(architecture)),
            plain: None,
        }
    }

    /// The tapes of a module without local CUDA graphs in this phase, of which other layouts with the same activations
    /// may have made some. They have no operations. `plain` are the tapes before anything is recomputed.
    pub(crate) fn shared(
        m: &'a Module,
        architecture: &'a Architecture,
        graph_phase: GraphPhase,
        tapes: Rc<BlockTapes>,
        plain: LayoutPlainTapes,
    ) -> Self {
        Self {
            sizes: Sizes::new(m),
            architecture,
            graph_phase,
            residual: OnceCell::new(),
            gradient_bucket: 0,
            tapes,
            plain: Some(plain),
        }
    }

    /// What runs of a tape in the phase.
    fn in_phase(&self, tape: Arc<AutogradTape>) -> Arc<AutogradTape> {
        let m = self.sizes.m;
        let local = m.args.cuda_graph_impl == CudaGraphImpl::Local;
        match self.graph_phase {
            GraphPhase::Plain | GraphPhase::BeforeCapture => tape,
            GraphPhase::Capture => {
                let captured = Arc::unwrap_or_clone(tape).without_checkpoints(!local && m.is_quantized());
                // In the pool of local graphs lies all that their layers make.
                let whole = local && captured.is_captured_whole();
                Arc::new(if whole { captured } else { captured.part(Part::Inside) })
            }
            GraphPhase::Replay => Arc::new(Arc::unwrap_or_clone(tape).part(Part::Outside)),
        }
    }

    /// A tape that no other layout shares.
    fn own(&self, tape: Arc<AutogradTape>) -> Rc<CompiledTape> {
        let tape = self.in_phase(tape);
        Rc::new(CompiledTape::new(tape, self.sizes.recompute_options))
    }

    /// A tape that layouts share. `passes` are all that ever run over it.
    fn of_plain(
        &self,
        plain: &PlainTape,
        passes: impl FnOnce(GraphPhase, RecomputeOptions) -> &'static [PassKind],
    ) -> Rc<CompiledTape> {
        let in_phase = |tape| self.in_phase(tape);
        plain.compiled(self.graph_phase, in_phase, self.sizes.recompute_options, passes)
    }

    /// The parts of the module.
    pub(crate) fn architecture(&self) -> &'a Architecture {
        self.architecture
    }

    /// The shapes behind the tapes.
    pub(crate) fn sizes(&self) -> &Sizes<'a> {
        &self.sizes
    }

    /// Bytes of the residual stream on this rank.
    pub(crate) fn residual(&self) -> u64 {
        *self.residual.get_or_init(|| self.message(self.sizes.streams()))
    }

    /// Bytes of what layers or stages hand on in this shape.
    fn message(&self, shape: Shape) -> u64 {
        block(multiply(shape.elements(), self.sizes.stream_width()))
    }

    /// Bytes of what a chunk receives from the chunk before it, and of what it sends to the next one: the residual stream
    /// with all that layers hand on beside it.
    pub(crate) fn boundaries(&self, chunk: &Chunk) -> [u64; 2] {
        // Without attention residuals layers hand on the residual stream alone.
        let hands_on_more = |index: u32| {
            let place = self.architecture.place(index)?;
            let spec = self.architecture.specs().get(place)?;
            spec.residuals.is_some().then_some(spec)
        };
        let first = Some(chunk.layers.start).filter(|_| chunk.num_layers() > 0);
        let last = chunk.layers.end.checked_sub(1).filter(|_| chunk.num_layers() > 0);
        let from_before = first.and_then(hands_on_more);
        let to_next = last.and_then(hands_on_more);
        let stream = || self.residual();
        [
            from_before.map_or_else(stream, |spec| self.message(received_stream(&self.sizes, spec))),
            to_next.map_or_else(stream, |spec| self.message(sent_stream(&self.sizes, spec))),
        ]
    }

    /// The totals of chunks of a shape, which `totals` works out the first time. Whether the gradient of a chunk's
    /// output is `retained` depends on the stage.
    pub(crate) fn totals(
        &self,
        (chunk, shape): (&Chunk, &NumberedShape),
        retained: bool,
        totals: impl FnOnce() -> ChunkTotals,
    ) -> Rc<ChunkTotals> {
        let of = (shape.number, retained);
        let mut known = self.tapes.chunks.borrow_mut();
        let place = known.partition_point(|(other, _)| *other < of);
        if let Some((_, totals)) = known.get(place).filter(|(other, _)| *other == of) {
            return totals.clone();
        }
        let totals = match (&self.plain, self.chunk_tapes((chunk, shape), retained)) {
            (Some(plain), Some(tapes)) => plain.totals(tapes, totals),
            (None, _) | (_, None) => Rc::new(totals()),
        };
        known.insert(place, (of, totals.clone()));
        totals
    }

    /// Bytes of the static tensors of the CUDA graphs of a stage with this schedule, which `bytes` works out once for all
    /// layouts with the same tapes before anything is recomputed.
    pub(crate) fn static_tensors(&self, schedule: Schedule, bytes: impl FnOnce() -> Bytes) -> Bytes {
        match &self.plain {
            Some(plain) => plain.static_tensors((&self.sizes.m.stages, schedule), bytes),
            None => bytes(),
        }
    }

    /// The graphs that the layers of a chunk with these blocks are captured in, where these are the tapes of a capture.
    pub(crate) fn graphs(&self, chunk: &Chunk, blocks: &ChunkBlocks) -> ChunkGraphs {
        let mut graphs = ChunkGraphs::default();
        for (kind, count) in &blocks.kinds {
            let part = blocks.parts.get(kind.part);
            if let Some(tape) = part.and_then(|part| self.shared_part(*part, chunk)) {
                graphs.add(tape, *count, self.residual());
            }
        }
        graphs
    }

    /// The tapes of a chunk with all else that its totals depend on; `None` where recompute module `mhc` makes groups of
    /// its layers.
    fn chunk_tapes(&self, (chunk, shape): (&Chunk, &NumberedShape), retained: bool) -> Option<ChunkTapes> {
        let m = self.sizes.m;
        let parts = shape.blocks.parts.iter();
        let tapes: Option<Vec<Rc<CompiledTape>>> = parts.map(|part| self.shared_part(*part, chunk).cloned()).collect();
        (!recomputes_mhc(m)).then_some(ChunkTapes {
            shape: shape.number,
            retained,
            graph_phase: self.graph_phase,
            groups: layers_in_own_groups(m)?,
            distributed: m.args.distribute_saved_activations,
            tapes: tapes?,
        })
    }

    /// The tape of one kind of block of a chunk.
    pub(crate) fn tape(&self, kind: BlockKind, chunk: &Chunk) -> Option<&CompiledTape> {
        self.shared_tape(kind, chunk).map(|tape| &**tape)
    }

    fn shared_tape(&self, kind: BlockKind, chunk: &Chunk) -> Option<&Rc<CompiledTape>> {
        match kind {
            BlockKind::Embedding => Some(self.tapes.embedding.get_or_init(|| {
                if let Some(plain) = &self.plain {
                    self.of_plain(plain.embedding(&self.sizes), |_, _| WITH_AUTOGRAD)
                } else {
                    let known = self.architecture.embedding().cloned();
                    self.own(known.unwrap_or_else(|| Arc::new(embedding_tape(&self.sizes))))
                }
            })),
            BlockKind::Layer(spec) => {
                let place = self.architecture.specs().binary_search(&spec).ok()?;
                self.shared_layer(place, spec)
            }
            BlockKind::Head if has_head(chunk) => {
                let (mtp, output) = (chunk.mtp > 0, chunk.output);
                let head = self.tapes.heads.get(usize::from(mtp))?.get(usize::from(output))?;
                Some(head.get_or_init(|| {
                    let (depths, bucket) = (u64::from(chunk.mtp), self.gradient_bucket);
                    let plain = self.plain.as_ref();
                    match plain.and_then(|plain| plain.head(&self.sizes, depths, output)) {
                        Some(head) => self.of_plain(head, |graph_phase, _| passes_of_head(output, graph_phase)),
                        None => self.own(Arc::new(head_tape(&self.sizes, depths, output, bucket))),
                    }
                }))
            }
            BlockKind::Head => None,
        }
    }

    /// The tape of a part of a chunk.
    pub(super) fn shared_part(&self, part: PartOfChunk, chunk: &Chunk) -> Option<&Rc<CompiledTape>> {
        match part {
            PartOfChunk::Embedding => self.shared_tape(BlockKind::Embedding, chunk),
            PartOfChunk::Layer(place) => self.shared_layer(place, *self.architecture.specs().get(place)?),
            PartOfChunk::Head => self.shared_tape(BlockKind::Head, chunk),
        }
    }

    /// Whether layers read snapshots of the residual stream, so that those that are alike keep more or less of their input
    /// where they are recomputed.
    pub(super) fn have_attention_residuals(&self) -> bool {
        let mut specs = self.architecture.specs().iter();
        specs.any(|spec| spec.residuals.is_some())
    }

    /// The tape of the layers at a place among the [distinct ones](Architecture::specs).
    fn shared_layer(&self, place: usize, spec: LayerSpec) -> Option<&Rc<CompiledTape>> {
        let layer = self.tapes.layers.get(place)?;
        Some(layer.get_or_init(|| {
            let make = || Arc::new(layer_tape(&self.sizes, spec));
            let Some(plain) = &self.plain else {
                let known = self.architecture.layer_tapes().get(place).cloned();
                return self.own(known.unwrap_or_else(make));
            };
            match plain.layer(&self.sizes, place, spec) {
                Some(layer) => self.of_plain(layer, |_, options| passes_of_layer(options)),
                None => self.own(make()),
            }
        }))
    }
}

/// The passes over a block that never runs again as a whole, in any layout: whether gradients of outputs are retained
/// depends on the stage.
const WITH_AUTOGRAD: &[PassKind] = &[PassKind::Forward, PassKind::Backward, PassKind::BackwardRetained];
/// The passes over a layer that full recompute runs again: the first forward pass is without autograd.
const RUN_AGAIN: &[PassKind] = &[
    PassKind::Forward,
    PassKind::Backward,
    PassKind::BackwardRetained,
    PassKind::WithoutAutograd,
];

/// The passes over a layer in any layout: full recompute, which selects no modules, runs it again as a whole.
fn passes_of_layer(options: RecomputeOptions) -> &'static [PassKind] {
    if options.recompute.is_none() {
        RUN_AGAIN
    } else {
        WITH_AUTOGRAD
    }
}

/// The passes over a head in any layout. The output layer is on the last stage, which gets no gradient from another one
/// and retains none; while graphs are captured every gradient is retained.
fn passes_of_head(output: bool, graph_phase: GraphPhase) -> &'static [PassKind] {
    match graph_phase {
        GraphPhase::Capture => &[PassKind::Forward, PassKind::BackwardRetained],
        GraphPhase::Plain | GraphPhase::BeforeCapture | GraphPhase::Replay if output => {
            &[PassKind::Forward, PassKind::Backward]
        }
        GraphPhase::Plain | GraphPhase::BeforeCapture | GraphPhase::Replay => WITH_AUTOGRAD,
    }
}

/// Whether a chunk has more than embedding and layers.
fn has_head(chunk: &Chunk) -> bool {
    chunk.output || chunk.mtp > 0
}

/// The mask that the data loader makes for every sample, one byte for each pair of tokens.
pub(crate) fn attention_mask(m: &Module) -> Shape {
    let (s, b) = (factor("s", m.args.seq_length), factor("b", m.args.micro_batch_size));
    Shape::of(&[s, s, b]).over(factor("CP", m.sequence_parts()))
}

/// The biases of image attention, one for layers with a window and one for the others, and the bytes of their elements.
pub(crate) fn attention_biases(sizes: &Sizes<'_>) -> (Shape, u64) {
    let shape = attention_mask(sizes.m).times(factor("two biases", 2));
    (shape, sizes.width())
}

/// The gradient of the logits that a deferred weight gradient of the output layer waits with, and the bytes of its
/// elements. Its [input](deferred_input) waits too.
pub(crate) fn deferred_logits(sizes: &Sizes<'_>) -> (Shape, u64) {
    let vocabulary = factor("V", sizes.m.padded_vocab_size);
    (sizes.columns(&[vocabulary]), sizes.width())
}

/// The output of the last norm, which a deferred weight gradient of the output layer waits with, and the bytes of its
/// elements.
pub(crate) fn deferred_input(sizes: &Sizes<'_>) -> (Shape, u64) {
    (sizes.residual(), sizes.width())
}

/// One block of a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'t> {
    pub(crate) kind: BlockKind,
    /// The layer's number over the whole model.
    pub(crate) layer: Option<u32>,
    pub(crate) passes: BlockPasses<'t>,
}

/// What the memory of the passes over a block depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockPasses<'t> {
    pub(crate) compiled: &'t CompiledTape,
    /// Bytes of its input, where that lies in the pool of the graph before, or is what recompute module `mhc` discards of
    /// the layer before.
    pub(crate) pooled: u64,
    /// Bytes that recompute module `mhc` discards of the layers before in its group: they are there until the last layer
    /// of the group is done, and again from the beginning of the group's backward pass.
    pub(crate) discarded_before: u64,
    /// For a layer whose group keeps only its input: the first block of the group and the one after its last.
    pub(crate) group: Option<(usize, usize)>,
    /// For a layer of such a group that has attention residuals: the bytes of its inputs and outputs, which are more than
    /// the residual stream.
    pub(crate) handed_on: Option<HandedOn>,
}

/// Formulas read the passes of a block as its own: `block.compiled`.
impl<'t> Deref for Block<'t> {
    type Target = BlockPasses<'t>;

    fn deref(&self) -> &BlockPasses<'t> {
        &self.passes
    }
}

impl<'t> BlockPasses<'t> {
    /// The passes over the block behind one with the tape `before`, if it is not the first of its chunk.
    pub(super) fn new(compiled: &'t CompiledTape, before: Option<&CompiledTape>) -> Self {
        Self {
            compiled,
            pooled: before.map_or(0, |before| before.lasting.pooled_output),
            discarded_before: 0,
            group: None,
            handed_on: None,
        }
    }

    /// Bytes of its input in a pool, where it would keep them.
    pub(crate) fn pooled_kept(&self) -> u64 {
        if self.compiled.keeps_input { self.pooled } else { 0 }
    }
}

/// The offloaded tensors that are on the GPU all the same between the passes of a stage: those of the last layer of the
/// chunk whose backward pass is next. They stay (`post_warmup_callback`, `should_bulk_offload`) or are back already
/// (`pre_reload_last_layer`), and with them reloading stays one layer ahead.
pub(crate) fn prefetched(m: &Module, tapes: &CompiledTapes<'_>, pp_rank: u32) -> Option<(BlockKind, u64)> {
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
pub(super) fn blocks<'t>(m: &Module, tapes: &'t CompiledTapes<'_>, chunk: &Chunk) -> Vec<Block<'t>> {
    let mut out: Vec<Block<'t>> = Vec::with_capacity(chunk.num_layers() as usize + 2);
    let mut push = |kind: BlockKind, layer: Option<u32>| {
        if let Some(compiled) = tapes.tape(kind, chunk) {
            let passes = BlockPasses::new(compiled, out.last().map(|before| before.compiled));
            out.push(Block { kind, layer, passes });
        }
    };
    if chunk.embedding {
        push(BlockKind::Embedding, None);
    }
    for layer in chunk.layers.clone() {
        let place = tapes.architecture.place(layer);
        if let Some(spec) = place.and_then(|place| tapes.architecture.specs().get(place)) {
            push(BlockKind::Layer(*spec), Some(layer));
        }
    }
    push(BlockKind::Head, None);
    if recomputes_mhc(m) {
        group_by_mhc(tapes, chunk, &mut out);
    }
    if recomputes_groups(m) {
        group_recomputed(m, tapes, chunk, &mut out);
    }
    out
}
