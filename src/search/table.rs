//! A table of the layouts that a search found, sorted and filtered.
//!
//! A search may find millions of layouts, which arrive while it runs. They are kept in sorted runs of some thousand
//! rows, so that neither an answer of the search nor another order takes longer than a frame of the page; the rows in
//! sight are merged from the runs.

mod column;
mod query;
mod ranks;
mod sorted_run;

use self::column::Differences;
pub use self::column::{Column, crossing_groups};
use self::query::Query;
pub use self::query::{Direction, Sort};
pub use self::ranks::TiedRanks;
use self::sorted_run::SortedRun;
use super::candidate::Candidate;
use super::room::Room;
use super::slice::Slice;
use super::space::Space;
use crate::units::Bytes;

/// Layouts whose gains over the job's own are listed.
const BEST: usize = 5;

/// The job's own layout among those that were found.
#[derive(Clone, Copy, Debug)]
pub struct OwnLayout {
    /// The layout with its memory.
    pub candidate: Candidate,
    /// How many come before it, in the order of the search.
    pub before: usize,
    /// Whether it was found itself.
    pub is_listed: bool,
}

impl OwnLayout {
    /// The layout, before any other was found.
    pub(super) fn new(candidate: Candidate) -> Self {
        Self {
            candidate,
            before: 0,
            is_listed: false,
        }
    }

    /// Takes a layout that was found into account.
    pub(super) fn compare(&mut self, found: &Candidate) {
        self.before += usize::from(found.is_before(&self.candidate));
        self.is_listed |= found.index == self.candidate.index;
    }
}

/// Where a group of layouts begins that leave less memory free than those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupStart {
    /// The group.
    pub room: Room,
    /// The place of its first row in the table.
    pub place: usize,
}

/// The layouts that a search found so far, as a table.
#[derive(Debug, Default)]
pub struct LayoutTable {
    /// The counts of the search so far. Its candidates are in the runs.
    counts: Slice,
    differences: Differences,
    runs: Vec<SortedRun>,
    /// How many runs, from the first on, are filtered and sorted as the query asks for.
    sorted: usize,
    query: Query,
    /// The best layouts, best first.
    best: Vec<Candidate>,
    own: Option<OwnLayout>,
}

impl LayoutTable {
    /// The counts of the search so far, without its candidates.
    #[must_use]
    pub fn counts(&self) -> &Slice {
        &self.counts
    }

    /// The columns: those that vary, and what is known of each layout, where layouts differ in it.
    #[must_use]
    pub fn columns(&self, space: &Space) -> Vec<Column> {
        self.differences.columns(space)
    }

