//! The random seeds that a rank starts from.

use super::Coordinates;

/// The arguments that decide the seeds of a job's ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeedRule {
    /// `seed`, positive; Megatron-LM's default is 1234.
    pub seed: u64,
    /// `data_parallel_random_init`: data-parallel replicas start from different weights.
    pub data_parallel_random_init: bool,
}

/// The seeds of one rank (`_set_random_seed` in `megatron/training/initialize.py`,
/// `model_parallel_cuda_manual_seed` in `megatron/core/tensor_parallel/random.py`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// The seed of the default generators of Python, `numpy`, PyTorch and CUDA, the same on all ranks of a pipeline
    /// stage.
    pub base: u64,
    /// The seed of the generator for regions that tensor parallelism splits.
    pub tensor_parallel: u64,
    /// The seed of the generator for expert layers.
    pub expert_parallel: u64,
}

impl SeedRule {
    /// The seeds of the rank at `place`, at most `u64::MAX`.
    #[must_use]
    pub fn seeds(&self, place: &Coordinates) -> Seeds {
        let data_parallel = if self.data_parallel_random_init { place.dp } else { 0 };
        let base = self
            .seed
            .saturating_add(place.pp.saturating_mul(100))
            .saturating_add(data_parallel.saturating_mul(10));
        Seeds {
            base,
            tensor_parallel: base.saturating_add(2718).saturating_add(place.tp),
            expert_parallel: base
                .saturating_add(1024)
                .saturating_add(place.ep.saturating_mul(100))
                .saturating_add(place.etp),
        }
    }
}
