//! Points that no other point beats in both measures.

use megatron_memory::search::frontier;

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
