//! The order of layouts against measured step times: pairs of layouts of one job that differ by more than 5 %.
//!
//! The runs are those of `src/evidence/step_times`.

use core::cmp::Ordering;

use megatron_memory::config::fields::FieldId;
use megatron_memory::evidence::{self, TimedRun};
use megatron_memory::search::{Candidate, Options, Space};
use megatron_memory::value::Value;

use crate::time::compared;

/// A run's layout. Its GPU has room for all of them: they ran.
fn layout(run: &TimedRun) -> Option<Candidate> {
    let mut job = run.job.clone();
    job.put(0, FieldId::gpu_memory_mib, Value::Int(1 << 20));
    Space::new(&job, &Options::default()).ok()?.own_candidate()
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
    let compared = compared();
    let rows: Vec<Option<Candidate>> = compared.iter().map(|(run, _)| layout(run)).collect();
    let mut pairs = Vec::new();
    let mut of_micro_batch = Vec::new();
    for (fast, slow) in evidence::pairs(&compared) {
        let (Some(fast), Some(slow)) = (rows[fast], rows[slow]) else {
            continue;
        };
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
    let [(of_all_before, _), (of_micro_batch_before, _)] = before;
    let [(right, all), (of_micro_batch, _)] = now;
    assert!(
        right * 1000 >= all * 943 && right > of_all_before,
        "{before:?}, {now:?}"
    );
    assert!(of_micro_batch > of_micro_batch_before, "{before:?}, {now:?}");
}
