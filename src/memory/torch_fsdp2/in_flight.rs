//! The gathered parameters and unreduced gradients of FSDP2 while layers run, besides every rank's own part.
//!
//! A gathered layer takes its parameters twice: in the buffer that ranks gather into, and in the parameters that are
//! copied out of it. In the forward pass the buffer stays until the next layer has its own. In the backward pass it is
//! dropped once it is copied, and the next layer's is filled ahead. Gradients are copied into a buffer that stays until
//! the layer before has its own (`FSDPParamGroup`).

use super::{ParamGroup, PartGroups, TorchFsdp2, bytes, one_micro_batch, ranks};
use crate::memory::fsdp::in_flight::BlockInFlight;
use crate::model::PartKind;
use crate::model::quantization::quantizes_output;
use crate::parallel::stages::Chunk;

/// Bytes of one wrapped module.
#[derive(Clone, Copy, Default)]
struct UnitBytes {
    /// Its gathered parameters.
    gathered: u64,
    /// The buffer that they are gathered into; nothing for one rank.
    buffer: u64,
    /// Its gradients before they are reduced, where the operations of a block do not have them.
    gradients: u64,
    /// The buffer that they are reduced from.
    unreduced: u64,
    /// This rank's part of the reduced ones, where it is no state.
    reduced: u64,
}

/// Bytes of a block and of what the root module has in it.
#[derive(Clone, Copy, Default)]
struct BlockBytes {
    unit: UnitBytes,
    root: UnitBytes,
}

impl TorchFsdp2<'_> {
    /// The bytes in flight at every block of a chunk: its embedding, if it has one, its layers, and what follows them.
    pub(crate) fn in_flight(&self, chunk: &Chunk) -> Vec<BlockInFlight> {
        let blocks = self.blocks(chunk);
        let resharded = self.m.args.torch_fsdp2_reshard_after_forward;
        let root: u64 = blocks.iter().map(|block| block.root.gathered).sum();
        let mut out = Vec::with_capacity(blocks.len());
        for (index, block) in blocks.iter().enumerate() {
            let before = blocks.get(..index).unwrap_or_default();
            let after = blocks.get(index + 1..).unwrap_or_default();
            let unit = block.unit;
            let earlier: u64 = before.iter().map(|block| block.unit.gathered).sum();
            let ahead = before.last().map_or(0, |block| block.unit.buffer);
            let (kept, next) = if resharded { (0, ahead) } else { (earlier, 0) };
            let unreduced = after.first().map_or(0, |block| block.unit.unreduced);
            let reduced: u64 = after.iter().map(|block| block.unit.reduced).sum();
            // The root's gradients wait for the end of the backward pass.
            let waiting = after.iter().chain([block]).map(|block| block.root.gradients);
            out.push(BlockInFlight {
                forward: root + kept + unit.gathered + unit.buffer,
                backward: root + kept + unit.gathered + next,
                gradients: unit.gradients + unreduced + reduced + waiting.sum::<u64>(),
            });
        }
        out
    }

    fn blocks(&self, chunk: &Chunk) -> Vec<BlockBytes> {
        let mut out = Vec::new();
        if chunk.embedding {
            let kind = PartKind::Embedding;
            // The tape of the embedding has its gradient.
            out.push(self.block(&[kind], |unit| UnitBytes { gradients: 0, ..unit }));
        }
        for layer in chunk.layers.clone() {
            let kind = self.architecture.layer(layer).map(PartKind::Layer);
            out.push(self.block(kind.as_slice(), |unit| unit));
        }
        let mut behind = vec![PartKind::FinalNorm, PartKind::Projector, PartKind::OutputAdapter];
        if chunk.output {
            behind.push(PartKind::OutputLayer);
        }
        if chunk.mtp > 0 {
            behind.push(PartKind::MtpDepth);
        }
        // So has that of the output layer in bf16.
        let on_tape = chunk.mtp == 0 && !quantizes_output(self.m);
        out.push(self.block(&behind, |unit| UnitBytes {
            gradients: if on_tape { 0 } else { unit.gradients },
            ..unit
        }));
        out
    }

    /// A block of these parts. Of several wrapped modules one runs at a time, and the largest counts.
    fn block(&self, kinds: &[PartKind], change: impl Fn(UnitBytes) -> UnitBytes) -> BlockBytes {
        let parts = kinds.iter().filter_map(|kind| self.part(*kind));
        let parts: Vec<&PartGroups> = parts.collect();
        let units = parts.iter().flat_map(|part| &part.wrapped);
        let largest = units.clone().max_by_key(|group| group.gathered(ranks(self.m)));
        let reduced = units.map(|group| self.unit(group).reduced).sum();
        let mut root = ParamGroup::default();
        for part in parts {
            root.add(&part.root, 1);
        }
        let unit = largest.map_or_else(UnitBytes::default, |group| self.unit(group));
        BlockBytes {
            unit: change(UnitBytes { reduced, ..unit }),
            root: self.unit(&root),
        }
    }

    fn unit(&self, group: &ParamGroup) -> UnitBytes {
        let (m, ranks) = (self.m, ranks(self.m));
        let gathered = bytes(m, group.gathered(ranks));
        let unreduced = bytes(m, group.reduced().saturating_mul(ranks));
        UnitBytes {
            gathered,
            buffer: if ranks > 1 { gathered } else { 0 },
            gradients: bytes(m, group.gradients()),
            unreduced,
            reduced: if one_micro_batch(m) { unreduced / ranks } else { 0 },
        }
    }
}
