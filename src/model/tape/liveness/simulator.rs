//! One run over a tape, with a count of references for every tensor and gradient.

use core::ops::Range;

use super::super::recompute::{Kept, Plan};
use super::super::{ActivationTensor, AutogradTape, Family, Gradient, Section, TensorId, TensorUse, UseKind};
use super::script::{PassScript, StorageEvent};
use super::{Alive, PassKind, Peak, TRANSIENT, Usage};

/// A storage and how many refer to it.
#[derive(Clone, Copy)]
struct Slot {
    of: TensorId,
    gradient: bool,
    bytes: u64,
    usage: usize,
    references: u32,
    /// Whether it is made on the stream of context-parallel exchanges.
    exchange: bool,
}

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
    slots: Vec<Slot>,
    /// The last operation that reads a tensor.
    last_use: Vec<usize>,
    /// What some operation reads for the last time.
    dying: Vec<Dying>,
    /// For each operation, the first of those that die with it.
    dies: Vec<usize>,
    usage: Usage,
    total: u64,
    peak: Peak,
    peak_total: u64,
    moment: usize,
    /// What delayed weight gradients wait with: the operation and a slot of each.
    delayed: Vec<(usize, usize)>,
    capture: Option<usize>,
    /// What is alive at the moment that was asked for.
    pub(super) captured: Vec<Alive>,
    /// What the pass allocates and frees; `None` where nobody asks for it.
    script: Option<PassScript>,
}

