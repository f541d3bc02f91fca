//! What a search found so far: the layouts, ordered and filtered as the reader wants them.

use super::columns::Column;
use crate::report::amount::Unit;
use crate::search::{Candidate, Pick, Slice, Space};
use crate::search_worker::SuggestionNames;
use crate::units::Bytes;

/// One word of the filter.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    /// A size on a level of the space.
    Size(usize, u64),
    /// A part of the words for what is recomputed, or for the way to train. Anything else that is typed matches no layout.
    Text(String),
}

/// What a search found so far, and how the reader wants to see it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Found {
    /// All parts of the search so far.
    pub(super) slice: Slice,
    /// Indices of the candidates that pass the filter, in the order of the table.
    shown: Vec<usize>,
    /// The column that orders the table, and whether downwards; `None` for the best first.
    sorted_by: Option<(Column, bool)>,
    filter: Vec<Term>,
    /// The memory that a GPU must have left.
    min_headroom: Bytes,
    /// What would make the nearest layout fit, once that is known.
    pub(super) suggestion: Option<SuggestionNames>,
}

impl Found {
    /// The number of rows of the table.
    pub(super) fn len(&self) -> usize {
        self.shown.len()
    }

    /// The column that orders the table, and whether downwards.
    pub(super) fn sorted_by(&self) -> Option<(Column, bool)> {
        self.sorted_by
    }

    /// The rows from one on: their places in the table, and their candidates.
    pub(super) fn rows(&self, first: usize, count: usize) -> Vec<(usize, Candidate)> {
        let rows = self.shown.iter().enumerate().skip(first).take(count);
        rows.filter_map(|(at, index)| Some((at, *self.candidate(*index)?)))
            .collect()
    }

    fn candidate(&self, index: usize) -> Option<&Candidate> {
        self.slice.candidates.get(index)
    }

    /// Adds a part of the search, each row at its place among the others.
    pub(super) fn add(&mut self, space: &Space, part: &Slice) {
        let known = self.slice.candidates.len();
        self.slice.join(part);
        let new = self.ordered(space, known..self.slice.candidates.len());
        let mut merged = Vec::with_capacity(self.shown.len() + new.len());
        let mut new = new.into_iter().peekable();
        for old in &self.shown {
            while let Some(next) = new.next_if(|next| self.is_before(space, *next, *old)) {
                merged.push(next);
            }
            merged.push(*old);
        }
        merged.extend(new);
        self.shown = merged;
    }

    /// Those of some candidates that pass the filter, in the order of the table.
    fn ordered(&self, space: &Space, of: core::ops::Range<usize>) -> Vec<usize> {
        let passing = of.filter(|index| {
            self.candidate(*index)
                .is_some_and(|c| self.passes(space, c))
        });
        let mut passing: Vec<usize> = passing.collect();
        passing.sort_by(|a, b| {
            if self.is_before(space, *a, *b) {
                core::cmp::Ordering::Less
            } else {
                core::cmp::Ordering::Greater
            }
        });
        passing
    }

    fn order_again(&mut self, space: &Space) {
        self.shown = self.ordered(space, 0..self.slice.candidates.len());
    }

    /// Whether one candidate comes before another. No two are equal: their numbers in the space differ.
    fn is_before(&self, space: &Space, a: usize, b: usize) -> bool {
        let (Some(a), Some(b)) = (self.candidate(a), self.candidate(b)) else {
            return false;
        };
        let Some((column, down)) = self.sorted_by else {
            return a.is_before(b);
        };
        let (mut first, mut second) = (column.key(space, a), column.key(space, b));
        if down {
            (first, second) = (second, first);
        }
        first < second || (first == second && a.is_before(b))
    }

    /// Whether a candidate leaves enough memory free, and has all that the filter asks for.
    fn passes(&self, space: &Space, c: &Candidate) -> bool {
        let has = |term: &Term| match term {
            Term::Size(level, size) => space.pick(c.index, *level) == Some(Pick::Size(*size)),
            Term::Text(text) => space.dimensions().iter().enumerate().any(|(level, d)| {
                let pick = space.pick(c.index, level).filter(|_| !d.axis.has_sizes());
                pick.is_some_and(|pick| pick.label().contains(text))
            }),
        };
        let has_room = c.gpu.is_none_or(|gpu| {
            c.most + self.min_headroom <= gpu || self.min_headroom == Bytes::ZERO
        });
        has_room && self.filter.iter().all(has)
    }

    /// Orders the table by a column: upwards, then downwards, then the best first again.
    pub(super) fn sort(&mut self, space: &Space, column: Column) {
        self.sorted_by = match self.sorted_by {
            Some((by, false)) if by == column => Some((by, true)),
            Some((by, true)) if by == column => None,
            _ => Some((column, false)),
        };
        self.order_again(space);
    }

