//! Outputs of pipeline stages that are not deallocated once they are sent (`deallocate_pipeline_outputs`).

use megatron_memory::memory::peak::PassName;
use megatron_memory::memory::reserved::{MicroBatches, replay_allocator};
use megatron_memory::memory::{JobMoment, StageEstimate, StageRef, estimate};
use serde_json::{Value as Json, json};

use super::jobs::{config, with};

const T: u64 = 2048;
const H: u64 = 1024;
/// An output of a stage.
const SENT: u64 = T * H * 2;

/// 16 layers on four stages, eight micro batches.
fn job(change: &Json) -> Json {
    let job = json!({
        "num_layers": 16, "hidden_size": H, "ffn_hidden_size": 4 * H, "num_attention_heads": 8, "swiglu": true,
        "normalization": "RMSNorm", "add_bias_linear": false, "seq_length": T, "micro_batch_size": 1,
        "attention_dropout": 0, "hidden_dropout": 0, "padded_vocab_size": 1024, "bf16": true,
        "attention_backend": "fused", "position_embedding_type": "rope",
        "create_attention_mask_in_dataloader": false, "pipeline_model_parallel_size": 4, "world_size": 4,
        "global_batch_size": 8, "expandable_segments": true,
    });
    with(&job, change)
}

fn stages(change: &Json, deallocates: bool) -> Vec<StageEstimate> {
    let change = with(change, &json!({"deallocate_pipeline_outputs": deallocates}));
    estimate(&config(&job(&change))).modules.remove(0).stages
}

/// What each stage needs more without deallocation, and what a micro batch keeps more in each of its chunks.
fn added(change: &Json) -> Vec<(u64, Vec<u64>)> {
    let with = stages(change, true);
    let pairs = with.iter().zip(stages(change, false));
    let added = pairs.map(|(with, without)| {
        let chunks = with.chunks.iter().zip(&without.chunks);
        let kept = chunks.map(|(with, without)| without.kept.0 - with.kept.0);
        assert_eq!(without.steady, with.steady);
        (without.total.0 - with.total.0, kept.collect())
    });
    added.collect()
}

/// In a backward pass of 1F1B stage `r` of `n` has `n - r` micro batches in flight. The last stage sends nothing.
#[test]
fn each_micro_batch_in_flight_keeps_its_output() {
    let full = json!({
        "recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1,
    });
    for change in [json!({}), full] {
        for stage in stages(&change, false) {
            assert!(
                matches!(stage.moment.pass, PassName::Backward | PassName::Recompute),
                "{}",
                stage.moment
            );
        }
        let expected = [4, 3, 2, 0].map(|live| (live * SENT, vec![if live > 0 { SENT } else { 0 }]));
        assert_eq!(added(&change), expected, "{change}");
    }
}

/// A stage has so many forward passes behind it in its heaviest backward pass, as many as it has in its warm-up and one
/// more. On the last stage all are of its first chunk by then: the second chunk's output is the loss.
#[test]
fn with_interleaving_each_chunk_keeps_its_outputs() {
    let added = added(&json!({"num_virtual_stages_per_pipeline_rank": 2}));
    let kept: Vec<&Vec<u64>> = added.iter().map(|(_, kept)| kept).collect();
    assert_eq!(kept, [&[SENT, SENT], &[SENT, SENT], &[SENT, SENT], &[SENT, 0]]);
    let live: Vec<u64> = added.iter().map(|(total, _)| total / SENT).collect();
    assert!(added.iter().all(|(total, _)| total.is_multiple_of(SENT)));
    assert_eq!(live, [11, 9, 7, 5]);
}

/// The replay of the allocator has as many more bytes in use.
#[test]
fn the_allocator_is_asked_for_as_much_more() {
    let replayed = |pp_rank: usize, deallocates: bool| {
        let config = config(&job(&json!({"deallocate_pipeline_outputs": deallocates})));
        let stage = StageRef { module: 0, pp_rank };
        replay_allocator(&config, stage, 0, JobMoment::LaterIteration, MicroBatches::All).unwrap()
    };
    for (pp_rank, live) in [4, 3, 2, 0].into_iter().enumerate() {
        let (with, without) = (replayed(pp_rank, true), replayed(pp_rank, false));
        let added = without.most_allocated.0 - with.most_allocated.0;
        assert_eq!(added, live * SENT, "stage {pp_rank}");
        assert_eq!(without.allocated, with.allocated);
    }
}
