//! The best layouts of a search, and the counts of all of them. It keeps no more layouts than it is asked for: a search
//! may find millions.

use super::candidate::Candidate;
use super::slice::Slice;
use super::table::OwnLayout;

/// The best layouts that a search found, the best first, and the counts of all.
#[derive(Clone, Debug)]
pub struct Best {
    /// How many layouts are kept.
    most: usize,
    /// The counts of the search. Its candidates are not kept.
    counts: Slice,
    /// The number of layouts that were found.
    found: u64,
    /// The best ones and some others, in no order.
    candidates: Vec<Candidate>,
    own: Option<OwnLayout>,
}

impl Best {
    /// Nothing is found yet. Keeps so many layouts, and the place of the job's own layout among all.
    #[must_use]
    pub fn new(most: usize, own: Option<Candidate>) -> Self {
        Self {
            most,
            counts: Slice::default(),
            found: 0,
            candidates: Vec::new(),
            own: own.map(OwnLayout::new),
        }
    }

    /// Adds what a part of the search found.
    pub fn add(&mut self, mut slice: Slice) {
        let candidates = core::mem::take(&mut slice.candidates);
        self.counts.join(slice);
        self.found += u64::try_from(candidates.len()).unwrap_or(u64::MAX);
        for candidate in &candidates {
            if let Some(own) = &mut self.own {
                own.compare(candidate);
            }
        }
        self.keep(&candidates);
    }

    /// Adds what another worker found.
    pub fn join(&mut self, other: Self) {
        self.counts.join(other.counts);
        self.found += other.found;
        if let (Some(own), Some(others)) = (&mut self.own, &other.own) {
            own.before += others.before;
            own.is_listed |= others.is_listed;
        }
        self.keep(&other.candidates);
    }

    fn keep(&mut self, candidates: &[Candidate]) {
        self.candidates.extend_from_slice(candidates);
        self.candidates.sort_unstable_by(Candidate::order);
        self.candidates.truncate(self.most.max(1));
    }

    /// The counts of the search, without its candidates.
    #[must_use]
    pub fn counts(&self) -> &Slice {
        &self.counts
    }

    /// The number of layouts that were found, kept or not.
    #[must_use]
    pub fn found(&self) -> u64 {
        self.found
    }

    /// The very best layout.
    #[must_use]
    pub fn first(&self) -> Option<&Candidate> {
        self.candidates.first()
    }

    /// The best layouts, the best first.
    pub fn layouts(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates.iter().take(self.most)
    }

    /// The job's own layout, where it is among the combinations.
    #[must_use]
    pub fn own(&self) -> Option<&OwnLayout> {
        self.own.as_ref()
    }
}
