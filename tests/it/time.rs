//! Predicted step times beside measured ones: the order of the layouts of one job, and the level of their times.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "counts as shares, parts as percent, and times that must be the same"
)]

mod flops;
mod laws;
mod operations;

use std::collections::BTreeMap;

use megatron_memory::config::check;
use megatron_memory::config::job::Config;
use megatron_memory::config::raw::RawJob;
use megatron_memory::evidence::{TimeComparison, TimedRun, accuracies, pairs, read_step_times, times_table};
use megatron_memory::memory::{Estimate, estimate};
use megatron_memory::time::coefficients::Coefficients;
use megatron_memory::time::{NoTime, Nominal, Part, Replay, Software, StepTime, calibrate, interval, step_time, timed};
use strum::IntoEnumIterator;

/// The measured runs beside what is predicted for them.
pub(crate) fn compared() -> Vec<(TimedRun, Option<TimeComparison>)> {
    let runs = read_step_times(include_str!("../../src/evidence/step_times/runs.json")).unwrap();
    let compared = runs.into_iter().map(|run| {
        let comparison = TimeComparison::of(&run);
        (run, comparison)
    });
    compared.collect()
}

#[test]
fn every_measured_run_has_a_prediction() {
    let compared = compared();
    let missing = compared.iter().filter(|(_, comparison)| comparison.is_none());
    let missing: Vec<&str> = missing.map(|(run, _)| run.id.as_str()).collect();
    assert_eq!((compared.len(), missing.len()), (527, 0), "{missing:?}");
    assert_eq!(pairs(&compared).len(), 1407);
}

/// Runs of Hagemann et al. trained, so that their GPUs have room for them: with gradients in bf16 for all but two, which have
/// TP 8 and micro batches of 4 samples.
#[test]
fn layouts_that_ran_had_room() {
    let compared = compared();
    let runs = compared.iter().filter(|(run, _)| run.group.starts_with("Hagemann"));
    let known = runs.filter_map(|(run, comparison)| Some((run, comparison.as_ref()?)));
    let (fitting, beyond): (Vec<_>, Vec<_>) =
        known.partition(|(_, of)| of.config.gpu_memory().is_some_and(|memory| of.allocated <= memory));
    let beyond: Vec<&str> = beyond.into_iter().map(|(run, _)| run.id.as_str()).collect();
    assert!(fitting.len() > 250 && beyond.len() <= 2, "{beyond:?}");
}

/// Every shipped coefficient lies in the interval that the runs leave open.
#[test]
fn coefficients_have_intervals_and_names() {
    let described: Vec<_> = Coefficients::described().collect();
    assert_eq!(described.len(), Coefficients::SHIPPED.clone().each_mut().count());
    let mut values = Coefficients::SHIPPED;
    for (of, value) in described.iter().zip(values.each_mut()) {
        let [low, high] = of.interval;
        assert!(
            of.value == *value && low <= of.value && of.value <= high && low < high,
            "{of:?}"
        );
    }
    let names: std::collections::BTreeSet<_> = described.iter().map(|of| (of.name, of.gpus)).collect();
    assert_eq!(names.len(), described.len());
}

/// The figures by group: the median and the 90 % quantile of the error in percent, the least share of pairs in order, and
/// by how many percent the first suggestion is slower than the best layout at most.
const FIGURES: [(&str, f64, f64, f64, f64); 7] = [
    ("SimuMax, B200", 16.0, 21.0, 1.0, 0.0),
    ("Hagemann et al., A100", 7.5, 17.0, 0.95, 1.0),
    ("BLOOM, A100", 4.5, 29.0, 0.85, 1.0),
    ("Korthikanti et al., A100", 22.0, 28.0, 1.0, 0.0),
    ("Megatron-Bridge, performance summary", 12.5, 29.5, 1.0, 0.0),
    ("Megatron-Bridge, verification cards", 23.0, 54.0, 1.0, 0.0),
    ("Megatron-LM, dev branch", 7.0, 17.5, 1.0, 0.0),
];

