//! Why there was no room for an allocation.

use super::block::LongerMicroBatch;
use super::expected::with_estimate_error;
use crate::config::job::Config;
use crate::formats::out_of_memory::{OutOfMemory, PrintedAmount};
use crate::memory::overhead::memory_range;
use crate::memory::{Estimate, StageRef};
use crate::units::{Bytes, GIB};

/// Why there was no room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The allocation would have fitted into memory that the allocator has reserved and no tensor uses, together with
    /// what is free, had that been in one piece.
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
    LongerMicroBatch(Box<LongerMicroBatch>),
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
    /// The message has too few amounts to tell, or the job fits by them and the estimate.
    Unknown,
}

impl Cause {
    /// The cause that the amounts of a message alone show.
    #[must_use]
    pub fn of_message(error: &OutOfMemory) -> Self {
        let held = || {
            Some(Self::HeldByOthers {
                held: held_by_others(error, None)?,
            })
        };
        fragmentation(error).or_else(held).unwrap_or(Self::Unknown)
    }

    /// The cause that the amounts agree with. `longer` are the micro batches that would explain the failed allocation.
    pub(super) fn of(
        error: &OutOfMemory,
        config: &Config,
        estimate: &Estimate,
        stage: StageRef,
        longer: &[LongerMicroBatch],
        expected: Option<Bytes>,
    ) -> Self {
        let module = config.modules().get(stage.module);
        let (Some(m), Some(of_stage)) = (module, estimate.stage(stage)) else {
            return Self::Unknown;
        };
        let capacity = error.allowed.or(error.capacity).map(|capacity| capacity.bytes);
        let capacity = capacity.or(config.gpu_memory());
        let range = memory_range(m, capacity, of_stage.total, of_stage.graphs);
        let device = (range.low, range.high);
        if let Some(fragmentation) = fragmentation(error) {
            return fragmentation;
        }
        if let Some(held) = held_by_others(error, Some(range.high.saturating_sub(of_stage.total))) {
            return Self::HeldByOthers { held };
        }
        if let Some(capacity) = capacity.filter(|capacity| device.0 > *capacity) {
            return Self::TooLarge { device, capacity };
        }
        if let Some(longer) = longer.first() {
            return Self::LongerMicroBatch(Box::new(longer.clone()));
        }
        let needed = error.allocated.zip(error.requested);
        let needed = needed.map(|(allocated, requested)| allocated.plus(requested).least());
        let peak = of_stage.total;
        match capacity {
            _ if needed.is_some_and(|needed| needed > with_estimate_error(expected.unwrap_or(peak))) => {
                Self::MoreThanThisJob { peak }
            }
            Some(capacity) if device.1 > capacity => Self::TooLarge { device, capacity },
            _ => Self::Unknown,
        }
    }
}

/// Fragmentation, where what is reserved and not used would have had room, alone or with what the process may still get:
/// expandable segments join the two.
fn fragmentation(error: &OutOfMemory) -> Option<Cause> {
    let (requested, unallocated) = (error.requested?, error.unallocated?);
    let free = error.free.map_or(Bytes::ZERO, PrintedAmount::least);
    // A process that limits itself gets no more than that, whatever is free.
    let within_limit = error.allowed.zip(error.allocated).map(|(allowed, allocated)| {
        let reserved = allocated.plus(unallocated);
        allowed.least().saturating_sub(reserved.most())
    });
    let free = within_limit.map_or(free, |limit| free.min(limit));
    let has_room = requested.most() <= unallocated.least() + free;
    let is_used = unallocated.least() > Bytes::ZERO;
    (has_room && is_used).then_some(Cause::Fragmentation {
        requested: requested.bytes,
        unallocated: unallocated.bytes,
    })
}

/// What others hold, where the allocation would have fitted without it: listed processes, or what is neither free nor
/// reserved, beyond what a device shows beside the peak of a job.
fn held_by_others(error: &OutOfMemory, beside_peak: Option<Bytes>) -> Option<Bytes> {
    let (requested, free) = (error.requested?, error.free?);
    let missing = requested.least().saturating_sub(free.most());
    if missing == Bytes::ZERO {
        return None;
    }
    let held = if let Some(listed) = error.in_other_processes() {
        listed
    } else {
        let outside = error.capacity?.bytes.saturating_sub(free.bytes + error.reserved()?);
        outside.saturating_sub(beside_peak?)
    };
    (held >= missing && held >= NOTEWORTHY).then_some(held)
}

/// Less than this is what any process holds on a GPU: its CUDA context, and what libraries take.
const NOTEWORTHY: Bytes = Bytes(GIB);
