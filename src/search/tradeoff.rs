//! What layouts trade: of two columns of a table of layouts, which layouts have less of both than no other.

use super::candidate::Candidate;
use super::frontier::frontier;
use super::space::Space;
use super::table::Column;

/// The layouts that no other beats in two columns, less of each being better, and how far all layouts reach in each.
/// It looks at one part of the layouts after the other.
#[derive(Clone, Debug)]
pub struct Tradeoff {
    columns: [Column; 2],
    /// The layouts with the least and the most of each column so far.
    ends: [Option<(Candidate, Candidate)>; 2],
    of_all_weights: Vec<Candidate>,
    /// Layouts that train adapters alone need less, and beat none of those that train all weights.
    of_adapters: Vec<Candidate>,
}

impl Tradeoff {
    /// Nothing is looked at yet.
    #[must_use]
    pub fn new(columns: [Column; 2]) -> Self {
        Self {
            columns,
            ends: [None; 2],
            of_all_weights: Vec::new(),
            of_adapters: Vec::new(),
        }
    }

    /// Takes a layout into account for how far the columns reach, whether or not it was found.
    pub fn reach(&mut self, space: &Space, c: &Candidate) {
        for (column, ends) in self.columns.into_iter().zip(&mut self.ends) {
            let key = |c: &Candidate| column.key(space, c);
            let (least, most) = ends.get_or_insert((*c, *c));
            if key(c) < key(least) {
                *least = *c;
            }
            if key(c) > key(most) {
                *most = *c;
            }
        }
    }

    /// Adds some of the layouts that were found.
    pub fn add<'a>(&mut self, space: &Space, found: impl Iterator<Item = &'a Candidate>) {
        for c in found {
            self.reach(space, c);
            if c.adapters {
                self.of_adapters.push(*c);
            } else {
                self.of_all_weights.push(*c);
            }
        }
        let columns = self.columns;
        for candidates in [&mut self.of_all_weights, &mut self.of_adapters] {
            let points = candidates.iter();
            let points: Vec<(i128, i128)> = points
                .map(|c| columns.map(|column| column.key(space, c)).into())
                .collect();
            let best = frontier(&points).into_iter();
            *candidates = best.filter_map(|at| candidates.get(at).copied()).collect();
        }
    }

    /// The layouts with the least and the most of each column; `None` where there is no layout.
    #[must_use]
    pub fn ends(&self) -> Option<[(Candidate, Candidate); 2]> {
        let [first, second] = self.ends;
        Some([first?, second?])
    }

    /// The layouts that no other beats, by the first column.
    #[must_use]
    pub fn best(&self) -> &[Candidate] {
        if self.of_all_weights.is_empty() {
            &self.of_adapters
        } else {
            &self.of_all_weights
        }
    }
}
