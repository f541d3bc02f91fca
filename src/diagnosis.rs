//! Explains an out-of-memory error of a job: which of its tensors has the failed allocation's size, what the estimate
//! has at that moment beside what was allocated, and why there was no room.
//!
//! The same error and job always give the same answer, and every answer agrees with the printed amounts; where none
//! does, the answer says so.

mod block;
mod cause;
mod expected;

pub use block::{LongerMicroBatch, ShorterMicroBatch, longer_micro_batches, of_the_same_size, shorter_micro_batches};
pub use cause::Cause;
pub use expected::{ESTIMATE_ERROR_PPM, expected};

use crate::config::job::Config;
use crate::formats::out_of_memory::{FailedPhase, OutOfMemory};
use crate::memory::allocations::{Allocation, allocations};
use crate::memory::{Estimate, StageRef, gathered_to_save, rank_memory, scattered_to_load};
use crate::units::Bytes;

/// An explained out-of-memory error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// The stage that ran out of memory.
    pub stage: StageRef,
    /// Whether the message's rank says so; otherwise it is the stage on which the failed allocation is likeliest.
    pub is_of_rank: bool,
    /// The tensors of the stage that have the failed allocation's size, those of the moment first.
    pub same_size: Vec<Allocation>,
    /// Where there are none, the micro batches that are not full and whose logits or loss have it.
    pub shorter: Vec<ShorterMicroBatch>,
    /// Where there are none of these either, the longer micro batches whose tensors have it, the likeliest first.
    pub longer: Vec<LongerMicroBatch>,
    /// What the estimate has allocated at the moment of the failure; `None` where it does not cover the moment.
    pub expected: Option<Bytes>,
    /// What was allocated, and what it would have been with the failed allocation.
    pub allocated: Option<(Bytes, Bytes)>,
    /// Where a checkpoint was saved: what the first data-parallel rank of the stage may gather on the GPU at a time.
    pub gathered: Option<Bytes>,
    /// Where a checkpoint was loaded: what the first tensor-parallel rank of the stage has on the GPU at a time of weights of
    /// Hugging Face.
    pub scattered: Option<Bytes>,
    /// Why there was no room.
    pub cause: Cause,
}

/// Explains an error of a job with its estimate.
#[must_use]
pub fn diagnose(error: &OutOfMemory, config: &Config, estimate: &Estimate) -> Diagnosis {
    let of_rank = error.rank.and_then(|rank| rank_memory(config, estimate, rank));
    let of_rank = of_rank.and_then(|rank| rank.stages.first().copied());
    let stage = of_rank.unwrap_or_else(|| likeliest_stage(error, config, estimate));
    let tensors = allocations(config, estimate, stage);
    let same_size = of_the_same_size(error, &tensors);
    let shorter = if same_size.is_empty() {
        shorter_micro_batches(error, config, &tensors)
    } else {
        Vec::new()
    };
    let longer = if same_size.is_empty() && shorter.is_empty() {
        longer_micro_batches(error, config, stage, &tensors)
    } else {
        Vec::new()
    };
    let expected = expected(config, estimate, stage, error.phase);
    Diagnosis {
        stage,
        is_of_rank: of_rank.is_some(),
        expected,
        allocated: error
            .allocated
            .zip(error.requested)
            .map(|(allocated, requested)| (allocated.bytes, allocated.bytes + requested.bytes)),
        gathered: (error.phase == Some(FailedPhase::SavingCheckpoint))
            .then(|| gathered_to_save(config, estimate, stage))
            .flatten(),
        scattered: (error.phase == Some(FailedPhase::LoadingCheckpoint))
            .then(|| scattered_to_load(config, estimate, stage))
            .flatten(),
        cause: Cause::of(error, config, estimate, stage, &longer, expected),
        longer,
        shorter,
        same_size,
    }
}

/// The stage with the loss where that failed, and otherwise the one with the largest peak.
fn likeliest_stage(error: &OutOfMemory, config: &Config, estimate: &Estimate) -> StageRef {
    let last = || {
        let modules = config.modules().iter().enumerate();
        let (module, m) = modules.rev().find(|(_, m)| m.io.is_language())?;
        let pp_rank = usize::try_from(m.stages.pp().checked_sub(1)?).ok()?;
        Some(StageRef { module, pp_rank })
    };
    let of_loss = (error.phase == Some(FailedPhase::Loss)).then(last).flatten();
    of_loss.unwrap_or(estimate.worst)
}
