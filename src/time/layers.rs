//! The times of the distinct blocks of a module, from which those of its chunks are added up.

use std::sync::Arc;

use super::contents::ChunkContents;
use super::cost::{Seconds, Time};
use super::exchange::{Exchanges, ends, exchanges};
use super::hardware::Hardware;
use super::passes::{Passes, launched, passes, wide};
use crate::config::choices::{RecomputeGranularity, RecomputeModule};
use crate::config::job::Module;
use crate::memory::LayoutPlainTapes;
use crate::model::sizes::Sizes;
use crate::model::tape::AutogradTape;
use crate::model::tape::recompute::RecomputeOptions;
use crate::model::{Architecture, LayerSpec, embedding_tape, head_tape, layer_tape};

/// Facts about a machine and its software that no argument of Megatron says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Software {
    /// Whether norms are one kernel each. Those of PyTorch are a chain of kernels that read and write eight times more.
    pub fused_norm: bool,
}

impl Default for Software {
    fn default() -> Self {
        Self { fused_norm: true }
    }
}

/// How often a norm that is part of a linear layer reads or writes its input forwards and backwards, fused or not.
const NORM_PASSES: [[f64; 2]; 2] = [[10.0, 11.0], [2.0, 3.0]];

/// The operations of the blocks of a module, whatever of them is recomputed.
pub(super) struct BlockTapes {
    /// The distinct layers, in their order.
    layers: Vec<Arc<AutogradTape>>,
    embedding: Arc<AutogradTape>,
    /// Norm, output layer and loss, with the MTP depths before them where the module has any.
    head: Arc<AutogradTape>,
}

impl BlockTapes {
    /// Those of a module with this architecture.
    pub(super) fn of(m: &Module, architecture: &Architecture) -> Self {
        let sizes = &Sizes::new(m);
        let embedding = architecture.embedding().cloned();
        Self {
            layers: architecture.layer_tapes().to_vec(),
            embedding: embedding.unwrap_or_else(|| Arc::new(embedding_tape(sizes))),
            head: Arc::new(head_tape(sizes, m.mtp_num_layers, true, 0)),
        }
    }

    /// Those of a module with these distinct layers. Layouts that have these `plain` tapes share them.
    pub(super) fn new(m: &Module, specs: &[LayerSpec], plain: Option<&LayoutPlainTapes>) -> Self {
        let sizes = &Sizes::new(m);
        let layers = specs.iter().enumerate().map(|(place, spec)| {
            let known = plain.and_then(|plain| plain.layer_tape(sizes, place, *spec));
            known.unwrap_or_else(|| Arc::new(layer_tape(sizes, *spec)))
        });
        let embedding = plain.map(|plain| plain.embedding_tape(sizes));
        let head = plain.and_then(|plain| plain.output_tape(sizes));
        Self {
            layers: layers.collect(),
            embedding: embedding.unwrap_or_else(|| Arc::new(embedding_tape(sizes))),
            head: head.unwrap_or_else(|| Arc::new(head_tape(sizes, m.mtp_num_layers, true, 0))),
        }
    }
}

/// A block of a chunk: its operations, and how long they take.
#[derive(Debug)]
struct Block<T> {
    tape: Arc<AutogradTape>,
    passes: Passes<T>,
    exchanges: Exchanges<T>,
}

/// The blocks of a module, whatever of them is recomputed.
#[derive(Debug)]
pub(super) struct Blocks<T> {
    /// The distinct layers, in their order.
    layers: Vec<Block<T>>,
    embedding: Block<T>,
    /// Norm, output layer and loss, with the MTP depths before them where the module has any.
    head: Block<T>,
}

