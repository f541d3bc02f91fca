//! The query of a table: the layouts that it shows, and their order.

use core::cmp::Ordering;

use super::column::Column;
use crate::search::axis::Pick;
use crate::search::candidate::Candidate;
use crate::search::space::Space;
use crate::units::Bytes;
use crate::verdict::Verdict;

/// A direction of sorting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The least first.
    Ascending,
    /// The most first.
    Descending,
}

/// The column that a table is sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    /// The column.
    pub column: Column,
    /// The direction.
    pub direction: Direction,
}

/// One word of the filter.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    /// A size on a level of the space.
    Size(usize, u64),
    /// A part of the words for what is recomputed, or for the way to train. Anything else that is typed matches no
    /// layout.
    Text(String),
}

/// The order and the filters of a table.
#[derive(Clone, Debug, Default)]
pub(super) struct Query {
    /// `None` for the best first.
    sort: Option<Sort>,
    filter: Vec<Term>,
    /// The memory that a GPU must have left.
    min_headroom: Bytes,
}

impl Query {
    /// The column that sorts the table; `None` for the best first.
    pub(super) fn sort(&self) -> Option<Sort> {
        self.sort
    }

    /// Sorts by a column: upwards, then downwards, then the best first again.
    pub(super) fn sort_by(&mut self, column: Column) {
        let direction = match self.sort {
            Some(sort) if sort.column == column => match sort.direction {
                Direction::Ascending => Some(Direction::Descending),
                Direction::Descending => None,
            },
            _ => Some(Direction::Ascending),
        };
        self.sort = direction.map(|direction| Sort { column, direction });
    }

    /// Brings the best first again.
    pub(super) fn sort_best_first(&mut self) {
        self.sort = None;
    }

    /// Lets only layouts pass that have all the words: `tp4` or `tp=4` for a size, others for what is recomputed.
    pub(super) fn set_filter(&mut self, space: &Space, words: &str) {
        let words = words.to_lowercase();
        let words = words.split_whitespace();
        self.filter = words.map(|word| term(space, word)).collect();
    }

    /// Lets only layouts pass that leave at least so much free.
    pub(super) fn set_min_headroom(&mut self, least: Bytes) {
        self.min_headroom = least;
    }

    /// The order of two candidates. No two are equal: their numbers in the space differ.
    pub(super) fn compare(&self, space: &Space, a: &Candidate, b: &Candidate) -> Ordering {
        let Some(Sort { column, direction }) = self.sort else {
            return a.order(b);
        };
        let keys = column.key(space, a).cmp(&column.key(space, b));
        let keys = match direction {
            Direction::Ascending => keys,
            Direction::Descending => keys.reverse(),
        };
        keys.then_with(|| a.order(b))
    }

    /// Whether a candidate leaves enough memory free, and has all that the filter asks for.
    pub(super) fn passes(&self, space: &Space, c: &Candidate) -> bool {
        let has = |term: &Term| match term {
            Term::Size(level, size) => space.pick(c.index, *level) == Some(Pick::Size(*size)),
            Term::Text(text) => space.dimensions().iter().enumerate().any(|(level, d)| {
                let pick = space.pick(c.index, level).filter(|_| !d.axis.has_sizes());
                pick.is_some_and(|pick| pick.label().contains(text))
            }),
        };
        let with_room = (c.least, c.most + self.min_headroom);
        let has_room = self.min_headroom == Bytes::ZERO
            || c.gpu.is_none()
            || Verdict::of_memory(c.gpu, with_room) == Verdict::Fits;
        has_room && self.filter.iter().all(has)
    }
}

fn term(space: &Space, word: &str) -> Term {
    let mut levels = space.dimensions().iter().enumerate();
    let size = levels.find_map(|(level, d)| {
        let rest = word.strip_prefix(&d.axis.symbol().to_lowercase())?;
        Some(Term::Size(level, rest.trim_start_matches('=').parse().ok()?))
    });
    size.unwrap_or_else(|| Term::Text(word.to_owned()))
}
