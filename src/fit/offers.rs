//! The search for changes that make a job fit, or that a job with memory left can afford. It goes step by step, so that
//! a page can do other work in between.

use std::collections::VecDeque;
use std::vec;

use super::candidates::{candidates, cheaper_candidates, shorter_samples};
use super::cost::{ChangeKind, Cost};
use super::error::{FitError, with_gpu};
use super::job_costs::JobCosts;
use super::measure::Measured;
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
    /// What the job pays as it is.
    costs: JobCosts,
    kinds: Vec<Kind>,
    /// Whether shorter samples have been tried, or are none that help.
    tried_shorter: bool,
    /// Pairs that are still to be tried; `None` until all single changes have been.
    pairs: Option<VecDeque<[Change; 2]>>,
    /// Pairs with which the job fits, the cheapest one of each two kinds.
    found: Vec<Offer>,
    /// The shorter samples with which the job fits.
    shorter: Option<Offer>,
    /// The change with the smallest peak among those that are not enough.
    closest: Option<Offer>,
}

/// The changes of one kind.
#[derive(Clone, Debug)]
struct Kind {
    /// Changes that are still to be tried, cheapest first.
    rest: vec::IntoIter<Change>,
    /// The first one with which the job fits, after which none is tried.
    best: Option<Offer>,
    /// Changes that save memory, but not enough, cheapest first.
    insufficient: Vec<(Change, Standing)>,
}

impl OfferSearch {
    /// The search for a job.
    ///
    /// # Errors
    /// Where Megatron refuses the job, or no GPU is chosen.
    pub fn new(job: &RawJob) -> Result<Self, FitError> {
        let measured = Measured::of(with_gpu(check(job))?);
        let now = measured.settled();
        Ok(Self::of(job, &measured, now))
    }

    /// The search for a job whose standing is known.
    ///
    /// # Errors
    /// Where Megatron refuses the job, or no GPU is chosen.
    pub fn of_standing(job: &RawJob, now: Standing) -> Result<Self, FitError> {
        let measured = Measured::of(with_gpu(check(job))?);
        Ok(Self::of(job, &measured, now))
    }

