//! The failed allocation among the tensors of a stage.

use crate::config::job::Config;
use crate::formats::out_of_memory::{FailedPhase, OutOfMemory};
use crate::memory::allocations::{AllocatedIn, Allocation};
use crate::memory::caching_allocator::requested;
use crate::memory::{StageRef, estimate};
use crate::units::Bytes;
use crate::verdict::device;

/// The most tensors of one size that are named.
const MOST_NAMED: usize = 4;
/// Smaller allocations than this are of any of many tensors, so that their size says nothing.
const LEAST_BYTES: Bytes = Bytes::mib(20);

/// The tensors whose allocation PyTorch prints as the message has it: those of the moment of the failure, or all where
/// the moment is not known or has none. `None` of them is named where the size is common to any small tensor.
#[must_use]
pub fn of_the_same_size(error: &OutOfMemory, tensors: &[Allocation]) -> Vec<Allocation> {
    let Some(printed) = error.requested.filter(|printed| printed.bytes > LEAST_BYTES) else {
        return Vec::new();
    };
    // The rounding of allocations is PyTorch's of CUDA and HIP; older releases print the size itself.
    let fits = |tensor: &&Allocation| printed.is_print_of(tensor.requested()) || printed.is_print_of(tensor.bytes);
    let of_size: Vec<&Allocation> = tensors.iter().filter(fits).collect();
    let of_phase: Vec<&Allocation> = of_size
        .iter()
        .copied()
        .filter(|tensor| happens_in(tensor, error.phase))
        .collect();
    let found = if of_phase.is_empty() { of_size } else { of_phase };
    let mut named: Vec<Allocation> = Vec::new();
    for tensor in found {
        let is_new = named
            .iter()
            .all(|known| (known.what, known.gradient) != (tensor.what, tensor.gradient));
        if is_new && named.len() < MOST_NAMED {
            named.push(tensor.clone());
        }
    }
    named
}

/// Whether a tensor may be allocated in a phase.
fn happens_in(tensor: &Allocation, phase: Option<FailedPhase>) -> bool {
    let during = tensor.allocated_in;
    match phase {
        None => true,
        Some(FailedPhase::Setup | FailedPhase::LoadingCheckpoint | FailedPhase::SavingCheckpoint) => {
            during == AllocatedIn::Setup
        }
        Some(FailedPhase::Forward) => during == AllocatedIn::Forward && !tensor.is_of_loss,
        Some(FailedPhase::WithoutGradients) => during == AllocatedIn::Forward,
        Some(FailedPhase::Loss) => tensor.is_of_loss,
        // A backward pass runs forward passes again where they are recomputed.
        Some(FailedPhase::Backward | FailedPhase::GraphCapture) => {
            matches!(during, AllocatedIn::Forward | AllocatedIn::Backward)
        }
        Some(FailedPhase::OptimizerStep) => during == AllocatedIn::OptimizerStep,
    }
}

/// A micro batch that is longer than the job allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LongerMicroBatch {
    /// The tensor that had the failed allocation's size.
    pub tensor: Allocation,
    /// Tokens of that micro batch, over all context-parallel ranks.
    pub tokens: u64,
    /// Tokens of the fullest micro batch by the job's settings.
    pub allowed: u64,
    /// The peak of the stage with that micro batch.
    pub peak: Bytes,
}

/// The longer micro batches that would explain the failed allocation and all that was allocated beside it, the nearest
/// first; none where samples are not packed, so that no micro batch can be longer than the sequence.
#[must_use]
pub fn longer_micro_batches(
    error: &OutOfMemory,
    config: &Config,
    stage: StageRef,
    tensors: &[Allocation],
) -> Vec<LongerMicroBatch> {
    let Some(printed) = error.requested else {
        return Vec::new();
    };
    // What PyTorch needed, or where the message has not what was allocated, what the device did.
    let of_device = || Some(error.capacity?.bytes.saturating_sub(error.free?.bytes));
    let (used, is_of_device) = match (error.allocated, of_device()) {
        (Some(allocated), _) => (allocated.bytes, false),
        (None, Some(used)) => (used, true),
        (None, None) => return Vec::new(),
    };
    let needed = used + printed.bytes;
    let mut found: Vec<(u64, LongerMicroBatch)> = Vec::new();
    let of_phase = tensors.iter().filter(|tensor| happens_in(tensor, error.phase));
    let mut tried: Vec<Bytes> = Vec::new();
    for tensor in of_phase.filter(|tensor| tensor.tokens.is_some()) {
        let Some(allowed) = tensor.tokens else { continue };
        // A twentieth more is within what rounding and padding do.
        let is_longer = printed.least() > requested(Bytes(tensor.bytes.0 / 20 * 21));
        if !is_longer || tried.contains(&tensor.bytes) || tried.len() >= 8 {
            continue;
        }
        tried.push(tensor.bytes);
        let tokens = u128::from(printed.bytes.0) * u128::from(allowed) / u128::from(tensor.bytes.0.max(1));
        let tokens = u64::try_from(tokens).unwrap_or(u64::MAX);
        let Some(longer) = config.with_packed_tokens(tokens) else {
            continue;
        };
        let estimate = estimate(&longer);
        let Some(of_stage) = estimate.stage(stage) else {
            continue;
        };
        // The failure comes before or at the peak, and after what lies between iterations; an eighth is what the
        // estimates of such jobs differ from their measurements by.
        let peak = if is_of_device {
            device(&longer, stage.module, of_stage.total, of_stage.graphs).1
        } else {
            of_stage.total
        };
        let at_most = peak + Bytes(peak.0 / 8);
        if needed > at_most || needed.0 < peak.0 / 2 {
            continue;
        }
        found.push((
            needed.0.abs_diff(peak.0),
            LongerMicroBatch {
                tensor: tensor.clone(),
                tokens,
                allowed,
                peak: of_stage.total,
            },
        ));
    }
    found.sort_by_key(|(distance, _)| *distance);
    found.into_iter().map(|(_, batch)| batch).collect()
}
