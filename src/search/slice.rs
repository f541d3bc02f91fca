//! The counts and the listed candidates of a search in a part of a space.

use serde::{Deserialize, Serialize};

use super::axis::Axis;
use super::candidate::Candidate;
use crate::verdict::Verdict;

/// The candidates that are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Keep {
    /// All legal candidates.
    Legal,
    /// Legal candidates that fit the GPU.
    Fitting,
}

/// The results of a search in a part of a space.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// The index to continue from; `None` at the end of the range.
    pub next: Option<u64>,
    /// The number of combinations tried, including those skipped together.
    pub looked_at: u64,
    /// The numbers of combinations that Megatron refuses, by the first rule that they break.
    pub refused: Vec<(String, u64)>,
    /// The numbers of combinations with a size above its bound, by the first such axis.
    pub out_of_bounds: Vec<(Axis, u64)>,
    /// The number of combinations that were skipped because the model states alone are more than a GPU has, whatever
    /// the micro batch and what is recomputed, or because a single micro batch is too large that is smaller than
    /// theirs. Some of them may be refused. 0 with [`Keep::Legal`].
    pub cannot_fit: u64,
    /// The number of other legal combinations within all bounds.
    pub legal: u64,
    /// The number of legal combinations that need more memory than a GPU has.
    pub too_large: u64,
    /// The number of legal combinations that fit the GPU only with the smallest overheads.
    pub tight: u64,
    /// The listed candidates, in the order of their indices.
    pub candidates: Vec<Candidate>,
    /// The candidate with the smallest peak among those that need more memory than a GPU has.
    pub closest: Option<Candidate>,
}

impl Slice {
    /// The number of legal combinations that fit the GPU even with the largest overheads, or all where no GPU is
    /// chosen.
    #[must_use]
    pub fn fitting(&self) -> u64 {
        self.legal.saturating_sub(self.too_large).saturating_sub(self.tight)
    }

    /// Adds the results of another part of the space. Candidates stay in the order in which they are added.
    pub fn join(&mut self, mut other: Self) {
        self.looked_at += other.looked_at;
        self.cannot_fit += other.cannot_fit;
        self.legal += other.legal;
        self.too_large += other.too_large;
        self.tight += other.tight;
        for (rule, combinations) in other.refused {
            count(&mut self.refused, rule, combinations);
        }
        for (axis, combinations) in other.out_of_bounds {
            count(&mut self.out_of_bounds, axis, combinations);
        }
        if self.candidates.is_empty() {
            self.candidates = other.candidates;
        } else {
            self.candidates.append(&mut other.candidates);
        }
        if let Some(closest) = &other.closest {
            self.offer_closest(closest);
        }
    }

    /// Keeps the candidate as the closest where its peak is smaller, or its index among equal peaks.
    fn offer_closest(&mut self, candidate: &Candidate) {
        let key = |c: &Candidate| (c.peak, c.index);
        if self.closest.is_none_or(|known| key(candidate) < key(&known)) {
            self.closest = Some(*candidate);
        }
    }

    /// Counts a legal candidate and lists it where `keep` says so.
    pub(super) fn add(&mut self, candidate: Candidate, keep: Keep) {
        match candidate.verdict() {
            Verdict::DoesNotFit => {
                self.too_large += 1;
                self.offer_closest(&candidate);
                if keep == Keep::Fitting {
                    return;
                }
            }
            Verdict::Tight => self.tight += 1,
            Verdict::Unknown | Verdict::Fits | Verdict::NotThisJob | Verdict::Refused(_) => {}
        }
        self.candidates.push(candidate);
    }
}

/// Adds to the count of a key.
pub(super) fn count<T: PartialEq>(counts: &mut Vec<(T, u64)>, of: T, more: u64) {
    match counts.iter_mut().find(|(known, _)| *known == of) {
        Some((_, count)) => *count = count.saturating_add(more),
        None => counts.push((of, more)),
    }
}
