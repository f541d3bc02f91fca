//! Plays a tape forwards and backwards and finds the moment at which most is alive.
//!
//! A tensor lives as long as something refers to it: a Python variable until its last use, autograd until
//! the backward pass of the operation that saved it, a gradient until it was used.

mod lasting;
mod order;
mod script;
mod simulator;

use core::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

pub use super::usage::{TRANSIENT, USES, Usage};

use super::recompute::{Kept, Plan, RecomputeOptions};
use super::{ActivationTensor, AutogradTape, TensorId, UseKind};
use crate::config::choices::RecomputeModule;
pub(crate) use lasting::LastingTensors;
use order::{PassOrder, allocated};
pub(crate) use script::{PassScript, StorageEvent};
use simulator::LivenessSimulator;

/// Elements of the smallest tensor that Transformer Engine offloads with its layer (`_check_if_offload`).
pub const LARGE: u64 = 256 * 1024;

/// The heaviest moment of a pass over one tape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// Bytes by use that are alive at that moment.
    pub usage: Usage,
    /// The operation at work.
    pub op: usize,
    /// Whether the operation runs a second time, for recompute.
    pub again: bool,
    /// Which moment of the pass it is, for playing it once more.
    pub moment: usize,
    /// Bytes that the weight gradients that are computed last wait with.
    pub delayed: u64,
}

/// A plan of a tape, with all that follows from it whatever the sizes of tensors: tapes with the same operations share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlannedTape {
    pub(crate) plan: Plan,
    /// The tensors that are kept, each once.
    pub(crate) kept: Vec<TensorId>,
    /// The tensors that recompute module `mhc` discards, each once, and those that its sections save when they run again.
    pub(crate) discarded_by_mhc: Vec<TensorId>,
    /// The orders of passes, as far as they were asked for.
    orders: [OnceCell<PassOrder>; 4],
}

impl PlannedTape {
    /// The plan of a tape with these options.
    pub(crate) fn new(tape: &AutogradTape, recompute_options: RecomputeOptions) -> Self {
        let plan = Plan::new(tape, recompute_options);
        Self {
            kept: kept_tensors(&plan),
            discarded_by_mhc: discarded_by_mhc(tape, &plan),
            orders: Default::default(),
            plan,
        }
    }

    /// The order of a pass over a tape with this plan.
    fn order(&self, tape: &AutogradTape, pass: PassKind) -> Option<&PassOrder> {
        let run = || LivenessSimulator::new(tape, self.of_pass(pass)).run(pass);
        Some(self.orders.get(pass as usize)?.get_or_init(run))
    }

    /// The plan of a pass: a forward pass without autograd keeps nothing.
    fn of_pass(&self, pass: PassKind) -> &Plan {
        static NOTHING: Plan = Plan {
            keeps: Vec::new(),
            again: Vec::new(),
            moved: Vec::new(),
        };
        if pass == PassKind::WithoutAutograd {
            &NOTHING
        } else {
            &self.plan
        }
    }

    /// Bytes by use that are kept of a tape in tensors of so many elements and more.
    fn kept_usage(&self, tape: &AutogradTape, least: u64) -> Usage {
        let mut usage = Usage::default();
        for id in &self.kept {
            let tensor = tape.get(*id);
            if let Some(tensor) = tensor.filter(|tensor| tensor.elements() >= least) {
                usage.add_to(tensor.family as usize, tensor.allocated());
            }
        }
        usage
    }
}

/// A tape with what a plan keeps of it, and what a schedule needs to know.
#[derive(Clone, Debug)]
pub(crate) struct CompiledTape {
    pub(crate) tape: Arc<AutogradTape>,
    pub(crate) planned: Rc<PlannedTape>,
    /// Bytes by use that are kept between the passes, with the input where it is kept.
    pub(crate) kept: Usage,
    /// Whether it is kept.
    pub(crate) keeps_input: bool,
    /// The tensors that stay between its passes.
    pub(crate) lasting: Rc<LastingTensors>,
    /// Bytes that are moved to the host between the passes.
    pub(crate) moved: u64,
    /// Bytes that recompute module `mhc` discards once its group of layers is done, and makes again before the backward
    /// pass of the group.
    pub(crate) discarded_by_mhc: u64,
    /// Of what is kept, the tensors that are large enough to go to the host with the whole layer, if layers do.
    pub(crate) large: Usage,
    /// The only passes that can run, where the operations were dropped.
    only: Option<&'static [PassKind]>,
    /// The heaviest moments of passes, as far as they were asked for.
    peaks: [OnceCell<Peak>; 4],
}

/// An empty tape and its plan, to which a compiled tape refers once all that depends on its operations is known.
#[derive(Clone, Debug)]
pub(crate) struct NoOperations {
    tape: Arc<AutogradTape>,
    planned: Rc<PlannedTape>,
}

impl Default for NoOperations {
    fn default() -> Self {
        Self {
            tape: Arc::new(AutogradTape::nothing()),
            planned: Rc::default(),
        }
    }
}

