//! One run over a tape, with a count of references for every tensor and gradient: it finds the order of a pass.

use core::ops::Range;

use super::super::recompute::{Kept, Plan};
use super::super::{AutogradTape, Family, Gradient, Section, TensorId, TensorUse, UseKind};
use super::order::{PassOrder, Slot, Step};
use super::{PassKind, TRANSIENT};

/// A tensor that an operation reads for the last time.
struct Dying {
    tensor: TensorId,
    /// The operation that made it.
    maker: usize,
    /// The next that dies with the same operation; past the end where there is none.
    next: usize,
}

pub(super) struct LivenessSimulator<'a> {
    tape: &'a AutogradTape,
    plan: &'a Plan,
    /// What the pass did so far.
    order: PassOrder,
    /// How many refer to each slot.
    references: Vec<u32>,
    /// The last operation that reads a tensor.
    last_use: Vec<usize>,
    /// What some operation reads for the last time.
    dying: Vec<Dying>,
    /// For each operation, the first of those that die with it.
    dies: Vec<usize>,
    /// What delayed weight gradients wait with: the operation and a slot of each.
    delayed: Vec<(usize, usize)>,
}

impl<'a> LivenessSimulator<'a> {
    pub(super) fn new(tape: &'a AutogradTape, plan: &'a Plan) -> Self {
        let mut slots: Vec<Slot> = Vec::with_capacity(tape.tensors.len() * 2);
        slots.extend((0..).zip(&tape.tensors).map(|(id, _)| Slot {
            of: TensorId(id),
            gradient: false,
            elsewhere: false,
            usage: TRANSIENT,
            exchange: false,
        }));
        for id in &tape.on_exchange_stream {
            if let Some(slot) = slots.get_mut(id.0 as usize) {
                slot.exchange = true;
            }
        }
        for id in &tape.elsewhere {
            if let Some(slot) = slots.get_mut(id.0 as usize) {
                slot.elsewhere = true;
            }
        }
        for Kept { tensor: id, .. } in &plan.keeps {
            if let (Some(slot), Some(tensor)) = (slots.get_mut(id.0 as usize), tape.get(*id)) {
                slot.usage = tensor.family as usize;
            }
        }
        if let Some(input) = tape.input.and_then(|id| slots.get_mut(id.0 as usize)) {
            // The chunk before or the received tensor keeps it, whatever this tape does.
            input.usage = Family::Residual as usize;
        }
        let mut last_use = vec![usize::MAX; slots.len()];
        let mut used = |id: &TensorId, op: usize| {
            if let Some(last) = last_use.get_mut(id.0 as usize) {
                *last = if *last == usize::MAX { op } else { op.max(*last) };
            }
        };
        for index in 0..tape.ops.len() {
            let reads = |link: &&TensorUse| matches!(link.role, UseKind::Input(_));
            let read = tape.links(index).iter().filter(reads);
            read.for_each(|link| used(&link.tensor, index));
        }
        for section in &plan.again {
            section.discards.iter().for_each(|id| used(id, section.until));
        }
        let mut dying = Vec::with_capacity(tape.tensors.len());
        let mut dies = vec![usize::MAX; tape.ops.len()];
        for maker in 0..tape.ops.len() {
            for tensor in tape.of(maker, UseKind::Output) {
                let last = last_use.get(tensor.0 as usize).copied();
                if let Some(first) = last.and_then(|last| dies.get_mut(last)) {
                    let next = core::mem::replace(first, dying.len());
                    dying.push(Dying { tensor, maker, next });
                }
            }
        }
        Self {
            tape,
            plan,
            references: vec![0; slots.len()],
            order: PassOrder {
                slots,
                ..PassOrder::default()
            },
            last_use,
            dying,
            dies,
            delayed: Vec::new(),
        }
    }

    /// Plays a pass; the order of what it does.
    pub(super) fn run(mut self, pass: PassKind) -> PassOrder {
        match pass {
            PassKind::Forward | PassKind::WithoutAutograd => self.forward(),
            PassKind::Backward => self.backward(false),
            PassKind::BackwardRetained => self.backward(true),
        }
        self.order
    }

    fn step(&mut self, step: Step) {
        self.order.steps.push(step);
    }

    fn hold(&mut self, index: usize) {
        if let Some(references) = self.references.get_mut(index) {
            *references += 1;
            if *references == 1 {
                self.step(Step::Allocate(index));
            }
        }
    }

    /// Holds the tensors that are this to an operation.
    fn hold_all(&mut self, tape: &AutogradTape, op: usize, role: UseKind) {
        for id in tape.of(op, role) {
            self.hold(id.0 as usize);
        }
    }

    fn release(&mut self, index: usize) {
        if let Some(references) = self.references.get_mut(index)
            && *references > 0
        {
            *references -= 1;
            if *references == 0 {
                self.step(Step::Free(index));
            }
        }
    }

