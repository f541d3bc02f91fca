//! The explanation of an out-of-memory error in words.

pub mod message;

use super::amount::{Scale, Unit, grouped};
use super::summary::stage_name;
use crate::config::job::Config;
use crate::diagnosis::{Cause, Diagnosis, LongerMicroBatch, ShorterMicroBatch};
use crate::formats::out_of_memory::{FailedPhase, OutOfMemory};
use crate::memory::COVERED;
use crate::memory::allocations::{AllocatedIn, Allocation};
use crate::units::Bytes;

/// The most longer micro batches that are named beside each other, the likeliest first.
const MOST_LONGER: usize = 2;

/// The sentences of an explanation, the cause first.
#[must_use]
pub fn sentences(error: &OutOfMemory, config: &Config, diagnosis: &Diagnosis) -> Vec<String> {
    let scale = Scale::fine(Unit::Gib);
    let place = stage_name(config, diagnosis.stage);
    let mut sentences = vec![cause(error, diagnosis, &place, scale)];
    sentences.extend(block(error, diagnosis, scale));
    sentences.extend(moment(error, diagnosis, &place, scale));
    sentences.extend(diagnosis.gathered.map(|bytes| gathered(bytes, scale)));
    sentences.extend(diagnosis.scattered.map(|bytes| scattered(bytes, scale)));
    sentences
}

/// A cause that follows from the amounts of a message alone; an empty text for others.
fn cause_of_amounts(cause: &Cause, scale: Scale) -> String {
    match cause {
        Cause::Fragmentation { requested, unallocated } => format!(
            "Fragmentation: {} would have fitted into the {} that the allocator had reserved and no tensor used, with \
             what was free beside them, had that been in one piece. PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True \
             joins such pieces.",
            scale.amount(*requested),
            scale.amount(*unallocated),
        ),
        Cause::HeldByOthers { held } => format!(
            "Other memory on the GPU: the allocation would have fitted without the {} that other processes, a rollout \
             engine or libraries outside of PyTorch hold.",
            scale.amount(*held),
        ),
        Cause::LongerMicroBatch(_) | Cause::TooLarge { .. } | Cause::MoreThanThisJob { .. } | Cause::Unknown => {
            String::new()
        }
    }
}

