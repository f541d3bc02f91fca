//! Measured runs of several modules on the same ranks.

use megatron_memory::config::check;
use megatron_memory::evidence::{self, compare};
use megatron_memory::memory::{estimate, rank_memory};

/// Megatron-LM's own MIMO tests: a frozen Vicuna 7B and a frozen CLIP with a projector that is trained, without and
/// with context parallelism; and its `LLaVA` tests, an encoder and a language model with TP 4 and CP 2.
///
/// Peaks of MIMO tests are not about training: with bf16 it is the fp32 checkpoint on its way in, with fp32 batches
/// are as long as their longest sample, which no one recorded.
#[test]
fn steady_states_of_multimodal_tests() {
    let text = include_str!("../../../src/evidence/runs/megatron_lm.json");
    let runs = evidence::read(text).unwrap();
    let (mut mimo, mut llava) = (0, 0);
    for run in &runs {
        let is_mimo = run.id.contains(":mimo/");
        if !is_mimo && !run.id.contains("llava") {
            continue;
        }
        let found = compare(run).unwrap();
        let error = found.steady_error.unwrap();
        assert_eq!(found.peak_error.is_none(), is_mimo, "{}", run.id);
        if is_mimo {
            mimo += 1;
            assert!(error.ppm.abs() < 1_000, "{}: {error:?}", run.id);
        } else {
            llava += 1;
            assert!(error.is_close(), "{}: {error:?}", run.id);
        }
    }
    assert_eq!((mimo, llava), (3, 2));
}

/// A process has one set of workspaces, whatever modules it runs.
#[test]
fn workspaces_are_counted_once() {
    let text = include_str!("../../../src/evidence/runs/megatron_lm.json");
    let run = evidence::read(text).unwrap();
    let run = run.iter().find(|run| run.id.contains("llava")).unwrap();
    let config = check(run.job.as_deref().unwrap()).config.unwrap();
    let estimate = estimate(&config);
    let stages: Vec<_> = estimate.modules.iter().map(|m| &m.stages[0]).collect();
    let rank = rank_memory(&config, &estimate, 3).unwrap();
    let both: u64 = stages.iter().map(|stage| stage.total.0).sum();
    let less = stages.iter().map(|stage| stage.workspaces.0).min().unwrap();
    assert!(less > 0);
    assert_eq!(rank.total.0, both - less);
    let sum: u64 = rank.memory.iter().map(|bytes| bytes.0).sum();
    assert_eq!(sum, rank.total.0);
}
