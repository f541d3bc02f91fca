//! `Shares`: the parts of a space, handed out to workers that search together.

use core::ops::Range;
use std::collections::VecDeque;

/// Ranges of indices that together are a whole space, for workers that take one after another.
///
/// The ranges of a group differ only in the number of GPUs and in pipeline sizes. A [`Searcher`](super::Searcher) keeps
/// what their layouts have in common, so a worker gets the ranges of one group until it ends, and then those of the
/// next group that nobody has begun. Where all have been begun, it helps with the one of which most is left.
#[derive(Clone, Debug, Default)]
pub struct Shares {
    groups: Vec<VecDeque<Range<u64>>>,
    /// The groups before this one were begun.
    begun: usize,
    /// The group that each worker is at.
    of_workers: Vec<usize>,
}

impl Shares {
    pub(super) fn new(groups: impl Iterator<Item = VecDeque<Range<u64>>>) -> Self {
        Self {
            groups: groups.collect(),
            begun: 0,
            of_workers: Vec::new(),
        }
    }

    /// The number of ranges that were not handed out yet.
    #[must_use]
    pub fn left(&self) -> usize {
        self.groups.iter().map(VecDeque::len).sum()
    }

    /// The next range for a worker; `None` where all were handed out.
    pub fn next_for(&mut self, worker: usize) -> Option<Range<u64>> {
        if self.of_workers.len() <= worker {
            // No group has this number, so that the worker takes one that nobody has begun.
            self.of_workers.resize(worker.saturating_add(1), usize::MAX);
        }
        let at = self.of_workers.get_mut(worker)?;
        if self.groups.get(*at).is_none_or(VecDeque::is_empty) {
            *at = if self.begun < self.groups.len() {
                self.begun += 1;
                self.begun - 1
            } else {
                let left = self.groups.iter().map(VecDeque::len).enumerate();
                left.max_by_key(|(_, left)| *left)?.0
            };
        }
        self.groups.get_mut(*at)?.pop_front()
    }
}
