//! How long the core takes, natively: `cargo bench --package megatron-memory --features bench --bench estimate`.
#![allow(
    missing_docs,
    clippy::expect_used,
    reason = "Criterion's macros make undocumented functions, and a bench without its job is no bench"
)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use megatron_memory::config::check;
use megatron_memory::config::raw::RawJob;
use megatron_memory::formats::import::{self, import};
use megatron_memory::memory::line::stage_lines;
use megatron_memory::memory::{self, JobMoment, reserved};
use megatron_memory::search::{Axis, Keep, Options, Space, search};
use megatron_memory::time::step_time;
use megatron_memory::value::Value;

/// DeepSeek-V3 on 2048 GPUs: PP 16 with two chunks each, EP 64, 240 micro batches.
fn deepseek_v3() -> RawJob {
    let text = include_str!("../tests/jobs/deepseek_v3_2048.json");
    let value: Value = serde_json::from_str(text).expect("the job is JSON");
    RawJob::from_value(&value)
}

fn estimate(criterion: &mut Criterion) {
    let raw = deepseek_v3();
    let config = check(&raw).config.expect("nothing is wrong with the job");
    let result = memory::estimate(&config);
    let mut group = criterion.benchmark_group("DeepSeek-V3 on 2048 GPUs");
    group.bench_function("check", |bencher| bencher.iter(|| check(black_box(&raw))));
    group.bench_function("estimate", |bencher| {
        bencher.iter(|| memory::estimate(black_box(&config)));
    });
    group.bench_function("estimate and time of a step", |bencher| {
        bencher.iter(|| step_time(black_box(&config), &memory::estimate(&config)));
    });
    group.bench_function("replay of the allocator on the worst rank", |bencher| {
        bencher.iter(|| reserved::unused(black_box(&config), &result.worst_rank, JobMoment::default()));
    });
    group.bench_function("lines of the worst stage", |bencher| {
        bencher.iter(|| stage_lines(black_box(&config), black_box(&result), result.worst));
    });
}

/// How many layouts a second are found: every TP by every EP.
fn layouts(criterion: &mut Criterion) {
    let options = Options {
        vary: vec![Axis::Tensor, Axis::Expert],
        ..Options::default()
    };
    let space = Space::new(&deepseek_v3(), &options).expect("the job has layouts");
    let all = || search(&space, 0..space.total(), u32::MAX, Keep::Legal);
    let mut group = criterion.benchmark_group("layouts of DeepSeek-V3 on 2048 GPUs");
    group.throughput(Throughput::Elements(all().legal));
    group.bench_function("all TP by EP", |bencher| bencher.iter(all));
}

/// How many bytes of a training log are read a second: its arguments between two halves of noise.
fn log(criterion: &mut Criterion) {
    let noise = "[rank7]:[W1113 16:25:49.051429812 ProcessGroupNCCL.cpp:5059] [PG ID 0] using GPU 7 as device by this process\n";
    let half = noise.repeat(2_400_000 / noise.len());
    let arguments = [
        ("num_layers", "32"),
        ("hidden_size", "4096"),
        ("num_attention_heads", "32"),
        ("world_size", "64"),
    ];
    let arguments = arguments.map(|(name, value)| format!("  {name} {} {value}\n", ".".repeat(48 - name.len())));
    let first = "------------------------ arguments ------------------------\n";
    let last = "-------------------- end of arguments ---------------------\n";
    let log = [&half, first, &arguments.concat(), last, &half].concat();
    let mut group = criterion.benchmark_group("a training log");
    group.throughput(Throughput::Bytes(log.len() as u64));
    group.bench_function("read", |bencher| {
        bencher.iter(|| import(black_box(&log), &import::Options::default()));
    });
}

criterion_group!(benches, estimate, layouts, log);
criterion_main!(benches);
