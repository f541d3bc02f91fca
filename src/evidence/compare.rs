//! A run beside what is predicted for it.

use super::run::{Run, Stage};
use crate::config::check;
use crate::config::job::Module;
use crate::framework_reports::job::reports;
use crate::memory::overhead::{MemoryRange, memory_range};
use crate::memory::{estimate, rank_memory};
use crate::units::Bytes;

/// What is predicted for a run's pipeline stage, beside what was measured there.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The pipeline rank compared.
    pub pp_rank: usize,
    /// Allocated memory after an optimizer step.
    pub steady: Bytes,
    /// Peak of allocated memory.
    pub peak: Bytes,
    /// Against the measured steady memory.
    pub steady_error: Option<Error>,
    /// Against the measured peak of allocated memory.
    pub peak_error: Option<Error>,
    /// What the allocator may reserve, and the device show, for that peak.
    pub band: MemoryRange,
    /// What the frameworks' own estimators predict.
    pub frameworks: Frameworks,
}

/// What the frameworks' own estimators predict for a job's peak, on their most loaded GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frameworks {
    /// Megatron-LM's `report_theoretical_memory`.
    pub megatron_lm: Option<Bytes>,
    /// Megatron-Bridge's `estimate_training_memory`.
    pub megatron_bridge: Option<Bytes>,
}

/// How far a prediction is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// Predicted minus measured.
    pub bytes: i64,
    /// The same in millionths of what was measured.
    pub ppm: i64,
}

impl Error {
    /// The error of `predicted`; `None` when nothing was measured.
    #[must_use]
    pub fn new(predicted: Bytes, measured: Bytes) -> Option<Self> {
        let (predicted, measured) = (i128::from(predicted.0), i128::from(measured.0));
        let bytes = predicted - measured;
        let ppm = (bytes * 1_000_000).checked_div(measured)?;
        Some(Self {
            bytes: i64::try_from(bytes).ok()?,
            ppm: i64::try_from(ppm).ok()?,
        })
    }
}

/// Compares a run with its prediction; `None` when it is out of scope, was measured on an unknown
/// stage, or has a job that Megatron would refuse.
#[must_use]
pub fn compare(run: &Run) -> Option<Comparison> {
    let config = check(run.job()?).config?;
    let estimate = estimate(&config);
    let stages = &estimate.modules.first()?.stages;
    let pp_rank = match run.stage? {
        Stage::At(pp_rank) => pp_rank,
        Stage::Last => stages.len().checked_sub(1)?,
        Stage::Largest => {
            (0..stages.len()).max_by_key(|&pp_rank| stages.get(pp_rank).map(|stage| stage.total))?
        }
    };
    // A rank may run further modules; without any it is this stage alone.
    let first = config.modules().first()?;
    let rank = first.rank_offset() + first.ranks() / stages.len() as u64 * pp_rank as u64;
    let needed = rank_memory(&config, &estimate, rank)?;
    let error = |predicted, measured: Option<Bytes>| Error::new(predicted, measured?);
    Some(Comparison {
        pp_rank,
        steady: needed.steady,
        peak: needed.total,
        steady_error: error(needed.steady, run.measured.steady_allocated),
        peak_error: error(
            needed.total,
            run.measured
                .peak_allocated
                .filter(|_| run.peak_not_compared.is_none()),
        ),
        band: memory_range(first, needed.total, needed.graphs),
        frameworks: frameworks(first),
    })
}

/// What the frameworks' estimators print as the total, where they do.
#[allow(
    clippy::float_arithmetic,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the reports are floats; a float becomes the nearest amount there is"
)]
fn frameworks(module: &Module) -> Frameworks {
    let reports = reports(module);
    let printed = |bytes: f64| bytes.is_finite().then_some(Bytes(bytes as u64));
    Frameworks {
        megatron_lm: match reports.megatron_lm.report_mb {
            Ok(Some([_, _, total])) => printed(total * 1_048_576.0),
            _ => None,
        },
        megatron_bridge: reports
            .megatron_bridge
            .estimate
            .ok()
            .and_then(|estimate| printed(estimate.total_memory_bytes)),
    }
}
