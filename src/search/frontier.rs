//! Which of some points are beaten by no other in two measures, less of each being better.

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

#[cfg(test)]
mod tests {
    use super::frontier;

    #[test]
    fn points_that_another_beats_are_left_out() {
        assert_eq!(frontier::<u64>(&[]), [0; 0]);
        let points = [(3, 5), (1, 9), (3, 4), (2, 9), (8, 1), (3, 4), (9, 1)];
        assert_eq!(frontier(&points), [1, 2, 4]);
    }

    #[test]
    fn it_is_what_comparing_all_pairs_finds() {
        let points: Vec<(u64, u64)> = (0..400_u64).map(|n| (n * 7919 % 61, n * n * 104_729 % 67)).collect();
        let beats = |a: &(u64, u64), b: &(u64, u64)| a != b && a.0 <= b.0 && a.1 <= b.1;
        let mut expected: Vec<(u64, u64)> = points
            .iter()
            .filter(|point| !points.iter().any(|other| beats(other, point)))
            .copied()
            .collect();
        expected.sort_unstable();
        expected.dedup();
        let found: Vec<(u64, u64)> = frontier(&points).into_iter().map(|at| points[at]).collect();
        assert_eq!(found, expected);
    }
}
