//! What a search found so far: the layouts, ordered and filtered as the reader wants them.
//!
//! A search may find millions of layouts. They are kept in parts, each ordered by itself, so that neither an answer of
//! the search nor another order takes longer than a frame; the rows in sight are merged from the parts.

mod part;
mod view;

use self::part::Part;
use self::view::View;
use super::columns::{Column, Varied};
use crate::report::amount::Unit;
use crate::search::{Candidate, Slice, Space};
use crate::search_worker::SuggestionNames;

/// Layouts whose gains over the page's own are listed.
const BEST: usize = 5;

/// The page's own layout among those that were found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    pub(super) candidate: Candidate,
    /// How many come before it, in the order of the search.
    pub(super) before: usize,
    /// Whether it was found itself.
    pub(super) is_listed: bool,
}

impl Own {
    fn add(&mut self, found: &Candidate) {
        self.before += usize::from(found.is_before(&self.candidate));
        self.is_listed |= found.index == self.candidate.index;
    }
}

/// What a search found so far, and how the reader wants to see it.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// What the search counted so far. Its candidates are in the parts.
    pub(super) counts: Slice,
    /// What its layouts differ in.
    pub(super) varied: Varied,
    parts: Vec<Part>,
    /// How many parts, from the first on, are filtered and ordered as the reader wants them.
    ordered: usize,
    view: View,
    /// The best layouts, best first.
    best: Vec<Candidate>,
    own: Option<Own>,
    /// What would make the nearest layout fit, once that is known.
    pub(super) suggestion: Option<SuggestionNames>,
}

impl Found {
    /// The layouts that were found, filtered out or not.
    pub(super) fn count(&self) -> usize {
        self.parts.iter().map(Part::count).sum()
    }

    /// The number of rows of the table.
    pub(super) fn len(&self) -> usize {
        self.shown_parts().iter().map(Part::rows).sum()
    }

    /// The column that orders the table, and whether downwards.
    pub(super) fn sorted_by(&self) -> Option<(Column, bool)> {
        self.view.sorted_by()
    }

    /// What the reader typed into the filter, and as the least free memory.
    pub(super) fn typed(&self) -> [String; 2] {
        [self.view.typed_filter(), self.view.typed_headroom()].map(str::to_owned)
    }

    /// The best layouts of the search, best first.
    pub(super) fn best(&self) -> &[Candidate] {
        &self.best
    }

    /// The page's own layout, where it is among the combinations.
    pub(super) fn own(&self) -> Option<Own> {
        self.own
    }

    /// Names the page's own layout.
    pub(super) fn set_own(&mut self, own: Option<Candidate>) {
        self.own = own.map(|candidate| {
            let mut own = Own {
                candidate,
                before: 0,
                is_listed: false,
            };
            let all = self.parts.iter().flat_map(Part::all);
            all.for_each(|found| own.add(found));
            own
        });
    }

