//! Alternatives of a job that no space lists, such as other ways to train it or other values of one size, in the order of
//! searches.

use super::bubble::Bubbles;
use super::candidate::{Candidate, LanguageMemory, WorstStage};
use super::ties::{LayoutRank, ranks_among};
use crate::config::check;
use crate::config::fields::FieldId;
use crate::config::job::Config;
use crate::config::raw::RawJob;
use crate::memory::methods::{MethodResult, TrainingMethod, method};
use crate::memory::{Estimate, estimate};
use crate::time::{TimeTables, step_time};
use crate::value::Value;

/// The place of an alternative in the order of searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranking {
    /// The alternative's index in the list that was given.
    pub index: usize,
    /// Its rank; `None` for an alternative that Megatron refuses.
    pub rank: Option<LayoutRank>,
    /// Whether it fits, but leaves so little memory free that it runs slower than predicted.
    pub is_nearly_full: bool,
}

/// The ranking of alternatives, the best first, and behind them those that Megatron refuses, as they were given. The
/// candidates must have their indices in the list as [`Candidate::index`].
#[must_use]
pub fn ranking(alternatives: &[Option<Candidate>]) -> Vec<Ranking> {
    let known: Vec<Candidate> = alternatives.iter().copied().flatten().collect();
    let mut ranked: Vec<(Candidate, LayoutRank)> = known.iter().copied().zip(ranks_among(&known)).collect();
    ranked.sort_by(|(one, _), (other, _)| one.order(other));
    let best_first = ranked.into_iter().map(|(candidate, rank)| Ranking {
        index: usize::try_from(candidate.index).unwrap_or(usize::MAX),
        rank: Some(rank),
        is_nearly_full: candidate.is_nearly_full(),
    });
    let refused = alternatives.iter().enumerate();
    let refused = refused.filter(|(_, alternative)| alternative.is_none());
    let refused = refused.map(|(index, _)| Ranking {
        index,
        rank: None,
        is_nearly_full: false,
    });
    best_first.chain(refused).collect()
}

/// A way to train a job, as an alternative of the others.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodAlternative {
    /// The way, and the memory that the job needs with it.
    pub result: MethodResult,
    /// The job trained so, with the way's index in [`TrainingMethod::EACH`]; `None` where Megatron refuses it, or it has
    /// no language model.
    pub candidate: Option<Candidate>,
}

impl MethodAlternative {
    /// A job whose module `module` is trained in one way; `None` where Megatron refuses the job as it is, or there is
    /// no such module.
    #[must_use]
    pub fn new(job: &RawJob, module: usize, way: TrainingMethod) -> Option<Self> {
        let result = method(job, module, way)?;
        let is_legal = result.result.is_ok();
        let candidate = is_legal.then(|| Candidate::with_settings(way as u64, job, module, &result.settings));
        Some(Self {
            candidate: candidate.flatten(),
            result,
        })
    }
}

impl Candidate {
    /// An estimated job as an alternative of others, with its index among them; `None` where it has no language model.
    /// Its time is that of [`step_time`], with every pass replayed.
    #[must_use]
    pub fn of_job(index: u64, config: &Config, estimate: &Estimate) -> Option<Self> {
        let module = config.modules().iter().position(|m| m.io().is_language())?;
        let memory = |slowest| LanguageMemory::of(estimate, module, slowest);
        let shared = (&mut Bubbles::default(), &mut TimeTables::default());
        let candidate = Self::new(index, config, &WorstStage::of(estimate), shared, memory)?;
        let time = step_time(config, estimate).ok();
        Some(Self {
            step_nanoseconds: time.map(|time| time.nanoseconds()),
            ..candidate
        })
    }

    /// A job with other settings of a module as an alternative, with its index among others; `None` where Megatron refuses
    /// it, or it has no language model.
    #[must_use]
    pub fn with_settings(index: u64, job: &RawJob, module: usize, settings: &[(FieldId, Value)]) -> Option<Self> {
        let mut job = job.clone();
        for (field, value) in settings {
            job.put(module, *field, value.clone());
        }
        let config = check(&job).config?;
        Self::of_job(index, &config, &estimate(&config))
    }
}
