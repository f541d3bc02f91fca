//! Ranks of layouts by predicted time. Times that differ by less than the prediction can tell are a tie.

use core::fmt;

use super::candidate::Candidate;
use super::options::Order;

/// Layouts whose predicted times differ by less than this part, in percent, share a rank.
pub const TIE_PERCENT: u64 = 5;

/// The rank of a layout among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutRank {
    /// Counted from 1.
    pub number: usize,
    /// Whether another layout shares it.
    pub is_tie: bool,
}

/// The rank in words, such as `2` or `2, a tie`.
impl fmt::Display for LayoutRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tie = if self.is_tie { ", a tie" } else { "" };
        write!(f, "{}{tie}", self.number)
    }
}

/// The ranks of layouts in their order, counted from 1: a layout shares that of the first one before it that has the same
/// room and whose step is shorter by less than [`TIE_PERCENT`]. Without predicted times, and in the order by memory, each
/// has a rank of its own.
#[must_use]
pub fn ranks(layouts: &[Candidate]) -> Vec<usize> {
    let mut first: Option<(usize, &Candidate)> = None;
    let ranks = layouts.iter().zip(1..).map(|(layout, place)| {
        if let Some((rank, _)) = first.filter(|(_, first)| ties(first, layout)) {
            return rank;
        }
        first = Some((place, layout));
        place
    });
    ranks.collect()
}

/// The ranks of layouts that stand in any order.
#[must_use]
pub fn ranks_among(layouts: &[Candidate]) -> Vec<LayoutRank> {
    let mut places: Vec<(usize, &Candidate)> = layouts.iter().enumerate().collect();
    places.sort_by(|(_, one), (_, other)| one.order(other));
    let in_order: Vec<Candidate> = places.iter().map(|(_, layout)| **layout).collect();
    let ranks = ranks(&in_order);
    let of_places = places.iter().zip(&ranks).enumerate();
    let mut among: Vec<(usize, LayoutRank)> = of_places
        .map(|(at, ((place, _), number))| {
            let neighbours = [at.checked_sub(1), Some(at + 1)];
            let is_tie = neighbours.into_iter().flatten().any(|at| ranks.get(at) == Some(number));
            let number = *number;
            (*place, LayoutRank { number, is_tie })
        })
        .collect();
    among.sort_unstable_by_key(|(place, _)| *place);
    among.into_iter().map(|(_, rank)| rank).collect()
}

/// Whether a layout that is listed behind another one is not told apart from it.
#[must_use]
pub fn ties(before: &Candidate, layout: &Candidate) -> bool {
    let times = before.step_nanoseconds.zip(layout.step_nanoseconds);
    // Other orders put no faster layout first.
    let Some((fast, slow)) = times.filter(|_| layout.order == Order::Time) else {
        return false;
    };
    let longer = slow.saturating_sub(fast).saturating_mul(100);
    are_alike(before, layout) && longer < fast.saturating_mul(TIE_PERCENT)
}

/// Whether times alone order two layouts, where they have some: with equal room, equally many GPUs and the same weights
/// trained.
pub(super) fn are_alike(one: &Candidate, other: &Candidate) -> bool {
    let group = |c: &Candidate| (c.room(), c.gpus, c.adapters);
    group(one) == group(other)
}