    fn references(&self, slot: usize) -> u32 {
        self.references.get(slot).copied().unwrap_or(0)
    }

    /// The operation works: what is alive now, with tensors that only it needs, may be the most. A tensor that it also
    /// keeps is one and the same.
    fn mark(&mut self, op: usize, again: bool, role: Option<UseKind>) {
        let tape = self.tape;
        let before = self.order.needed.len();
        let own = role.into_iter().flat_map(|role| tape.of(op, role));
        let own = own
            .map(|id| id.0 as usize)
            .filter(|slot| self.references.get(*slot) == Some(&0));
        self.order.needed.extend(own);
        let needed = self.order.needed.len() - before;
        self.step(Step::Work { op, again, needed });
    }

    fn forward(&mut self) {
        let tape = self.tape;
        if let Some(input) = tape.input {
            self.hold(input.0 as usize);
        }
        let mut kept = self.plan.keeps.iter().peekable();
        for index in 0..tape.ops.len() {
            self.hold_all(tape, index, UseKind::Output);
            while let Some(kept) = kept.next_if(|kept| kept.op == index) {
                self.hold(kept.tensor.0 as usize);
            }
            self.mark(index, false, Some(UseKind::Forward));
            self.release_used(index, 0);
        }
    }

    /// Python variables let go of what was used for the last time by this operation.
    fn release_used(&mut self, index: usize, first: usize) {
        let mut next = self.dies.get(index).copied().unwrap_or(usize::MAX);
        while let Some(dying) = self.dying.get(next) {
            let (slot, maker) = (dying.tensor.0 as usize, dying.maker);
            next = dying.next;
            if maker >= first {
                self.release(slot);
            }
        }
    }

    fn gradient(&mut self, of: TensorId) -> usize {
        self.storage(Slot {
            of,
            gradient: true,
            elsewhere: false,
            usage: TRANSIENT,
            exchange: self.tape.gradients_on_exchange_stream.contains(&of),
        })
    }

    /// Makes a storage that is no tensor of the tape itself, and holds it.
    fn storage(&mut self, slot: Slot) -> usize {
        let index = self.order.slots.len();
        self.order.slots.push(slot);
        self.references.push(0);
        self.hold(index);
        index
    }

    fn backward(&mut self, retained: bool) {
        let (tape, plan) = (self.tape, self.plan);
        for kept in &plan.keeps {
            self.hold(kept.tensor.0 as usize);
        }
        let mut gradients: Vec<Option<usize>> = vec![None; tape.tensors.len()];
        if let Some(output) = tape.output.filter(|_| tape.output_has_gradient) {
            let slot = self.gradient(output);
            self.order.output_gradient = Some(slot);
            if retained {
                self.hold(slot);
            }
            if let Some(gradient) = gradients.get_mut(output.0 as usize) {
                *gradient = Some(slot);
            }
        }
        let first_offloaded = self.fetch();
        let mut later: Vec<(usize, usize)> = Vec::new();
        // Of the operation at hand, and used again for the next.
        let mut of_outputs: Vec<usize> = Vec::new();
        let mut made: Vec<(TensorId, usize)> = Vec::new();
        for (index, op) in tape.ops.iter().enumerate().rev() {
            let outputs = tape.of(index, UseKind::Output);
            let is_leaf = outputs.clone().next().is_none();
            of_outputs.clear();
            of_outputs.extend(outputs.filter_map(|id| gradients.get_mut(id.0 as usize)?.take()));
            for section in plan.again.iter().filter(|section| section.until == index) {
                self.again(section, &of_outputs, &mut later);
            }
            if !of_outputs.is_empty() || op.root || is_leaf {
                made.clear();
                for link in tape.links(index) {
                    let UseKind::Input(gradient) = link.role else {
                        continue;
                    };
                    let slot = match (gradient, of_outputs.first()) {
                        (Gradient::None, _) => continue,
                        (Gradient::Over(other), _) => {
                            self.hold(other.0 as usize);
                            other.0 as usize
                        }
                        (Gradient::Shared, Some(output)) => {
                            self.hold(*output);
                            *output
                        }
                        _ => self.gradient(link.tensor),
                    };
                    made.push((link.tensor, slot));
                }
                self.mark(index, false, Some(UseKind::Backward));
                self.delay(index, of_outputs.first().copied());
                self.finish(index, first_offloaded, &mut later);
                for slot in &of_outputs {
                    self.release(*slot);
                }
                for (input, slot) in &made {
                    self.accumulate(index, *input, *slot, &mut gradients);
                }
            } else {
                self.finish(index, first_offloaded, &mut later);
            }
            for group in tape.delayed.iter().filter(|group| group.start == index) {
                self.weight_gradients(group);
            }
            // What the same module of the layer before offloaded comes back.
            for (slot, moved) in (first_offloaded..).zip(&plan.moved) {
                if moved.first == index {
                    self.hold(slot);
                }
            }
        }
        let of_input = tape.input.and_then(|input| gradients.get(input.0 as usize));
        self.order.input_gradient = of_input.copied().flatten();
    }

