//! The iterations of a stage: its schedule, pass by pass, and the optimizer's steps.

use std::collections::BTreeMap;

use super::passes::{KeptChunk, Passes};
use super::states::StageStates;
use super::storages::StorageId;
use crate::memory::peak::StageReplay;
use crate::parallel::schedule::Pass;
use crate::units::Bytes;

/// A stage whose iterations are replayed.
pub(super) struct Iterations<'a> {
    pub(super) replay: &'a StageReplay<'a>,
    pub(super) states: &'a StageStates<'a>,
    pub(super) passes: Passes,
    /// Bytes of gradients that each step copies until the next iteration, and of copies that it holds while it runs.
    pub(super) copies: [Bytes; 2],
    /// Whether outputs go to other stages.
    pub(super) pipelined: bool,
    kept: BTreeMap<(u32, u32), KeptChunk>,
    /// The last output that was sent, until the next pass begins.
    sent: Option<StorageId>,
    /// The gradients of the last backward pass: of its input until the next one ends, and of its output until that begins.
    input_gradient: Option<StorageId>,
    output_gradient: Option<StorageId>,
    /// The copies of gradients.
    gradients: Vec<Option<StorageId>>,
}

impl<'a> Iterations<'a> {
    pub(super) fn new(
        replay: &'a StageReplay<'a>,
        states: &'a StageStates<'a>,
        passes: Passes,
        copies: [Bytes; 2],
        pipelined: bool,
    ) -> Self {
        Self {
            replay,
            states,
            passes,
            copies,
            pipelined,
            kept: BTreeMap::new(),
            sent: None,
            input_gradient: None,
            output_gradient: None,
            gradients: Vec::new(),
        }
    }

    /// The forward and backward passes of an iteration.
    pub(super) fn run(&mut self) {
        let gradients = core::mem::take(&mut self.gradients);
        self.passes.storages.release_all(gradients);
        for step in self.replay.totals.schedule.steps() {
            if let Some(pass) = step.forward {
                self.forward(pass);
            }
            if let Some(pass) = step.backward {
                self.backward(pass);
            }
        }
        let left = [&mut self.sent, &mut self.input_gradient, &mut self.output_gradient];
        let left = left.map(Option::take);
        self.passes.storages.release_all(left);
    }

    fn forward(&mut self, pass: Pass) {
        let Some(chunk) = self.replay.chunks.get(pass.chunk as usize) else {
            return;
        };
        let received = self.passes.allocate(chunk.received);
        let before = self.sent.take();
        self.passes.storages.release(before);
        let (output, kept) = self.passes.forward(chunk, received);
        self.sent = output;
        self.kept.insert((pass.chunk, pass.microbatch), kept);
    }

    fn backward(&mut self, pass: Pass) {
        let Some(chunk) = self.replay.chunks.get(pass.chunk as usize) else {
            return;
        };
        let Some(kept) = self.kept.remove(&(pass.chunk, pass.microbatch)) else {
            return;
        };
        let gradient = if self.pipelined || chunk.sent > 0 {
            self.passes.allocate(chunk.sent)
        } else {
            None
        };
        let before = [self.sent.take(), self.output_gradient.take()];
        self.passes.storages.release_all(before);
        if self.replay.retained {
            self.output_gradient = self.passes.storages.hold(gradient);
        }
        let of_input = self.passes.backward(chunk, kept, gradient);
        let before = core::mem::replace(&mut self.input_gradient, of_input);
        self.passes.storages.release(before);
    }

    /// The optimizer step.
    pub(super) fn step(&mut self, first: bool) {
        let storages = &mut self.passes.storages;
        let [kept, during] = self.copies;
        self.gradients = self.states.copies(kept.0, storages);
        if first {
            self.states.first_step(storages);
        }
        let during = self.states.copies(during.0, storages);
        storages.release_all(during);
    }
}
