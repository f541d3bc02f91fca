//! The changes with which the job on the page fits.

use megatron_memory::config::raw::RawJob;
use megatron_memory::fit::Offer;

/// The changes found for a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundChanges {
    /// The job that they change.
    pub job: RawJob,
    /// Those with which it fits, or, where it fits as it is, those that its free memory allows. The cheapest comes first.
    pub offers: Vec<Offer>,
    /// Of those that are not enough, the one with the smallest peak.
    pub closest: Option<Offer>,
    /// Whether the job fits as it is.
    pub fits: bool,
    /// Whether all changes have been tried.
    pub is_complete: bool,
}

impl FoundChanges {
    /// The cheapest change of a job; `None` as long as its changes are looked for, and where none is enough.
    pub fn best(&self, job: &RawJob) -> Option<&Offer> {
        self.offers.first().filter(|_| self.job == *job)
    }

    /// Whether there may be a change that is enough.
    pub fn is_promising(&self) -> bool {
        !self.is_complete || !self.offers.is_empty()
    }
}
