//! Some of the layouts that were found, and those of them that pass the filter, in the order of the table.

use super::view::View;
use crate::search::{Candidate, Space};

/// The most layouts of a part: they are ordered in some milliseconds.
const SIZE: usize = 8192;

/// Up to [`SIZE`] layouts that arrived one after the other.
#[derive(Debug, Default)]
pub(super) struct Part {
    candidates: Vec<Candidate>,
    /// Indices of the candidates that pass the filter, in the order of the table.
    shown: Vec<usize>,
}

impl Part {
    /// How many layouts it has, shown or not.
    pub(super) fn count(&self) -> usize {
        self.candidates.len()
    }

    /// How many layouts it has room for.
    pub(super) fn room(&self) -> usize {
        SIZE.saturating_sub(self.candidates.len())
    }

    /// All its layouts, shown or not.
    pub(super) fn all(&self) -> &[Candidate] {
        &self.candidates
    }

    /// How many layouts pass the filter.
    pub(super) fn rows(&self) -> usize {
        self.shown.len()
    }

    /// The layout of a row.
    pub(super) fn row(&self, at: usize) -> Option<&Candidate> {
        self.candidates.get(*self.shown.get(at)?)
    }

    /// The layouts that pass the filter, in the order of the table.
    pub(super) fn shown(&self) -> impl Iterator<Item = &Candidate> {
        self.shown.iter().filter_map(|at| self.candidates.get(*at))
    }

    /// How many rows come before a layout.
    pub(super) fn before(&self, view: &View, space: &Space, candidate: &Candidate) -> usize {
        let is_before = |at: &usize| {
            let row = self.candidates.get(*at);
            row.is_some_and(|row| view.compare(space, row, candidate).is_lt())
        };
        self.shown.partition_point(is_before)
    }

    /// Adds layouts that are not shown yet.
    pub(super) fn add(&mut self, candidates: &[Candidate]) {
        self.candidates.extend_from_slice(candidates);
    }

    /// Adds layouts, each at its place among those that are shown.
    pub(super) fn add_in_order(&mut self, candidates: &[Candidate], view: &View, space: &Space) {
        let known = self.candidates.len();
        self.add(candidates);
        let passing = (known..self.candidates.len()).filter(|at| self.passes(*at, view, space));
        let mut new: Vec<usize> = passing.collect();
        // Two ordered runs, which the sort joins.
        self.sort(&mut new, view, space);
        let mut shown = core::mem::take(&mut self.shown);
        shown.append(&mut new);
        self.sort(&mut shown, view, space);
        self.shown = shown;
    }

    /// Shows what passes the filter, in another order.
    pub(super) fn order(&mut self, view: &View, space: &Space) {
        let passing = (0..self.candidates.len()).filter(|at| self.passes(*at, view, space));
        let mut shown: Vec<usize> = passing.collect();
        self.sort(&mut shown, view, space);
        self.shown = shown;
    }

    fn passes(&self, at: usize, view: &View, space: &Space) -> bool {
        let candidate = self.candidates.get(at);
        candidate.is_some_and(|candidate| view.passes(space, candidate))
    }

    fn sort(&self, rows: &mut [usize], view: &View, space: &Space) {
        rows.sort_by(|a, b| match (self.candidates.get(*a), self.candidates.get(*b)) {
            (Some(a), Some(b)) => view.compare(space, a, b),
            _ => a.cmp(b),
        });
    }
}
