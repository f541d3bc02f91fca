//! The search for changes that make a job fit, or that a job with memory left can afford. It goes step by step, so that
//! a page can do other work in between.

use std::vec;

use super::candidates::{candidates, cheaper_candidates, replica_gpus};
use super::cost::{ChangeKind, Cost};
use super::error::{FitError, with_gpu};
use super::measure::standing;
use super::offer::{Change, Offer};
use crate::config::check;
use crate::config::raw::RawJob;
use crate::units::Bytes;
use crate::verdict::Standing;

/// The most changes of one kind that pairs are made of.
const PAIRED: usize = 4;
/// The most pairs that are offered.
const MOST_PAIRS: usize = 3;

/// What may change in a job so that it fits its GPU, or, where it fits as it is, what the memory left over allows.
#[derive(Clone, Debug, PartialEq)]
pub struct Offers {
    /// The job as it is.
    pub now: Standing,
    /// The changes with which it fits, those that cost least first.
    pub offers: Vec<Offer>,
    /// Of the changes that are not enough, the one with the smallest peak; `None` where no change saves memory.
    pub closest: Option<Offer>,
    /// GPUs of one model replica of the job as it is.
    pub replica_gpus: u64,
}

/// All changes that a job is offered.
///
/// # Errors
/// Where Megatron refuses the job, or no GPU is chosen.
pub fn offers(job: &RawJob) -> Result<Offers, FitError> {
    let mut search = OfferSearch::new(job)?;
    while !search.advance(u32::MAX) {}
    Ok(Offers {
        now: search.now(),
        offers: search.offers(),
        closest: search.closest().cloned(),
        replica_gpus: search.replica_gpus(),
    })
}

/// A search for the cheapest change of every kind with which a job fits, and for pairs of changes that do not fit
/// alone. For a job that fits as it is, only changes count with which it pays less than now, and there are no pairs.
#[derive(Clone, Debug)]
pub struct OfferSearch {
    job: RawJob,
    /// The module of the fullest stage, which changes are made in.
    module: usize,
    now: Standing,
    /// GPUs of one model replica of the job as it is.
    replica: u64,
    kinds: Vec<Kind>,
    /// Pairs that are still to be tried; `None` until all single changes have been.
    pairs: Option<vec::IntoIter<[Change; 2]>>,
    found: Vec<Offer>,
    /// The change with the smallest peak among those that are not enough.
    closest: Option<Offer>,
}

/// The changes of one kind.
#[derive(Clone, Debug)]
struct Kind {
    /// Changes that are still to be tried, cheapest first.
    rest: vec::IntoIter<Change>,
    best: Option<Offer>,
    /// Changes that save memory, but not enough.
    insufficient: Vec<(Change, Standing)>,
}

impl OfferSearch {
    /// The search for a job.
    ///
    /// # Errors
    /// Where Megatron refuses the job, or no GPU is chosen.
    pub fn new(job: &RawJob) -> Result<Self, FitError> {
        let config = with_gpu(check(job))?;
        let now = Standing::of(&config);
        let module = now.worst.module;
        let Some(m) = config.modules().get(module) else {
            return Err(FitError::Refused(Vec::new()));
        };
        let kinds = if now.has_room() {
            cheaper_candidates(job, m, now.worst)
        } else {
            candidates(job, m, now.worst)
        };
        let kinds = kinds.into_iter().map(|changes| Kind {
            rest: changes.into_iter(),
            best: None,
            insufficient: Vec::new(),
        });
        Ok(Self {
            job: job.clone(),
            module,
            now,
            replica: replica_gpus(job, module),
            kinds: kinds.collect(),
            pairs: now.has_room().then(|| Vec::new().into_iter()),
            found: Vec::new(),
            closest: None,
        })
    }

    /// Tries up to this many changes. Returns whether the search has ended.
    pub fn advance(&mut self, changes: u32) -> bool {
        (0..changes).any(|_| !self.step())
    }

    /// The memory of the job as it is.
    #[must_use]
    pub fn now(&self) -> Standing {
        self.now
    }

    /// GPUs of one model replica of the job as it is.
    #[must_use]
    pub fn replica_gpus(&self) -> u64 {
        self.replica
    }

    /// The changes found so far with which the job fits: single ones first, then pairs, each from those that cost
    /// least.
    #[must_use]
    pub fn offers(&self) -> Vec<Offer> {
        let singles = self.kinds.iter().filter_map(|kind| kind.best.clone());
        let mut singles: Vec<Offer> = singles.collect();
        singles.sort_by_key(|found| self.cost(found));
        let mut pairs = self.found.clone();
        pairs.sort_by_key(|found| self.cost(found));
        let mut kinds: Vec<Vec<ChangeKind>> = Vec::new();
        pairs.retain(|pair| {
            let of: Vec<ChangeKind> = pair.changes.iter().map(|change| change.kind).collect();
            let first = !kinds.contains(&of);
            kinds.push(of);
            first
        });
        pairs.truncate(MOST_PAIRS);
        singles.extend(pairs);
        singles
    }

