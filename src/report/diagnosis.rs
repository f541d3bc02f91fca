//! The explanation of an out-of-memory error in words.

use super::amount::{Scale, Unit, grouped};
use super::summary::stage_name;
use crate::config::job::Config;
use crate::diagnosis::{Cause, Diagnosis, LongerMicroBatch};
use crate::formats::out_of_memory::{FailedPhase, OutOfMemory};
use crate::memory::allocations::{AllocatedIn, Allocation};
use crate::units::Bytes;

/// The moments of a job that estimates cover, in one sentence.
pub const COVERED: &str = "Estimates cover building the model, forward and backward passes, the optimizer step, the \
     capture of CUDA graphs and saving a checkpoint; not loading or converting checkpoints, evaluation or generation.";

/// The sentences of an explanation, the cause first.
#[must_use]
pub fn sentences(error: &OutOfMemory, config: &Config, diagnosis: &Diagnosis) -> Vec<String> {
    let scale = Scale::fine(Unit::Gib);
    let place = stage_name(config, diagnosis.stage);
    let mut sentences = vec![cause(diagnosis, &place, scale)];
    sentences.extend(block(error, diagnosis, scale));
    sentences.extend(moment(error, diagnosis, &place, scale));
    sentences
}

/// Why there was no room.
fn cause(diagnosis: &Diagnosis, place: &str, scale: Scale) -> String {
    match &diagnosis.cause {
        Cause::Fragmentation { requested, unallocated } => format!(
            "Fragmentation: {} would have fitted into the {} that the allocator had reserved and no tensor used, had that \
             been in one piece. PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True joins such pieces.",
            scale.amount(*requested),
            scale.amount(*unallocated),
        ),
        Cause::HeldByOthers { held } => format!(
            "Other memory on the GPU: the allocation would have fitted without the {} that other processes, a rollout \
             engine or libraries outside of PyTorch hold.",
            scale.amount(*held),
        ),
        Cause::LongerMicroBatch(LongerMicroBatch {
            tensor,
            tokens,
            allowed,
            peak,
        }) => format!(
            "A longer micro batch than the settings allow: {} of {} tokens has this size, and the settings allow {}. With \
             so many the estimate needs {} on {place}. A sample may be longer than the budget; cap its length.",
            named(tensor),
            grouped(*tokens),
            grouped(*allowed),
            scale.amount(*peak),
        ),
        Cause::TooLarge {
            device: (low, high),
            capacity,
        } => format!(
            "The job is too large for the GPU: {place} needs {} on the device, which has {}.",
            scale.range(*low, *high),
            scale.amount(*capacity),
        ),
        Cause::MoreThanThisJob { peak } => format!(
            "None of the known causes agrees with the amounts: {} were allocated or asked for, and the job as imported \
             needs {} at its peak on {place}. A setting, the batch, the software or another program differs.",
            diagnosis
                .allocated
                .map_or_else(String::new, |(_, needed)| scale.amount(needed)),
            scale.amount(*peak),
        ),
        Cause::Unknown => "The message has too few amounts to tell the cause.".to_owned(),
    }
}

/// What the failed allocation was.
fn block(error: &OutOfMemory, diagnosis: &Diagnosis, scale: Scale) -> Option<String> {
    let requested = scale.amount(error.requested?.bytes);
    Some(match diagnosis.same_size.as_slice() {
        [] if matches!(diagnosis.cause, Cause::LongerMicroBatch(_)) => return None,
        [] => format!("No tensor of this job is told apart by the size of the failed allocation, {requested}."),
        tensors => {
            let names: Vec<String> = tensors.iter().map(named).collect();
            format!(
                "The failed allocation of {requested} has the size of: {}.",
                names.join("; ")
            )
        }
    })
}

/// A tensor with what asks for it: `fp32 copy of the logits (4096 · 1 · 152064 / 2 elements of 4 B, loss)`.
#[must_use]
pub fn named(tensor: &Allocation) -> String {
    let gradient = if tensor.gradient { "gradient of " } else { "" };
    let when = match (tensor.allocated_in, tensor.is_of_loss) {
        (AllocatedIn::Forward | AllocatedIn::Backward, true) => "logits and loss",
        (AllocatedIn::Forward, false) => "forward pass",
        (AllocatedIn::Backward, false) => "backward pass",
        (AllocatedIn::Setup, _) => "building the model",
        (AllocatedIn::OptimizerStep, _) => "first optimizer step",
    };
    let block = tensor.block.map(|block| format!(", {block}")).unwrap_or_default();
    let op = if tensor.op.is_empty() {
        String::new()
    } else {
        format!(", {}", tensor.op)
    };
    let formula = if tensor.formula.is_empty() {
        String::new()
    } else {
        format!("{} elements of {} B, ", tensor.formula, tensor.width)
    };
    format!("{gradient}{} ({formula}{when}{block}{op})", tensor.what)
}

/// What was allocated at the moment, beside the estimate.
fn moment(error: &OutOfMemory, diagnosis: &Diagnosis, place: &str, scale: Scale) -> Option<String> {
    let phase = error.phase.map(FailedPhase::label);
    let by_rank = match (error.rank, diagnosis.is_of_rank) {
        (Some(rank), true) => format!("rank {rank} is on {place}"),
        _ => format!("most likely on {place}"),
    };
    let during = phase.map(|phase| format!("In the {phase}, ")).unwrap_or_default();
    let (allocated, needed) = diagnosis.allocated?;
    let compared = match diagnosis.expected {
        Some(expected) => format!("the estimate has up to {} there", scale.amount(expected)),
        None => format!("which the estimate does not cover. {COVERED}"),
    };
    let amounts = |bytes: Bytes| scale.amount(bytes);
    Some(format!(
        "{during}{by_rank}: {} were allocated, {} with the failed allocation; {compared}.",
        amounts(allocated),
        amounts(needed),
    ))
}