    /// Adds a part of the search.
    pub(super) fn add(&mut self, space: &Space, mut part: Slice) {
        let candidates = core::mem::take(&mut part.candidates);
        self.counts.join(&part);
        for candidate in &candidates {
            self.varied.add(candidate);
            self.offer_best(candidate);
            if let Some(own) = &mut self.own {
                own.add(candidate);
            }
        }
        let mut rest = candidates.as_slice();
        while !rest.is_empty() {
            if self.parts.last().is_none_or(|part| part.room() == 0) {
                self.ordered += usize::from(self.is_ordered());
                self.parts.push(Part::default());
            }
            let is_ordered = self.is_ordered();
            let Some(last) = self.parts.last_mut() else {
                return;
            };
            let (now, later) = rest.split_at(rest.len().min(last.room()));
            if is_ordered {
                last.add_in_order(now, &self.view, space);
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

    /// Whether all layouts are filtered and ordered as the reader wants them.
    pub(super) fn is_ordered(&self) -> bool {
        self.ordered == self.parts.len()
    }

    /// Filters and orders one more part.
    pub(super) fn order_part(&mut self, space: &Space) {
        if let Some(part) = self.parts.get_mut(self.ordered) {
            part.order(&self.view, space);
            self.ordered += 1;
        }
    }

    /// Orders the table by a column: upwards, then downwards, then the best first again. The rows come with
    /// [`Found::order_part`].
    pub(super) fn sort(&mut self, column: Column) {
        self.view.sort(column);
        self.ordered = 0;
    }

    /// Shows only layouts with all the words: `tp4` or `tp=4` for a size, others for what is recomputed. The rows come
    /// with [`Found::order_part`].
    pub(super) fn set_filter(&mut self, space: &Space, typed: String) {
        self.view.set_filter(space, typed);
        self.ordered = 0;
    }

    /// Shows only layouts that leave at least so much free; all where no number is typed. The rows come with
    /// [`Found::order_part`].
    pub(super) fn set_min_headroom(&mut self, typed: String, unit: Unit) {
        self.view.set_min_headroom(typed, unit);
        self.ordered = 0;
    }

    /// The parts that have rows.
    fn shown_parts(&self) -> &[Part] {
        self.parts.get(..self.ordered).unwrap_or_default()
    }

    /// The layouts of a part that pass the filter, by the number of the part; `None` after the last one.
    pub(super) fn shown(&self, part: usize) -> Option<impl Iterator<Item = &Candidate>> {
        self.shown_parts().get(part).map(Part::shown)
    }

    /// The rows from one on: their places in the table, and their candidates.
    pub(super) fn rows(&self, space: &Space, first: usize, count: usize) -> Vec<(usize, Candidate)> {
        let starts = self.starts(space, first);
        let mut parts: Vec<(&Part, usize)> = self.shown_parts().iter().zip(starts).collect();
        let mut rows = Vec::with_capacity(count);
        for place in (first..).take(count) {
            let heads = parts.iter_mut();
            let heads = heads.filter_map(|(part, at)| Some((part.row(*at)?, at)));
            let next = heads.min_by(|(a, _), (b, _)| self.view.compare(space, a, b));
            let Some((candidate, at)) = next else { break };
            rows.push((place, *candidate));
            *at += 1;
        }
        rows
    }

    /// For each part, how many of its rows are among the first ones of the table.
    fn starts(&self, space: &Space, first: usize) -> Vec<usize> {
        let parts = self.shown_parts();
        // How many rows of each part are known to be among the first, and from where on none is.
        let mut known = vec![0; parts.len()];
        let mut end: Vec<usize> = parts.iter().map(Part::rows).collect();
        while known.iter().sum::<usize>() < first {
            // The middle of the longest unknown stretch; each turn halves it.
            let unknown = known.iter().zip(&end).map(|(known, end)| end - known);
            let longest = unknown.enumerate().max_by_key(|(_, rows)| *rows);
            let Some((number, rows)) = longest.filter(|(_, rows)| *rows > 0) else {
                break;
            };
            let part = parts.get(number).zip(known.get(number));
            let Some(middle) = part.and_then(|(part, known)| part.row(known + rows / 2)) else {
                break;
            };
            let before = parts.iter();
            let before: Vec<usize> = before.map(|part| part.before(&self.view, space, middle)).collect();
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

    /// All rows of the table with exact values, cells parted by a separator.
    pub(super) fn as_text(&self, space: &Space, columns: &[Column], separator: &str) -> String {
        let head = columns.iter().map(|column| column.id().to_owned());
        let mut lines = vec![head.collect::<Vec<_>>().join(separator)];
        let mut rows: Vec<&Candidate> = self.shown_parts().iter().flat_map(Part::shown).collect();
        // One ordered run after the other, which the sort joins.
        rows.sort_by(|a, b| self.view.compare(space, a, b));
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

#[cfg(test)]
mod tests {
    use super::super::columns::{self, Column};
    use super::Found;
    use crate::config::fields::FieldId;
    use crate::formats::share_url;
    use crate::report::amount::Unit;
    use crate::search::{Candidate, Keep, Options, Slice, Space, search};
    use crate::units::Bytes;
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
            found.add(space, part);
        }
        found
    }

    /// Brings all rows into the order that was asked for.
    fn order(found: &mut Found, space: &Space) {
        while !found.is_ordered() {
            found.order_part(space);
        }
    }

    fn keys(space: &Space, found: &Found, column: Column) -> Vec<i128> {
        let rows = found.rows(space, 0, found.len());
        rows.iter().map(|(_, c)| column.key(space, c)).collect()
    }

    #[test]
    fn rows_are_ordered_filtered_and_written() {
        let space = space(None);
        let mut found = found(&space);
        let columns = columns::of(&space, found.varied);
        let best_first = found.rows(&space, 0, found.len());
        assert_eq!(best_first.len(), found.count());
        assert!(best_first.is_sorted_by(|(_, a), (_, b)| !b.is_before(a)));
        found.sort(Column::Replica);
        order(&mut found, &space);
        assert!(keys(&space, &found, Column::Replica).is_sorted());
        found.sort(Column::Peak);
        order(&mut found, &space);
        assert!(keys(&space, &found, Column::Peak).is_sorted());
        found.sort(Column::Peak);
        order(&mut found, &space);
        assert!(keys(&space, &found, Column::Peak).is_sorted_by(|a, b| a >= b));
        found.sort(Column::Peak);
        order(&mut found, &space);
        assert_eq!(found.rows(&space, 0, found.len()), best_first);

        found.set_filter(&space, "tp4 PP=2".to_owned());
        order(&mut found, &space);
        let text = found.as_text(&space, &columns, "\t");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        let head = "pipeline_model_parallel_size\ttensor_model_parallel_size\tpeak_bytes\t";
        assert!(lines[0].starts_with(head), "{text}");
        assert!(lines[1].starts_with("2\t4\t"), "{text}");

        found.set_filter(&space, String::new());
        order(&mut found, &space);
        found.set_min_headroom("50".to_owned(), Unit::Gib);
        order(&mut found, &space);
        let roomy = keys(&space, &found, Column::Headroom);
        assert!(!roomy.is_empty() && roomy.len() < best_first.len());
        assert!(roomy.iter().all(|bytes| *bytes >= 50 << 30));
    }

    /// Rows of many parts, against one list of all layouts in order.
    #[test]
    fn parts_are_one_table() {
        let space = space(None);
        let like = search(&space, 0..space.total(), u32::MAX, Keep::Fitting).candidates;
        let mixed = |index: u64| index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let layouts: Vec<Candidate> = (0..30_000)
            .map(|index| Candidate {
                index,
                peak: Bytes(mixed(index)),
                ..like[usize::try_from(mixed(index + 1)).unwrap() % like.len()]
            })
            .collect();
        let own = layouts[12_345];
        let mut found = Found::default();
        found.set_own(Some(own));
        let mut parts = layouts.chunks(1_111).map(|part| Slice {
            candidates: part.to_vec(),
            ..Slice::default()
        });
        for part in parts.by_ref().take(20) {
            found.add(&space, part);
        }
        let rows = |found: &Found| [0, 1, 8_191, 20_000, 29_990, 30_000].map(|first| found.rows(&space, first, 40));
        let expected = |sorted: &[Candidate]| {
            [0, 1, 8_191, 20_000, 29_990, 30_000].map(|first| {
                sorted
                    .iter()
                    .copied()
                    .enumerate()
                    .skip(first)
                    .take(40)
                    .collect::<Vec<_>>()
            })
        };
        // A part of them is ordered when the rest arrives.
        found.sort(Column::Peak);
        found.order_part(&space);
        parts.for_each(|part| found.add(&space, part));
        assert!(!found.is_ordered());
        order(&mut found, &space);
        let mut sorted = layouts.clone();
        sorted.sort_by_key(|c| (c.peak, c.index));
        assert_eq!((found.count(), found.len()), (30_000, 30_000));
        assert_eq!(rows(&found), expected(&sorted));
        for _ in 0..2 {
            found.sort(Column::Peak);
            order(&mut found, &space);
        }
        sorted.sort_by(Candidate::order);
        assert_eq!(rows(&found), expected(&sorted));
        assert_eq!(found.best(), &sorted[..5]);
        let standing = found.own().unwrap();
        assert_eq!(sorted[standing.before], own);
        assert!(standing.is_listed);
        // Named afterwards, it has the same place.
        found.set_own(Some(own));
        assert_eq!(found.own().unwrap().before, standing.before);
    }

    #[test]
    fn chunks_are_a_column_where_they_follow_from_a_layout() {
        let space = space(Some("Et*4|(t*4|)*6t*4L"));
        let found = found(&space);
        let columns = columns::of(&space, found.varied);
        assert!(columns.contains(&Column::Chunks));
        let rows = found.rows(&space, 0, found.len());
        assert!(!rows.is_empty());
        for (_, c) in rows {
            // Eight chunks over the pipeline ranks.
            let cell = |column: Column| column.text(&space, &c, Unit::Gib).parse::<u64>().unwrap();
            assert_eq!(cell(columns[0]) * cell(Column::Chunks), 8);
        }
    }
}
