//! The order in which a pass allocates and frees its storages, whatever their sizes: tapes with the same operations have
//! the same.

use super::script::{PassScript, StorageEvent};
use super::{Alive, Peak, TRANSIENT, Usage};
use crate::model::tape::{ActivationTensor, AutogradTape, TensorId};

/// A storage of a pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// The tensor, or the one that it is the gradient of.
    pub(super) of: TensorId,
    /// Whether it is the gradient.
    pub(super) gradient: bool,
    /// Whether its bytes are counted elsewhere.
    pub(super) elsewhere: bool,
    /// The use that its bytes are counted under.
    pub(super) usage: usize,
    /// Whether it is made on the stream of context-parallel exchanges.
    pub(super) exchange: bool,
}

/// A step of a pass.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// The first reference to the storage in a slot.
    Allocate(usize),
    /// The last one is gone.
    Free(usize),
    /// An operation works: what is alive now, with what only it needs, may be the most.
    Work {
        op: usize,
        /// Whether it runs a second time, for recompute.
        again: bool,
        /// The slots of what only it needs: so many more of [`PassOrder::needed`].
        needed: usize,
    },
    /// The delayed weight gradients of a group are computed from here on.
    DelayedBegin,
    /// One of them is allocated from here on.
    WeightGradientBegin,
    /// It is.
    WeightGradientEnd,
    /// Those of the group are computed.
    DelayedEnd,
}

/// The order of a pass.
#[derive(Clone, Debug, Default)]
pub(super) struct PassOrder {
    /// One for each tensor, and then those of gradients and of what comes back from the host.
    pub(super) slots: Vec<Slot>,
    pub(super) steps: Vec<Step>,
    /// The slots that only one operation needs, in the order of the steps.
    pub(super) needed: Vec<usize>,
    /// The slot of the output's gradient, with which the pass begins.
    pub(super) output_gradient: Option<usize>,
    /// The slot of the input's gradient.
    pub(super) input_gradient: Option<usize>,
}

/// The bytes of the slots of a pass, in their order.
struct SlotBytes(Vec<u64>);

impl SlotBytes {
    /// Bytes of a slot; none where they are counted elsewhere.
    fn of(&self, slot: usize) -> u64 {
        self.0.get(slot).copied().unwrap_or(0)
    }
}

impl PassOrder {
    /// The bytes of slots of a tape whose tensors take these.
    fn bytes(&self, allocated: &[u64]) -> SlotBytes {
        let of = |slot: &Slot| match allocated.get(slot.of.0 as usize) {
            Some(bytes) if !slot.elsewhere => *bytes,
            _ => 0,
        };
        SlotBytes(self.slots.iter().map(of).collect())
    }

    /// The heaviest moment of the pass over a tape whose tensors take these [bytes](allocated).
    pub(super) fn peak(&self, allocated: &[u64]) -> Peak {
        let bytes = self.bytes(allocated);
        let mut peak = Peak::default();
        let mut needed = self.needed.as_slice();
        let mut alive = Usage::default();
        let (mut total, mut most, mut moment) = (0u64, 0, 0);
        let (mut before_delayed, mut without, mut made) = (0, 0, 0u64);
        for step in &self.steps {
            match *step {
                Step::Allocate(slot) => {
                    total = total.saturating_add(bytes.of(slot));
                    alive.add_to(self.usage(slot), bytes.of(slot));
                }
                Step::Free(slot) => {
                    total = total.saturating_sub(bytes.of(slot));
                    alive.take(self.usage(slot), bytes.of(slot));
                }
                Step::Work {
                    op,
                    again,
                    needed: count,
                } => {
                    let own = needed.split_off(..count).unwrap_or_default().iter();
                    let own = own.map(|slot| bytes.of(*slot)).fold(0, u64::saturating_add);
                    if total.saturating_add(own) > most {
                        most = total.saturating_add(own);
                        peak.usage = alive;
                        peak.usage.add_to(TRANSIENT, own);
                        (peak.op, peak.again, peak.moment) = (op, again, moment);
                    }
                    moment += 1;
                }
                Step::DelayedBegin => (before_delayed, made) = (total, 0),
                Step::WeightGradientBegin => without = total,
                Step::WeightGradientEnd => made = made.saturating_add(total.saturating_sub(without)),
                Step::DelayedEnd => peak.delayed = before_delayed.saturating_add(made).saturating_sub(total),
            }
        }
        peak
    }

