//! The best layout with which a job fits. The search goes step by step, so that a page can do other work in between.

use crate::config::fields::FieldId;
use crate::config::raw::RawJob;
use crate::search::{Axis, Candidate, Keep, Options, Searcher, Space, Unsearchable};
use crate::value::Value;

/// A search for the layout that comes first among those that fit the GPU, with the job's own way of recomputing, or,
/// where none fits with that, with another one.
#[derive(Debug)]
pub struct LayoutSearch {
    job: RawJob,
    space: Space,
    /// Keeps what the layouts of the space have in common from one step to the next.
    searcher: Searcher,
    /// The index to continue from.
    next: u64,
    /// Whether ways of recomputing vary too.
    recomputes: bool,
    best: Option<Candidate>,
}

impl LayoutSearch {
    /// The search for a job, whose own layout Megatron may refuse.
    ///
    /// # Errors
    /// When the job's layouts cannot be searched.
    pub fn new(job: &RawJob) -> Result<Self, Unsearchable> {
        Ok(Self {
            job: job.clone(),
            space: Space::new(job, &Options::usual(job))?,
            searcher: Searcher::default(),
            next: 0,
            recomputes: false,
            best: None,
        })
    }

    /// Checks up to this many jobs. Returns whether the search has ended.
    pub fn advance(&mut self, checks: u32) -> bool {
        let total = self.space.total();
        let range = self.next..total;
        let slice = self.searcher.search(&self.space, range, checks, Keep::Fitting);
        for candidate in &slice.candidates {
            self.offer(candidate);
        }
        self.next = slice.next.unwrap_or(total);
        if self.next < total {
            return false;
        }
        if self.best.is_some() || self.recomputes {
            return true;
        }
        self.recomputes = true;
        let mut options = Options::usual(&self.job);
        options.vary.push(Axis::Recompute);
        match Space::new(&self.job, &options) {
            Ok(space) => {
                (self.space, self.next) = (space, 0);
                self.searcher = Searcher::default();
                false
            }
            Err(_) => true,
        }
    }

    /// The part of the search that is done, in percent.
    #[must_use]
    pub fn percent(&self) -> u64 {
        let share = u128::from(self.next) * 100 / u128::from(self.space.total().max(1));
        u64::try_from(share).unwrap_or(100)
    }

    /// The settings of the best layout found so far, null for a default; `None` where none fits.
    #[must_use]
    pub fn settings(&self) -> Option<Vec<(FieldId, Value)>> {
        self.best.as_ref().map(|best| self.space.settings(best.index))
    }

    /// The job with the best layout found so far.
    #[must_use]
    pub fn job_of_best(&self) -> Option<RawJob> {
        self.best.as_ref().map(|best| self.space.job(best.index))
    }

    /// Keeps a candidate where it comes before the best one so far.
    fn offer(&mut self, candidate: &Candidate) {
        if self.best.is_none_or(|best| candidate.is_before(&best)) {
            self.best = Some(*candidate);
        }
    }
}