    /// Holds what the delayed weight gradient of an operation needs. `of_output` is the gradient of its output.
    fn delay(&mut self, op: usize, of_output: Option<usize>) {
        let tape = self.tape;
        let tensors = tape.of(op, UseKind::Delayed).map(|id| id.0 as usize);
        let gradient = tape.of(op, UseKind::DelayedGradient).find_map(|_| of_output);
        for slot in tensors.chain(gradient) {
            self.hold(slot);
            self.delayed.push((op, slot));
        }
    }

    /// Computes the delayed weight gradients of a group, from the last operation to the first.
    fn weight_gradients(&mut self, group: &Range<usize>) {
        let tape = self.tape;
        self.step(Step::DelayedBegin);
        for op in group.clone().rev() {
            if self.delayed.iter().all(|(of, _)| *of != op) {
                continue;
            }
            self.step(Step::WeightGradientBegin);
            self.hold_all(tape, op, UseKind::WeightGradient);
            self.step(Step::WeightGradientEnd);
            self.mark(op, false, None);
            let mut delayed = core::mem::take(&mut self.delayed);
            delayed.retain(|(of, slot)| {
                if *of == op {
                    self.release(*slot);
                }
                *of != op
            });
            self.delayed = delayed;
        }
        self.step(Step::DelayedEnd);
        for id in group.clone().flat_map(|op| tape.of(op, UseKind::WeightGradient)) {
            self.release(id.0 as usize);
        }
    }

    /// The backward pass of an operation is over: what it saved goes.
    fn finish(&mut self, index: usize, first_offloaded: usize, later: &mut Vec<(usize, usize)>) {
        let (tape, plan) = (self.tape, self.plan);
        let saved = tape.of(index, UseKind::Saved);
        for id in saved.chain(plan.ends(index)) {
            self.release(id.0 as usize);
        }
        for (slot, moved) in (first_offloaded..).zip(&plan.moved) {
            if moved.op == index {
                self.release(slot);
            }
        }
        later.retain(|(at, slot)| {
            if *at == index {
                self.release(*slot);
            }
            *at != index
        });
    }

    /// A second gradient for a tensor is added to the first, in place where nobody else looks at one of them.
    fn accumulate(&mut self, op: usize, input: TensorId, slot: usize, gradients: &mut [Option<usize>]) {
        let sum = match gradients.get(input.0 as usize).copied().flatten() {
            None => slot,
            Some(first) if self.references(first) == 1 => {
                self.release(slot);
                first
            }
            Some(first) if self.references(slot) == 1 => {
                self.release(first);
                slot
            }
            Some(first) => {
                let sum = self.gradient(input);
                self.mark(op, false, None);
                self.release(first);
                self.release(slot);
                sum
            }
        };
        if let Some(gradient) = gradients.get_mut(input.0 as usize) {
            *gradient = Some(sum);
        }
    }

    /// Offloaded tensors are back before the first operation needs one, in slots from this one on.
    fn fetch(&mut self) -> usize {
        let first = self.order.slots.len();
        for moved in &self.plan.moved {
            self.storage(Slot {
                of: moved.tensor,
                gradient: false,
                elsewhere: false,
                usage: TRANSIENT,
                exchange: false,
            });
        }
        first
    }

    /// Runs a section a second time, with autograd. What it discarded is back for those that read it; the
    /// output of ordinary recompute and the gradient it was called with stay until its first operation is done.
    fn again(&mut self, section: &Section, of_outputs: &[usize], later: &mut Vec<(usize, usize)>) {
        let (tape, plan) = (self.tape, self.plan);
        for index in section.ops.clone() {
            self.hold_all(tape, index, UseKind::Output);
            self.hold_all(tape, index, UseKind::Saved);
            self.mark(index, true, Some(UseKind::Forward));
            self.release_used(index, section.ops.start);
        }
        if section.discards.is_empty() {
            let last = section.ops.end.saturating_sub(1);
            let outputs = tape.of(last, UseKind::Output);
            later.extend(outputs.map(|id| (section.ops.start, id.0 as usize)));
            for slot in of_outputs {
                self.hold(*slot);
                later.push((section.ops.start, *slot));
            }
            return;
        }
        for index in 0..tape.ops.len() {
            let saved = tape.of(index, UseKind::Saved);
            let saved = saved.filter(|_| !plan.runs_again(index));
            for id in saved.chain(plan.ends(index)) {
                if section.discards.contains(&id) {
                    self.hold(id.0 as usize);
                }
            }
        }
        // Python lets go of what was made again.
        let made = section.ops.clone();
        for id in made.flat_map(|op| tape.of(op, UseKind::Output)) {
            let used_later = self
                .last_use
                .get(id.0 as usize)
                .is_some_and(|last| *last >= section.ops.end);
            if used_later {
                self.release(id.0 as usize);
            }
        }
    }
}
