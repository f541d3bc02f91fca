//! The profile of one chunk of a pipeline rank: the bytes that a micro batch keeps in it, and the heaviest moments of
//! its passes, found block by block.

mod peaks;
mod totals;

pub(crate) use totals::totals_of_blocks;

use core::ops::Range;

use super::blocks::handed_on::HandedOn;
use super::blocks::{
    Block, BlockKind, BlockPasses, CompiledTapes, attention_biases, attention_mask, blocks, deferred_input,
    deferred_logits,
};
use super::buffers::micro_batches;
use super::chunk_graphs::ChunkGraphs;
use super::fsdp::in_flight::BlockInFlight;
use super::graph_ends::GraphEnds;
use super::graph_phase::GraphPhase;
use super::local_graphs::{BlockCapture, captures};
use super::stage_totals::ChunkTotals;
use crate::config::choices::{CudaGraphImpl, OffloadModule};
use crate::config::job::Module;
use crate::model::tape::liveness::{PassKind, Peak, TRANSIENT, USES, Usage};
use crate::model::tape::{ActivationTensor, Family, block};
use crate::parallel::stages::Chunk;
use crate::units::multiply;

/// The kind of pass that a chunk runs at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pass {
    /// A forward pass.
    #[default]
    Forward,
    /// A backward pass.
    Backward,
    /// Within a backward pass, the forward pass that full recompute runs again for a group of layers.
    RecomputedForward,
}

/// The moment of a pass before a graph is captured, of which no tensor is told apart.
pub(crate) const BEFORE_CAPTURE: Peak = Peak {
    usage: Usage([0; USES]),
    op: usize::MAX,
    again: false,
    moment: usize::MAX,
    delayed: 0,
};

/// The heaviest moment of a pass over a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChunkPeak {
    /// Bytes by use that this micro batch has alive in the chunk.
    pub(crate) usage: Usage,
    /// Its total.
    pub(crate) total: u64,
    /// The block at work.
    pub(crate) block: usize,
    /// The moment within it.
    pub(crate) peak: Peak,
    /// The kind of pass.
    pub(crate) pass: Pass,
}

impl ChunkPeak {
    fn of(usage: Usage, block: usize, peak: Peak, pass: Pass) -> Self {
        Self {
            usage,
            total: usage.total(),
            block,
            peak,
            pass,
        }
    }

    fn offer(&mut self, other: Self) {
        if other.total > self.total {
            *self = other;
        }
    }
}

/// The blocks of a chunk that are layers.
#[derive(Clone, Copy, Debug, Default)]
struct LayerBlocks {
    /// The place of the first one among all blocks.
    first: usize,
    /// How many there are, one behind the other.
    count: usize,
    /// How many of the first ones are offloaded to the host.
    offloaded: usize,
}

/// A chunk reduced to what a schedule needs to know.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChunkProfile<'t> {
    pub(crate) blocks: Vec<Block<'t>>,
    /// For each block, the bytes by use that all blocks before it keep.
    before: Vec<Usage>,
    /// Of each block, whether a later one [surely has heavier moments](Self::lighter_than_later).
    lighter: Vec<bool>,
    /// Bytes by use that one live micro batch keeps.
    pub(crate) kept: Usage,
    pub(crate) kept_total: u64,
    pub(crate) forward: ChunkPeak,
    pub(crate) backward: ChunkPeak,
    /// Bytes of the tensor it receives, nothing on the first stage.
    pub(crate) received: u64,
    /// Bytes of that tensor that stay until it receives the next one: none where the norm before the attention of its first
    /// layer is offloaded, which gives up the storage of what it reads (`bulk_offload`).
    received_stays: u64,
    /// Bytes of the tensor it sends, nothing after the loss.
    pub(crate) sent: u64,
    /// Bytes of that tensor that a live micro batch keeps: nothing where it is deallocated once it is sent.
    pub(crate) output_kept: u64,
    /// Bytes of the residual stream on this rank.
    pub(crate) residual: u64,
    /// Bytes of its input that a recomputed group keeps, where layers hand on the residual stream alone.
    pub(crate) input_kept: u64,
    /// The tensors at which the graphs of its layers begin.
    graph_ends: GraphEnds,
    /// Whether the recomputed group keeps only this rank's share of its input (`--distribute-saved-activations`).
    pub(crate) distributed: bool,
    /// The received tensor, where no layer keeps it.
    pub(crate) received_kept: u64,
    /// Bytes that wait after each backward pass for a deferred weight gradient of the output layer, and in how many
    /// passes.
    pub(crate) deferred: u64,
    pub(crate) deferrals: u64,
    /// The block whose offloaded tensors came back from the host for a later backward pass, and their bytes.
    pub(crate) prefetched: Option<BlockKind>,
    pub(crate) prefetched_bytes: u64,
    layers: LayerBlocks,
    /// The attention mask, where recompute keeps it, and where it only passes through.
    pub(crate) kept_mask: u64,
    pub(crate) passing_mask: u64,
    /// The biases of image attention, which its layers keep together.
    pub(crate) kept_biases: u64,
    /// Bytes of gathered parameters and of unreduced gradients while each block runs; empty without FSDP.
    fsdp: Vec<BlockInFlight>,
    /// Bytes that the capture of local CUDA graphs holds for each block; empty where none is captured.
    pub(crate) captures: Vec<BlockCapture>,
    /// Bytes by use that a micro batch has in the graphs' pool at the heaviest moment of their forward graphs.
    pool: Usage,
}

