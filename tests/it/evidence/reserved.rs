//! The interval of reserved memory, beside what measured runs reserved.

use megatron_memory::config::field::Decimal;
use megatron_memory::evidence::{ReservedComparison, compare};
use megatron_memory::memory::reserved::{LEAST_OF_REPLAY, MOST_OF_REPLAY};
use megatron_memory::units::Bytes;

use super::runs;

/// The margins are the least, in tenths of a percent, with which at most one run in twenty is below the interval and one
/// above.
#[test]
fn margins_are_those_of_measured_runs() {
    const TENTH: u64 = 1_000;
    let runs = runs();
    let measured = runs.iter().filter(|run| run.measured.peak_reserved.is_some());
    let compared = measured.filter_map(|run| ReservedComparison::of(run, &compare(run)?));
    let compared: Vec<ReservedComparison> = compared.collect();
    assert!(compared.len() >= 50, "{}", compared.len());
    let below = |margin: Decimal| {
        let low = |c: &ReservedComparison| Bytes(margin.scale_up(c.by_replay.0.0));
        compared.iter().filter(|c| c.measured < low(c)).count()
    };
    let above = |margin: Decimal| {
        let high = |c: &ReservedComparison| Bytes(margin.scale_up(c.by_replay.1.0));
        compared.iter().filter(|c| c.measured > high(c)).count()
    };
    let is_rare = |count: usize| count * 20 <= compared.len();
    assert!(is_rare(below(LEAST_OF_REPLAY)) && is_rare(above(MOST_OF_REPLAY)));
    assert!(!is_rare(below(Decimal(LEAST_OF_REPLAY.0 + TENTH))));
    assert!(!is_rare(above(Decimal(MOST_OF_REPLAY.0 - TENTH))));
    let is_outside = |c: &&ReservedComparison| c.measured < c.interval.0 || c.measured > c.interval.1;
    let outside = compared.iter().filter(is_outside).count();
    assert!(outside * 10 <= compared.len(), "{outside} of {}", compared.len());
}
