//! The memory that saving a checkpoint allocates on the GPU, on top of the memory that training holds.

use super::bucket::{Bucket, State};
use super::states::main_grad_bytes;
use super::{Estimate, StageEstimate, StageRef};
use crate::config::job::{Config, Module};
use crate::model::Architecture;
use crate::model::tensor::ParamTensor;
use crate::parallel::groups::View;
use crate::units::{Bytes, multiply};

/// Bytes of an element of the optimizer's states as they are gathered, always in fp32.
const FP32: u64 = 4;
/// The least elements of a bucket of gradients, and those for each data-parallel rank (`DistributedDataParallel`).
const LEAST_ELEMENTS: u64 = 40_000_000;
const ELEMENTS_PER_RANK: u64 = 1_000_000;

/// What the first data-parallel rank of a stage gathers on the GPU at most at a time while a checkpoint is saved with
/// `--dist-ckpt-optim-fully-reshardable`: one bucket of parameters, first moments or second moments in fp32, and the shard of
/// it that the rank itself sends (`DistributedOptimizer.get_parameter_state_dp_zero` without Gloo). A bucket ends with the
/// parameter that fills it; without `--overlap-grad-reduce` a whole buffer is one bucket. `None` without the distributed
/// optimizer, and for Megatron FSDP.
#[must_use]
pub fn gathered_to_save(config: &Config, estimate: &Estimate, stage: StageRef) -> Option<Bytes> {
    let m = config.modules().get(stage.module)?;
    let held = estimate.stage(stage)?;
    let a = m.args();
    if !a.use_distributed_optimizer || a.use_megatron_fsdp {
        return None;
    }
    let bucket = a.overlap_grad_reduce.then(|| {
        let of_ranks = multiply(ELEMENTS_PER_RANK, multiply(m.dp, m.cp));
        let full = a.ddp_bucket_size.unwrap_or(of_ranks.max(LEAST_ELEMENTS));
        full.saturating_add(largest_parameter(m, held, |_| true))
    });
    let gathered = Bucket::ALL.into_iter().filter_map(|kind| {
        let Some((State::MainGrads, view)) = kind.state() else {
            return None;
        };
        let elements = held.bytes(kind).0 / main_grad_bytes(m).max(1);
        let elements = bucket.map_or(elements, |bucket| elements.min(bucket));
        let ranks = match view {
            View::Dense => multiply(m.dp, m.cp),
            View::Expert => m.edp,
        };
        let shard = elements.div_ceil(ranks.max(1));
        Some(Bytes(multiply(elements + shard, FP32)))
    });
    gathered.max().filter(|bytes| *bytes > Bytes::ZERO)
}

/// Elements of the largest parameter that a rank of a stage has, of those that are meant.
pub(super) fn largest_parameter(m: &Module, held: &StageEstimate, is_meant: impl Fn(&ParamTensor) -> bool) -> u64 {
    let architecture = Architecture::new(m);
    let is_held = |place: usize| {
        let mut counts = held.chunks.iter().filter_map(|chunk| chunk.parts.get(place));
        counts.any(|count| *count > 0)
    };
    let parts = architecture.parts().iter().enumerate();
    let of_stage = parts.filter(|(place, _)| is_held(*place));
    let parameters = of_stage.flat_map(|(_, part)| &part.parameters);
    parameters
        .filter(|parameter| is_meant(parameter))
        .map(|parameter| parameter.shape.elements())
        .max()
        .unwrap_or(0)
}
