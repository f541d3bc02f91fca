//! What attention between text and images keeps beside what text alone keeps.

use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::{StageEstimate, estimate};
use serde_json::{Value as Json, json};

use super::jobs::{config, small_model, with};

/// Two matrices in bf16 over all pairs of tokens, for each micro batch in flight.
#[test]
fn every_micro_batch_in_flight_keeps_both_biases() {
    let job = with(
        &small_model(),
        &json!({"global_batch_size": 16, "attention_backend": "fused"}),
    );
    let attention = |job: &Json| {
        let stages = estimate(&config(job)).modules.remove(0).stages;
        let bytes = |stage: &StageEstimate| stage.bytes(Bucket::ActivationsAttention).0;
        stages.iter().map(bytes).collect::<Vec<u64>>()
    };
    let without = attention(&job);
    let biased = attention(&with(&job, &json!({"image_attention_bias": true})));
    let each = 2 * 1024 * 1024 * 2;
    assert_eq!(biased, [without[0] + 2 * each, without[1] + each]);
}
