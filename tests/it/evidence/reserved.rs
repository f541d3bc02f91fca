//! The interval of reserved memory, beside what measured runs reserved.

use megatron_memory::config::field::Decimal;
use megatron_memory::evidence::{ReservedComparison, compare};
use megatron_memory::memory::reserved::{LEAST_OF_REPLAY, MOST_OF_REPLAY};
use serde_json::Value;

use super::runs;
use crate::oracle;

/// A tenth of a percent, in millionths.
const TENTH: u64 = 1_000;

/// Peaks of reserved memory in GB of two runs of one job: sequences of 4,096 and a vocabulary of 256,000, in the full and
/// in the quick experiment of sail-sg/VocabularyParallelism (artifact/README.md at 6191c3bf).
const REPEATED: [f64; 2] = [33.86, 33.7227];

/// What the ranks of a stage reserved, stage by stage, as `SimuMax` lists them.
fn ranks_of_stages() -> Vec<Vec<f64>> {
    let measured = oracle::json("measured.json");
    let mut stages = Vec::new();
    for record in measured["records"].as_array().unwrap() {
        let Some(ranks) = record["per_rank_max_reserved_mib"].as_array() else {
            continue;
        };
        let of_stage = ranks.len() / usize::try_from(record["pp"].as_u64().unwrap()).unwrap();
        let of_ranks = ranks.chunks(of_stage);
        stages.extend(of_ranks.map(|ranks| ranks.iter().filter_map(Value::as_f64).collect::<Vec<f64>>()));
    }
    stages
}

/// A ratio in millionths, rounded up to tenths of a percent.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "ratios are about one"
)]
fn tenths(ratio: f64) -> u64 {
    (ratio * 1_000.0).ceil() as u64 * TENTH
}

/// The margins are by how much ranks of one stage and repetitions of one job differ, and nothing of the runs that they are
/// laid around.
#[test]
fn margins_are_those_of_ranks_and_repetitions() {
    let mut pairs = Vec::new();
    for ranks in ranks_of_stages() {
        for (place, first) in ranks.iter().enumerate() {
            let others = ranks.iter().skip(place + 1);
            pairs.extend(others.map(|second| first.max(*second) / first.min(*second)));
        }
    }
    pairs.sort_by(f64::total_cmp);
    assert!(pairs.len() > 150, "{}", pairs.len());
    let all_but_one_in_twenty = pairs[pairs.len() * 19 / 20];
    assert_eq!(MOST_OF_REPLAY, Decimal(tenths(all_but_one_in_twenty)));
    let [more, less] = REPEATED;
    let difference = tenths(more / less) - Decimal::ONE.0;
    assert_eq!(LEAST_OF_REPLAY, Decimal(Decimal::ONE.0 - difference));
}

/// At most one measured run in ten is outside of its interval.
#[test]
fn nine_of_ten_runs_are_inside() {
    let runs = runs();
    let measured = runs.iter().filter(|run| run.measured.peak_reserved.is_some());
    let compared = measured.filter_map(|run| ReservedComparison::of(run, &compare(run)?));
    let compared: Vec<ReservedComparison> = compared.collect();
    assert!(compared.len() >= 50, "{}", compared.len());
    let is_outside = |c: &&ReservedComparison| c.measured < c.interval.0 || c.measured > c.interval.1;
    let outside = compared.iter().filter(is_outside).count();
    assert!(outside * 10 <= compared.len(), "{outside} of {}", compared.len());
}