    /// The use that the bytes of a slot are counted under.
    fn usage(&self, slot: usize) -> usize {
        self.slots.get(slot).map_or(TRANSIENT, |slot| slot.usage)
    }

    /// Everything alive at a moment of the pass over a tape.
    pub(super) fn alive_at(&self, moment: usize, tape: &AutogradTape) -> Vec<Alive> {
        let allocated = allocated(tape);
        let mut alive = vec![false; self.slots.len()];
        let mut needed = self.needed.as_slice();
        let mut moments = 0;
        for step in &self.steps {
            match *step {
                Step::Allocate(slot) | Step::Free(slot) => {
                    if let Some(alive) = alive.get_mut(slot) {
                        *alive = matches!(step, Step::Allocate(_));
                    }
                }
                Step::Work { needed: count, .. } => {
                    let own = needed.split_off(..count).unwrap_or_default();
                    if moments == moment {
                        return self.captured(&alive, own, (tape, &allocated));
                    }
                    moments += 1;
                }
                Step::DelayedBegin | Step::WeightGradientBegin | Step::WeightGradientEnd | Step::DelayedEnd => {}
            }
        }
        Vec::new()
    }

    /// What is alive, slot by slot, with what only the operation at work needs.
    fn captured(&self, alive: &[bool], own: &[usize], (tape, allocated): (&AutogradTape, &[u64])) -> Vec<Alive> {
        let bytes = self.bytes(allocated).0;
        let slots = self.slots.iter().zip(bytes).zip(alive);
        let alive = slots.filter_map(|((slot, bytes), alive)| {
            (*alive && bytes > 0).then_some((slot.of, slot.gradient, slot.usage, bytes))
        });
        let own = own.iter().filter_map(|slot| {
            let of = self.slots.get(*slot)?.of;
            Some((of, false, TRANSIENT, allocated.get(of.0 as usize).copied()?))
        });
        let captured = alive.chain(own).filter_map(|(of, gradient, usage, bytes)| {
            Some(Alive {
                tensor: *tape.get(of)?,
                gradient,
                usage,
                bytes,
            })
        });
        captured.collect()
    }

    /// The pass over a tape as the allocator sees it, which keeps these tensors.
    pub(super) fn script(&self, tape: &AutogradTape, kept: &[TensorId]) -> PassScript {
        let bytes = self.bytes(&allocated(tape));
        let slot = |id: Option<TensorId>| id.map(|id| id.0 as usize);
        let allocate = |slot: usize| StorageEvent::Allocate {
            slot,
            bytes: bytes.of(slot),
            exchange: self.slots.get(slot).is_some_and(|slot| slot.exchange),
        };
        let mut needed = self.needed.as_slice();
        let mut events = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            match *step {
                Step::Allocate(slot) => events.push(allocate(slot)),
                Step::Free(slot) => events.push(StorageEvent::Free { slot }),
                Step::Work { needed: count, .. } => {
                    let own = needed.split_off(..count).unwrap_or_default();
                    events.extend(own.iter().map(|slot| allocate(*slot)));
                    events.extend(own.iter().map(|slot| StorageEvent::Free { slot: *slot }));
                }
                Step::DelayedBegin | Step::WeightGradientBegin | Step::WeightGradientEnd | Step::DelayedEnd => {}
            }
        }
        PassScript {
            events,
            slots: self.slots.len(),
            input: slot(tape.input),
            output: slot(tape.output),
            kept: kept.iter().map(|id| id.0 as usize).collect(),
            output_gradient: self.output_gradient,
            input_gradient: self.input_gradient,
        }
    }
}

/// Bytes that the allocator sets aside for each tensor of a tape.
pub(super) fn allocated(tape: &AutogradTape) -> Vec<u64> {
    tape.tensors.iter().map(ActivationTensor::allocated).collect()
}