#[test]
fn measured_layouts_are_predicted_in_their_order() {
    let compared = compared();
    for replay in [Replay::EveryPass, Replay::ClosedForm] {
        let accuracies = accuracies(&compared, &Coefficients::SHIPPED, replay);
        let [right, all] = accuracies
            .iter()
            .fold([0, 0], |sum, of| [sum[0] + of.pairs[0], sum[1] + of.pairs[1]]);
        let table = times_table(&accuracies);
        assert!(
            right as f64 >= 0.943 * all as f64,
            "{replay:?}: {right} of {all}\n{table}"
        );
        for (of, (group, median, p90, share, slower)) in accuracies.iter().zip(FIGURES) {
            assert_eq!(of.group, group);
            assert!(
                100.0 * of.median <= median && 100.0 * of.p90 <= p90,
                "{replay:?}\n{table}"
            );
            assert!(of.pairs[0] as f64 >= share * of.pairs[1] as f64, "{replay:?}\n{table}");
            let [regret, with_room] = [of.regret, of.uncrowded_regret].map(|part| 100.0 * part);
            assert!(
                regret <= slower && with_room <= slower.max(1.0),
                "{replay:?}: {with_room}\n{table}"
            );
            assert!(
                of.regret <= of.random && of.uncrowded_regret <= of.random,
                "{replay:?}\n{table}"
            );
        }
    }
}

fn job(changes: &[(&str, serde_json::Value)]) -> Config {
    let mut job = serde_json::json!({
        "num_layers": 32, "hidden_size": 4096, "ffn_hidden_size": 14336, "num_attention_heads": 32, "num_query_groups": 8,
        "group_query_attention": true, "vocab_size": 128_256, "swiglu": true, "seq_length": 4096,
        "max_position_embeddings": 4096, "world_size": 64, "micro_batch_size": 1, "global_batch_size": 256, "bf16": true,
        "use_distributed_optimizer": true, "tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 4,
        "gpu": "h100-80gb",
    });
    for (key, value) in changes {
        job[key] = value.clone();
    }
    let checked = check(&RawJob::from_value(&serde_json::from_value(job).unwrap()));
    checked.config.unwrap_or_else(|| panic!("{:?}", checked.problems))
}

fn time(changes: &[(&str, serde_json::Value)]) -> StepTime {
    let config = job(changes);
    let estimate: Estimate = estimate(&config);
    step_time(&config, &estimate).unwrap()
}

#[test]
fn parts_sum_to_the_step() {
    let time = time(&[]);
    let sum: f64 = time.parts.iter().sum();
    assert!((sum - time.seconds).abs() < 1e-9 * time.seconds);
    for part in Part::iter() {
        assert!(time.parts[part as usize] >= -1e-9, "{part:?}: {:?}", time.parts);
    }
    assert!(time.interval[0] < time.seconds && time.seconds < time.interval[1]);
    assert!((0.2..0.8).contains(&time.mfu), "{time:?}");
}

#[test]
fn a_faster_network_never_slows_a_job() {
    let mut before = f64::INFINITY;
    for network in [6, 12, 25, 50, 100] {
        let seconds = time(&[("network_gb_per_second", network.into())]).seconds;
        assert!(seconds <= before, "{network} GB/s: {seconds} after {before}");
        before = seconds;
    }
}

#[test]
fn more_micro_batches_never_cost_more_a_token() {
    let mut before = f64::INFINITY;
    for batch in [32_u64, 64, 128, 256, 1024] {
        let seconds = time(&[("global_batch_size", batch.into())]).seconds / batch as f64;
        assert!(seconds <= before * 1.000_001, "batch {batch}: {seconds} after {before}");
        before = seconds;
    }
}

#[test]
fn recomputing_more_is_never_faster() {
    let full = |layers: u64| {
        vec![
            ("recompute_granularity", "full".into()),
            ("recompute_method", "block".into()),
            ("recompute_num_layers", layers.into()),
        ]
    };
    let selective = vec![
        ("recompute_granularity", "selective".into()),
        ("recompute_modules", serde_json::json!(["core_attn"])),
    ];
    let ways = [vec![], selective, full(2), full(4), full(8)];
    let times: Vec<f64> = ways.iter().map(|way| time(way).seconds).collect();
    assert!(times.is_sorted(), "{times:?}");
}

