//! Some of the layouts that were found, and those of them that pass the filter, in the order of the table.

use core::cmp::Ordering;

use super::query::Query;
use crate::search::candidate::Candidate;
use crate::search::space::Space;

/// The most layouts of a run: they are sorted in some milliseconds.
const SIZE: usize = 8192;

/// Up to [`SIZE`] layouts that arrived one after the other.
#[derive(Debug, Default)]
pub(super) struct SortedRun {
    candidates: Vec<Candidate>,
    /// Indices of all candidates, in the order of the search.
    best_first: Vec<usize>,
    /// Indices of the candidates that pass the filter, in the order of the table.
    rows: Vec<usize>,
}

impl SortedRun {
    /// How many layouts it has, rows of the table or not.
    pub(super) fn count(&self) -> usize {
        self.candidates.len()
    }

    /// How many layouts it has room for.
    pub(super) fn room(&self) -> usize {
        SIZE.saturating_sub(self.candidates.len())
    }

    /// All its layouts, rows of the table or not.
    pub(super) fn all(&self) -> &[Candidate] {
        &self.candidates
    }

    /// How many layouts pass the filter.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The layout of a row.
    pub(super) fn row(&self, at: usize) -> Option<&Candidate> {
        self.candidates.get(*self.rows.get(at)?)
    }

    /// The layouts that pass the filter, in the order of the table.
    pub(super) fn rows(&self) -> impl Iterator<Item = &Candidate> {
        self.rows.iter().filter_map(|at| self.candidates.get(*at))
    }

    /// How many rows come before a layout.
    pub(super) fn before(&self, query: &Query, space: &Space, candidate: &Candidate) -> usize {
        self.end_of_rows(|row| query.compare(space, row, candidate).is_lt())
    }

    /// A layout by its place in the order of the search, among all, rows or not.
    pub(super) fn in_order(&self, at: usize) -> Option<&Candidate> {
        self.candidates.get(*self.best_first.get(at)?)
    }

    /// The end of the layouts for which something holds, which stand together in the order of the search from a place on.
    pub(super) fn end(&self, from: usize, holds: impl Fn(&Candidate) -> bool) -> usize {
        let rest = self.best_first.get(from..).unwrap_or_default();
        from + rest.partition_point(|at| self.candidates.get(*at).is_some_and(&holds))
    }

    /// The end of the first rows for which something holds that holds for no later row.
    pub(super) fn end_of_rows(&self, holds: impl Fn(&Candidate) -> bool) -> usize {
        self.rows
            .partition_point(|at| self.candidates.get(*at).is_some_and(&holds))
    }

    /// Adds layouts that are no rows yet.
    pub(super) fn add(&mut self, candidates: &[Candidate]) {
        let known = self.candidates.len();
        self.candidates.extend_from_slice(candidates);
        let mut order = core::mem::take(&mut self.best_first);
        order.extend(known..self.candidates.len());
        // Mostly ordered already, which the stable sort makes use of.
        self.sort_by(&mut order, Candidate::order);
        self.best_first = order;
    }

    /// Adds layouts, each at its place among the rows.
    pub(super) fn merge(&mut self, candidates: &[Candidate], query: &Query, space: &Space) {
        let known = self.candidates.len();
        self.add(candidates);
        let passing = (known..self.candidates.len()).filter(|at| self.passes(*at, query, space));
        let mut new: Vec<usize> = passing.collect();
        self.sort_rows(&mut new, query, space);
        let mut rows = core::mem::take(&mut self.rows);
        rows.append(&mut new);
        // Two ordered runs, which the stable sort merges.
        self.sort_rows(&mut rows, query, space);
        self.rows = rows;
    }

    /// Filters and sorts all its layouts anew.
    pub(super) fn sort(&mut self, query: &Query, space: &Space) {
        let passing = (0..self.candidates.len()).filter(|at| self.passes(*at, query, space));
        let mut rows: Vec<usize> = passing.collect();
        self.sort_rows(&mut rows, query, space);
        self.rows = rows;
    }

    fn passes(&self, at: usize, query: &Query, space: &Space) -> bool {
        let candidate = self.candidates.get(at);
        candidate.is_some_and(|candidate| query.passes(space, candidate))
    }

    fn sort_rows(&self, rows: &mut [usize], query: &Query, space: &Space) {
        self.sort_by(rows, |a, b| query.compare(space, a, b));
    }

    fn sort_by(&self, places: &mut [usize], compare: impl Fn(&Candidate, &Candidate) -> Ordering) {
        places.sort_by(|a, b| match (self.candidates.get(*a), self.candidates.get(*b)) {
            (Some(a), Some(b)) => compare(a, b),
            _ => a.cmp(b),
        });
    }
}
