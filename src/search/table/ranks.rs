//! The ranks of all layouts of a table, filtered out or not, however it is sorted.

use core::ops::Range;

use super::LayoutTable;
use super::sorted_run::SortedRun;
use crate::search::candidate::Candidate;
use crate::search::ties::{LayoutRank, are_alike, ties};

/// Which layouts share a rank: their places in the order of the search, a range for each rank that is shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TiedRanks(Vec<Range<usize>>);

impl TiedRanks {
    /// The rank of the layout with a place in the order of the search.
    fn rank(&self, place: usize) -> LayoutRank {
        let before = self.0.partition_point(|tie| tie.end <= place);
        let tie = self.0.get(before).filter(|tie| tie.contains(&place));
        LayoutRank {
            number: tie.map_or(place, |tie| tie.start) + 1,
            is_tie: tie.is_some(),
        }
    }
}

impl LayoutTable {
    /// Which layouts share a rank. The search for the end of each rank looks at few layouts of every run.
    #[must_use]
    pub fn tied_ranks(&self) -> TiedRanks {
        let mut tied = Vec::new();
        // For each run, how many of its layouts are behind.
        let mut behind = vec![0; self.runs.len()];
        let mut place = 0;
        loop {
            let heads = self.runs.iter().zip(&behind);
            let heads = heads.filter_map(|(run, at)| run.in_order(*at));
            let Some(first) = heads.min_by(|a, b| a.order(b)) else {
                return TiedRanks(tied);
            };
            let is_told_apart = |c: &Candidate| !ties(c, c);
            let alone = is_told_apart(first);
            let belongs = |c: &Candidate| {
                if alone {
                    are_alike(first, c) && is_told_apart(c)
                } else {
                    ties(first, c)
                }
            };
            let ends = self.runs.iter().zip(&behind);
            let ends: Vec<usize> = ends.map(|(run, at)| run.end(*at, belongs)).collect();
            let end = ends.iter().sum();
            if !alone && end > place + 1 {
                tied.push(place..end);
            }
            behind = ends;
            place = end;
        }
    }

    /// The rank of a layout among all that were found.
    #[must_use]
    pub fn rank(&self, tied: &TiedRanks, candidate: &Candidate) -> LayoutRank {
        let before = |run: &SortedRun| run.end(0, |other| other.is_before(candidate));
        tied.rank(self.runs.iter().map(before).sum())
    }
}
