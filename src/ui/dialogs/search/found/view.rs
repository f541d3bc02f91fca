//! How the reader wants to see what was found: in which order, and which of it.

use core::cmp::Ordering;

use super::super::columns::Column;
use crate::report::amount::Unit;
use crate::search::{Candidate, Pick, Space};
use crate::units::Bytes;

/// One word of the filter.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    /// A size on a level of the space.
    Size(usize, u64),
    /// A part of the words for what is recomputed, or for the way to train. Anything else that is typed matches no
    /// layout.
    Text(String),
}

/// The order and the filters of the table.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    /// The column that orders the table, and whether downwards; `None` for the best first.
    sorted_by: Option<(Column, bool)>,
    filter: Vec<Term>,
    /// The filter as it was typed.
    typed_filter: String,
    /// The memory that a GPU must have left.
    min_headroom: Bytes,
    /// The same as it was typed.
    typed_headroom: String,
}

impl View {
    /// The column that orders the table, and whether downwards.
    pub(super) fn sorted_by(&self) -> Option<(Column, bool)> {
        self.sorted_by
    }

    /// Orders the table by a column: upwards, then downwards, then the best first again.
    pub(super) fn sort(&mut self, column: Column) {
        self.sorted_by = match self.sorted_by {
            Some((by, false)) if by == column => Some((by, true)),
            Some((by, true)) if by == column => None,
            _ => Some((column, false)),
        };
    }

    /// Shows only layouts with all the words: `tp4` or `tp=4` for a size, others for what is recomputed.
    pub(super) fn set_filter(&mut self, space: &Space, typed: String) {
        let words = typed.to_lowercase();
        let words = words.split_whitespace();
        self.filter = words.map(|word| term(space, word)).collect();
        self.typed_filter = typed;
    }

    /// The filter as it was typed.
    pub(super) fn typed_filter(&self) -> &str {
        &self.typed_filter
    }

    /// Shows only layouts that leave at least so much free; all where no number is typed.
    pub(super) fn set_min_headroom(&mut self, typed: String, unit: Unit) {
        let amount: u64 = typed.trim().parse().unwrap_or(0);
        self.min_headroom = Bytes(amount.saturating_mul(unit.bytes()));
        self.typed_headroom = typed;
    }

    /// The least free memory as it was typed.
    pub(super) fn typed_headroom(&self) -> &str {
        &self.typed_headroom
    }

    /// The order of two candidates. No two are equal: their numbers in the space differ.
    pub(super) fn compare(&self, space: &Space, a: &Candidate, b: &Candidate) -> Ordering {
        let Some((column, down)) = self.sorted_by else {
            return a.order(b);
        };
        let keys = column.key(space, a).cmp(&column.key(space, b));
        let keys = if down { keys.reverse() } else { keys };
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
        let has_room = c
            .gpu
            .is_none_or(|gpu| c.most + self.min_headroom <= gpu || self.min_headroom == Bytes::ZERO);
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
