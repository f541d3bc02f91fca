//! The tensors at which the graphs of layers begin, where something holds those graphs beyond the backward pass.
//!
//! The dispatcher of a layer refers to the router's probabilities until the next forward pass, and they to the graph that
//! made them. A backward pass frees what the operations of a graph have saved, but not the detached tensor at which the
//! graph begins, nor its gradient: the input of a group of layers that is computed again, of a `MoE` module that is, or
//! of a layer that runs beside the backward pass of another micro batch. Without any of these the graph begins with the
//! embedding's weight, or with the tensor that the stage has received.

use super::blocks::{Block, BlockPasses};
use crate::config::choices::{OffloadModule, RecomputeGranularity, RecomputeModule};
use crate::config::job::Module;
use crate::model::sizes::Sizes;
use crate::parallel::stages::Chunk;

/// Bytes of the input at which the graph of a layer begins, and of its gradient.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    input: u64,
    gradient: u64,
}

/// The bytes of the tensors at which graphs begin, of layers of one module.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GraphEnds {
    /// Of a group of layers that is computed again from its input.
    of_group: End,
    /// Of a layer in no such group.
    of_layer: End,
    /// Whether the chunk's first input is a received tensor, which is counted as such.
    received: bool,
}

impl GraphEnds {
    /// The tensors of the layers of a chunk. `residual` is the bytes of the residual stream on this rank.
    pub(crate) fn new(sizes: &Sizes<'_>, residual: u64, chunk: &Chunk) -> Self {
        let both = End {
            input: residual,
            gradient: residual,
        };
        Self {
            of_group: both,
            of_layer: End {
                input: if keeps_input(sizes) { residual } else { 0 },
                gradient: if detaches(sizes.m) { residual } else { 0 },
            },
            received: !chunk.embedding,
        }
    }

    fn of(&self, block: &BlockPasses<'_>) -> End {
        match block.group {
            _ if !block.compiled.lasting.holds_graph => End::default(),
            Some(_) => self.of_group,
            None => self.of_layer,
        }
    }

    /// Bytes of so many blocks like this one, which are groups of their own where they are in any.
    pub(crate) fn of_blocks(&self, block: &BlockPasses<'_>, count: u64) -> u64 {
        let End { input, gradient } = self.of(block);
        input.saturating_add(gradient).saturating_mul(count)
    }

    /// Bytes that the chunk's first block has counted although the tensor was received.
    pub(crate) fn counted_twice(&self, first: Option<&BlockPasses<'_>>) -> u64 {
        first.filter(|_| self.received).map_or(0, |block| self.of(block).input)
    }

    /// Bytes of all blocks of a chunk.
    pub(crate) fn of_chunk(&self, blocks: &[Block<'_>]) -> u64 {
        let mut bytes = 0u64;
        let mut counted = None;
        for block in blocks.iter().filter(|block| block.compiled.lasting.holds_graph) {
            if block.group.is_none() || block.group != counted {
                bytes = bytes.saturating_add(self.of_blocks(block, 1));
                counted = block.group;
            }
        }
        let first = blocks.first().map(|block| &block.passes);
        bytes.saturating_sub(self.counted_twice(first))
    }
}

/// Whether the graphs of single layers begin with detached tensors (`CheckpointFunction` and `ScheduleNode` of
/// Megatron-LM).
fn detaches(m: &Module) -> bool {
    let a = &m.args;
    let selective = a.recompute_granularity == Some(RecomputeGranularity::Selective);
    let again = selective && a.recompute_modules.contains(RecomputeModule::Moe);
    a.overlap_moe_expert_parallel_comm || again
}

/// Whether the detached tensor itself is still there: the storage of an input whose norm is offloaded is given up.
fn keeps_input(sizes: &Sizes<'_>) -> bool {
    let moved = sizes.recompute_options.offloads(OffloadModule::AttnNorm);
    detaches(sizes.m) && !(moved && sizes.m.args.overlap_moe_expert_parallel_comm)
}
