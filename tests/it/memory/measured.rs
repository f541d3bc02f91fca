//! Predictions beside measurements.

use megatron_memory::config::check;
use megatron_memory::config::raw::RawJob;
use megatron_memory::memory::{StageEstimate, estimate};
use megatron_memory::value::Value;

use crate::oracle;

fn stages(config: &serde_json::Value) -> Vec<StageEstimate> {
    let config: Value = serde_json::from_value(config.clone()).unwrap();
    let checked = check(&RawJob::from_value(&config));
    let Some(config) = checked.config else {
        panic!("{:?}", checked.problems)
    };
    estimate(&config).modules.remove(0).stages
}

/// Error of a prediction in millionths of the measured amount.
fn millionths(predicted: u64, measured: u64) -> i64 {
    let difference = i128::from(predicted) - i128::from(measured);
    i64::try_from(difference * 1_000_000 / i128::from(measured)).unwrap()
}

#[test]
fn simumax_b200_runs_are_met_within_a_fifth_of_a_percent() {
    let runs = oracle::measured("simumax_b200.json");
    let mut errors: Vec<(i64, String)> = Vec::new();
    for run in runs["runs"].as_array().unwrap() {
        let stages = stages(&run["config"]);
        for measured in run["stages"].as_array().unwrap() {
            let pp_rank = usize::try_from(measured["pp_rank"].as_u64().unwrap()).unwrap();
            let mib = measured["max_allocated_mib"].as_f64().unwrap();
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a positive amount"
            )]
            let bytes = (mib * 1_048_576.0) as u64;
            let stage = &stages[pp_rank];
            let error = millionths(stage.peak.0, bytes);
            errors.push((
                error.abs(),
                format!("{} {pp_rank} {}", run["case"], stage.moment),
            ));
        }
    }
    errors.sort_unstable();
    assert_eq!(errors.len(), 23);
    assert!(errors[11].0 <= 100, "median {:?} ppm", errors[11]);
    assert!(errors[22].0 <= 2_000, "worst {:?} ppm", errors[22]);
}
