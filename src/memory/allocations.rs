//! The allocations that a pipeline stage asks PyTorch's allocator for: one entry a tensor of the passes and of the
//! states. A failed allocation is one of them, or one of a longer micro batch.

use super::blocks::{BlockKind, blocks};
use super::bucket::{Bucket, State};
use super::caching_allocator::requested;
use super::parameters::{PartTable, one_tensor};
use super::peak::Stages;
use super::{Estimate, StageRef};
use crate::config::job::Config;
use crate::model::tape::{AutogradTape, Family, Gradient, UseKind};
use crate::source::Source;
use crate::units::{Bytes, multiply};

/// When a stage asks for a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AllocatedIn {
    /// While the model, its gradients and the optimizer are built.
    Setup,
    /// In a forward pass, or when a backward pass runs it again.
    Forward,
    /// In a backward pass.
    Backward,
    /// In the first optimizer step, which makes the moments, and in copies of later ones.
    OptimizerStep,
}

/// One tensor that a stage asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The name of the tensor, in a few words.
    pub what: &'static str,
    /// Whether it is the gradient of that.
    pub gradient: bool,
    /// When it is allocated.
    pub allocated_in: AllocatedIn,
    /// The part of the model whose pass asks for it; `None` for states.
    pub block: Option<BlockKind>,
    /// Whether it belongs to the logits or the loss.
    pub is_of_loss: bool,
    /// The operation that asks for it; empty for states.
    pub op: &'static str,
    /// Its bytes.
    pub bytes: Bytes,
    /// Bytes of one element.
    pub width: u64,
    /// The formula of its elements with values; empty for states.
    pub formula: String,
    /// Tokens of the micro batch that its size is proportional to; `None` where it does not depend on them.
    pub tokens: Option<u64>,
    /// A citation of the code that makes the tensor.
    pub source: Source,
}

impl Allocation {
    /// What PyTorch asks the driver for when no cached block has room for the tensor, and prints when that fails: from
    /// 10 MiB on whole pieces of 2 MiB, 20 MiB for less, and 2 MiB for less than 1 MiB (`get_allocation_size` in
    /// `c10/cuda/CUDACachingAllocator.cpp`).
    #[must_use]
    pub fn requested(&self) -> Bytes {
        requested(self.bytes)
    }
}

/// The tensors that a stage asks for, each size of each kind once; empty where there is no such stage.
#[must_use]
pub fn allocations(config: &Config, estimate: &Estimate, stage: StageRef) -> Vec<Allocation> {
    let modules = config
        .modules()
        .get(stage.module)
        .zip(estimate.modules.get(stage.module));
    let pp_rank = u32::try_from(stage.pp_rank).ok();
    let (Some((m, module)), Some(pp_rank), Some(held)) = (modules, pp_rank, estimate.stage(stage)) else {
        return Vec::new();
    };
    let architecture = &*module.architecture;
    let local = PartTable::local(architecture);
    let stages = Stages::new(m, architecture, &local);
    let mut found = Vec::new();
    let mut seen: Vec<BlockKind> = Vec::new();
    for chunk in m.stages.rank(pp_rank) {
        for block in blocks(m, &stages.tapes, chunk) {
            if !seen.contains(&block.kind) {
                seen.push(block.kind);
                of_tape(block.kind, &block.compiled.tape, &mut found);
            }
        }
    }
    for bucket in Bucket::ALL {
        let bytes = held.bytes(bucket);
        let buffer = match bucket.state() {
            // Parameters and gradients lie in one buffer each (`_ParamAndGradBuffer`).
            Some((State::Weights, _)) => "parameters of a buffer",
            Some((State::MainGrads, _)) => "gradients of a buffer",
            _ => continue,
        };
        if bytes > Bytes::ZERO {
            found.push(of_state(buffer, AllocatedIn::Setup, bytes, 0, Source::GradBuffer));
        }
    }
    let is_held = |place: usize| {
        let counts = held.chunks.iter().filter_map(|chunk| chunk.parts.get(place));
        counts.copied().sum::<u64>() > 0
    };
    let parts = architecture.parts().iter().enumerate();
    for (_, part) in parts.filter(|(place, _)| is_held(*place)) {
        for parameter in &part.parameters {
            // Grouped experts have a tensor each.
            let (elements, _) = one_tensor(m, parameter);
            for (what, allocated_in, width) in [
                (
                    "a parameter in the dtype of training",
                    AllocatedIn::Setup,
                    if parameter.keep_in_fp32 { 4 } else { m.precision.bytes() },
                ),
                ("main copy of a parameter", AllocatedIn::Setup, 4),
                ("moment of a parameter", AllocatedIn::OptimizerStep, 4),
            ] {
                let bytes = Bytes(multiply(elements, width));
                found.push(of_state(what, allocated_in, bytes, width, Source::Optimizer));
            }
        }
    }
    found.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.what.cmp(b.what)));
    found.dedup_by(|a, b| {
        (a.what, a.gradient, a.bytes, a.allocated_in, a.block) == (b.what, b.gradient, b.bytes, b.allocated_in, b.block)
    });
    found
}

fn of_state(what: &'static str, allocated_in: AllocatedIn, bytes: Bytes, width: u64, source: Source) -> Allocation {
    Allocation {
        what,
        gradient: false,
        allocated_in,
        block: None,
        is_of_loss: false,
        op: "",
        bytes,
        width,
        formula: String::new(),
        tokens: None,
        source,
    }
}

/// The tensors of a part's passes.
fn of_tape(block: BlockKind, tape: &AutogradTape, found: &mut Vec<Allocation>) {
    for (index, op) in tape.ops.iter().enumerate() {
        for link in tape.links(index) {
            let (allocated_in, gradient) = match link.role {
                UseKind::Output | UseKind::Saved | UseKind::Forward => (AllocatedIn::Forward, false),
                UseKind::Input(Gradient::New) => (AllocatedIn::Backward, true),
                UseKind::Backward | UseKind::WeightGradient => (AllocatedIn::Backward, false),
                UseKind::Input(Gradient::Shared | Gradient::Over(_) | Gradient::None)
                | UseKind::Delayed
                | UseKind::DelayedGradient => continue,
            };
            let Some(tensor) = tape.tensors.get(link.tensor.0 as usize) else {
                continue;
            };
            let factors = || tensor.shape.factors();
            let value = |symbol: &str| {
                factors()
                    .find(|factor| factor.symbol == symbol)
                    .map(|factor| factor.value)
            };
            // The mask of a sample is quadratic in the sequence.
            let times = factors().filter(|factor| matches!(factor.symbol, "s" | "T")).count();
            let tokens = match (value("T"), value("s"), value("b")) {
                (Some(tokens), ..) => Some(tokens),
                (None, Some(sequence), batch) => Some(multiply(sequence, batch.unwrap_or(1))),
                (None, None, _) => None,
            };
            found.push(Allocation {
                what: tensor.what,
                gradient,
                allocated_in,
                block: Some(block),
                is_of_loss: block == BlockKind::Head && tensor.family == Family::Output,
                op: op.name,
                bytes: Bytes(tensor.bytes()),
                width: tensor.width,
                formula: tensor.shape.substituted(),
                tokens: tokens.filter(|_| times == 1),
                source: tensor.source,
            });
        }
    }
}
