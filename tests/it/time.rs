//! Predicted step times beside measured ones: the order of the layouts of one job, and the level of their times.

#![allow(clippy::cast_precision_loss, reason = "counts of rows and samples as shares")]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use megatron_memory::config::check;
use megatron_memory::config::job::Config;
use megatron_memory::config::raw::RawJob;
use megatron_memory::memory::{Estimate, estimate};
use megatron_memory::time::coefficients::Coefficients;
use megatron_memory::time::{NoTime, Nominal, Part, Replay, Software, StepTime, step_time, timed};
use strum::IntoEnumIterator;

/// A measured run with what is predicted for it.
struct Row {
    group: String,
    seconds: f64,
    /// Tokens of a step for each GPU, up to a factor that all rows of a model share.
    samples: f64,
    config: Config,
    nominal: Nominal,
    /// Whether the GPU has less than 5 GiB more than PyTorch allocates: such layouts run slower than they should.
    crowded: bool,
}

impl Row {
    /// GPU seconds for each sample.
    fn predicted(&self, replay: Replay) -> f64 {
        self.nominal
            .seconds(&self.config.modules()[0], &Coefficients::SHIPPED, replay)
            / self.samples
    }

    fn measured(&self) -> f64 {
        self.seconds / self.samples
    }
}

/// The rows of `tests/oracle/time`, `None` for those that Megatron refuses as they stand.
fn rows() -> Vec<Option<Row>> {
    let text = include_str!("../oracle/time/rows.jsonl");
    let rows = text.lines().map(|line| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let id = row["id"].as_str().unwrap();
        let mut job = row["job"].clone();
        let facts = &row["facts"];
        let kernel = facts["attention_kernel"].as_str().unwrap_or("flash");
        if !kernel.starts_with("flash") {
            job["attention_backend"] = "unfused".into();
        }
        if let Some(network) = row.get("network_gb_per_second") {
            job["network_gb_per_second"] = network.clone();
        }
        let fused_norm = facts["fused_norm"].as_bool().unwrap_or(true);
        let config = check(&RawJob::from_value(&serde_json::from_value(job).unwrap())).config?;
        let estimate = estimate(&config);
        let (m, on) = timed(&config).unwrap_or_else(|why| panic!("{id}: {why}"));
        let memory = &estimate.worst_stage().unwrap().memory;
        Some(Row {
            group: id.split(':').next().unwrap().to_owned(),
            seconds: row["step_seconds"].as_f64().unwrap(),
            samples: m.derived().global_batch_size as f64 / config.world_size() as f64,
            crowded: estimate.worst_rank.total.0 + (5 << 30) > config.gpu_memory().unwrap().0,
            nominal: Nominal::new(m, memory, &on, Software { fused_norm }),
            config,
        })
    });
    rows.collect()
}

/// Pairs of rows of one job in different layouts of which the first was faster by more than 5 %.
fn pairs() -> Vec<(usize, usize)> {
    let text = include_str!("../oracle/time/pairs.tsv");
    let pairs = text.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split('\t').collect();
        (fields[2].parse::<f64>().unwrap() > 1.05).then(|| (fields[0].parse().unwrap(), fields[1].parse().unwrap()))
    });
    pairs.collect()
}

fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

/// By group: rows, the median and the 90 % quantile of the error, and the pairs in the right order.
fn figures(replay: Replay) -> (String, f64) {
    let rows = rows();
    let mut errors: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for row in rows.iter().flatten() {
        let error = (row.predicted(replay) / row.measured() - 1.0).abs();
        errors.entry(&row.group).or_default().push(100.0 * error);
    }
    let mut right: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for (fast, slow) in pairs() {
        let (Some(fast), Some(slow)) = (&rows[fast], &rows[slow]) else {
            continue;
        };
        let of = right.entry(&fast.group).or_default();
        of[0] += usize::from(fast.predicted(replay) < slow.predicted(replay));
        of[1] += 1;
    }
    let mut out = String::new();
    for (group, errors) in &mut errors {
        errors.sort_by(f64::total_cmp);
        let most = errors[errors.len() * 9 / 10];
        let [ok, of] = right.get(group).copied().unwrap_or_default();
        writeln!(
            out,
            "{group}: {} rows, {:.1} % and {most:.1} %, {ok} of {of} pairs",
            errors.len(),
            median(errors)
        )
        .unwrap();
    }
    let [ok, of] = right.values().fold([0, 0], |sum, of| [sum[0] + of[0], sum[1] + of[1]]);
    (out, ok as f64 / of as f64)
}

#[test]
fn measured_layouts_are_predicted_in_their_order() {
    for replay in [Replay::EveryPass, Replay::ClosedForm] {
        let (figures, right) = figures(replay);
        assert!(right >= 0.933, "{replay:?}: {right}\n{figures}");
    }
}

/// The representative of the rows that are joined with a row.
fn root(job: &[usize], mut at: usize) -> usize {
    while job[at] != at {
        at = job[at];
    }
    at
}

/// The first suggestion is slower than the best measured layout of its job by so much, on average by group; beside it the
/// same for a layout that is picked at random.
#[test]
fn the_first_suggestion_is_near_the_best() {
    let rows = rows();
    // Rows of one job in different layouts are joined by pairs.
    let mut job: Vec<usize> = (0..rows.len()).collect();
    for line in include_str!("../oracle/time/pairs.tsv").lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let (a, b) = (fields[0].parse().unwrap(), fields[1].parse().unwrap());
        let (a, b) = (root(&job, a), root(&job, b));
        job[a] = b;
    }
    let mut jobs: BTreeMap<usize, Vec<&Row>> = BTreeMap::new();
    for (at, row) in rows.iter().enumerate() {
        if let Some(row) = row {
            jobs.entry(root(&job, at)).or_default().push(row);
        }
    }
    let mut regrets: BTreeMap<&str, Vec<[f64; 2]>> = BTreeMap::new();
    for layouts in jobs.values().filter(|layouts| layouts.len() > 2) {
        let best = layouts.iter().map(|row| row.measured()).fold(f64::INFINITY, f64::min);
        let order = |row: &Row| (row.crowded, row.predicted(Replay::ClosedForm));
        let suggested = layouts.iter().min_by(|a, b| order(a).partial_cmp(&order(b)).unwrap());
        let mean = layouts.iter().map(|row| row.measured()).sum::<f64>() / layouts.len() as f64;
        let regret = [suggested.unwrap().measured() / best - 1.0, mean / best - 1.0];
        regrets.entry(&layouts[0].group).or_default().push(regret);
    }
    for (group, regrets) in regrets {
        let mean = |of: usize| 100.0 * regrets.iter().map(|regret| regret[of]).sum::<f64>() / regrets.len() as f64;
        let (first, random) = (mean(0), mean(1));
        assert!(
            first <= 8.0 && first <= random,
            "{group}: {first:.1} % slower, at random {random:.1} %"
        );
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

/// The closed form is the replay where all chunks take the same time.
#[test]
fn the_closed_form_is_the_replay_of_equal_stages() {
    let rows = rows();
    for row in rows.iter().flatten() {
        let m = &row.config.modules()[0];
        let (replayed, closed) = (row.predicted(Replay::EveryPass), row.predicted(Replay::ClosedForm));
        if m.args().pipeline_model_parallel_size == 1 {
            assert!((replayed / closed - 1.0).abs() < 1e-9);
        } else {
            assert!((0.8..1.5).contains(&(replayed / closed)), "{}", replayed / closed);
        }
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