    /// Shows only layouts with all the words: `tp4` or `tp=4` for a size, others for what is recomputed.
    pub(super) fn set_filter(&mut self, space: &Space, typed: &str) {
        let typed = typed.to_lowercase();
        let words = typed.split_whitespace();
        self.filter = words.map(|word| term(space, word)).collect();
        self.order_again(space);
    }

    /// Shows only layouts that leave at least so much free; all where no number is typed.
    pub(super) fn set_min_headroom(&mut self, space: &Space, typed: &str, unit: Unit) {
        let amount: u64 = typed.trim().parse().unwrap_or(0);
        self.min_headroom = Bytes(amount.saturating_mul(unit.bytes()));
        self.order_again(space);
    }

    /// All rows of the table with exact values, cells parted by a separator.
    pub(super) fn as_text(&self, space: &Space, columns: &[Column], separator: &str) -> String {
        let head = columns.iter().map(|column| column.id().to_owned());
        let mut lines = vec![head.collect::<Vec<_>>().join(separator)];
        for (_, candidate) in self.rows(0, self.len()) {
            let cells = columns.iter().map(|column| {
                let cell = column.exact(space, &candidate);
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

fn term(space: &Space, word: &str) -> Term {
    let mut levels = space.dimensions().iter().enumerate();
    let size = levels.find_map(|(level, d)| {
        let rest = word.strip_prefix(&d.axis.symbol().to_lowercase())?;
        Some(Term::Size(
            level,
            rest.trim_start_matches('=').parse().ok()?,
        ))
    });
    size.unwrap_or_else(|| Term::Text(word.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::super::columns::{self, Column};
    use super::Found;
    use crate::config::fields::FieldId;
    use crate::formats::share_url;
    use crate::report::amount::Unit;
    use crate::search::{Keep, Options, Space, search};
    use crate::value::Value;

    const LINK: &str = "#v1;m=llama3-8b@1;gpus=16;tp=2;cp=1;gbs=64";

    fn space(layout: Option<&str>) -> Space {
        let mut job = share_url::visit(LINK).state.setup.job;
        if let Some(layout) = layout {
            let layout = Value::Text(layout.to_owned());
            job.put(0, FieldId::pipeline_model_parallel_layout, layout);
        }
        Space::new(&job, &Options::usual(&job)).unwrap()
    }

    /// Everything that a search finds, in parts that arrive in any order.
    fn found(space: &Space) -> Found {
        let mut found = Found::default();
        let share = space.total() / 5 + 1;
        for number in [3, 0, 4, 1, 2] {
            let from = number * share;
            let part = search(space, from..from + share, u32::MAX, Keep::Fitting);
            found.add(space, &part);
        }
        found
    }

    fn keys(space: &Space, found: &Found, column: Column) -> Vec<i128> {
        let rows = found.rows(0, found.len());
        rows.iter().map(|(_, c)| column.key(space, c)).collect()
    }

    #[test]
    fn rows_are_ordered_filtered_and_written() {
        let space = space(None);
        let mut found = found(&space);
        let columns = columns::of(&space, &found.slice);
        let best_first = found.rows(0, found.len());
        assert_eq!(best_first.len(), found.slice.candidates.len());
        assert!(best_first.is_sorted_by(|(_, a), (_, b)| !b.is_before(a)));
        found.sort(&space, Column::Replica);
        assert!(keys(&space, &found, Column::Replica).is_sorted());
        found.sort(&space, Column::Peak);
        assert!(keys(&space, &found, Column::Peak).is_sorted());
        found.sort(&space, Column::Peak);
        assert!(keys(&space, &found, Column::Peak).is_sorted_by(|a, b| a >= b));
        found.sort(&space, Column::Peak);
        assert_eq!(found.rows(0, found.len()), best_first);

        found.set_filter(&space, "tp4 PP=2");
        let text = found.as_text(&space, &columns, "\t");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        let head = "pipeline_model_parallel_size\ttensor_model_parallel_size\tpeak_bytes\t";
        assert!(lines[0].starts_with(head), "{text}");
        assert!(lines[1].starts_with("2\t4\t"), "{text}");

        found.set_filter(&space, "");
        found.set_min_headroom(&space, "50", Unit::Gib);
        let roomy = keys(&space, &found, Column::Headroom);
        assert!(!roomy.is_empty() && roomy.len() < best_first.len());
        assert!(roomy.iter().all(|bytes| *bytes >= 50 << 30));
    }

    #[test]
    fn chunks_are_a_column_where_they_follow_from_a_layout() {
        let space = space(Some("Et*4|(t*4|)*6t*4L"));
        let found = found(&space);
        let columns = columns::of(&space, &found.slice);
        assert!(columns.contains(&Column::Chunks));
        let rows = found.rows(0, found.len());
        assert!(!rows.is_empty());
        for (_, c) in rows {
            // Eight chunks over the pipeline ranks.
            let cell = |column: Column| column.text(&space, &c, Unit::Gib).parse::<u64>().unwrap();
            assert_eq!(cell(columns[0]) * cell(Column::Chunks), 8);
        }
    }
}
