//! The failed allocation among the tensors of a stage.

use crate::config::job::Config;
use crate::formats::out_of_memory::{FailedPhase, OutOfMemory};
use crate::memory::allocations::{AllocatedIn, Allocation};
use crate::memory::caching_allocator::requested;
use crate::memory::{StageRef, estimate};
use crate::units::{Bytes, multiply};
use crate::verdict::{Standing, device};

use super::expected::{held_from_the_start, with_estimate_error};

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
    let is_print = |tensor: &Allocation| printed.is_print_of(tensor.requested()) || printed.is_print_of(tensor.bytes);
    let has_width = |tensor: &Allocation| error.element_bytes.is_none_or(|bytes| tensor.width == bytes);
    let fits = |tensor: &&Allocation| is_print(tensor) && has_width(tensor);
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
    /// What was needed beyond that peak and what estimates differ from measurements by; 0 where the two agree.
    pub beyond: Bytes,
    /// Tokens of the fullest micro batch with which the job fits the GPU even with the largest overheads; `None` where
    /// none does.
    pub fits: Option<u64>,
}

/// A micro batch that is not full, whose logits or loss had the failed allocation's size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShorterMicroBatch {
    /// The tensor that had the failed allocation's size.
    pub tensor: Allocation,
    /// Tokens of that micro batch, over all context-parallel ranks.
    pub tokens: u64,
    /// Tokens of the fullest micro batch by the job's settings.
    pub allowed: u64,
}

/// Where a traceback shows the loss: the micro batches of packed samples, within what the settings allow, whose logits or
/// loss had the failed allocation's size, one a size of tensors. Other moments have too many tensors to tell one by a
/// number of tokens that is not known.
#[must_use]
pub fn shorter_micro_batches(error: &OutOfMemory, config: &Config, tensors: &[Allocation]) -> Vec<ShorterMicroBatch> {
    let of_loss = error.phase == Some(FailedPhase::Loss);
    let Some(printed) = error.requested.filter(|printed| of_loss && printed.bytes > LEAST_BYTES) else {
        return Vec::new();
    };
    let mut found: Vec<ShorterMicroBatch> = Vec::new();
    for tensor in tensors.iter().filter(|tensor| is_candidate(tensor, error)) {
        let Some(allowed) = tensor.tokens else { continue };
        let tokens = tokens_of_size(printed.bytes, tensor, allowed);
        let is_known = found.iter().any(|known| known.tensor.bytes == tensor.bytes);
        if tokens < allowed && !is_known && config.with_packed_tokens(tokens).is_some() {
            found.push(ShorterMicroBatch {
                tensor: tensor.clone(),
                tokens,
                allowed,
            });
        }
    }
    found
}

/// The tokens with which a tensor has a size.
fn tokens_of_size(size: Bytes, tensor: &Allocation, allowed: u64) -> u64 {
    let tokens = u128::from(size.0) * u128::from(allowed) / u128::from(tensor.bytes.0.max(1));
    u64::try_from(tokens).unwrap_or(u64::MAX)
}

/// Frameworks pad rows of packed samples to a multiple of so many tokens for each tensor- and context-parallel rank:
/// the most of them, `--data-pad-size-multiplier` of slime.
const ROW_PADDING: u64 = 128;
/// The most different sizes of tensors that are tried as the failed allocation; each needs an estimate.
const MOST_TRIED: usize = 8;
/// Larger micro batches are not tried.
const MOST_TOKENS: u64 = 1 << 24;

