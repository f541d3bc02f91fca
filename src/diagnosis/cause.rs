//! Why there was no room for an allocation.

use super::block::{LongerMicroBatch, longer_micro_batches};
use crate::config::job::Config;
use crate::formats::out_of_memory::OutOfMemory;
use crate::memory::allocations::Allocation;
use crate::memory::overhead::memory_range;
use crate::memory::{Estimate, StageRef};
use crate::units::{Bytes, GIB};

/// Why there was no room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The allocation would have fitted into memory that the allocator has reserved and no tensor uses, had that been in
    /// one piece.
    Fragmentation {
        /// The allocation.
        requested: Bytes,
        /// What is reserved and not used.
        unallocated: Bytes,
    },
    /// It would have fitted without what others hold on the GPU: another process, such as one with a rollout engine, or
    /// memory of this process outside of PyTorch.
    HeldByOthers {
        /// What they hold, beyond what a CUDA context and NCCL take.
        held: Bytes,
    },
    /// The micro batch was longer than the job's settings allow.
    LongerMicroBatch(LongerMicroBatch),
    /// The job does not fit the GPU.
    TooLarge {
        /// What the device shows at the stage's peak, with the smallest and the largest overheads.
        device: (Bytes, Bytes),
        /// The GPU's memory.
        capacity: Bytes,
    },
    /// None of these agrees with the amounts: what was allocated is more than this job needs.
    MoreThanThisJob {
        /// What the job needs in all.
        peak: Bytes,
    },
    /// The message has too few amounts to tell.
    Unknown,
}

impl Cause {
    /// The cause that the amounts agree with.
    pub(super) fn of(
        error: &OutOfMemory,
        config: &Config,
        estimate: &Estimate,
        stage: StageRef,
        tensors: &[Allocation],
        same_size: &[Allocation],
        expected: Option<Bytes>,
    ) -> Self {
        let module = config.modules().get(stage.module);
        let (Some(m), Some(of_stage)) = (module, estimate.stage(stage)) else {
            return Self::Unknown;
        };
        let range = memory_range(m, of_stage.total, of_stage.graphs);
        let device = (range.low, range.high);
        let beside_peak = range.high.saturating_sub(of_stage.total);
        if let (Some(requested), Some(unallocated)) = (error.requested, error.unallocated)
            && requested.most() <= unallocated.least()
        {
            return Self::Fragmentation {
                requested: requested.bytes,
                unallocated: unallocated.bytes,
            };
        }
        if let Some(held) = held_by_others(error, beside_peak) {
            return Self::HeldByOthers { held };
        }
        let capacity = error
            .allowed
            .or(error.capacity)
            .map(|capacity| capacity.bytes)
            .or(config.gpu_memory());
        if let Some(capacity) = capacity.filter(|capacity| device.0 > *capacity) {
            return Self::TooLarge { device, capacity };
        }
        if same_size.is_empty()
            && let Some(longer) = longer_micro_batches(error, config, stage, tensors).into_iter().next()
        {
            return Self::LongerMicroBatch(longer);
        }
        let needed = error.allocated.zip(error.requested);
        let needed = needed.map(|(allocated, requested)| allocated.plus(requested).least());
        match (needed, capacity) {
            // A tenth is what estimates differ from measurements by.
            (Some(needed), _) if needed > expected.unwrap_or(of_stage.total) + Bytes(of_stage.total.0 / 10) => {
                Self::MoreThanThisJob { peak: of_stage.total }
            }
            (_, Some(capacity)) if device.1 > capacity => Self::TooLarge { device, capacity },
            (Some(_), Some(capacity)) => Self::TooLarge { device, capacity },
            _ => Self::Unknown,
        }
    }
}

/// What others hold, where the allocation would have fitted without it: listed processes, or what is neither free nor
/// reserved, beyond what a device shows beside the peak.
fn held_by_others(error: &OutOfMemory, beside_peak: Bytes) -> Option<Bytes> {
    let (requested, free) = (error.requested?, error.free?);
    let missing = requested.least().saturating_sub(free.most());
    let held = if let Some(listed) = error.in_other_processes() {
        listed
    } else {
        let outside = error.capacity?.bytes.saturating_sub(free.bytes + error.reserved()?);
        outside.saturating_sub(beside_peak)
    };
    (held >= missing && held >= Bytes(GIB)).then_some(held)
}
