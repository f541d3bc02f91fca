//! For each way of recomputing or offloading activations: the memory that it would save on a stage, and the time of a
//! step with it.

use crate::config::check;
use crate::config::job::Config;
use crate::config::raw::RawJob;
use crate::memory::savings::{Choice, choice_of, choices, recomputed};
use crate::memory::{Estimate, StageRef, estimate};
use crate::time::step_time;
use crate::units::Bytes;
use crate::verdict::{Headroom, Standing};

/// The result of one choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saving {
    /// The choice.
    pub choice: Choice,
    /// Whether the job has these settings already.
    pub current: bool,
    /// The memory that the choice saves, or why Megatron refuses it for this job.
    pub result: Result<Saved, String>,
}

/// The memory that one choice saves, and what it costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The stage's peak with the choice.
    pub peak: Bytes,
    /// The stage's peak in the job as it is, minus `peak`; negative where the peak grows.
    pub saves: i64,
    /// The standing of the job with the choice.
    pub standing: Standing,
    /// The time of what is recomputed, in millionths of that of the matrix products of the stage's forward pass.
    pub recomputed_ppm: u64,
    /// The recomputed floating-point operations of one GPU in one iteration.
    pub recomputed_flops: u64,
    /// The predicted time of a step in nanoseconds; `None` where the prediction does not follow the job.
    pub step_nanoseconds: Option<u64>,
}

impl Saved {
    /// Whether the GPU has too little memory for the job with the choice, even with the smallest overheads.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        matches!(self.standing.room(), Some(Headroom::Missing { .. }))
    }
}

/// The result of every choice for a stage of a job, compared with the job as it is. Empty where Megatron refuses the
/// job or the job has no such stage.
#[must_use]
pub fn savings(job: &RawJob, stage: StageRef) -> Vec<Saving> {
    let Some(config) = check(job).config else {
        return Vec::new();
    };
    let peak = |estimate: &Estimate| estimate.stage(stage).map(|stage| stage.total);
    let estimated = estimate(&config);
    let (Some(m), Some(now)) = (config.modules().get(stage.module), peak(&estimated)) else {
        return Vec::new();
    };
    let saved = |choice: Choice, config: &Config, then: &Estimate| {
        let signed = |bytes: Bytes| i64::try_from(bytes.0).unwrap_or(i64::MAX);
        let peak = peak(then).unwrap_or(now);
        let work = recomputed(m, stage.pp_rank, choice);
        Saved {
            peak,
            saves: signed(now).saturating_sub(signed(peak)),
            standing: Standing::by_factors(config, then),
            recomputed_ppm: work.ppm,
            recomputed_flops: work.flops,
            step_nanoseconds: step_time(config, then).ok().map(|time| time.nanoseconds()),
        }
    };
    let current = choice_of(m);
    let result = |choice: Choice| {
        if choice == current {
            return Ok(saved(choice, &config, &estimated));
        }
        let mut other = job.clone();
        for (field, value) in choice.settings() {
            other.put(stage.module, field, value);
        }
        let checked = check(&other);
        let reasons: Vec<&str> = checked.refusals().map(|p| p.message.as_str()).collect();
        let trained = checked.config.as_ref().filter(|_| reasons.is_empty());
        let config = trained.ok_or_else(|| reasons.join("; "))?;
        Ok(saved(choice, config, &estimate(config)))
    };
    let of_choice = |choice| Saving {
        choice,
        current: choice == current,
        result: result(choice),
    };
    choices(m).into_iter().map(of_choice).collect()
}
