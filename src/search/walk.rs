//! `search`: tries the combinations of a range of a space.

use core::ops::Range;
use std::collections::BTreeSet;

use super::axis::{Axis, Pick};
use super::bubble::Bubbles;
use super::candidate::{Candidate, LanguageMemory, WorstStage};
use super::slice::{Keep, Slice, count};
use super::space::Space;
use crate::config::fields::Args;
use crate::config::gpus::GpuMemory;
use crate::config::job::{Config, Module};
use crate::config::raw::RawJob;
use crate::config::{KnownModules, Prepared, validate_known};
use crate::memory::overhead::memory_range;
use crate::memory::{
    self, LanguageStages, LatestEncoders, SharedTables, StageRef, are_apart, estimate_within, largest_states,
};
use crate::parallel::stages::StageLayout;
use crate::time::TimeTables;
use crate::units::Bytes;
use crate::verdict::Verdict;

/// Stands in place of a rule for combinations whose settings are not modelled together.
const NOT_MODELLED: &str = "not_modelled";

/// The result of trying a combination.
enum Trial {
    /// The named rule refuses all combinations that share the digits of the index up to and including the level.
    Refused(usize, &'static str),
    /// The value of the axis at the level is above its bound, for all combinations that share the digits up to there.
    OutOfBounds(usize, Axis),
    /// No combination that shares the digits up to and including the level fits the GPU.
    CannotFit(usize),
    /// The combination is legal.
    Legal(Option<Candidate>),
    /// The combination is legal and does not fit the GPU, and there is one nearer to fitting.
    TooLarge,
    /// The combination is legal and does not fit the GPU, and no combination fits that differs from it only in a larger
    /// micro batch.
    TooLargeWithLargerMicroBatches,
}

impl From<memory::TooLarge> for Trial {
    fn from(too_large: memory::TooLarge) -> Self {
        match too_large {
            memory::TooLarge::WithThisMicroBatch => Self::TooLarge,
            memory::TooLarge::WithLargerMicroBatches => Self::TooLargeWithLargerMicroBatches,
        }
    }
}

/// Tries the combinations of a range of indices in order. Ends after `steps` checks of jobs; [`Slice::next`] then has
/// the index to continue from.
#[must_use]
pub fn search(space: &Space, range: Range<u64>, steps: u32, keep: Keep) -> Slice {
    Searcher::default().search(space, range, steps, keep)
}

/// Searches ranges of one space one after another, and keeps what their layouts have in common.
#[derive(Default)]
pub struct Searcher {
    bubbles: Bubbles,
    times: TimeTables,
    shared: SharedTables,
    modules: KnownModules,
    encoders: LatestEncoders,
}

impl core::fmt::Debug for Searcher {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Searcher").finish_non_exhaustive()
    }
}

impl Searcher {
    /// Tries the combinations of a range, as [`search`] does. All ranges must be of the same space.
    #[must_use]
    pub fn search(&mut self, space: &Space, range: Range<u64>, steps: u32, keep: Keep) -> Slice {
        let mut walk = Walk {
            space,
            job: space.base.clone(),
            args: Vec::new(),
            stages: None,
            chosen: Vec::new(),
            too_large: BTreeSet::new(),
            checks: 0,
            known: self,
        };
        walk.search(range, steps, keep)
    }
}

/// The state of a search: the job of the last combination tried.
struct Walk<'s> {
    space: &'s Space,
    job: RawJob,
    /// The arguments with the values accepted so far: one entry for each level but the last. Empty where combinations
    /// are checked as raw jobs.
    args: Vec<Args>,
    /// The split of the layers into stages with the chosen values, where it is known.
    stages: Option<StageLayout>,
    /// The values of the last combination that were accepted: up to the level where it was refused, or all.
    chosen: Vec<Pick>,
    /// The values of the micro batch axis and those after it with which no combination fits that has the chosen values
    /// of the axes before, and as large a micro batch or a larger one: their values after the micro batch, as one
    /// number.
    too_large: BTreeSet<u64>,
    /// The number of jobs checked.
    checks: u32,
    known: &'s mut Searcher,
}

