//! The passes of a micro batch over a chunk, with the storages that they leave and take.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::holes::ReplayMoment;
use super::storages::{StorageId, Storages};
use crate::config::job::Module;
use crate::memory::allocator::Stream;
use crate::memory::blocks::handed_on::HandedOn;
use crate::memory::blocks::{Block, BlockKind};
use crate::memory::chunk_profile::{ChunkProfile, Pass};
use crate::memory::peak::PassName;
use crate::model::tape::liveness::{CompiledTape, PassKind, PassScript, StorageEvent};

/// The stream that passes run on.
pub(super) const COMPUTE: Stream = Stream(0);
/// The stream of context-parallel exchanges (`cp_stream` of `TEDotProductAttention`).
const EXCHANGE: Stream = Stream(2);
/// The stream that Megatron FSDP gathers parameters on, in buffers made there (`side_stream_for_param_gather`,
/// `AllGatherPipeline.all_gather_params`).
const GATHER: Stream = Stream(3);

/// The scripts of passes, each recorded when it is first asked for.
#[derive(Debug, Default)]
pub(super) struct Scripts(BTreeMap<(usize, u8), Rc<PassScript>>);

impl Scripts {
    fn of(&mut self, compiled: &CompiledTape, pass: PassKind) -> Rc<PassScript> {
        let key = (core::ptr::from_ref(compiled).addr(), pass as u8);
        let script = self.0.entry(key);
        script.or_insert_with(|| Rc::new(compiled.script(pass))).clone()
    }
}

/// The storages that the forward pass of one micro batch leaves for the backward pass of a block.
#[derive(Debug, Default)]
struct KeptBlock {
    /// The input of a group of layers that keeps nothing else.
    input: Option<StorageId>,
    /// The kept storages by their slots.
    kept: Vec<(usize, Option<StorageId>)>,
}

/// The storages that the forward pass of one micro batch leaves for the backward pass of a chunk.
#[derive(Debug, Default)]
pub(super) struct KeptChunk {
    received: Option<StorageId>,
    mask: Option<StorageId>,
    biases: Option<StorageId>,
    blocks: Vec<KeptBlock>,
    /// The output, where it is not deallocated once it is sent.
    output: Option<StorageId>,
}

impl KeptChunk {
    /// All storages that are kept.
    pub(super) fn storages(&self) -> impl Iterator<Item = Option<StorageId>> {
        let of_chunk = [self.received, self.mask, self.biases, self.output];
        let of_blocks = self.blocks.iter().flat_map(|block| {
            let kept = block.kept.iter().map(|(_, storage)| *storage);
            kept.chain([block.input])
        });
        of_chunk.into_iter().chain(of_blocks)
    }
}

/// A replay of passes.
#[derive(Debug)]
pub(super) struct Passes {
    pub(super) storages: Storages,
    /// The iteration, counted from 1.
    pub(super) iteration: u32,
    scripts: Scripts,
    /// The stream that parameters are gathered on.
    gathers_on: Stream,
}

impl Passes {
    /// The passes of a module.
    pub(super) fn new(m: &Module, storages: Storages) -> Self {
        Self {
            storages,
            iteration: 0,
            scripts: Scripts::default(),
            gathers_on: if m.args.use_megatron_fsdp { GATHER } else { COMPUTE },
        }
    }

    /// Notes which pass is at work on which part of the model.
    pub(super) fn begin(&mut self, pass: PassName, block: Option<BlockKind>) {
        self.storages.moment = ReplayMoment::Pass {
            iteration: self.iteration,
            pass,
            block,
        };
    }

    pub(super) fn allocate(&mut self, bytes: u64) -> Option<StorageId> {
        self.storages.allocate(bytes, COMPUTE)
    }

    /// Parameters that FSDP gathers.
    fn gather(&mut self, bytes: u64) -> Option<StorageId> {
        self.storages.allocate(bytes, self.gathers_on)
    }

