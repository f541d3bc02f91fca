//! What the estimate has allocated at the moment of a failure.

use crate::config::job::Config;
use crate::formats::out_of_memory::FailedPhase;
use crate::memory::bucket::{Bucket, State};
use crate::memory::peak::PassName;
use crate::memory::{Estimate, JobMoment, StageRef, timeline};
use crate::units::Bytes;

/// Bytes that the estimate of a stage has allocated at most in a phase; `None` for phases that it does not cover.
/// Without a phase it is the stage's peak.
#[must_use]
pub fn expected(config: &Config, estimate: &Estimate, stage: StageRef, phase: Option<FailedPhase>) -> Option<Bytes> {
    let of_stage = estimate.stage(stage)?;
    match phase {
        None => Some(of_stage.total),
        Some(FailedPhase::Forward | FailedPhase::Loss | FailedPhase::Backward) => {
            let at_peak = matches!(
                of_stage.moment.pass,
                PassName::OptimizerStep | PassName::BetweenIterations
            );
            if !at_peak {
                return Some(of_stage.total);
            }
            let passes = timeline(config, stage, 1)?;
            passes.points.iter().map(|point| point.total).max()
        }
        Some(FailedPhase::OptimizerStep) => Some(timeline(config, stage, 1)?.optimizer_step.into_iter().sum()),
        // The optimizer makes its moments in the first step.
        Some(FailedPhase::Setup) => Some(
            Bucket::ALL
                .into_iter()
                .filter(|bucket| {
                    let kind = bucket.state().map(|(kind, _)| kind);
                    matches!(kind, Some(State::Weights | State::MainGrads | State::MainParams))
                })
                .map(|bucket| of_stage.bytes(bucket))
                .sum(),
        ),
        Some(FailedPhase::SavingCheckpoint) => {
            let mut moments = of_stage.moments.iter();
            moments
                .find(|of| of.moment == JobMoment::SavingCheckpoint)
                .map(|of| of.total)
        }
        Some(FailedPhase::GraphCapture) => Some(of_stage.total + of_stage.graphs),
        // Megatron reads a checkpoint into the tensors that are there; converting and evaluating are other programs.
        Some(FailedPhase::LoadingCheckpoint | FailedPhase::WithoutGradients) => None,
    }
}