impl Walk<'_> {
    /// Tries the combinations of a range in order.
    fn search(&mut self, range: Range<u64>, steps: u32, keep: Keep) -> Slice {
        let end = range.end.min(self.space.total());
        let mut slice = Slice::default();
        let mut at = range.start;
        while at < end && self.checks < steps {
            let nearest = slice.closest.filter(|_| keep == Keep::Fitting);
            let tried = match self.try_combination(at, nearest) {
                Trial::Refused(level, rule) => {
                    let skipped = self.remaining_below(at, level, end);
                    count(&mut slice.refused, rule.to_owned(), skipped);
                    skipped
                }
                Trial::OutOfBounds(level, axis) => {
                    let skipped = self.remaining_below(at, level, end);
                    count(&mut slice.out_of_bounds, axis, skipped);
                    skipped
                }
                Trial::CannotFit(level) => {
                    let skipped = self.remaining_below(at, level, end);
                    slice.cannot_fit += skipped;
                    skipped
                }
                Trial::TooLarge | Trial::TooLargeWithLargerMicroBatches => {
                    slice.legal += 1;
                    slice.too_large += 1;
                    1
                }
                Trial::Legal(candidate) => {
                    slice.legal += 1;
                    if let Some(candidate) = candidate {
                        slice.add(candidate, keep);
                    }
                    1
                }
            };
            slice.looked_at += tried;
            at += tried;
        }
        slice.next = (at < end).then_some(at);
        slice
    }

    /// The number of combinations from `at` to the last one before `end` that shares its digits up to and including
    /// `level`.
    fn remaining_below(&self, at: u64, level: usize, end: u64) -> u64 {
        let below = self.space.combinations_below(level);
        (below - at % below).min(end - at)
    }

    /// Checks the combination at an index, axis by axis, and estimates it where it is legal. `nearest` is the
    /// combination nearest to fitting so far, where only those that fit are listed.
    fn try_combination(&mut self, at: u64, nearest: Option<Candidate>) -> Trial {
        // What several modules need together is not known from the states of one.
        let nearest = nearest.filter(|_| !self.space.has_several_modules());
        match &self.space.prepared {
            Some(prepared) => self.try_prepared(prepared, at, nearest),
            None => self.try_raw(at),
        }
    }

    /// Checks a combination whose fields are read already.
    fn try_prepared(&mut self, prepared: &Prepared, at: u64, nearest: Option<Candidate>) -> Trial {
        let common = self.space.common(at, &self.chosen);
        self.chosen.truncate(common);
        self.args.truncate(common);
        let last = self.space.dimensions.len().saturating_sub(1);
        if self.space.stages_level().is_some_and(|level| common <= level) {
            self.stages = None;
        }
        let micro_batch = self.space.level(Axis::MicroBatch);
        if micro_batch.is_none_or(|level| common < level) {
            self.too_large.clear();
        }
        let after_micro_batch = micro_batch.map(|level| self.space.combinations_below(level));
        let levels = self.space.dimensions.iter().enumerate();
        for (level, dimension) in levels.skip(common) {
            let Some(pick) = self.space.pick(at, level) else {
                continue;
            };
            if matches!(pick, Pick::Size(size) if size > dimension.at_most) {
                return Trial::OutOfBounds(level, dimension.axis);
            }
            if let (Some(below), true) = (after_micro_batch, nearest.is_some()) {
                // Smaller micro batches with all values after it are too large, or one with these values.
                let all = micro_batch == Some(level) && self.too_large.len() as u64 == below;
                if all || level == last && self.too_large.contains(&(at % below)) {
                    return Trial::CannotFit(level);
                }
            }
            let mut args = self.args.last().unwrap_or(prepared.args()).clone();
            let digit = usize::try_from(self.space.digit(at, level)).unwrap_or(usize::MAX);
            for (field, value) in dimension.changes.get(digit).into_iter().flatten() {
                Prepared::set(&mut args, *field, value.clone());
            }
            self.space.cut_prepared(dimension.axis, &mut args);
            self.space.keep_ranks_prepared(dimension.axis, &mut args);
            if level == last {
                let tried = self.try_args(prepared, args, at, nearest);
                if let (Trial::TooLargeWithLargerMicroBatches, Some(below)) = (&tried, after_micro_batch) {
                    self.too_large.insert(at % below);
                }
                return tried;
            }
            if let Some(refusals) = self.space.refusals_at.get(level)
                && !dimension.rules.is_empty()
            {
                self.checks += 1;
                if let Some(rule) = prepared.broken(args.clone(), refusals) {
                    return Trial::Refused(level, rule);
                }
            }
            if self.space.states_known_at(level)
                && let Some(nearest) = &nearest
            {
                self.checks += 1;
                let (stages, refusals) = (self.stages.as_ref(), &self.space.refusals);
                let config = prepared.check(args.clone(), stages, refusals, &mut self.known.modules);
                if config.is_ok_and(|config| self.states_are_too_large(&config, nearest)) {
                    return Trial::CannotFit(level);
                }
            }
            self.args.push(args);
            self.chosen.push(pick);
        }
        self.try_args(prepared, prepared.args().clone(), at, nearest)
    }

    /// Checks a combination by its arguments.
    fn try_args(&mut self, prepared: &Prepared, args: Args, at: u64, nearest: Option<Candidate>) -> Trial {
        self.checks += 1;
        let last = self.space.dimensions.len().saturating_sub(1);
        let (stages, refusals) = (self.stages.as_ref(), &self.space.refusals_at_end);
        let config = match prepared.check(args, stages, refusals, &mut self.known.modules) {
            Ok(config) => config,
            Err(rule) => return Trial::Refused(last, rule),
        };
        if let (None, Some((_, m))) = (&self.stages, language(&config)) {
            self.stages = Some(m.stages().clone());
        }
        if self.is_of_another_job(&config) {
            return Trial::Refused(last, NOT_MODELLED);
        }
        if self.space.states_known_at(last)
            && nearest.is_some_and(|nearest| self.states_are_too_large(&config, &nearest))
        {
            return Trial::TooLarge;
        }
        let limit = nearest.zip(config.reported_gpu_memory()).zip(config.modules().first());
        let Some(((nearest, gpu), m)) = limit else {
            return Trial::Legal(self.candidate(at, &config));
        };
        // Neither listed nor the nearest to fitting.
        let does_not_count = |peak: Bytes| peak > nearest.peak && is_too_large(m, peak, gpu);
        self.estimated(at, &config, does_not_count)
    }

    fn candidate(&mut self, at: u64, config: &Config) -> Option<Candidate> {
        match self.estimated(at, config, |_| false) {
            Trial::Legal(candidate) => candidate,
            _ => None,
        }
    }

    /// Estimates a checked job, which does not fit where a stage has a peak that is `too_large`.
    fn estimated(&mut self, at: u64, config: &Config, too_large: impl Fn(Bytes) -> bool) -> Trial {
        let Searcher {
            bubbles,
            times,
            shared,
            encoders,
            ..
        } = &mut *self.known;
        let candidate = if let Some((module, m)) = shareable(config) {
            let (worst, stage, stages) = match shared.worst_of_modules(config.modules(), too_large) {
                Ok(worst) => worst,
                Err(too_large) => return too_large.into(),
            };
            let stage_of = |slowest: u32| StageRef {
                module,
                pp_rank: usize::try_from(slowest).unwrap_or(usize::MAX),
            };
            let memory = |slowest| {
                let LanguageStages { memory, tapes } = stages?;
                Some(LanguageMemory {
                    slowest: if stage_of(slowest) == worst {
                        stage.memory
                    } else {
                        shared.states(m, slowest)
                    },
                    stages: memory,
                    tapes: Some(tapes),
                })
            };
            let worst = WorstStage {
                at: worst,
                peak: stage.total,
                graphs: stage.graphs,
            };
            Candidate::new(at, config, &worst, (bubbles, times), memory)
        } else {
            let Some(estimate) = estimate_within(config, too_large, encoders) else {
                return Trial::TooLarge;
            };
            let memory = |slowest| {
                let (module, _) = language(config)?;
                LanguageMemory::of(&estimate, module, slowest)
            };
            Candidate::new(at, config, &WorstStage::of(&estimate), (bubbles, times), memory)
        };
        let order = self.space.order;
        Trial::Legal(candidate.map(|candidate| Candidate { order, ..candidate }))
    }

    /// Whether the model states of a job alone are more than the GPU has, and more than the peak of the combination
    /// that is nearest to fitting.
    fn states_are_too_large(&mut self, config: &Config, nearest: &Candidate) -> bool {
        let (Some(m), Some(gpu)) = (config.modules().first(), config.reported_gpu_memory()) else {
            return false;
        };
        let states = match shareable(config) {
            Some((_, m)) => self.known.shared.largest_states(m),
            None => largest_states(m),
        };
        states > nearest.peak && is_too_large(m, states, gpu)
    }

    /// Checks a combination as a raw job.
    fn try_raw(&mut self, at: u64) -> Trial {
        let common = self.space.common(at, &self.chosen);
        self.chosen.truncate(common);
        self.job = self.space.base.clone();
        let last = self.space.dimensions.len().saturating_sub(1);
        for (level, dimension) in self.space.dimensions.iter().enumerate() {
            let Some(pick) = self.space.pick(at, level) else {
                continue;
            };
            self.space.apply(&mut self.job, dimension.axis, pick);
            if level < common {
                continue;
            }
            if matches!(pick, Pick::Size(size) if size > dimension.at_most) {
                return Trial::OutOfBounds(level, dimension.axis);
            }
            // After the last axis the whole job is checked anyway.
            if level < last
                && !dimension.rules.is_empty()
                && let Some(rule) = self.broken_rule(&dimension.rules)
            {
                return Trial::Refused(level, rule);
            }
            self.chosen.push(pick);
        }
        self.checks += 1;
        let checked = validate_known(&self.job, &mut self.known.modules);
        let refusing = checked.problems.iter().find(|p| p.keeps_from_training());
        match (refusing, checked.config) {
            (Some(problem), _) => Trial::Refused(last, problem.rule),
            (None, Some(config)) if self.is_of_another_job(&config) => Trial::Refused(last, NOT_MODELLED),
            (None, config) => Trial::Legal(config.and_then(|config| self.candidate(at, &config))),
        }
    }

    /// Whether a combination has settings that are not modelled together, beyond what marks all of the space.
    fn is_of_another_job(&self, config: &Config) -> bool {
        let known = self.space.not_modelled();
        let mut marks = config.not_modelled().iter();
        marks.any(|mark| !known.contains(mark))
    }

    /// The first of `rules` that the job breaks. Its later axes do not have their values yet, so other rules do not
    /// count.
    fn broken_rule(&mut self, rules: &[&'static str]) -> Option<&'static str> {
        self.checks += 1;
        let problems = validate_known(&self.job, &mut self.known.modules).problems;
        let mut refusing = problems.iter().filter(|p| p.keeps_from_training()).map(|p| p.rule);
        refusing.find(|rule| rules.contains(rule))
    }
}

/// Whether a device shows more than a GPU has where a job of one module allocates so much, even at the least.
fn is_too_large(m: &Module, peak: Bytes, gpu: GpuMemory) -> bool {
    let range = memory_range(m, Some(gpu.least), peak, Bytes::ZERO);
    Verdict::of_memory(Some(gpu), (range.low, range.high)) == Verdict::DoesNotFit
}

/// The language model of a job, with its index among the modules.
fn language(config: &Config) -> Option<(usize, &Module)> {
    let mut modules = config.modules().iter().enumerate();
    modules.find(|(_, m)| m.io().is_language())
}

/// The language model of a job whose layouts can share tables, with its index among the modules: other modules have other
/// ranks.
fn shareable(config: &Config) -> Option<(usize, &Module)> {
    language(config).filter(|(_, m)| SharedTables::can_share(m) && are_apart(config.modules()))
}

impl Space {
    /// A combination with its memory; `None` where Megatron refuses it.
    #[must_use]
    pub fn candidate(&self, index: u64) -> Option<Candidate> {
        let alone = search(self, index..index + 1, u32::MAX, Keep::Legal);
        alone.candidates.first().copied()
    }

    /// The job's own layout with its memory; `None` where it is not among the combinations, or Megatron refuses it.
    #[must_use]
    pub fn own_candidate(&self) -> Option<Candidate> {
        self.candidate(self.given_index()?)
    }
}
