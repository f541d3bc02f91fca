//! The standing of a job with other settings, and what these cost in time and GPUs.

use super::job_costs::JobCosts;
use crate::config::job::Config;
use crate::config::raw::RawJob;
use crate::config::validate;
use crate::memory::{Estimate, estimate};
use crate::search::Candidate;
use crate::verdict::Standing;

/// An estimated job.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) standing: Standing,
    config: Config,
    estimate: Estimate,
}

impl Measured {
    /// Estimates a checked job, and judges it by the factors.
    pub(super) fn of(config: Config) -> Self {
        let estimate = estimate(&config);
        Self {
            standing: Standing::by_factors(&config, &estimate),
            config,
            estimate,
        }
    }

    /// The standing of the job, by a replay where the factors leave it open.
    pub(super) fn settled(&self) -> Standing {
        Standing::new(&self.config, &self.estimate)
    }

    /// The job.
    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    /// Estimates a job; `None` where Megatron refuses it, before training or when it starts.
    pub(super) fn of_job(job: &RawJob) -> Option<Self> {
        runs(job).map(Self::of)
    }

    /// The job as an alternative of others, with its index among them.
    pub(super) fn candidate(&self, index: u64) -> Option<Candidate> {
        Candidate::of_job(index, &self.config, &self.estimate)
    }

    /// What the job pays. The schedules of its pipeline are replayed, which takes longer than the estimate.
    pub(super) fn costs(&self) -> JobCosts {
        JobCosts::of(&self.config, &self.estimate).unwrap_or_default()
    }
}

/// The standing of a job by the factors; `None` where Megatron refuses it, before training or when it starts.
pub(super) fn standing(job: &RawJob) -> Option<Standing> {
    runs(job).map(|config| Standing::by_factors(&config, &estimate(&config)))
}

/// A job that Megatron trains.
fn runs(job: &RawJob) -> Option<Config> {
    let config = validate(job).config?;
    config.refused_at_launch().is_empty().then_some(config)
}
