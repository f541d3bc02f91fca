//! How long the core takes, natively: `cargo bench --no-default-features --features bench --bench estimate`.
#![allow(
    missing_docs,
    reason = "Criterion's macros make undocumented functions"
)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use megatron_memory::value::Value;

fn print(criterion: &mut Criterion) {
    let value = Value::List((0..64).map(Value::Int).collect());
    criterion.bench_function("print a value", |bencher| {
        bencher.iter(|| black_box(&value).to_string());
    });
}

criterion_group!(benches, print);
criterion_main!(benches);