    /// The number of layouts that were found, filtered out or not.
    #[must_use]
    pub fn count(&self) -> usize {
        self.runs.iter().map(SortedRun::count).sum()
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sorted_runs().iter().map(SortedRun::len).sum()
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The column that sorts the table; `None` for the best first.
    #[must_use]
    pub fn sort(&self) -> Option<Sort> {
        self.query.sort()
    }

    /// The best layouts of the search, best first.
    #[must_use]
    pub fn best(&self) -> &[Candidate] {
        &self.best
    }

    /// The job's own layout, where it is among the combinations.
    #[must_use]
    pub fn own(&self) -> Option<OwnLayout> {
        self.own
    }

    /// Names the job's own layout.
    pub fn set_own(&mut self, own: Option<Candidate>) {
        self.own = own.map(|candidate| {
            let mut own = OwnLayout::new(candidate);
            let all = self.runs.iter().flat_map(SortedRun::all);
            all.for_each(|found| own.compare(found));
            own
        });
    }

    /// Adds what a part of the search found.
    pub fn add(&mut self, space: &Space, mut slice: Slice) {
        let candidates = core::mem::take(&mut slice.candidates);
        self.counts.join(slice);
        for candidate in &candidates {
            self.differences.add(candidate);
            self.offer_best(candidate);
            if let Some(own) = &mut self.own {
                own.compare(candidate);
            }
        }
        let mut rest = candidates.as_slice();
        while !rest.is_empty() {
            if self.runs.last().is_none_or(|run| run.room() == 0) {
                self.sorted += usize::from(self.is_sorted());
                self.runs.push(SortedRun::default());
            }
            let is_sorted = self.is_sorted();
            let Some(last) = self.runs.last_mut() else {
                return;
            };
            let (now, later) = rest.split_at(rest.len().min(last.room()));
            if is_sorted {
                last.merge(now, &self.query, space);
            } else {
                last.add(now);
            }
            rest = later;
        }
    }

    fn offer_best(&mut self, candidate: &Candidate) {
        let at = self.best.partition_point(|best| best.is_before(candidate));
        if at < BEST {
            self.best.insert(at, *candidate);
            self.best.truncate(BEST);
        }
    }

    /// Whether all layouts are filtered and sorted as was asked for last.
    #[must_use]
    pub fn is_sorted(&self) -> bool {
        self.sorted == self.runs.len()
    }

    /// Filters and sorts one more run: some milliseconds of work.
    pub fn sort_run(&mut self, space: &Space) {
        if let Some(run) = self.runs.get_mut(self.sorted) {
            run.sort(&self.query, space);
            self.sorted += 1;
        }
    }

    /// Sorts by a column: upwards, then downwards, then the best first again. The rows come with
    /// [`LayoutTable::sort_run`].
    pub fn sort_by(&mut self, column: Column) {
        self.query.sort_by(column);
        self.sorted = 0;
    }

    /// Brings the best first again. The rows come with [`LayoutTable::sort_run`].
    pub fn sort_best_first(&mut self) {
        self.query.sort_best_first();
        self.sorted = 0;
    }

    /// Shows only layouts with all the words: `tp4` or `tp=4` for a size, others for what is recomputed. The rows come
    /// with [`LayoutTable::sort_run`].
    pub fn set_filter(&mut self, space: &Space, words: &str) {
        self.query.set_filter(space, words);
        self.sorted = 0;
    }

    /// Shows only layouts that leave at least so much free. The rows come with [`LayoutTable::sort_run`].
    pub fn set_min_headroom(&mut self, least: Bytes) {
        self.query.set_min_headroom(least);
        self.sorted = 0;
    }

    /// The runs that have rows.
    fn sorted_runs(&self) -> &[SortedRun] {
        self.runs.get(..self.sorted).unwrap_or_default()
    }

    /// The layouts of a run that pass the filter, by the number of the run; `None` after the last one.
    #[must_use]
    pub fn rows_of_run(&self, run: usize) -> Option<impl Iterator<Item = &Candidate>> {
        self.sorted_runs().get(run).map(SortedRun::rows)
    }

    /// The rows from one on: their places in the table, and their candidates.
    #[must_use]
    pub fn rows(&self, space: &Space, first: usize, count: usize) -> Vec<(usize, Candidate)> {
        let starts = self.starts(space, first);
        let mut runs: Vec<(&SortedRun, usize)> = self.sorted_runs().iter().zip(starts).collect();
        let mut rows = Vec::with_capacity(count);
        for place in (first..).take(count) {
            let heads = runs.iter_mut();
            let heads = heads.filter_map(|(run, at)| Some((run.row(*at)?, at)));
            let next = heads.min_by(|(a, _), (b, _)| self.query.compare(space, a, b));
            let Some((candidate, at)) = next else { break };
            rows.push((place, *candidate));
            *at += 1;
        }
        rows
    }

    /// Where groups of layouts begin that leave less memory free than those before them; none while another column
    /// sorts the table, so that groups do not stand together.
    #[must_use]
    pub fn groups(&self) -> Vec<GroupStart> {
        if self.sort().is_some() {
            return Vec::new();
        }
        let runs = self.sorted_runs();
        let end = |holds: &dyn Fn(Room) -> bool| -> usize {
            let ends = runs.iter().map(|run| run.end_of_rows(|row| holds(row.room())));
            ends.sum()
        };
        let starts = Room::LATER.into_iter().filter_map(|room| {
            let place = end(&|of_row| of_row < room);
            (end(&|of_row| of_row <= room) > place).then_some(GroupStart { room, place })
        });
        starts.collect()
    }

    /// For each run, how many of its rows are among the first ones of the table.
    fn starts(&self, space: &Space, first: usize) -> Vec<usize> {
        let runs = self.sorted_runs();
        // How many rows of each run are known to be among the first, and from where on none is.
        let mut known = vec![0; runs.len()];
        let mut end: Vec<usize> = runs.iter().map(SortedRun::len).collect();
        while known.iter().sum::<usize>() < first {
            // The middle of the longest unknown stretch; each turn halves it.
            let unknown = known.iter().zip(&end).map(|(known, end)| end - known);
            let longest = unknown.enumerate().max_by_key(|(_, rows)| *rows);
            let Some((number, rows)) = longest.filter(|(_, rows)| *rows > 0) else {
                break;
            };
            let run = runs.get(number).zip(known.get(number));
            let Some(middle) = run.and_then(|(run, known)| run.row(known + rows / 2)) else {
                break;
            };
            let before = runs.iter();
            let before: Vec<usize> = before.map(|run| run.before(&self.query, space, middle)).collect();
            if before.iter().sum::<usize>() < first {
                known = before;
                if let Some(known) = known.get_mut(number) {
                    *known += 1;
                }
            } else {
                end = before;
            }
        }
        known
    }

    /// All rows with exact values, cells parted by a separator.
    #[must_use]
    pub fn as_text(&self, space: &Space, separator: &str) -> String {
        let columns = self.columns(space);
        let head = columns.iter().map(|column| column.id().to_owned());
        let mut lines = vec![head.collect::<Vec<_>>().join(separator)];
        let mut rows: Vec<&Candidate> = self.sorted_runs().iter().flat_map(SortedRun::rows).collect();
        // One sorted run after the other, which the stable sort merges.
        rows.sort_by(|a, b| self.query.compare(space, a, b));
        for candidate in rows {
            let cells = columns.iter().map(|column| {
                let cell = column.exact(space, candidate);
                if cell.contains(separator) {
                    format!("\"{cell}\"")
                } else {
                    cell
                }
            });
            lines.push(cells.collect::<Vec<_>>().join(separator));
        }
        lines.push(String::new());
        lines.join("\n")
    }
}