/// The longer micro batches that would explain the failed allocation, those first that agree with all that was
/// allocated beside it, the nearest of them first; none where samples are not packed, so that no micro batch can be
/// longer than the sequence.
#[must_use]
pub fn longer_micro_batches(
    error: &OutOfMemory,
    config: &Config,
    stage: StageRef,
    tensors: &[Allocation],
) -> Vec<LongerMicroBatch> {
    let Some((printed, (used, is_of_device))) = error.requested.zip(in_use(error)) else {
        return Vec::new();
    };
    let needed = used + printed.bytes;
    let mut found: Vec<(u64, LongerMicroBatch)> = Vec::new();
    let mut tried: Vec<Bytes> = Vec::new();
    for tensor in tensors.iter().filter(|tensor| is_candidate(tensor, error)) {
        let Some(allowed) = tensor.tokens else { continue };
        let padded = allowed.next_multiple_of(row_padding(config, stage));
        let at_most = u128::from(tensor.bytes.0) * u128::from(padded) / u128::from(allowed.max(1));
        let is_longer = printed.least() > requested(Bytes(u64::try_from(at_most).unwrap_or(u64::MAX)));
        if !is_longer || tried.contains(&tensor.bytes) || tried.len() >= MOST_TRIED {
            continue;
        }
        tried.push(tensor.bytes);
        let tokens = tokens_of_size(printed.bytes, tensor, allowed);
        let longer = config.with_packed_tokens(tokens).filter(|_| tokens <= MOST_TOKENS);
        let Some(longer) = longer else { continue };
        let estimate = estimate(&longer);
        let Some(of_stage) = estimate.stage(stage) else {
            continue;
        };
        // The failure comes before or at the peak, and after what a stage holds all the time.
        let peak = if is_of_device {
            device(&longer, stage.module, of_stage.total, of_stage.graphs).1
        } else {
            of_stage.total
        };
        if with_estimate_error(needed) < held_from_the_start(of_stage) + printed.bytes {
            continue;
        }
        let beyond = needed.saturating_sub(with_estimate_error(peak));
        let by_traceback = error.element_bytes.is_some();
        if beyond > Bytes::ZERO && !by_traceback {
            continue;
        }
        found.push((
            needed.0.abs_diff(peak.0),
            LongerMicroBatch {
                tensor: tensor.clone(),
                tokens,
                allowed,
                peak: of_stage.total,
                beyond,
                fits: None,
            },
        ));
    }
    found.sort_by_key(|(distance, batch)| (batch.beyond > Bytes::ZERO, *distance));
    let mut found: Vec<LongerMicroBatch> = found.into_iter().map(|(_, batch)| batch).collect();
    if let Some(first) = found.first_mut() {
        first.fits = fullest_that_fits(error, config, first.allowed);
    }
    found
}

/// What PyTorch had allocated, or where the message has not that, what the device had in use; and whether it is that of
/// the device.
fn in_use(error: &OutOfMemory) -> Option<(Bytes, bool)> {
    let of_device = || Some(error.capacity?.bytes.saturating_sub(error.free?.bytes));
    let allocated = error.allocated.map(|allocated| (allocated.bytes, false));
    allocated.or_else(|| Some((of_device()?, true)))
}

/// Whether a tensor grows with the micro batch and may have failed as the traceback shows.
fn is_candidate(tensor: &Allocation, error: &OutOfMemory) -> bool {
    let has_width = error.element_bytes.is_none_or(|bytes| tensor.width == bytes);
    tensor.tokens.is_some() && has_width && happens_in(tensor, error.phase)
}

fn row_padding(config: &Config, stage: StageRef) -> u64 {
    let module = config.modules().get(stage.module);
    module.map_or(ROW_PADDING, |m| multiply(ROW_PADDING, multiply(m.tp, m.cp)).max(1))
}

/// The fullest micro batch that fits the GPU by the largest overheads, up to what the settings allow, or where that
/// fits beyond it; in rows of 128 tokens.
fn fullest_that_fits(error: &OutOfMemory, config: &Config, allowed: u64) -> Option<u64> {
    let capacity = error.capacity.map(|amount| amount.bytes).or(config.gpu_memory())?;
    let fits = |rows: u64| {
        let tokens = multiply(rows, ROW_PADDING);
        let longer = config.with_packed_tokens(tokens);
        longer.is_some_and(|longer| Standing::by_factors(&longer, &estimate(&longer)).device.1 <= capacity)
    };
    let mut known = 0;
    let mut over = allowed.div_ceil(ROW_PADDING).max(1);
    while multiply(over, ROW_PADDING) < MOST_TOKENS && fits(over) {
        known = over;
        over = multiply(over, 2);
    }
    while over - known > 1 {
        let middle = known + (over - known) / 2;
        if fits(middle) {
            known = middle;
        } else {
            over = middle;
        }
    }
    (known > 0).then(|| multiply(known, ROW_PADDING))
}
