//! Runs of others: with the software that they ran on, at the moment at which they printed their memory.

use std::fs;

use megatron_memory::config::check;
use megatron_memory::config::raw::RawJob;
use megatron_memory::diagnosis::ESTIMATE_ERROR_PPM;
use megatron_memory::evidence::{Comparison, Run, compare, read_repeats, spread, summaries};
use megatron_memory::memory::{JobMoment, estimate};
use megatron_memory::report::summary::{Standing, Verdict};
use megatron_memory::value::Value;

use super::runs;
use crate::{ROOT, oracle};

const GROUP: &str = "Runs of others";

fn compared(runs: &[Run]) -> Vec<(&Run, Option<Comparison>)> {
    let others = runs.iter().filter(|run| run.group == GROUP);
    others.map(|run| (run, compare(run))).collect()
}

#[test]
fn runs_of_others_are_met_with_their_software_and_moment() {
    let runs = runs();
    let all = summaries(&compared(&runs));
    let [given, not_given] = all.as_slice() else {
        panic!("{all:?}");
    };
    assert_eq!((given.group.as_str(), given.steady, given.peaks), (GROUP, 19, 18));
    assert!(given.steady_precise * 100 >= given.steady * 70, "{given:?}");
    assert!(given.peak_median_ppm <= Some(8_000), "{given:?}");
    assert!(given.peak_p90_ppm <= Some(30_000), "{given:?}");
    assert!(not_given.peak_median_ppm > given.peak_median_ppm, "{not_given:?}");
    // What explanations of errors take an estimate's error for.
    let error = not_given.peak_p90_ppm.unwrap();
    assert!(error.abs_diff(ESTIMATE_ERROR_PPM) <= 50, "{not_given:?}");
}

/// Where the software is known, predictions are exact to a hundredth of a percent.
#[test]
fn known_software_explains_runs_to_the_mebibyte() {
    let runs = runs();
    for (id, steady, peak) in [
        ("unseen:leonardo-1.7b", 1, 1),
        ("unseen:mdk-6.4b-fp8-16gpu", 1, 1),
        ("unseen:qwen3-4b-bridge-1gpu", 7, 7),
        ("unseen:otel-mi355x-dp8-local", 3, 9),
        ("unseen:345m-2023-dp4-local", 1, 1),
        ("unseen:vs-olmoe64-ep8", 2, 150),
    ] {
        let run = runs.iter().find(|run| run.id == id).unwrap();
        let compared = compare(run).unwrap();
        let mib =
            |error: Option<megatron_memory::evidence::Error>| error.unwrap().bytes.unsigned_abs().div_ceil(1 << 20);
        assert!(mib(compared.steady_error) <= steady, "{id}: {compared:?}");
        assert!(mib(compared.peak_error) <= peak, "{id}: {compared:?}");
    }
}

/// A line of the first iteration is compared with the first iteration.
#[test]
fn first_iterations_are_no_later_ones() {
    let runs = runs();
    let first = runs.iter().filter(|run| run.moment == JobMoment::FirstIteration);
    let mut count = 0;
    for run in first {
        let compared = compare(run).unwrap();
        let alone = compared.unadjusted.unwrap();
        assert!(compared.peak < alone.peak, "{}", run.id);
        count += 1;
    }
    assert_eq!(count, 23);
}

#[test]
fn jobs_of_others_fit_or_not_as_they_did() {
    let cases = oracle::json("fit_verdicts.json");
    let (mut right, mut inside) = (0, 0);
    for case in cases.as_array().unwrap() {
        let mut job = case["job"].clone();
        job["gpu_memory_mib"] = case["gpu_memory_mib"].clone();
        let job: Value = serde_json::from_value(job).unwrap();
        let config = check(&RawJob::from_value(&job)).config.unwrap();
        let verdict = Standing::new(&config, &estimate(&config)).verdict;
        let fits = case["fits"].as_bool().unwrap();
        match (verdict, fits) {
            (Verdict::Fits, true) | (Verdict::DoesNotFit, false) => right += 1,
            (Verdict::Tight, _) => inside += 1,
            _ => panic!("{}: {verdict:?}", case["label"]),
        }
    }
    assert_eq!((right, inside), (10, 0));
}

/// The differences between two recordings of one job bound what any prediction can reach.
#[test]
fn repeats_of_one_job_differ() {
    let text = format!("{ROOT}/src/evidence/repeats.json");
    let repeats = read_repeats(&fs::read_to_string(text).unwrap()).unwrap();
    assert_eq!(repeats.len(), 103);
    let steady = spread(&repeats, |repeat| repeat.steady).unwrap();
    let peak = spread(&repeats, |repeat| repeat.peak).unwrap();
    assert!((1_000..1_500).contains(&steady.median_ppm), "{steady:?}");
    assert!((1_000..1_500).contains(&peak.median_ppm), "{peak:?}");
    assert!((20_000..40_000).contains(&peak.p90_ppm), "{peak:?}");
    assert_eq!(
        read_repeats("[{\"id\":\"a\"}]").unwrap_err().to_string(),
        "record 1 (a): the record cannot be read: missing field `steady`"
    );
}