/// Four of five measured times lie within the interval of their kind of job.
#[test]
fn intervals_hold_four_of_five_runs() {
    let mut within = BTreeMap::new();
    for (run, comparison) in compared() {
        let Some(comparison) = comparison else { continue };
        let m = &comparison.config.modules()[0];
        let factor = 1.0 + interval(m);
        let ratio = comparison.seconds(&Coefficients::SHIPPED, Replay::EveryPass) / run.seconds;
        let of = within.entry((interval(m) * 100.0) as u32).or_insert([0, 0]);
        of[0] += usize::from((1.0 / factor..factor).contains(&ratio));
        of[1] += 1;
    }
    assert_eq!(within.len(), 2);
    for (percent, [inside, all]) in within {
        assert!(inside * 5 >= all * 4, "{inside} of {all} within {percent} %");
    }
}

/// The closed form is the replay where all chunks take the same time, and near it elsewhere.
#[test]
fn the_closed_form_is_the_replay_of_equal_stages() {
    for (run, comparison) in compared() {
        let Some(comparison) = comparison else { continue };
        let m = &comparison.config.modules()[0];
        let seconds = |replay| comparison.seconds(&Coefficients::SHIPPED, replay);
        let longer = seconds(Replay::EveryPass) / seconds(Replay::ClosedForm);
        if m.args().pipeline_model_parallel_size == 1 {
            assert!((longer - 1.0).abs() < 1e-9, "{}: {longer}", run.id);
        } else {
            assert!((0.8..1.5).contains(&longer), "{}: {longer}", run.id);
        }
    }
    // Embedding and output layer take next to nothing here, so that all stages are equal.
    for (pp, vpp, batch) in [
        (2_u64, 1_u64, 64_u64),
        (4, 1, 128),
        (8, 1, 64),
        (4, 2, 128),
        (2, 4, 512),
        (8, 2, 1024),
    ] {
        let mut changes = vec![
            ("vocab_size", 64.into()),
            ("make_vocab_size_divisible_by", 1.into()),
            ("tensor_model_parallel_size", 1.into()),
            ("pipeline_model_parallel_size", pp.into()),
            ("global_batch_size", batch.into()),
        ];
        if vpp > 1 {
            changes.push(("num_layers_per_virtual_pipeline_stage", (32 / pp / vpp).into()));
        }
        let config = job(&changes);
        let (m, on) = timed(&config).unwrap();
        let estimate = estimate(&config);
        let nominal = Nominal::new(m, &estimate.modules[0], &on, Software::default());
        let seconds = |replay| nominal.seconds(m, &Coefficients::SHIPPED, replay);
        let longer = seconds(Replay::EveryPass) / seconds(Replay::ClosedForm);
        assert!(
            (longer - 1.0).abs() < 2e-3,
            "PP {pp}, VPP {vpp}, batch {batch}: {longer}"
        );
    }
}

/// Layouts that differ in nothing that takes time tie exactly.
#[test]
fn equal_layouts_tie() {
    let base = time(&[]).seconds;
    for changes in [
        vec![("sequence_parallel", false.into()), ("context_parallel_size", 1.into())],
        vec![("expert_model_parallel_size", 1.into())],
        vec![("seed", 5.into()), ("lr", 0.1.into())],
    ] {
        let seconds = time(&changes).seconds;
        assert!((seconds - base).abs() < f64::EPSILON, "{changes:?}: {seconds}, {base}");
    }
}

#[test]
fn jobs_that_are_not_followed_have_a_reason() {
    let reason = |changes: &[(&str, serde_json::Value)]| {
        let config = job(changes);
        step_time(&config, &estimate(&config)).unwrap_err()
    };
    assert_eq!(reason(&[("gpu", serde_json::Value::Null)]), NoTime::NoGpu);
    assert_eq!(
        reason(&[("gpu", "mi300x".into())]),
        NoTime::UnknownGpu("mi300x".to_owned())
    );
    let fsdp = reason(&[
        ("use_megatron_fsdp", true.into()),
        ("data_parallel_sharding_strategy", "optim_grads_params".into()),
        ("pipeline_model_parallel_size", 1.into()),
    ]);
    assert_eq!(
        fsdp.to_string(),
        "no measured run with fully sharded data parallelism was compared"
    );
}

