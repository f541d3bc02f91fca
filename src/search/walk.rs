//! Going through a range of a space.

use core::ops::Range;

use serde::{Deserialize, Serialize};

use super::axis::{Axis, Pick};
use super::{Candidate, Space};
use crate::config::check;
use crate::config::problem::{Problem, Severity};
use crate::config::raw::RawJob;

/// Warnings about what Megatron's scheduler refuses to run: such a job can be planned, but not found.
const REFUSED_AT_RUN: [&str; 2] = ["microbatches_fill_group", "last_group"];

/// Which candidates are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Keep {
    /// All legal ones.
    Legal,
    /// Those that fit on the GPU.
    Fitting,
}

/// What a search found in a part of a space.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// Where to go on; `None` when the range is done.
    pub next: Option<u64>,
    /// Combinations that were dealt with.
    pub looked_at: u64,
    /// Combinations that Megatron refuses, by the rule that was met first.
    pub refused: Vec<(String, u64)>,
    /// Combinations with a size above its bound, by what was met first.
    pub out_of_bounds: Vec<(Axis, u64)>,
    /// Legal combinations within all bounds.
    pub legal: u64,
    /// Of these, those that need more than a GPU has.
    pub too_large: u64,
    /// Candidates in the order of the space.
    pub candidates: Vec<Candidate>,
    /// Of those that need more than a GPU has, the one that needs least.
    pub closest: Option<Candidate>,
}

/// What becomes of a combination.
enum Fate {
    /// All that share its digits up to a level are refused by a rule.
    Refused(usize, &'static str),
    /// All that share its digits up to a level are out of bounds.
    OutOfBounds(usize, Axis),
    /// It is legal, and what it comes to.
    Legal(Option<Candidate>),
}

/// Goes through a range of a space, in order. Ends after asking `steps` times, each time about one job, and then says
/// where to go on.
#[must_use]
pub fn search(space: &Space, range: Range<u64>, steps: u32, keep: Keep) -> Slice {
    let mut walk = Walk {
        space,
        job: space.base.clone(),
        chosen: Vec::new(),
        asked: 0,
    };
    let end = range.end.min(space.total());
    let mut slice = Slice::default();
    let mut at = range.start;
    while at < end && walk.asked < steps {
        let span = match walk.look(at) {
            Fate::Refused(level, rule) => {
                let span = walk.rest(at, level, end);
                count(&mut slice.refused, rule.to_owned(), span);
                span
            }
            Fate::OutOfBounds(level, axis) => {
                let span = walk.rest(at, level, end);
                count(&mut slice.out_of_bounds, axis, span);
                span
            }
            Fate::Legal(candidate) => {
                slice.legal += 1;
                if let Some(candidate) = candidate {
                    slice.take(candidate, keep);
                }
                1
            }
        };
        slice.looked_at += span;
        at += span;
    }
    slice.next = (at < end).then_some(at);
    slice
}

impl Slice {
    /// Adds what was found elsewhere in the space. Candidates stay in the order in which they are added.
    pub fn join(&mut self, other: &Self) {
        self.looked_at += other.looked_at;
        self.legal += other.legal;
        self.too_large += other.too_large;
        for (rule, combinations) in &other.refused {
            count(&mut self.refused, rule.clone(), *combinations);
        }
        for (axis, combinations) in &other.out_of_bounds {
            count(&mut self.out_of_bounds, *axis, *combinations);
        }
        self.candidates.extend_from_slice(&other.candidates);
        if let Some(closest) = &other.closest {
            self.meet(closest);
        }
    }

    /// Remembers what is nearest to fitting, the first in the space among equals.
    fn meet(&mut self, candidate: &Candidate) {
        let key = |c: &Candidate| (c.peak, c.index);
        if self
            .closest
            .is_none_or(|known| key(candidate) < key(&known))
        {
            self.closest = Some(*candidate);
        }
    }

    fn take(&mut self, candidate: Candidate, keep: Keep) {
        if candidate.is_too_large() {
            self.too_large += 1;
            if self
                .closest
                .is_none_or(|closest| candidate.peak < closest.peak)
            {
                self.closest = Some(candidate);
            }
            if keep == Keep::Fitting {
                return;
            }
        }
        self.candidates.push(candidate);
    }
}

/// Adds to the count of a thing.
fn count<T: PartialEq>(counts: &mut Vec<(T, u64)>, of: T, more: u64) {
    match counts.iter_mut().find(|(known, _)| *known == of) {
        Some((_, count)) => *count = count.saturating_add(more),
        None => counts.push((of, more)),
    }
}

/// A place in a space, and the job there.
struct Walk<'s> {
    space: &'s Space,
    job: RawJob,
    /// The values up to the level where the last combination was refused, or all of them.
    chosen: Vec<Pick>,
    /// How many jobs were asked about.
    asked: u32,
}

impl Walk<'_> {
    /// From a combination to the last one that shares its digits up to a level.
    fn rest(&self, at: u64, level: usize, end: u64) -> u64 {
        let span = self.space.span(level);
        (span - at % span).min(end - at)
    }

    fn look(&mut self, at: u64) -> Fate {
        let picks = self.space.picks(at);
        let same = |(a, b): &(&Pick, &Pick)| a == b;
        let common = self.chosen.iter().zip(&picks).take_while(same).count();
        self.chosen.truncate(common);
        self.job = self.space.base.clone();
        let last = picks.len().saturating_sub(1);
        for (level, (dimension, pick)) in self.space.dimensions.iter().zip(picks).enumerate() {
            self.space.put(&mut self.job, dimension.axis, pick);
            if level < common {
                continue;
            }
            if matches!(pick, Pick::Size(size) if size > dimension.at_most) {
                return Fate::OutOfBounds(level, dimension.axis);
            }
            // The last choice is followed by the question about everything.
            if level < last
                && !dimension.rules.is_empty()
                && let Some(rule) = self.refusal(&dimension.rules)
            {
                return Fate::Refused(level, rule);
            }
            self.chosen.push(pick);
        }
        self.asked += 1;
        let checked = check(&self.job);
        let refusing = checked.problems.iter().find(|p| refuses(p));
        match refusing {
            Some(problem) => Fate::Refused(last, problem.rule),
            None => Fate::Legal(
                checked
                    .config
                    .and_then(|config| Candidate::new(at, &config)),
            ),
        }
    }

    /// Which of some rules refuses the job, whose later sizes are not chosen yet.
    fn refusal(&mut self, rules: &[&'static str]) -> Option<&'static str> {
        self.asked += 1;
        let problems = check(&self.job).problems;
        let mut refusing = problems.iter().filter(|p| refuses(p)).map(|p| p.rule);
        refusing.find(|rule| rules.contains(rule))
    }
}

fn refuses(problem: &Problem) -> bool {
    problem.severity == Severity::Error || REFUSED_AT_RUN.contains(&problem.rule)
}
