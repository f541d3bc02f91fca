//! One combination that Megatron runs, and what it needs.

use serde::{Deserialize, Serialize};

use crate::config::job::Config;
use crate::memory::overhead::memory_range;
use crate::memory::savings::{choice_of, recomputed};
use crate::memory::{StageRef, estimate};
use crate::units::Bytes;

/// A legal combination, its sizes and what it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Its number in the space.
    pub index: u64,
    /// What the GPUs of the stage that needs most need.
    pub peak: Bytes,
    /// The least that the device shows for it: with the allocator's gaps, the CUDA context and CUDA graphs.
    pub least: Bytes,
    /// What a GPU has, when known.
    pub gpu: Option<Bytes>,
    /// The stage that needs most.
    pub worst: StageRef,
    /// GPUs that share one copy of the model: TP · PP · CP.
    pub copy: u64,
    /// Chunks of layers on each pipeline rank.
    pub vpp: u64,
    /// Data-parallel size.
    pub dp: u64,
    /// Data-parallel size of routed experts.
    pub edp: u64,
    /// Micro batches of one optimizer step on each rank.
    pub num_microbatches: u64,
    /// Time in which a pipeline stage waits, in millionths of the time in which it works: (PP - 1) / (VPP · micro batches),
    /// see [`PIPELINE_BUBBLE`](crate::source::PIPELINE_BUBBLE). Rounded down.
    pub bubble_ppm: u64,
    /// Matrix products that run a second time on that stage, in millionths of those of its forward pass.
    pub recomputed_ppm: u64,
    /// The same as floating-point operations of one GPU in one iteration.
    pub recomputed_flops: u64,
}

impl Candidate {
    /// What a checked job of one model comes to.
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
        Some(Self {
            index,
            peak,
            least: memory_range(m, peak, estimate.worst_rank.graphs).low,
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

    /// Whether the device needs more than a GPU has. Nothing does where that is not known.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        self.gpu.is_some_and(|gpu| self.least > gpu)
    }

    /// What PyTorch leaves of a GPU, in bytes; negative where it has too little. `None` where no GPU was chosen.
    #[must_use]
    pub fn headroom(&self) -> Option<i64> {
        let signed = |bytes: Bytes| i64::try_from(bytes.0).unwrap_or(i64::MAX);
        self.gpu
            .map(|gpu| signed(gpu).saturating_sub(signed(self.peak)))
    }

    /// Whether it comes before another: what fits comes first, then what shares a copy of the model among fewest GPUs,
    /// waits least, recomputes least and needs least; then in the order of the space.
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