    /// Plays a script from what is there at its beginning, by slots. What is there at its end.
    fn play(&mut self, script: &PassScript, mut slots: Vec<Option<StorageId>>) -> Vec<Option<StorageId>> {
        slots.resize(script.slots, None);
        for event in &script.events {
            match *event {
                StorageEvent::Allocate { slot, bytes, exchange } => {
                    if let Some(storage) = slots.get_mut(slot).filter(|storage| storage.is_none()) {
                        let stream = if exchange { EXCHANGE } else { COMPUTE };
                        *storage = self.storages.allocate(bytes, stream);
                    }
                }
                StorageEvent::Free { slot } => {
                    let storage = slots.get_mut(slot).and_then(Option::take);
                    self.storages.release(storage);
                }
            }
        }
        slots
    }

    /// The forward pass of a block, whose input stays with the caller: its output and what it keeps.
    fn forward_block(
        &mut self,
        block: &Block<'_>,
        pass: PassKind,
        input: Option<StorageId>,
    ) -> (Option<StorageId>, KeptBlock) {
        let script = self.scripts.of(block.compiled, pass);
        let mut slots = vec![None; script.slots];
        if let Some(slot) = script.input.and_then(|slot| slots.get_mut(slot)) {
            *slot = self.storages.hold(input);
        }
        let slots = self.play(&script, slots);
        let at = |slot: usize| slots.get(slot).copied().flatten();
        let output = self.storages.hold(script.output.and_then(at));
        let kept = script.kept.iter().filter(|_| pass != PassKind::WithoutAutograd);
        let kept = kept.map(|slot| (*slot, self.storages.hold(at(*slot)))).collect();
        self.storages.release_all(slots);
        (output, KeptBlock { input: None, kept })
    }

    /// The backward pass of a block, which takes what it keeps and the gradient of its output: the gradient of its
    /// input.
    fn backward_block(
        &mut self,
        block: &Block<'_>,
        pass: PassKind,
        kept: KeptBlock,
        gradient: Option<StorageId>,
    ) -> Option<StorageId> {
        let script = self.scripts.of(block.compiled, pass);
        let mut slots = vec![None; script.slots];
        for (slot, storage) in kept.kept {
            if let Some(place) = slots.get_mut(slot) {
                *place = storage;
            }
        }
        match script.output_gradient.and_then(|slot| slots.get_mut(slot)) {
            Some(slot) => *slot = gradient,
            None => self.storages.release(gradient),
        }
        let slots = self.play(&script, slots);
        let of_input = script
            .input_gradient
            .and_then(|slot| slots.get(slot))
            .copied()
            .flatten();
        self.storages.hold(of_input);
        self.storages.release_all(slots);
        of_input
    }

    /// The forward pass of a chunk: its output and what is kept. The chunk takes the tensor that it received.
    pub(super) fn forward(
        &mut self,
        chunk: &ChunkProfile<'_>,
        received: Option<StorageId>,
    ) -> (Option<StorageId>, KeptChunk) {
        let passing = self.allocate(chunk.passing_mask);
        let mut of_chunk = KeptChunk {
            received,
            mask: self.allocate(chunk.kept_mask),
            biases: self.allocate(chunk.kept_biases),
            blocks: Vec::with_capacity(chunk.blocks.len()),
            output: None,
        };
        let mut stream = self.storages.hold(received);
        for (index, block) in chunk.blocks.iter().enumerate() {
            self.begin(PassName::Forward, Some(block.kind));
            let (gathered, _) = chunk.fsdp_in_flight(index, Pass::Forward);
            let gathered = self.gather(gathered);
            let (output, kept) = match block.group {
                None => self.forward_block(block, PassKind::Forward, stream),
                Some((first, _)) => {
                    let (output, _) = self.forward_block(block, PassKind::WithoutAutograd, stream);
                    let kept = KeptBlock {
                        input: if first == index {
                            self.storages.hold(stream)
                        } else {
                            None
                        },
                        kept: Vec::new(),
                    };
                    (output, kept)
                }
            };
            self.storages.release(gathered);
            self.storages.release(stream);
            let next = chunk.blocks.get(index + 1).and_then(|next| next.handed_on);
            stream = self.in_place_of(output, next.map(HandedOn::own_input));
            of_chunk.blocks.push(kept);
        }
        self.storages.release(passing);
        if chunk.output_kept > 0 {
            of_chunk.output = self.storages.hold(stream);
        }
        (stream, of_chunk)
    }

