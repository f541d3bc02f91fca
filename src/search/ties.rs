//! Ranks of layouts by predicted time. Times that differ by less than the prediction can tell are a tie.

use super::candidate::Candidate;

/// Layouts whose predicted times differ by less than this part, in percent, share a rank.
pub const TIE_PERCENT: u64 = 5;

/// The ranks of layouts in their order, counted from 1: a layout shares that of the first one before it that has the same
/// verdict and whose step is shorter by less than [`TIE_PERCENT`]. Without predicted times each has a rank of its own.
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

/// Whether a layout that is listed behind another one is not told apart from it.
#[must_use]
pub fn ties(before: &Candidate, layout: &Candidate) -> bool {
    let Some((fast, slow)) = before.step_nanoseconds.zip(layout.step_nanoseconds) else {
        return false;
    };
    let longer = slow.saturating_sub(fast).saturating_mul(100);
    let group = |c: &Candidate| (c.verdict(), c.is_nearly_full(), c.gpus, c.adapters);
    group(before) == group(layout) && longer < fast.saturating_mul(TIE_PERCENT)
}
