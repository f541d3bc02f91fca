//! Ranks of layouts by predicted time. Times that differ by less than the prediction can tell are a tie.

use super::candidate::Candidate;
use super::options::Order;

/// Layouts whose predicted times differ by less than this part, in percent, share a rank.
pub const TIE_PERCENT: u64 = 5;

/// The ranks of layouts in their order, counted from 1: a layout shares that of the first one before it that has the same
/// verdict and whose step is shorter by less than [`TIE_PERCENT`]. Without predicted times, and in the order by memory, each
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

/// The ranks of layouts that stand in any order, each with whether another one shares it.
#[must_use]
pub fn ranks_among(layouts: &[Candidate]) -> Vec<(usize, bool)> {
    let mut places: Vec<(usize, &Candidate)> = layouts.iter().enumerate().collect();
    places.sort_by(|(_, one), (_, other)| one.order(other));
    let in_order: Vec<Candidate> = places.iter().map(|(_, layout)| **layout).collect();
    let ranks = ranks(&in_order);
    let mut among = vec![(0, false); layouts.len()];
    for (at, ((place, _), rank)) in places.iter().zip(&ranks).enumerate() {
        let neighbours = [at.checked_sub(1), Some(at + 1)];
        let shared = neighbours.into_iter().flatten().any(|at| ranks.get(at) == Some(rank));
        if let Some(slot) = among.get_mut(*place) {
            *slot = (*rank, shared);
        }
    }
    among
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
    let group = |c: &Candidate| (c.verdict(), c.is_nearly_full(), c.gpus, c.adapters);
    group(before) == group(layout) && longer < fast.saturating_mul(TIE_PERCENT)
}
