//! The Pareto frontier: of some points, those that are beaten by no other in two measures, less of each being better.

/// The places of the points that no other point beats: none has less of one measure and as much or less of the other.
/// Ordered by the first measure; of equal points only the first one is named.
#[must_use]
pub fn frontier<M: Ord + Copy>(points: &[(M, M)]) -> Vec<usize> {
    let mut order: Vec<(usize, (M, M))> = points.iter().copied().enumerate().collect();
    order.sort_by_key(|(place, point)| (*point, *place));
    let mut least = None;
    order.retain(|(_, (_, second))| {
        let is_less = least.is_none_or(|least| *second < least);
        if is_less {
            least = Some(*second);
        }
        is_less
    });
    order.into_iter().map(|(place, _)| place).collect()
}
