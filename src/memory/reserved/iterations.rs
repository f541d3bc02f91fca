//! The iterations of a stage: its schedule, pass by pass, and the optimizer's steps.

use core::hash::{Hash as _, Hasher as _};
use std::collections::BTreeMap;
use std::hash::DefaultHasher;

use super::MicroBatches;
use super::holes::ReplayMoment;
use super::passes::{KeptChunk, Passes};
use super::states::StageStates;
use super::storages::StorageId;
use crate::memory::peak::{PassName, StageReplay};
use crate::parallel::schedule::{Pass, Step};
use crate::units::Bytes;

/// The most repetitions of passes that are replayed until they leave the allocator as one before did.
const MOST_REPETITIONS: u64 = 256;

/// Buffers that an iteration allocates outside of forward and backward passes.
#[derive(Clone, Debug, Default)]
pub(super) struct BesidePasses {
    /// Bytes of gradients that each step copies until the next iteration.
    pub(super) gradients: Bytes,
    /// Bytes of copies that each step holds while it runs.
    pub(super) during_step: Bytes,
    /// Bytes of each stand-in for weight gradients, which the first backward pass makes.
    pub(super) stand_ins: Vec<u64>,
}

/// A stage whose iterations are replayed.
pub(super) struct Iterations<'a> {
    replay: &'a StageReplay<'a>,
    states: &'a StageStates<'a>,
    pub(super) passes: Passes,
    beside: BesidePasses,
    /// The storages that wait for a backward pass, by chunk and micro batch.
    kept: BTreeMap<(u32, u32), KeptChunk>,
    /// The last output, until it is sent.
    sent: Option<StorageId>,
    /// The gradient of the last backward pass's input, until the next one ends.
    input_gradient: Option<StorageId>,
    /// The gradient of its output, until the next one begins.
    output_gradient: Option<StorageId>,
    /// That output itself, where it is not deallocated, until the next forward pass ends or the next backward pass begins.
    output: Option<StorageId>,
    /// The copies of gradients.
    gradients: Vec<Option<StorageId>>,
    /// `empty_unused_memory_level`.
    empties: u64,
}

impl<'a> Iterations<'a> {
    pub(super) fn new(
        replay: &'a StageReplay<'a>,
        states: &'a StageStates<'a>,
        passes: Passes,
        beside: BesidePasses,
        empties: u64,
    ) -> Self {
        Self {
            replay,
            states,
            passes,
            beside,
            kept: BTreeMap::new(),
            sent: None,
            input_gradient: None,
            output_gradient: None,
            output: None,
            gradients: Vec::new(),
            empties,
        }
    }

    /// The forward and backward passes of an iteration.
    pub(super) fn run(&mut self, micro_batches: MicroBatches) {
        self.passes.iteration += 1;
        let gradients = core::mem::take(&mut self.gradients);
        self.passes.storages.release_all(gradients);
        let schedule = self.replay.totals.schedule;
        let repetition = schedule.repetition();
        // The states of the allocator before repetitions, by their hashes, with the step that followed.
        let mut known: BTreeMap<u64, u64> = BTreeMap::new();
        let mut repeats = micro_batches == MicroBatches::UntilTheyRepeat;
        // The steps and the micro batches that were left out.
        let (mut left_out, mut later) = (0u64, 0u32);
        let mut step = 0u64;
        while let Some(at) = schedule.step(step + left_out) {
            let since = step.checked_sub(repetition.start).filter(|_| repeats);
            if let Some(since) = since.filter(|since| since.is_multiple_of(repetition.steps)) {
                let rest = repetition.end.saturating_sub(step) / repetition.steps;
                let number = since / repetition.steps;
                let done = u32::try_from(number).unwrap_or(u32::MAX);
                let state = self.state(done.saturating_mul(repetition.microbatches));
                let before = known.insert(state, number);
                let before = before.or_else(|| number.checked_sub(1).filter(|_| number >= MOST_REPETITIONS));
                if let Some(before) = before {
                    let each = number - before;
                    let skipped = rest / each * each;
                    left_out = skipped * repetition.steps;
                    later = u32::try_from(skipped)
                        .unwrap_or(u32::MAX)
                        .saturating_mul(repetition.microbatches);
                    repeats = false;
                    if left_out > 0 {
                        continue;
                    }
                }
            }
            self.step_of_schedule(at, later);
            step += 1;
        }
        let left = [
            self.sent.take(),
            self.input_gradient.take(),
            self.output_gradient.take(),
            self.output.take(),
        ];
        self.passes.storages.release_all(left);
    }