impl<'a> LivenessSimulator<'a> {
    pub(super) fn new(tape: &'a AutogradTape, plan: &'a Plan, capture: Option<usize>) -> Self {
        let mut slots: Vec<Slot> = Vec::with_capacity(tape.tensors.len() * 2);
        slots.extend((0..).zip(&tape.tensors).map(|(id, tensor)| Slot {
            of: TensorId(id),
            gradient: false,
            bytes: tensor.allocated(),
            usage: TRANSIENT,
            references: 0,
            exchange: false,
        }));
        for id in &tape.on_exchange_stream {
            if let Some(slot) = slots.get_mut(id.0 as usize) {
                slot.exchange = true;
            }
        }
        for id in &tape.elsewhere {
            if let Some(slot) = slots.get_mut(id.0 as usize) {
                slot.bytes = 0;
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
            slots,
            last_use,
            dying,
            dies,
            usage: Usage::default(),
            total: 0,
            peak: Peak::default(),
            peak_total: 0,
            moment: 0,
            delayed: Vec::new(),
            capture,
            captured: Vec::new(),
            script: None,
        }
    }

    /// Plays a pass from the beginning; what it allocates and frees.
    pub(super) fn record(&mut self, pass: PassKind) -> PassScript {
        let tape = self.tape;
        let slot = |id: Option<TensorId>| id.map(|id| id.0 as usize);
        let kept = super::kept_tensors(self.plan);
        self.script = Some(PassScript {
            input: slot(tape.input),
            output: slot(tape.output),
            kept: kept.iter().map(|id| id.0 as usize).collect(),
            ..PassScript::default()
        });
        self.run(pass);
        let mut script = self.script.take().unwrap_or_default();
        script.slots = self.slots.len();
        script
    }

    fn event(&mut self, event: StorageEvent) {
        if let Some(script) = &mut self.script {
            script.events.push(event);
        }
    }

    /// Plays a pass from the beginning; its heaviest moment.
    pub(super) fn run(&mut self, pass: PassKind) -> Peak {
        self.slots.truncate(self.tape.tensors.len());
        for slot in &mut self.slots {
            slot.references = 0;
        }
        self.usage = Usage::default();
        self.total = 0;
        self.peak = Peak::default();
        self.peak_total = 0;
        self.moment = 0;
        self.delayed.clear();
        match pass {
            PassKind::Forward | PassKind::WithoutAutograd => self.forward(),
            PassKind::Backward => self.backward(false),
            PassKind::BackwardRetained => self.backward(true),
        }
        self.peak
    }

    fn hold(&mut self, index: usize) {
        if let Some(slot) = self.slots.get_mut(index) {
            let (bytes, exchange) = (slot.bytes, slot.exchange);
            slot.references += 1;
            if slot.references == 1 {
                self.usage.add_to(slot.usage, bytes);
                self.total = self.total.saturating_add(bytes);
                self.event(StorageEvent::Allocate {
                    slot: index,
                    bytes,
                    exchange,
                });
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
        if let Some(slot) = self.slots.get_mut(index)
            && slot.references > 0
        {
            slot.references -= 1;
            if slot.references == 0 {
                self.usage.take(slot.usage, slot.bytes);
                self.total = self.total.saturating_sub(slot.bytes);
                self.event(StorageEvent::Free { slot: index });
            }
        }
    }

    fn references(&self, slot: usize) -> u32 {
        self.slots.get(slot).map_or(0, |slot| slot.references)
    }

    /// The operation works: what is alive now, with tensors that only it needs, may be the most. A tensor that it also
    /// keeps is one and the same.
    fn mark(&mut self, op: usize, again: bool, extra: Option<UseKind>) {
        let bytes = self
            .extra(op, extra)
            .filter_map(|id| self.slots.get(id.0 as usize))
            .filter(|slot| slot.references == 0)
            .fold(0u64, |sum, slot| sum.saturating_add(slot.bytes));
        if self.total.saturating_add(bytes) > self.peak_total {
            self.peak_total = self.total.saturating_add(bytes);
            let mut usage = self.usage;
            usage.add_to(TRANSIENT, bytes);
            self.peak = Peak {
                usage,
                op,
                again,
                moment: self.moment,
                ..self.peak
            };
        }
        if self.capture == Some(self.moment) {
            self.capture_now(op, extra);
        }
        if self.script.is_some() {
            self.record_extra(op, extra);
        }
        self.moment += 1;
    }

    /// Records the tensors that only an operation at work needs.
    fn record_extra(&mut self, op: usize, extra: Option<UseKind>) {
        let slots = self.extra(op, extra).map(|id| id.0 as usize);
        let slots: Vec<usize> = slots.filter(|slot| self.references(*slot) == 0).collect();
        for slot in &slots {
            let (bytes, exchange) = self
                .slots
                .get(*slot)
                .map_or((0, false), |slot| (slot.bytes, slot.exchange));
            self.event(StorageEvent::Allocate {
                slot: *slot,
                bytes,
                exchange,
            });
        }
        for slot in slots {
            self.event(StorageEvent::Free { slot });
        }
    }

    /// The tensors that are this to an operation.
    fn extra(&self, op: usize, role: Option<UseKind>) -> impl Iterator<Item = TensorId> + use<'a> {
        let tape = self.tape;
        role.into_iter().flat_map(move |role| tape.of(op, role))
    }

    fn capture_now(&mut self, op: usize, extra: Option<UseKind>) {
        let alive = self.slots.iter().filter(|slot| slot.references > 0 && slot.bytes > 0);
        let mut captured: Vec<Alive> = alive
            .filter_map(|slot| {
                Some(Alive {
                    tensor: *self.tape.get(slot.of)?,
                    gradient: slot.gradient,
                    usage: slot.usage,
                    bytes: slot.bytes,
                })
            })
            .collect();
        let extra = self.extra(op, extra).filter(|id| self.references(id.0 as usize) == 0);
        captured.extend(extra.filter_map(|id| {
            let tensor = *self.tape.get(id)?;
            Some(Alive {
                tensor,
                gradient: false,
                usage: TRANSIENT,
                bytes: tensor.allocated(),
            })
        }));
        self.captured = captured;
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
        let bytes = self.tape.get(of).map_or(0, ActivationTensor::allocated);
        self.slots.push(Slot {
            of,
            gradient: true,
            bytes,
            usage: TRANSIENT,
            references: 0,
            exchange: self.tape.gradients_on_exchange_stream.contains(&of),
        });
        self.hold(self.slots.len() - 1);
        self.slots.len() - 1
    }

    fn backward(&mut self, retained: bool) {
        let (tape, plan) = (self.tape, self.plan);
        for kept in &plan.keeps {
            self.hold(kept.tensor.0 as usize);
        }
        let mut gradients: Vec<Option<usize>> = vec![None; tape.tensors.len()];
        if let Some(output) = tape.output.filter(|_| tape.output_has_gradient) {
            let slot = self.gradient(output);
            if let Some(script) = &mut self.script {
                script.output_gradient = Some(slot);
            }
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
        if let (Some(script), Some(input)) = (&mut self.script, tape.input) {
            script.input_gradient = gradients.get(input.0 as usize).copied().flatten();
        }
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
        let before = self.total;
        let mut made = 0u64;
        for op in group.clone().rev() {
            if self.delayed.iter().all(|(of, _)| *of != op) {
                continue;
            }
            let without = self.total;
            self.hold_all(tape, op, UseKind::WeightGradient);
            made = made.saturating_add(self.total.saturating_sub(without));
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
        self.peak.delayed = before.saturating_add(made).saturating_sub(self.total);
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
        let first = self.slots.len();
        for moved in &self.plan.moved {
            let bytes = self.tape.get(moved.tensor);
            self.slots.push(Slot {
                of: moved.tensor,
                gradient: false,
                bytes: bytes.map_or(0, ActivationTensor::allocated),
                usage: TRANSIENT,
                references: 0,
                exchange: false,
            });
            self.hold(self.slots.len() - 1);
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
