//! The cost of a layout in a step beside the matrix products of its model, which are the same with every layout.
//!
//! All shares are of the time of these matrix products, forward and backward, on an average GPU: what is recomputed,
//! what pipeline ranks wait, what GPUs exchange, and what they read and write of weights and main gradients for every
//! micro batch. The last makes small micro batches cost: a GPU reads its weights in both passes of each, and reads and
//! writes the main gradients in the backward pass. What hides behind computation is not known and counts too, so the
//! sum is a key to compare layouts of one job by, and no prediction of time. Of measured pairs of layouts that differ
//! by more than 5 %, it has 86 % in the right order (`tests/it/search/measured_pairs.rs`).

use super::bubble::{Bubbles, PipelineWork};
use super::traffic::{Traffic, traffic_of};
use crate::config::job::{Config, Module};
use crate::memory::bucket::{Bucket, ByBucket};
use crate::memory::savings::{OPERATIONS_PER_MEMORY_BYTE, choice_of, operations_of_step};
use crate::memory::{Estimate, StageRef};

/// How many times longer collectives take in jobs than their bytes do at the nominal rates of the links: 1.9 to 2.6 for
/// tensor parallelism on the A100s of arXiv 2311.05610, and 2.0 to 2.6 for their gradients.
const TIMES_NOMINAL: u64 = 2;

/// The cost of a layout in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepCost {
    /// The pipeline bubble: the time that pipeline ranks wait, in millionths of their working time.
    pub bubble_ppm: u64,
    /// Recomputation of all stages, in millionths of the matrix products of their forward passes.
    pub recomputed_ppm: u64,
    /// The recomputed floating-point operations of a GPU of the slowest stage in one iteration.
    pub recomputed_flops: u64,
    /// Bytes that a GPU of the slowest stage sends.
    pub traffic: Traffic,
    /// The same as operations that the GPU could do meanwhile, in millionths of those of the matrix products. See
    /// [`Traffic::operations`].
    pub exchange_ppm: u64,
    /// The weights and main gradients that a GPU of the slowest stage reads and writes for all micro batches, as
    /// operations that it could do meanwhile, in millionths of those of the matrix products.
    pub weights_ppm: u64,
}

impl StepCost {
    /// The cost of an estimated job, for its language model, or its first module where it has none.
    #[must_use]
    pub fn of(config: &Config, estimate: &Estimate) -> Option<Self> {
        let mut modules = config.modules().iter();
        let module = modules.position(|m| m.io().is_language()).unwrap_or(0);
        let m = config.modules().get(module)?;
        let work = Bubbles::default().work(m, choice_of(m));
        let pp_rank = usize::try_from(work.slowest).ok()?;
        let stage = estimate.stage(StageRef { module, pp_rank })?;
        Some(Self::new(m, &stage.memory, &work))
    }

    /// The cost of a module whose slowest stage has this memory by bucket.
    pub(super) fn new(m: &Module, memory: &ByBucket, work: &PipelineWork) -> Self {
        let mut traffic = Traffic::default();
        for of_group in traffic_of(m, memory, &work.slowest_layers) {
            traffic += of_group.traffic;
        }
        // Forward and backward passes multiply three times as much as the forward pass alone.
        let operations = operations_of_step(m, work.mean_forward.saturating_mul(3));
        Self {
            bubble_ppm: work.bubble_ppm(m),
            recomputed_ppm: work.recomputed_ppm,
            recomputed_flops: u64::try_from(operations_of_step(m, work.slowest_again)).unwrap_or(u64::MAX),
            traffic,
            exchange_ppm: per_million(traffic.operations(), operations),
            weights_ppm: per_million(weights_operations(m, memory), operations),
        }
    }

    /// All costs together, in millionths of the time of the matrix products.
    #[must_use]
    pub fn overhead_ppm(&self) -> u64 {
        let million = 1_000_000_u64;
        // The forward pass is a third of the work.
        let work = million.saturating_add(self.recomputed_ppm / 3);
        let waited = u128::from(work) * u128::from(million.saturating_add(self.bubble_ppm)) / u128::from(million);
        let waited = u64::try_from(waited).unwrap_or(u64::MAX).saturating_sub(million);
        waited
            .saturating_add(self.exchange_ppm.saturating_mul(TIMES_NOMINAL))
            .saturating_add(self.weights_ppm)
    }
}

/// Operations that a GPU with this memory by bucket could do while it reads its weights and its main gradients twice
/// for every micro batch of a step: weights in both passes, main gradients in the backward pass, where they are written
/// too.
fn weights_operations(m: &Module, memory: &ByBucket) -> u128 {
    let buckets = [
        Bucket::WeightsDense,
        Bucket::WeightsExpert,
        Bucket::MainGradsDense,
        Bucket::MainGradsExpert,
    ];
    let bytes = buckets.iter().filter_map(|bucket| memory.get(*bucket as usize));
    let bytes: u128 = bytes.map(|bytes| u128::from(bytes.0)).sum();
    2 * bytes * u128::from(m.num_microbatches) * OPERATIONS_PER_MEMORY_BYTE
}

fn per_million(part: u128, whole: u128) -> u64 {
    let ppm = part.saturating_mul(1_000_000).checked_div(whole);
    u64::try_from(ppm.unwrap_or(0)).unwrap_or(u64::MAX)
}
