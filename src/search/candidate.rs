//! A combination that Megatron runs, and its memory.

use serde::{Deserialize, Serialize};

use crate::config::job::Config;
use crate::memory::overhead::memory_range;
use crate::memory::savings::{choice_of, recomputed};
use crate::memory::{StageRef, estimate};
use crate::units::Bytes;

/// A legal combination with its derived sizes and its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The combination's index in the space.
    pub index: u64,
    /// The peak of allocated memory on the rank that needs most.
    pub peak: Bytes,
    /// The least memory that the device shows at that peak: with the allocator's fragmentation, the CUDA context and CUDA
    /// graphs.
    pub least: Bytes,
    /// The most memory that the device shows at that peak.
    pub most: Bytes,
    /// The memory of a GPU; `None` where no GPU is chosen.
    pub gpu: Option<Bytes>,
    /// The stage with the largest peak.
    pub worst: StageRef,
    /// GPUs of one model replica: TP · PP · CP.
    pub copy: u64,
    /// Virtual-pipeline size: chunks on each pipeline rank.
    pub vpp: u64,
    /// Data-parallel size.
    pub dp: u64,
    /// Data-parallel size of routed experts.
    pub edp: u64,
    /// Micro batches of one iteration on each data-parallel rank.
    pub num_microbatches: u64,
    /// The pipeline bubble: idle time of a stage in millionths of its working time, (PP - 1) / (VPP · micro batches), rounded
    /// down. See [`PIPELINE_BUBBLE`](crate::source::PIPELINE_BUBBLE).
    pub bubble_ppm: u64,
    /// Operations of matrix products that the worst stage recomputes, in millionths of those of its forward pass.
    pub recomputed_ppm: u64,
    /// The recomputed floating-point operations of one GPU in one iteration.
    pub recomputed_flops: u64,
}

impl Candidate {
    /// Estimates a checked job of one model.
    pub(super) fn new(index: u64, config: &Config) -> Option<Self> {
        let estimate = estimate(config);
        let (worst, peak) = (estimate.worst, estimate.worst_rank.total);
        let m = config.modules().get(worst.module)?;
        let work = recomputed(m, worst.pp_rank, choice_of(m));
        let derived = m.derived();
        let passes = derived
            .num_microbatches
            .saturating_mul(derived.virtual_pipeline_model_parallel_size);
        let bubble = u128::from(m.pp.saturating_sub(1)) * 1_000_000 / u128::from(passes.max(1));
        let device = memory_range(m, peak, estimate.worst_rank.graphs);
        Some(Self {
            index,
            peak,
            least: device.low,
            most: device.high,
            gpu: config.gpu_memory(),
            worst,
            copy: m.tp * m.pp * m.cp,
            vpp: derived.virtual_pipeline_model_parallel_size,
            dp: m.dp,
            edp: m.edp,
            num_microbatches: m.num_microbatches,
            bubble_ppm: u64::try_from(bubble).unwrap_or(u64::MAX),
            recomputed_ppm: work.ppm,
            recomputed_flops: work.flops,
        })
    }

    /// Whether the device shows more than a GPU has, even at the least. Always false where no GPU is chosen.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        self.gpu.is_some_and(|gpu| self.least > gpu)
    }

    /// The GPU's memory minus the peak in bytes, negative where the GPU has less; `None` where no GPU is chosen.
    #[must_use]
    pub fn headroom(&self) -> Option<i64> {
        let signed = |bytes: Bytes| i64::try_from(bytes.0).unwrap_or(i64::MAX);
        self.gpu
            .map(|gpu| signed(gpu).saturating_sub(signed(self.peak)))
    }

    /// Whether it is listed before another candidate. Candidates that fit come first; then the order is by fewest GPUs of a
    /// replica, smallest pipeline bubble, least recomputation, smallest peak, and index.
    #[must_use]
    pub fn is_before(&self, other: &Self) -> bool {
        self.rank() < other.rank()
    }

    fn rank(&self) -> (bool, u64, u64, u64, u64, u64) {
        (
            self.is_too_large(),
            self.copy,
            self.bubble_ppm,
            self.recomputed_ppm,
            self.peak.0,
            self.index,
        )
    }
}