/// A pass over one tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PassKind {
    /// The forward pass, from a state in which the input is alive, which counts here.
    Forward,
    /// The forward pass when autograd keeps nothing of it.
    WithoutAutograd,
    /// The backward pass, from a state in which all that is kept and the output's gradient are alive.
    Backward,
    /// The backward pass when the caller holds on to the output's gradient.
    BackwardRetained,
}

impl CompiledTape {
    /// A tape with its plan for these options, and the bytes that follow from the plan.
    pub(crate) fn new(tape: Arc<AutogradTape>, recompute_options: RecomputeOptions) -> Self {
        let planned = Rc::new(PlannedTape::new(&tape, recompute_options));
        let lasting = Rc::new(LastingTensors::of(&tape));
        Self::of_planned((tape, lasting), planned, recompute_options)
    }

    /// A tape and what outlasts its passes, with the plan for these options of a tape with the same operations.
    pub(crate) fn of_planned(
        (tape, lasting): (Arc<AutogradTape>, Rc<LastingTensors>),
        planned: Rc<PlannedTape>,
        recompute_options: RecomputeOptions,
    ) -> Self {
        let is_input = |kept: &Kept| Some(kept.tensor) == tape.input;
        Self {
            kept: planned.kept_usage(&tape, 0),
            large: if recompute_options.layers > 0 {
                planned.kept_usage(&tape, LARGE)
            } else {
                Usage::default()
            },
            keeps_input: planned.plan.keeps.iter().any(is_input),
            lasting,
            moved: planned.plan.offloaded_bytes(&tape),
            discarded_by_mhc: {
                let tensors = planned.discarded_by_mhc.iter().filter_map(|id| tape.get(*id));
                tensors.map(ActivationTensor::allocated).fold(0, u64::saturating_add)
            },
            only: None,
            peaks: Default::default(),
            tape,
            planned,
        }
    }

    /// The heaviest moment of a pass.
    pub(crate) fn peak(&self, pass: PassKind) -> Peak {
        let only = self.only;
        let run = || {
            debug_assert!(
                only.is_none(),
                "{pass:?} runs over a tape that was to have {only:?} alone"
            );
            self.peak_of(pass, &allocated(&self.tape))
        };
        self.peaks
            .get(pass as usize)
            .map_or_else(run, |peak| *peak.get_or_init(run))
    }

    /// The heaviest moment of a pass, where tensors take these bytes.
    fn peak_of(&self, pass: PassKind, allocated: &[u64]) -> Peak {
        let order = self.planned.order(&self.tape, pass);
        order.map_or_else(Peak::default, |order| order.peak(allocated))
    }

    /// The same with the peaks of all passes and without operations, which take most of the memory and which only
    /// explanations of a peak need: `nothing` takes their place. `passes` are all that ever run: tests stop where another
    /// one does.
    pub(crate) fn without_operations(mut self, passes: &'static [PassKind], nothing: &NoOperations) -> Self {
        let allocated = allocated(&self.tape);
        for pass in passes {
            if let Some(peak) = self.peaks.get(*pass as usize) {
                peak.get_or_init(|| self.peak_of(*pass, &allocated));
            }
        }
        self.tape = nothing.tape.clone();
        self.planned = nothing.planned.clone();
        self.only = Some(passes);
        self
    }

    /// What a pass allocates and frees, in its order.
    pub(crate) fn script(&self, pass: PassKind) -> PassScript {
        let kept = kept_tensors(self.planned.of_pass(pass));
        let order = self.planned.order(&self.tape, pass);
        order.map_or_else(PassScript::default, |order| order.script(&self.tape, &kept))
    }

    /// Everything alive at one moment of one pass.
    pub(crate) fn alive_at(&self, pass: PassKind, moment: usize) -> Vec<Alive> {
        let order = self.planned.order(&self.tape, pass);
        order.map_or_else(Vec::new, |order| order.alive_at(moment, &self.tape))
    }
}

/// Something alive at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alive {
    /// The tensor, or the one that it is the gradient of.
    pub(crate) tensor: ActivationTensor,
    /// Whether it is the gradient.
    pub(crate) gradient: bool,
    /// The index of the use that its bytes are counted under.
    pub(crate) usage: usize,
    /// Bytes that the allocator has set aside.
    pub(crate) bytes: u64,
}

/// The tensors that a plan keeps, each once.
pub(crate) fn kept_tensors(plan: &Plan) -> Vec<TensorId> {
    let mut ids: Vec<TensorId> = plan.keeps.iter().map(|kept| kept.tensor).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// The tensors that recompute module `mhc` discards, each once, and those that its sections save when they run again.
fn discarded_by_mhc(tape: &AutogradTape, plan: &Plan) -> Vec<TensorId> {
    let mut ids = Vec::new();
    for section in plan.again.iter().filter(|s| s.module == Some(RecomputeModule::Mhc)) {
        ids.extend_from_slice(&section.discards);
        let saved = section.ops.clone().flat_map(|op| tape.of(op, UseKind::Saved));
        ids.extend(saved);
    }
    ids.sort_unstable();
    ids.dedup();
    ids.retain(|id| plan.keeps.iter().all(|kept| kept.tensor != *id));
    ids
}