/// With a calibration as the page makes it from a log.
fn calibrated<'c>(changes: &[(&'c str, serde_json::Value)], by: &str) -> Vec<(&'c str, serde_json::Value)> {
    let by = [("step_time_calibration", by.into())];
    changes.iter().cloned().chain(by).collect()
}

#[test]
fn a_log_calibrates_times_of_its_model_gpu_and_precision() {
    let config = job(&[]);
    let estimate = estimate(&config);
    let measured = 1.3 * time(&[]).seconds;
    let by = calibrate(&[(&config, &estimate, measured)]).unwrap().to_string();
    let after = time(&calibrated(&[], &by));
    assert!(
        (after.seconds / measured - 1.0).abs() < 1e-3,
        "{by}: {after:?}, {measured}"
    );
    assert!((after.interval[1] / after.seconds - 1.09).abs() < 1e-9, "{after:?}");
    let other_layout = [("tensor_model_parallel_size", 4.into())];
    assert!(time(&calibrated(&other_layout, &by)).seconds > 1.2 * time(&other_layout).seconds);
    for other in [
        vec![("fp8_format", "hybrid".into())],
        vec![("num_layers", 16.into())],
        vec![("gpu", "b200".into())],
    ] {
        assert_eq!(
            time(&calibrated(&other, &by)).seconds,
            time(&other).seconds,
            "{other:?}"
        );
    }
}

#[test]
fn three_logs_tell_a_slow_network_from_slow_computing() {
    let truth = "gpu=h100-80gb precision=bf16 model=32x4096 compute=1.1 host=1 network=2 within=9 runs=1";
    let layouts = [
        vec![("tensor_model_parallel_size", 1.into())],
        vec![("pipeline_model_parallel_size", 1.into())],
        vec![("tensor_model_parallel_size", 4.into()), ("micro_batch_size", 2.into())],
    ];
    let runs: Vec<_> = layouts.iter().map(|layout| job(layout)).collect();
    let estimates: Vec<_> = runs.iter().map(estimate).collect();
    let seconds: Vec<f64> = layouts
        .iter()
        .map(|layout| time(&calibrated(layout, truth)).seconds)
        .collect();
    let given: Vec<_> = runs
        .iter()
        .zip(&estimates)
        .zip(&seconds)
        .map(|((run, of), seconds)| (run, of, *seconds))
        .collect();
    let by = calibrate(&given).unwrap();
    assert!(by.network > 1.6 && by.compute < 1.2, "{by}");
    for (layout, seconds) in layouts.iter().zip(&seconds) {
        let found = time(&calibrated(layout, &by.to_string())).seconds;
        assert!((found / seconds - 1.0).abs() < 0.03, "{layout:?}: {found}, {seconds}");
    }
    // Runs of two precisions make no factor.
    let other = job(&[("fp8_format", "hybrid".into())]);
    let of_other = estimate(&other);
    assert_eq!(calibrate(&[given[0], (&other, &of_other, 1.0)]), None);
}

#[test]
fn a_text_that_is_no_calibration_is_refused_with_one_that_is() {
    let job = RawJob::from_value(
        &serde_json::from_value(serde_json::json!({
            "num_layers": 2, "hidden_size": 128, "num_attention_heads": 2, "vocab_size": 64, "seq_length": 64,
            "max_position_embeddings": 64, "micro_batch_size": 1, "step_time_calibration": "twice as long",
        }))
        .unwrap(),
    );
    let checked = check(&job);
    assert!(checked.config.is_none());
    let errors: Vec<_> = checked.errors().map(|problem| problem.message.clone()).collect();
    assert!(errors.iter().any(|error| error.contains("compute=1.08")), "{errors:?}");
}

#[test]
fn times_are_told_with_few_digits() {
    use megatron_memory::report::time::duration;
    let texts = [
        (0.0384, "38 ms"),
        (1.2361, "1.24 s"),
        (62.04, "62.0 s"),
        (3681.1, "3,681 s"),
    ];
    for (seconds, text) in texts {
        assert_eq!(duration(seconds), text);
    }
}