    fn of(job: &RawJob, measured: &Measured, now: Standing) -> Self {
        let fits = now.has_room();
        let module = now.worst.module;
        let kinds = match measured.config().modules().get(module) {
            Some(m) if fits => cheaper_candidates(job, m, module),
            Some(m) => candidates(job, m),
            None => Vec::new(),
        };
        let kinds = kinds.into_iter().map(|changes| Kind {
            rest: changes.into_iter(),
            best: None,
            insufficient: Vec::new(),
        });
        Self {
            job: job.clone(),
            module,
            now,
            costs: measured.costs(),
            kinds: kinds.collect(),
            tried_shorter: fits,
            pairs: fits.then(VecDeque::new),
            found: Vec::new(),
            shorter: None,
            closest: None,
        }
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

    /// The changes found so far with which the job fits, those that cost least first.
    #[must_use]
    pub fn offers(&self) -> Vec<Offer> {
        let singles = self.kinds.iter().filter_map(|kind| kind.best.clone());
        let mut pairs = self.found.clone();
        pairs.sort_by_cached_key(Offer::key);
        pairs.truncate(MOST_PAIRS);
        let mut offers: Vec<Offer> = singles.chain(self.shorter.clone()).chain(pairs).collect();
        offers.sort_by_cached_key(Offer::key);
        offers
    }

    /// The change with the smallest peak among those that are not enough.
    #[must_use]
    pub fn closest(&self) -> Option<&Offer> {
        self.closest.as_ref()
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
        if !self.tried_shorter {
            self.tried_shorter = true;
            self.try_shorter();
            return true;
        }
        if self.pairs.is_none() {
            self.pairs = Some(self.all_pairs());
        }
        let Some(pair) = self.pairs.as_mut().and_then(VecDeque::pop_front) else {
            return false;
        };
        self.try_pair(&pair);
        true
    }

    fn try_single(&mut self, at: usize, change: Change) {
        let changes = [change];
        let Some(measured) = self.measure(&changes) else {
            return;
        };
        let standing = measured.standing;
        if standing.has_room() {
            let offer = self.offer(&changes, &measured);
            if let Some(kind) = self.kinds.get_mut(at) {
                kind.best = Some(offer);
            }
        } else if standing.total < self.now.total {
            self.offer_closest(&changes, &measured);
            let [change] = changes;
            if let Some(kind) = self.kinds.get_mut(at) {
                kind.insufficient.push((change, standing));
            }
        }
    }

    fn try_shorter(&mut self) {
        let Some(change) = shorter_samples(&self.job) else {
            return;
        };
        let changes = [change];
        let measured = self.measure(&changes);
        let fitting = measured.filter(|measured| measured.standing.has_room());
        self.shorter = fitting.map(|measured| self.offer(&changes, &measured));
    }

    /// Tries a pair, unless one of the same kinds fits that has no more of either. Where it fits, those are tried next
    /// that have less of one of the two.
    fn try_pair(&mut self, pair: &[Change; 2]) {
        let place = self.found.iter().position(|found| has_kinds(found, pair));
        let known = place.and_then(|at| self.found.get(at));
        let costs = |changes: &[Change]| changes.iter().map(|change| change.cost).collect::<Vec<Cost>>();
        let is_no_less = |known: &Offer| {
            let (known, tried) = (costs(&known.changes), costs(pair));
            known.iter().zip(&tried).all(|(known, tried)| known <= tried)
        };
        if known.is_some_and(is_no_less) {
            return;
        }
        let Some(measured) = self.measure(pair) else {
            return;
        };
        if !measured.standing.has_room() {
            self.offer_closest(pair, &measured);
            return;
        }
        let found = self.offer(pair, &measured);
        if known.is_some_and(|known| known.key() <= found.key()) {
            return;
        }
        match place.and_then(|at| self.found.get_mut(at)) {
            Some(known) => *known = found,
            None => self.found.push(found),
        }
        let less = self.less_of_either(pair);
        if let Some(pairs) = &mut self.pairs {
            for pair in less.into_iter().rev() {
                pairs.push_front(pair);
            }
        }
    }

    /// The pairs with a cheaper change in place of either one of a pair, cheapest first.
    fn less_of_either(&self, pair: &[Change; 2]) -> Vec<[Change; 2]> {
        let [first, second] = pair;
        let cheaper = |of: &Change| {
            let kinds = self.kinds.iter().flat_map(|kind| &kind.insufficient);
            let same = kinds.map(|(change, _)| change).filter(|change| change.kind == of.kind);
            let cheaper: Vec<Change> = same.filter(|change| change.cost < of.cost).cloned().collect();
            cheaper
        };
        let firsts = cheaper(first).into_iter().map(|less| [less, second.clone()]);
        let seconds = cheaper(second).into_iter().map(|less| [first.clone(), less]);
        firsts.chain(seconds).collect()
    }

    /// Estimates the job with changes; `None` where Megatron refuses it.
    fn measure(&self, changes: &[Change]) -> Option<Measured> {
        let mut job = self.job.clone();
        for change in changes {
            change.apply(&mut job, self.module);
        }
        let measured = Measured::of_job(&job)?;
        // A change to what is not modelled makes nothing fit.
        let of_another_job = measured.standing.is_of_another_job() && !self.now.is_of_another_job();
        (!of_another_job).then_some(measured)
    }

    fn offer(&self, changes: &[Change], measured: &Measured) -> Offer {
        let signed = |bytes: Bytes| i64::try_from(bytes.0).unwrap_or(i64::MAX);
        let total = measured.standing.total;
        Offer {
            changes: changes.to_vec(),
            module: self.module,
            measured: measured.standing,
            saves: signed(self.now.total).saturating_sub(signed(total)),
            now: self.costs,
            then: measured.costs(),
        }
    }

    fn offer_closest(&mut self, changes: &[Change], measured: &Measured) {
        let closest = self.closest.as_ref().map(|known| known.measured.total);
        if closest.is_none_or(|closest| measured.standing.total < closest) {
            self.closest = Some(self.offer(changes, measured));
        }
    }

    /// Pairs of changes of two kinds, neither of which is enough alone.
    fn all_pairs(&self) -> VecDeque<[Change; 2]> {
        let worthwhile: Vec<Vec<Change>> = self.kinds.iter().map(Kind::worthwhile).collect();
        let mut pairs = VecDeque::new();
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

/// Whether an offer is a pair of the same kinds.
fn has_kinds(found: &Offer, pair: &[Change; 2]) -> bool {
    let kinds = |changes: &[Change]| changes.iter().map(|change| change.kind).collect::<Vec<ChangeKind>>();
    kinds(&found.changes) == kinds(pair)
}

impl Kind {
    /// Whether a change is still to be tried.
    fn is_open(&self) -> bool {
        self.best.is_none() && !self.rest.as_slice().is_empty()
    }

    /// Changes that are not enough and save more than any cheaper one, spread over their range of costs; none where one
    /// is enough.
    fn worthwhile(&self) -> Vec<Change> {
        if self.best.is_some() {
            return Vec::new();
        }
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