impl<T: Time> Blocks<T> {
    /// The blocks of a module with these tapes, whose layers have these `places` among the distinct ones. `sum` makes
    /// times of nominal seconds.
    pub(super) fn new(
        m: &Module,
        (tapes, places): (BlockTapes, &[usize]),
        (on, software): (&Hardware, Software),
        sum: impl Fn(Seconds) -> T,
    ) -> Self {
        let [of_chain, of_kernel] = NORM_PASSES;
        let norm = if software.fused_norm { of_kernel } else { of_chain };
        let block = |tape: Arc<AutogradTape>, exchanged: &Exchanges<Seconds>| Block {
            passes: passes(&tape, (on, launched(m)), norm, &sum),
            exchanges: exchanged.summed(&sum),
            tape,
        };
        let layers = (0..).zip(tapes.layers).map(|(place, tape)| {
            let index = places.iter().position(|other| *other == place);
            let layer = index.and_then(|index| m.layers().decoder().get(index));
            let exchanged = layer.map_or_else(Exchanges::default, |layer| exchanges(m, *layer, on));
            block(tape, &exchanged)
        });
        Self {
            layers: layers.collect(),
            embedding: block(tapes.embedding, &Exchanges::default()),
            head: block(tapes.head, &ends(m, on)),
        }
    }
}

/// The times of a block for one micro batch, with its exchanges.
#[derive(Clone, Copy, Debug, Default)]
struct BlockTimes<T> {
    forward: T,
    /// With what selective recompute runs again.
    backward: T,
    /// What the block adds to the backward pass where it does not run again as a whole: exchanges of experts that run
    /// again.
    sent_again: T,
    /// Floating-point operations of the forward pass.
    flops: f64,
}

/// The times of the blocks of a module.
#[derive(Debug)]
pub(super) struct LayerTimes<T> {
    /// Of the distinct layers, in their order.
    layers: Vec<BlockTimes<T>>,
    embedding: BlockTimes<T>,
    head: BlockTimes<T>,
}

/// The times of one chunk for one micro batch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChunkTimes<T> {
    pub(super) forward: T,
    /// With what is recomputed.
    pub(super) backward: T,
    /// Layers that the host launches.
    pub(super) layers: f64,
    /// Floating-point operations of the forward pass.
    pub(super) flops: f64,
}

impl<T: Time> LayerTimes<T> {
    /// The times with what a module recomputes of these blocks.
    pub(super) fn new(m: &Module, blocks: &Blocks<T>) -> Self {
        let a = m.args();
        let options = RecomputeOptions::of(m);
        let selective = a.recompute_granularity == Some(RecomputeGranularity::Selective);
        let sends_again = selective && a.recompute_modules.contains(RecomputeModule::Moe);
        let of = |block: &Block<T>| {
            let Block {
                tape,
                passes,
                exchanges,
            } = block;
            BlockTimes {
                forward: passes.forward + exchanges.forward,
                backward: passes.backward + passes.again(tape, options) + exchanges.backward,
                sent_again: if sends_again { exchanges.experts } else { T::default() },
                flops: passes.flops,
            }
        };
        Self {
            layers: blocks.layers.iter().map(of).collect(),
            embedding: of(&blocks.embedding),
            head: of(&blocks.head),
        }
    }

    /// The times of a chunk.
    pub(super) fn chunk(&self, contents: &ChunkContents) -> ChunkTimes<T> {
        let mut out = ChunkTimes::default();
        for (layer, [once, again]) in self.layers.iter().zip(&contents.layers) {
            let count = once + again;
            if count == 0 {
                continue;
            }
            let [once, again, all] = [*once, *again, count].map(f64::from);
            out.forward += layer.forward * all;
            out.backward += layer.backward * all + layer.forward * again + layer.sent_again * once;
            out.layers += all;
            out.flops += layer.flops * all;
        }
        if contents.embedding {
            out.forward += self.embedding.forward;
            out.backward += self.embedding.backward;
        }
        if contents.output {
            out.forward += self.head.forward;
            out.backward += self.head.backward;
            out.layers += wide(u64::from(contents.mtp));
            out.flops += self.head.flops;
        }
        out
    }
}
