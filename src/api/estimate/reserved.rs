//! The memory that PyTorch's allocator reserves, found by replaying what a rank allocates and frees.

use serde::Serialize;
use tsify::Tsify;

use crate::Exact;
use megatron_memory::config::job::Config;
use megatron_memory::memory::reserved::reserved;
use megatron_memory::memory::{self, JobMoment};
use megatron_memory::verdict::Standing;

/// The memory that PyTorch's allocator reserves on the rank with the largest peak, as `torch.cuda.max_memory_reserved`
/// reports it where the GPU has room for it. It is an interval: a replay of what the rank allocates and frees, widened
/// by the margins by which measured runs differ from their replays. The job's own verdict uses
/// it where the factors leave open whether the job fits; the `allowances` of stages do not.
#[derive(Clone, Debug, Serialize, Tsify)]
pub struct Reserved {
    /// The least that it reserves.
    low_bytes: Exact,
    /// The most that it reserves.
    high_bytes: Exact,
    /// The least that the device shows with that: other overheads are those of the `allowances`.
    device_low_bytes: Exact,
    /// The most that the device shows.
    device_high_bytes: Exact,
    /// The verdict by what the device shows, in the words of the job's own `verdict`; null where no GPU is chosen.
    #[tsify(type = "\"fits\" | \"tight\" | \"does_not_fit\" | \"not_this_job\" | \"cannot_run\" | null")]
    verdict: Option<&'static str>,
    /// Bytes of it that are free and of no use at `holes_moment`: no free block is large enough for what is asked for.
    holes_bytes: Exact,
    /// When the allocator takes more of the GPU's memory for the last time, in words.
    holes_moment: String,
}

impl Reserved {
    /// That of a job at the moment of its estimate; `None` where the allocator is not replayed.
    pub(super) fn new(config: &Config, estimate: &memory::Estimate, moment: JobMoment) -> Option<Self> {
        let range = reserved(config, &estimate.worst_rank, moment)?;
        let by_replay = Standing::by_factors(config, estimate).by_replay(config, estimate, &range);
        Some(Self {
            device_low_bytes: by_replay.device.0.into(),
            device_high_bytes: by_replay.device.1.into(),
            verdict: by_replay.verdict.id(),
            low_bytes: range.low.into(),
            high_bytes: range.high.into(),
            holes_bytes: range.holes.free.into(),
            holes_moment: range.holes.moment.to_string(),
        })
    }
}
