//! The inputs and outputs of recomputed layers with attention residuals, which are two tensors in place of one. Full
//! recompute keeps the inputs of groups of layers (`checkpointed_forward` and `CheckpointFunction` of Megatron-LM), and
//! these layers share a part of theirs (`KimiK3TransformerLayer.forward` of Megatron-Bridge).
//!
//! A layer has two inputs, the residual stream and the snapshots of it. The snapshots are one tensor, which layers pass
//! on as it is until one of them takes another snapshot: then they are a new one. Groups that read the same snapshots
//! keep them together. Stages send each other both as one tensor, of which the first layer of a stage makes two.

use super::CompiledTapes;
use crate::model::{LayerSpec, received_stream, with_snapshots};
use crate::parallel::stages::Chunk;

/// Bytes of what a recomputed layer with attention residuals reads and hands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HandedOn {
    /// The residual stream and the snapshots that it reads.
    input: u64,
    /// Of these, the snapshots, where they are those that the group of the layer or one before it has kept.
    pub(crate) shared: u64,
    /// Its output, without snapshots that its group did not make.
    pub(crate) output: u64,
    /// The gradients of all that it hands on.
    pub(crate) gradient: u64,
    /// Of these gradients, the zeros for snapshots that nothing reads behind the layer.
    pub(crate) unread: u64,
}

impl HandedOn {
    /// Bytes of the whole input.
    pub(crate) fn input(self) -> u64 {
        self.input
    }

    /// Bytes of the input that nothing before has kept.
    pub(crate) fn own_input(self) -> u64 {
        self.input.saturating_sub(self.shared)
    }
}

/// Goes through the recomputed layers of a chunk in their order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HandedOnWalk {
    /// Whether the snapshots behind the layers so far are those that a group has kept.
    is_kept: bool,
    /// Whether the group so far has made them.
    is_made: bool,
}

impl HandedOnWalk {
    /// The next layer, which begins a group or goes on with one. `None` where layers hand on the residual stream alone.
    pub(crate) fn next(
        &mut self,
        tapes: &CompiledTapes<'_>,
        (chunk, layer): (&Chunk, u32),
        spec: &LayerSpec,
        begins: bool,
    ) -> Option<HandedOn> {
        let residuals = spec.residuals?;
        let sizes = tapes.sizes();
        let stream = tapes.residual();
        let snapshots = |bytes: u64| bytes.saturating_sub(stream);
        let input = tapes.message(received_stream(sizes, spec));
        let shared = if self.is_kept { snapshots(input) } else { 0 };
        let is_first = layer == chunk.layers.start;
        if begins {
            // The first layer of a stage reads snapshots out of what the stage received.
            (self.is_kept, self.is_made) = (!is_first, is_first);
        }
        if residuals.takes {
            (self.is_kept, self.is_made) = (false, true);
        }
        let snapshots = snapshots(tapes.message(with_snapshots(sizes, residuals.after())));
        let is_last = layer.saturating_add(1) == chunk.layers.end;
        // The last layer of a stage copies them into what it sends.
        let sent = if is_last && !residuals.last { snapshots } else { 0 };
        let handed_on = stream.saturating_add(sent);
        Some(HandedOn {
            input,
            shared,
            output: handed_on.saturating_add(if self.is_made { snapshots } else { 0 }),
            gradient: handed_on.saturating_add(snapshots),
            unread: if is_last { snapshots } else { 0 },
        })
    }
}