/// Whether the passes of these tapes are those of a capture of local CUDA graphs.
fn captures_locally(m: &Module, tapes: &CompiledTapes<'_>) -> bool {
    tapes.graph_phase == GraphPhase::Capture && m.args.cuda_graph_impl == CudaGraphImpl::Local
}

impl<'t> ChunkProfile<'t> {
    /// Walks through a chunk forwards and backwards. With `retained`, the received output gradient stays alive until
    /// the next backward pass begins. `prefetched` is what waits for that on the GPU although it is offloaded, `fsdp`
    /// what FSDP has in flight at each block.
    pub(crate) fn new(
        m: &Module,
        tapes: &'t CompiledTapes<'_>,
        chunk: &Chunk,
        retained: bool,
        prefetched: Option<(BlockKind, u64)>,
        fsdp: Vec<BlockInFlight>,
    ) -> Self {
        let blocks = blocks(m, tapes, chunk);
        let recomputed = blocks.iter().any(|s| s.group.is_some());
        let of_block = |block: Option<&Block<'t>>| block.map(|block| block.passes);
        let mut passes = Self {
            prefetched: prefetched.map(|(kind, _)| kind),
            prefetched_bytes: prefetched.map_or(0, |(_, bytes)| bytes),
            fsdp,
            ..Self::around(
                m,
                tapes,
                chunk,
                recomputed,
                [blocks.first(), blocks.last()].map(of_block),
            )
        };
        if captures_locally(m, tapes) {
            passes.captures = captures(m, tapes, &blocks, passes.residual);
        }
        let host = usize::try_from(tapes.sizes().recompute_options.layers).unwrap_or(usize::MAX);
        let count = chunk.num_layers() as usize;
        passes.layers = LayerBlocks {
            first: usize::from(chunk.embedding),
            count,
            offloaded: host.min(count),
        };
        passes.keep(&blocks);
        passes.blocks = blocks;
        passes.lighter = passes.lighter_than_later();
        passes.forward = passes.forward_peak();
        passes.pool = passes.pool_peak();
        passes.backward = passes.backward_peak(retained);
        passes
    }

