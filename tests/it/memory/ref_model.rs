//! The reference model of reinforcement learning beside the trained one.

use megatron_memory::config::job::Config;
use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::estimate;
use serde_json::{Value as Json, json};

use super::jobs::{config, small_model, with};

/// Bytes of these buckets on every stage.
fn bytes(config: &Config, buckets: &[Bucket]) -> Vec<u64> {
    let module = &estimate(config).modules[0];
    let stages = module.stages.iter();
    let sum = |bytes: &[_; Bucket::COUNT]| -> u64 {
        let of = |bucket: &Bucket| bytes[*bucket as usize];
        buckets
            .iter()
            .map(of)
            .map(|bytes: megatron_memory::units::Bytes| bytes.0)
            .sum()
    };
    stages.map(|stage| sum(&stage.memory)).collect()
}

/// Its buffer is as large as the weights, to the rounding of the allocator for each tensor.
#[test]
fn a_reference_model_has_the_weights_of_the_trained_one() {
    let weights = [Bucket::WeightsDense, Bucket::WeightsExpert];
    let plain = small_model();
    let experts = json!({"num_experts": 8, "moe_ffn_hidden_size": 512, "moe_grouped_gemm": true,
        "expert_model_parallel_size": 2, "sequence_parallel": true});
    let untied = json!({"untie_embeddings_and_output_weights": true});
    let lora = json!({"peft_type": "lora"});
    let on = json!({"ref_model": true});
    let jobs: [Json; 4] = [
        plain.clone(),
        with(&plain, &untied),
        with(&plain, &experts),
        with(&plain, &lora),
    ];
    for job in jobs {
        // Adapters are no part of it.
        let frozen = with(&job, &json!({"peft_type": null}));
        let frozen = bytes(&config(&frozen), &weights);
        let buffers = |job: &Json| bytes(&config(job), &[Bucket::Buffers]);
        let (without, beside) = (buffers(&job), buffers(&with(&job, &on)));
        for ((without, beside), weights) in without.iter().zip(beside).zip(frozen) {
            let more = beside - without;
            assert!(more >= weights, "{job}: {more} {weights}");
            assert!(more < weights + 512 * 100, "{job}: {more} {weights}");
        }
    }
}