    /// A step, whose micro batches have numbers that are by so many later than those that were replayed.
    fn step_of_schedule(&mut self, step: Step, later: u32) {
        let replayed = |pass: Pass| Pass {
            microbatch: pass.microbatch.saturating_sub(later),
            ..pass
        };
        if let Some(pass) = step.forward {
            self.forward(replayed(pass));
        }
        if let Some(pass) = step.backward {
            self.backward(replayed(pass));
        }
    }

    /// A hash of the free blocks, and of where everything lies that passes to come will free: all else stays where it is.
    /// Micro batches are numbered from `first`.
    fn state(&self, first: u32) -> u64 {
        let storages = &self.passes.storages;
        let mut hasher = DefaultHasher::new();
        storages.allocator.reserved().hash(&mut hasher);
        for block in storages.allocator.free_blocks() {
            (block.stream, block.pool, block.address, block.bytes).hash(&mut hasher);
        }
        for ((chunk, microbatch), kept) in &self.kept {
            (chunk, microbatch.wrapping_sub(first)).hash(&mut hasher);
            for storage in kept.storages() {
                storages.address(storage).hash(&mut hasher);
            }
        }
        for storage in [self.sent, self.input_gradient, self.output_gradient, self.output] {
            storages.address(storage).hash(&mut hasher);
        }
        hasher.finish()
    }

    fn forward(&mut self, pass: Pass) {
        let Some(chunk) = self.replay.chunks.get(pass.chunk as usize) else {
            return;
        };
        self.passes.begin(PassName::Forward, None);
        let received = self.passes.allocate(chunk.received);
        let before = self.sent.take();
        self.passes.storages.release(before);
        let (output, kept) = self.passes.forward(chunk, received);
        self.sent = output;
        let before = self.output.take();
        self.passes.storages.release(before);
        self.kept.insert((pass.chunk, pass.microbatch), kept);
    }

    fn backward(&mut self, pass: Pass) {
        let chunk = self.replay.chunks.get(pass.chunk as usize);
        let kept = self.kept.remove(&(pass.chunk, pass.microbatch));
        let (Some(chunk), Some(kept)) = (chunk, kept) else {
            return;
        };
        self.passes.begin(PassName::Backward, None);
        // The gradient is received while the output is sent.
        let gradient = self.passes.allocate(chunk.sent);
        let before = [self.sent.take(), self.output_gradient.take(), self.output.take()];
        self.passes.storages.release_all(before);
        if self.replay.retained {
            self.output_gradient = self.passes.storages.hold(gradient);
        }
        for bytes in core::mem::take(&mut self.beside.stand_ins) {
            self.passes.allocate(bytes);
        }
        let [of_input, output] = self.passes.backward(chunk, kept, gradient);
        if self.replay.retained {
            self.output = output;
        } else {
            self.passes.storages.release(output);
        }
        let before = core::mem::replace(&mut self.input_gradient, of_input);
        self.passes.storages.release(before);
    }

    /// The optimizer step, which makes the optimizer's states if it is the first, between the places where free segments
    /// may be given back (`train_step`).
    pub(super) fn optimizer_step(&mut self, first: bool) {
        let iteration = self.passes.iteration;
        let storages = &mut self.passes.storages;
        if self.empties >= 1 {
            storages.allocator.empty_cache();
        }
        storages.moment = ReplayMoment::OptimizerStep { iteration };
        self.gradients = self.states.copies(self.beside.gradients, storages);
        if first {
            self.states.first_step(storages);
        }
        let during = self.states.copies(self.beside.during_step, storages);
        storages.release_all(during);
        if self.empties >= 2 {
            storages.allocator.empty_cache();
        }
    }
}
