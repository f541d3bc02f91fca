//! What the estimate has allocated at the moment of a failure.

use crate::config::job::Config;
use crate::formats::out_of_memory::FailedPhase;
use crate::memory::bucket::{Bucket, State};
use crate::memory::peak::PassName;
use crate::memory::{Estimate, JobMoment, StageEstimate, StageRef, timeline};
use crate::units::Bytes;

/// Bytes that the estimate of a stage has allocated at most in a phase; `None` for phases that it does not cover.
/// Without a phase it is the stage's peak.
#[must_use]
pub fn expected(config: &Config, estimate: &Estimate, stage: StageRef, phase: Option<FailedPhase>) -> Option<Bytes> {
    let of_stage = estimate.stage(stage)?;
    match phase {
        None => Some(of_stage.total),
        Some(FailedPhase::Forward | FailedPhase::Loss | FailedPhase::Backward) => {
            let peak_is_of_passes = !matches!(
                of_stage.moment.pass,
                PassName::OptimizerStep | PassName::BetweenIterations
            );
            if peak_is_of_passes {
                return Some(of_stage.total);
            }
            let passes = timeline(config, stage, 1)?;
            passes.points.iter().map(|point| point.total).max()
        }
        Some(FailedPhase::OptimizerStep) => Some(timeline(config, stage, 1)?.optimizer_step.into_iter().sum()),
        Some(FailedPhase::Setup) => Some(held_from_the_start(of_stage)),
        Some(FailedPhase::SavingCheckpoint) => {
            let mut moments = of_stage.moments.iter();
            moments
                .find(|of| of.moment == JobMoment::SavingCheckpoint)
                .map(|of| of.total)
        }
        Some(FailedPhase::GraphCapture) => Some(of_stage.total + of_stage.graphs),
        // A checkpoint is read into the tensors that are there, the optimizer's moments among them.
        Some(FailedPhase::LoadingCheckpoint) => Some(of_stage.steady),
        Some(FailedPhase::WithoutGradients) => None,
    }
}

/// What a stage holds from the first step on: the optimizer makes its moments at the end of that.
pub(super) fn held_from_the_start(stage: &StageEstimate) -> Bytes {
    let kinds = [State::Weights, State::MainGrads, State::MainParams];
    let held = Bucket::ALL
        .into_iter()
        .filter(|bucket| bucket.state().is_some_and(|(kind, _)| kinds.contains(&kind)));
    held.map(|bucket| stage.bytes(bucket)).sum()
}

/// How far estimates are from measurements in nine of ten public runs whose software is not known, in millionths: the
/// least favorable group of the evidence.
pub const ESTIMATE_ERROR_PPM: u64 = 104_600;

/// An amount with the error of estimates added.
pub(super) fn with_estimate_error(bytes: Bytes) -> Bytes {
    let error = u128::from(bytes.0) * u128::from(ESTIMATE_ERROR_PPM) / 1_000_000;
    bytes + Bytes(u64::try_from(error).unwrap_or(u64::MAX))
}