    /// What is around the blocks of a chunk, of which these are the first and the last: what the chunk receives and
    /// sends, and what it keeps beside its blocks. `recomputed` says whether any of its layers keep only the input of
    /// their group.
    fn around(
        m: &Module,
        tapes: &CompiledTapes<'_>,
        chunk: &Chunk,
        recomputed: bool,
        [first, last]: [Option<BlockPasses<'_>>; 2],
    ) -> Self {
        // Graphs are captured without the tensors that stages send each other.
        let alone = tapes.graph_phase == GraphPhase::Capture;
        let residual = tapes.residual();
        let [from_before, to_next] = tapes.boundaries(chunk);
        let sent = if chunk.output && !alone {
            block(m.boundary.sent)
        } else {
            to_next
        };
        // A graph's static output is there anyway.
        let in_pool = || last.is_some_and(|last| last.compiled.lasting.pooled_output > 0);
        let deallocates = m.args.deallocate_pipeline_outputs;
        let mut passes = Self {
            received: if alone {
                0
            } else if chunk.embedding {
                block(m.boundary.received)
            } else {
                from_before
            },
            sent,
            output_kept: if deallocates || alone || in_pool() { 0 } else { sent },
            residual,
            graph_ends: GraphEnds::new(tapes.sizes(), residual, chunk),
            distributed: m.args.distribute_saved_activations && !m.sequence_parallel,
            ..Self::default()
        };
        let moved = tapes.sizes().recompute_options.offloads(OffloadModule::AttnNorm);
        passes.received_stays = if moved && !chunk.embedding && chunk.num_layers() > 0 {
            0
        } else {
            passes.received
        };
        let masked = (chunk.embedding || chunk.output) && (!alone || captures_locally(m, tapes));
        // Masks that stay are buffers, but for those that graphs are captured with.
        let masked = masked && (alone || !micro_batches::stay(m));
        let mask = if masked && m.args.create_attention_mask_in_dataloader {
            block(attention_mask(m).elements())
        } else {
            0
        };
        if m.args.image_attention_bias && !alone {
            let (shape, width) = attention_biases(tapes.sizes());
            passes.kept_biases = block(multiply(shape.elements(), width));
        }
        passes.kept_mask = if recomputed { mask } else { 0 };
        passes.passing_mask = mask - passes.kept_mask;
        if chunk.output && !alone {
            passes.defer(m, tapes, chunk);
        }
        passes.input_kept = if passes.distributed {
            block(residual / m.tp.max(1))
        } else {
            residual
        };
        // The schedule holds the received tensor, even where its layer does not keep it.
        let keeps = first.is_none_or(|s| match s.group {
            Some(_) => !passes.distributed,
            None => s.compiled.keeps_input,
        });
        passes.received_kept = if chunk.embedding {
            passes.received
        } else if keeps || alone {
            0
        } else {
            from_before
        };
        passes
    }

    /// What a live micro batch keeps beside the blocks.
    fn kept_around(&self) -> Usage {
        let mut kept = Usage::default();
        let biases_and_mask = self.kept_mask.saturating_add(self.kept_biases);
        kept.add_to(Family::Attention as usize, biases_and_mask);
        kept.add_to(Family::Residual as usize, self.received_kept);
        kept
    }

    /// Bytes that a recomputed group keeps of its input, which is that of its first block.
    fn group_input(&self, first: &BlockPasses<'_>) -> u64 {
        first.handed_on.map_or(self.input_kept, HandedOn::own_input)
    }

    /// Adds what a live micro batch keeps of the block at an index.
    fn keep_block(&self, kept: &mut Usage, index: usize, block: &BlockPasses<'_>) {
        match block.group {
            None => {
                kept.add(&block.compiled.kept);
                kept.take(Family::Residual as usize, block.pooled_kept());
            }
            Some((first, _)) if first == index => {
                kept.add_to(Family::Residual as usize, self.group_input(block));
            }
            Some(_) => {}
        }
        kept.add_to(Family::Residual as usize, self.capture(index).kept);
    }

    /// Adds the output that a micro batch keeps behind all blocks and in its backward pass.
    pub(crate) fn keep_output(&self, kept: &mut Usage) {
        kept.add_to(Family::Residual as usize, self.output_kept);
    }

    /// Adds up what a live micro batch keeps of these blocks, one behind the other.
    fn keep(&mut self, blocks: &[Block<'_>]) {
        let mut kept = self.kept_around();
        self.before.reserve(blocks.len());
        let mut away = self.layers.first;
        let mut leave = |profile: &Self, kept: &mut Usage, index: usize| {
            let on_host = profile.on_host(index);
            for gone in blocks.get(away..on_host.end).into_iter().flatten() {
                kept.remove(&gone.compiled.large);
            }
            away = away.max(on_host.end);
        };
        for (index, block) in blocks.iter().enumerate() {
            leave(self, &mut kept, index);
            self.before.push(kept);
            self.keep_block(&mut kept, index, block);
        }
        leave(self, &mut kept, blocks.len());
        self.keep_output(&mut kept);
        self.kept = kept;
        self.kept_total = kept.total();
    }

    /// What the output layer's deferred weight gradients wait with, if it defers them.
    fn defer(&mut self, m: &Module, tapes: &CompiledTapes<'_>, chunk: &Chunk) {
        if !m.io.is_language() || !m.args.defer_embedding_wgrad_compute {
            return;
        }
        let waiting = [deferred_logits(tapes.sizes()), deferred_input(tapes.sizes())];
        // MTP depths share the output layer, and the limit counts their calls too.
        let calls = u64::from(chunk.mtp) + 1;
        let one = waiting.map(|(shape, width)| block(multiply(shape.elements(), width)));
        let one = one.into_iter().fold(0, u64::saturating_add);
        self.deferred = multiply(one, calls);
        self.deferrals = match m.args.wgrad_deferral_limit {
            0 => u64::MAX,
            limit => limit.div_ceil(calls),
        };
    }

    /// Bytes of the tensors at which the graphs begin that attributes hold between iterations.
    pub(crate) fn held_by_graphs(&self) -> u64 {
        self.graph_ends.of_chunk(&self.blocks)
    }

    /// The sizes of the chunk.
    pub(crate) fn totals(&self) -> ChunkTotals {
        let attributes = self.blocks.iter().flat_map(|b| &b.compiled.lasting.attributes);
        ChunkTotals {
            kept: self.kept,
            forward: self.forward.usage,
            backward: self.backward.usage,
            received: self.received,
            received_stays: self.received_stays,
            sent: self.sent,
            output_kept: self.output_kept,
            deferred: self.deferred,
            deferrals: self.deferrals,
            attributes: attributes
                .map(ActivationTensor::allocated)
                .fold(self.held_by_graphs(), u64::saturating_add),
        }
    }

    /// The graphs that its layers are captured in, where its passes are those of a capture.
    pub(crate) fn graphs(&self) -> ChunkGraphs {
        let mut graphs = ChunkGraphs::default();
        for block in &self.blocks {
            graphs.add(block.compiled, 1, self.residual);
        }
        graphs
    }

    /// The sizes of the chunk as far as they are in the pool of local CUDA graphs.
    pub(crate) fn pool_totals(&self) -> ChunkTotals {
        ChunkTotals {
            forward: self.pool,
            ..self.totals()
        }
    }

    /// What the capture of a block's local CUDA graphs holds.
    pub(crate) fn capture(&self, index: usize) -> BlockCapture {
        self.captures.get(index).copied().unwrap_or_default()
    }

    /// Bytes of static tensors that a micro batch keeps of the blocks before one.
    pub(crate) fn captured_before(&self, index: usize) -> u64 {
        let kept = self.captures.iter().take(index).map(|block| block.kept);
        kept.fold(0, u64::saturating_add)
    }

    /// The heaviest moment of forward graphs, without what is outside of their pool.
    fn pool_peak(&self) -> Usage {
        let mut most = Usage::default();
        for (index, block) in self.blocks.iter().enumerate().take(self.captures.len()) {
            let mut usage = self.before(index);
            usage.add_to(TRANSIENT, self.passing_mask);
            usage.add(&block.compiled.peak(PassKind::Forward).usage);
            if usage.total() > most.total() {
                most = usage;
            }
        }
        most
    }

    /// The blocks whose large tensors are on the host while one is at work, or after all of them. Offloading makes
    /// room for one layer at a time, so that as many layers as are not offloaded have theirs on the GPU, and coming
    /// back keeps that number (`DefaultOffloadSynchronizer`).
    pub(crate) fn on_host(&self, index: usize) -> Range<usize> {
        let LayerBlocks {
            first,
            count,
            offloaded,
        } = self.layers;
        let layer = index.saturating_sub(first).min(count.saturating_sub(1));
        let away = if offloaded == 0 || index < first {
            0
        } else {
            (layer + 1).saturating_sub(count - offloaded).min(offloaded)
        };
        first..first + away
    }

    /// Bytes by use that the blocks before one keep; of all of them, and of the chunk's output, when there is no such
    /// block.
    pub(crate) fn before(&self, index: usize) -> Usage {
        self.before.get(index).copied().unwrap_or(self.kept)
    }

    /// Bytes of the parameters that FSDP has gathered while a block runs in this pass, and of gradients that wait to be
    /// reduced.
    pub(crate) fn fsdp_in_flight(&self, index: usize, pass: Pass) -> (u64, u64) {
        let Some(block) = self.fsdp.get(index) else {
            return (0, 0);
        };
        match pass {
            Pass::Forward => (block.forward, 0),
            Pass::Backward | Pass::RecomputedForward => (block.backward, block.gradients),
        }
    }

    fn add_fsdp(&self, usage: &mut Usage, index: usize, pass: Pass) {
        let (parameters, gradients) = self.fsdp_in_flight(index, pass);
        usage.add_to(TRANSIENT, parameters.saturating_add(gradients));
    }
}