/// Why there was no room.
fn cause(error: &OutOfMemory, diagnosis: &Diagnosis, place: &str, scale: Scale) -> String {
    match &diagnosis.cause {
        Cause::Fragmentation { .. } | Cause::HeldByOthers { .. } => cause_of_amounts(&diagnosis.cause, scale),
        Cause::LongerMicroBatch(longer) => format!(
            "A longer micro batch than the settings allow: {}. With so many the estimate needs {} on {place}{}. {}",
            longer_block(longer),
            scale.amount(longer.peak),
            beyond(longer, scale),
            cap(longer),
        ),
        Cause::TooLarge {
            device: (low, high),
            capacity,
        } => format!(
            "The job is too large for the GPU: {place} needs {} on the device, {} {}.",
            scale.range(*low, *high),
            if error.allowed.is_some() {
                "of which this process may use"
            } else {
                "which has"
            },
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
        Cause::Unknown => "No cause follows from the amounts of the message and the estimate of this job.".to_owned(),
    }
}

/// `fp32 logits (...) of 103,762 tokens has this size, and the settings allow 9,216`.
fn longer_block(longer: &LongerMicroBatch) -> String {
    format!(
        "{} of {} tokens has this size, and the settings allow {}",
        named(&longer.tensor),
        grouped(longer.tokens),
        grouped(longer.allowed),
    )
}

/// `fp32 logits (...) of 51,738 tokens, of up to 63,488`.
fn shorter_block(shorter: &ShorterMicroBatch) -> String {
    format!(
        "{} of {} tokens, of up to {}",
        named(&shorter.tensor),
        grouped(shorter.tokens),
        grouped(shorter.allowed),
    )
}

/// What was needed beyond the estimate of a longer micro batch.
fn beyond(longer: &LongerMicroBatch, scale: Scale) -> String {
    if longer.beyond == Bytes::ZERO {
        return String::new();
    }
    let more = scale.amount(longer.beyond);
    format!("; {more} more than that were in use, as another release of the software may need")
}

/// The way out of micro batches that are too long.
fn cap(longer: &LongerMicroBatch) -> String {
    match longer.fits {
        Some(fits) => format!(
            "A sample may be longer than the budget: cap its length, or drop longer samples. Up to {} tokens fit.",
            grouped(fits),
        ),
        None => "A sample may be longer than the budget, and no length fits this job.".to_owned(),
    }
}

/// What the failed allocation was.
fn block(error: &OutOfMemory, diagnosis: &Diagnosis, scale: Scale) -> Option<String> {
    let requested = scale.amount(error.requested?.bytes);
    Some(match diagnosis.same_size.as_slice() {
        [] if !diagnosis.shorter.is_empty() => {
            let shorter: Vec<String> = diagnosis.shorter.iter().map(shorter_block).collect();
            format!(
                "The failed allocation of {requested} is that of a micro batch within the settings: {}.",
                shorter.join("; or ")
            )
        }
        [] if matches!(diagnosis.cause, Cause::LongerMicroBatch(_)) => {
            let others: Vec<String> = diagnosis
                .longer
                .iter()
                .skip(1)
                .take(MOST_LONGER)
                .map(longer_block)
                .collect();
            let others = (!others.is_empty()).then(|| others.join("; "))?;
            format!("By its size alone it may also be: {others}.")
        }
        [] if !diagnosis.longer.is_empty() => {
            let longer: Vec<String> = diagnosis.longer.iter().take(MOST_LONGER).map(longer_block).collect();
            format!(
                "The failed allocation of {requested} is that of a longer micro batch: {}.",
                longer.join("; or ")
            )
        }
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

/// What saving a checkpoint may gather on the GPU.
fn gathered(bytes: Bytes, scale: Scale) -> String {
    format!(
        "With --dist-ckpt-optim-fully-reshardable the first data-parallel rank gathers up to {} at a time on the GPU beside that; \
         --overlap-grad-reduce cuts the buffers that are gathered into buckets, and \
         --distrib-optim-fully-reshardable-mem-efficient gathers on the host.",
        scale.amount(bytes)
    )
}

/// What loading weights of Hugging Face has on the GPU.
fn scattered(bytes: Bytes, scale: Scale) -> String {
    let of_hugging_face = if bytes == Bytes::ZERO {
        "are copied from the host one tensor at a time".to_owned()
    } else {
        format!(
            "are split one tensor at a time: Megatron-Bridge has up to {} of pieces on the first tensor-parallel rank, beside \
             the parameters",
            scale.amount(bytes)
        )
    };
    format!(
        "Weights of Hugging Face {of_hugging_face}. A torch_dist checkpoint is read into the tensors that are there; with \
         --ckpt-fully-parallel-load ranks send one another theirs, of which one that a rank does not need may stand beside \
         them at a time."
    )
}

/// A phase at the beginning of a sentence: `In the backward pass`.
fn during(phase: FailedPhase) -> String {
    let preposition = match phase {
        FailedPhase::Setup | FailedPhase::LoadingCheckpoint | FailedPhase::SavingCheckpoint => "While",
        FailedPhase::WithoutGradients => "During",
        FailedPhase::Forward
        | FailedPhase::Loss
        | FailedPhase::Backward
        | FailedPhase::OptimizerStep
        | FailedPhase::GraphCapture => "In the",
    };
    format!("{preposition} {}", phase.label())
}

/// What was allocated at the moment, beside the estimate.
fn moment(error: &OutOfMemory, diagnosis: &Diagnosis, place: &str, scale: Scale) -> Option<String> {
    let by_rank = match (error.rank, diagnosis.is_of_rank, error.phase) {
        (Some(rank), true, None) => format!("Rank {rank} is on {place}"),
        (Some(rank), true, Some(phase)) => format!("{}, rank {rank} is on {place}", during(phase)),
        (_, _, None) => format!("Most likely on {place}"),
        (_, _, Some(phase)) => format!("{}, most likely on {place}", during(phase)),
    };
    let (allocated, needed) = diagnosis.allocated?;
    let compared = match diagnosis.expected {
        Some(expected) => format!("the estimate has up to {} there", scale.amount(expected)),
        None => format!("the estimate does not cover this moment. {COVERED}"),
    };
    let amounts = |bytes: Bytes| scale.amount(bytes);
    Some(format!(
        "{by_rank}: {} were allocated, {} with the failed allocation; {compared}.",
        amounts(allocated),
        amounts(needed),
    ))
}