    /// The change with the smallest peak among those that are not enough.
    #[must_use]
    pub fn closest(&self) -> Option<&Offer> {
        self.closest.as_ref()
    }

    /// A key by which changes that cost less come first.
    fn cost(&self, found: &Offer) -> (u16, Vec<Cost>, u64) {
        let ranks = found.changes.iter().map(|c| u16::from(c.cost.rank(self.replica)));
        let costs = found.changes.iter().map(|c| c.cost).collect();
        (ranks.sum(), costs, found.measured.total.0)
    }

    /// Tries one change; `false` where none is left.
    fn step(&mut self) -> bool {
        if let Some(at) = self.kinds.iter().position(Kind::is_open) {
            let Some(change) = self.kinds.get_mut(at).and_then(|kind| kind.rest.next()) else {
                return false;
            };
            self.try_single(at, change);
            return true;
        }
        if self.pairs.is_none() {
            self.pairs = Some(self.all_pairs().into_iter());
        }
        let Some(pair) = self.pairs.as_mut().and_then(Iterator::next) else {
            return false;
        };
        if let Some(found) = self.measure(pair.to_vec()) {
            if found.measured.has_room() {
                self.found.push(found);
            } else {
                self.offer_closest(found);
            }
        }
        true
    }

    fn try_single(&mut self, at: usize, change: Change) {
        let Some(found) = self.measure(vec![change.clone()]) else {
            return;
        };
        let measured = found.measured;
        let Some(kind) = self.kinds.get_mut(at) else {
            return;
        };
        if measured.has_room() {
            // The fewest settings of one cost, then the smallest peak.
            let key = |m: &Offer| {
                let change = m.changes.first();
                (change.map(|c| (c.cost, c.settings.len())), m.measured.total)
            };
            if kind.best.as_ref().is_none_or(|best| key(&found) < key(best)) {
                kind.best = Some(found);
            }
        } else if measured.total < self.now.total {
            kind.insufficient.push((change, measured));
            self.offer_closest(found);
        }
    }

    fn measure(&self, changes: Vec<Change>) -> Option<Offer> {
        let mut job = self.job.clone();
        for change in &changes {
            change.apply(&mut job, self.module);
        }
        let measured = standing(&job)?;
        // A change to what is not modelled makes nothing fit.
        if measured.is_of_another_job() && !self.now.is_of_another_job() {
            return None;
        }
        let signed = |bytes: Bytes| i64::try_from(bytes.0).unwrap_or(i64::MAX);
        Some(Offer {
            changes,
            module: self.module,
            measured,
            saves: signed(self.now.total).saturating_sub(signed(measured.total)),
        })
    }

    fn offer_closest(&mut self, found: Offer) {
        let peak = |known: &Offer| known.measured.total;
        if self.closest.as_ref().is_none_or(|known| peak(&found) < peak(known)) {
            self.closest = Some(found);
        }
    }

    /// Pairs of changes of two kinds, neither of which is enough alone.
    fn all_pairs(&self) -> Vec<[Change; 2]> {
        let worthwhile: Vec<Vec<Change>> = self.kinds.iter().map(Kind::worthwhile).collect();
        let mut pairs = Vec::new();
        for (at, first) in worthwhile.iter().enumerate() {
            for second in worthwhile.iter().skip(at + 1) {
                for a in first {
                    pairs.extend(second.iter().map(|b| [a.clone(), b.clone()]));
                }
            }
        }
        pairs
    }
}

impl Kind {
    /// Whether a change that is still to be tried may be cheaper than the best one, or as cheap with a smaller peak.
    fn is_open(&self) -> bool {
        let cost = |found: &Offer| found.changes.first().map(|change| change.cost);
        let best = self.best.as_ref().and_then(cost);
        let next = self.rest.as_slice().first();
        next.is_some_and(|next| best.is_none_or(|best| next.cost <= best))
    }

    /// Changes that are not enough and save more than any cheaper one, spread over their range of costs.
    fn worthwhile(&self) -> Vec<Change> {
        let mut kept: Vec<&(Change, Standing)> = Vec::new();
        let mut sorted: Vec<_> = self.insufficient.iter().collect();
        sorted.sort_by_key(|(change, measured)| (change.cost, measured.total));
        for entry in sorted {
            if kept.last().is_none_or(|last| entry.1.total < last.1.total) {
                kept.push(entry);
            }
        }
        let last = kept.len().saturating_sub(1);
        let spread = (0..PAIRED).map(|place| last * place / (PAIRED - 1).max(1));
        let mut places: Vec<usize> = spread.collect();
        places.dedup();
        places
            .into_iter()
            .filter_map(|place| Some(kept.get(place)?.0.clone()))
            .collect()
    }
}
