//! The order of layouts against measured step times: pairs of layouts of one job that differ by more than 5 %.
//!
//! `rows.jsonl` has published runs with their step times, and `pairs.tsv` which two of them are of one job and batch, the
//! faster one first, with the ratio of their times.

use core::cmp::Ordering;

use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::search::{Candidate, Options, Space};
use megatron_memory::value::Value;

const ROWS: &str = include_str!("../../oracle/time/rows.jsonl");
const PAIRS: &str = include_str!("../../oracle/time/pairs.tsv");

/// A row's layout. Its GPU has room for all of them: they ran.
fn layout(line: &str) -> Option<(String, Candidate)> {
    let row: serde_json::Value = serde_json::from_str(line).unwrap();
    let job = serde_json::from_value(row["job"].clone()).unwrap();
    let mut job = RawJob::from_value(&job);
    job.put(0, FieldId::gpu_memory_mib, Value::Int(1 << 20));
    let space = Space::new(&job, &Options::default()).ok()?;
    Some((row["id"].as_str().unwrap().to_owned(), space.own_candidate()?))
}

/// Of pairs of layouts, the slower one second: how many an order has rightly, and how many there are.
fn share(pairs: &[(Candidate, Candidate)], order: impl Fn(&Candidate, &Candidate) -> Ordering) -> (usize, usize) {
    let right = pairs.iter().filter(|(fast, slow)| order(fast, slow).is_lt());
    (right.count(), pairs.len())
}

/// The order that put what is recomputed before everything else, and knew nothing of micro batches.
fn recomputation_first(a: &Candidate, b: &Candidate) -> Ordering {
    let percent = |ppm: u64| (ppm + 5_000) / 10_000;
    let key = |c: &Candidate| {
        let waiting = c.bubble_ppm + c.exchange_ppm;
        (percent(c.recomputed_ppm), percent(waiting), c.replica, c.peak)
    };
    key(a).cmp(&key(b))
}

#[test]
fn measured_pairs_are_ordered_as_measured_more_often_than_before() {
    let rows: Vec<Option<(String, Candidate)>> = ROWS.lines().map(layout).collect();
    let mut pairs = Vec::new();
    let mut of_micro_batch = Vec::new();
    for line in PAIRS.lines() {
        let mut cells = line.split('\t');
        let mut row = || rows[cells.next()?.parse::<usize>().ok()?].clone();
        let (Some((_, fast)), Some((_, slow))) = (row(), row()) else {
            continue;
        };
        let ratio: f64 = cells.next().unwrap().parse().unwrap();
        if ratio <= 1.05 {
            continue;
        }
        pairs.push((fast, slow));
        let differs_in_micro_batch_alone = fast.replica == slow.replica
            && (fast.vpp, fast.dp, fast.cp) == (slow.vpp, slow.dp, slow.cp)
            && fast.recomputed_ppm == slow.recomputed_ppm
            && fast.num_microbatches != slow.num_microbatches;
        if differs_in_micro_batch_alone {
            of_micro_batch.push((fast, slow));
        }
    }
    let before = [&pairs, &of_micro_batch].map(|of| share(of, recomputation_first));
    let now = [&pairs, &of_micro_batch].map(|of| share(of, Candidate::order));
    // 80.7 % and 54.7 % before.
    assert_eq!(before, [(1134, 1405), (93, 170)]);
    let [(right, all), (of_micro_batch, _)] = now;
    assert!(right * 1000 >= all * 855, "{now:?}");
    assert!(of_micro_batch > 93, "{now:?}");
}