    /// What a recomputed layer hands on in place of the output of its tape, where that has snapshots of the residual
    /// stream that are kept before it.
    fn in_place_of(&mut self, output: Option<StorageId>, bytes: Option<u64>) -> Option<StorageId> {
        let Some(bytes) = bytes else {
            return output;
        };
        self.storages.release(output);
        self.allocate(bytes)
    }

    /// The backward pass of a chunk, which takes what is kept and the gradient of its output: the gradient of its input,
    /// and the output if that is kept.
    pub(super) fn backward(
        &mut self,
        chunk: &ChunkProfile<'_>,
        mut kept: KeptChunk,
        mut gradient: Option<StorageId>,
    ) -> [Option<StorageId>; 2] {
        let mut end = chunk.blocks.len();
        while let Some(block) = end.checked_sub(1).and_then(|last| chunk.blocks.get(last)) {
            let index = end - 1;
            let first = block.group.map_or(index, |(first, _)| first.min(index));
            let of_blocks = kept.blocks.split_off(first.min(kept.blocks.len()));
            gradient = self.backward_blocks(chunk, first, of_blocks, gradient);
            end = first;
        }
        self.storages.release_all([kept.received, kept.mask, kept.biases]);
        [gradient, kept.output]
    }

    /// The backward pass of one block, or of a group of layers that runs forwards again first.
    fn backward_blocks(
        &mut self,
        chunk: &ChunkProfile<'_>,
        first: usize,
        kept: Vec<KeptBlock>,
        gradient: Option<StorageId>,
    ) -> Option<StorageId> {
        let blocks = chunk.blocks.get(first..first + kept.len()).unwrap_or_default();
        let group = blocks.first().is_some_and(|block| block.group.is_some());
        // The function that runs a group again has its output and the gradient it was called with as variables.
        let called_with = if group { self.storages.hold(gradient) } else { None };
        let mut input = kept.first().and_then(|kept| kept.input);
        let of_group = input;
        let mut of_blocks = Vec::with_capacity(kept.len());
        for (offset, (block, kept)) in blocks.iter().zip(kept).enumerate() {
            if group {
                self.begin(PassName::Recompute, Some(block.kind));
                let (gathered, _) = chunk.fsdp_in_flight(first + offset, Pass::RecomputedForward);
                let gathered = self.gather(gathered);
                let before = if offset == 0 { self.storages.hold(input) } else { input };
                let (output, again) = self.forward_block(block, PassKind::Forward, before);
                self.storages.release(before);
                self.storages.release(gathered);
                let next = blocks.get(offset + 1).and_then(|next| next.handed_on);
                let last = block.handed_on.filter(|_| offset + 1 == blocks.len());
                let bytes = next.map(HandedOn::own_input).or(last.map(|last| last.output));
                input = self.in_place_of(output, bytes);
                of_blocks.push(again);
            } else {
                of_blocks.push(kept);
            }
        }
        let output = if group { input } else { None };
        let unread = if group {
            self.allocate(chunk.group_output(blocks.last().map(|last| &last.passes))[2])
        } else {
            None
        };
        let mut gradient = gradient;
        for (offset, (block, kept)) in blocks.iter().zip(of_blocks).enumerate().rev() {
            self.begin(PassName::Backward, Some(block.kind));
            let (gathered, gradients) = chunk.fsdp_in_flight(first + offset, Pass::Backward);
            let in_flight = [self.gather(gathered), self.allocate(gradients)];
            gradient = self.backward_block(block, PassKind::Backward, kept, gradient);
            self.storages.release_all(in_flight);
        }
        self.storages.release_all([output, called_with, of_group, unread]);
        gradient
    }
}
