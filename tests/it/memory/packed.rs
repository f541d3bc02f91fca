//! Packed samples: what packing changes, and what a budget of tokens means.

use megatron_memory::config::check;
use megatron_memory::config::raw::RawJob;
use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::estimate;
use megatron_memory::report::amount::{Scale, Unit};
use megatron_memory::report::packing::batches;
use megatron_memory::value::Value;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::jobs::{any_job, config, with};

/// Every stage's buckets but for the buffers, where packed samples have tables and starts of their own.
fn without_buffers(job: &Json) -> Vec<Vec<u64>> {
    let stages = estimate(&config(job)).modules.remove(0).stages;
    let buckets = |memory: [_; Bucket::COUNT]| {
        let buckets = Bucket::ALL.into_iter().zip(memory);
        let others = buckets.filter(|(bucket, _)| *bucket != Bucket::Buffers);
        others
            .map(|(_, bytes): (_, megatron_memory::units::Bytes)| bytes.0)
            .collect()
    };
    stages.into_iter().map(|stage| buckets(stage.memory)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn equal_samples_need_what_they_need_unpacked(job in any_job()) {
        // FlashAttention copies several samples to have the batch first, the data loader makes a mask for rows of one
        // sample, and rotary embedding that is not fused has cosines and sines for every token of a pack.
        let plain = json!({"create_attention_mask_in_dataloader": false, "apply_rope_fusion": true});
        let mut plain = with(&job, &plain);
        if plain["attention_backend"] != "unfused" {
            plain["attention_backend"] = json!("fused");
        }
        let length = plain["seq_length"].as_u64().unwrap();
        let samples = plain["micro_batch_size"].as_u64().unwrap();
        let cp = plain["context_parallel_size"].as_u64().unwrap();
        let expected = without_buffers(&plain);
        let packed = with(&plain, &json!({"sft": true, "mean_sample_length": length}));
        prop_assert_eq!(&without_buffers(&packed), &expected);
        let budget = length * samples / cp;
        let budget = json!({"max_seqlen_per_dp_cp_rank": budget, "mean_sample_length": length, "micro_batch_size": 1});
        prop_assert_eq!(&without_buffers(&with(&plain, &budget)), &expected);
    }

    #[test]
    fn the_fullest_micro_batch_needs_the_most(job in any_job(), mean in 1u64..512, budget in 512u64..4096) {
        let settings = json!({"max_seqlen_per_dp_cp_rank": budget, "mean_sample_length": mean, "micro_batch_size": 1});
        let job = with(&job, &settings);
        let config = config(&job);
        let packing = *config.modules()[0].packing().unwrap();
        let cp = job["context_parallel_size"].as_u64().unwrap();
        let tp = job["tensor_model_parallel_size"].as_u64().unwrap();
        let tokens = packing.batch().tokens;
        prop_assert!(tokens >= budget * cp);
        prop_assert_eq!(tokens % cp, 0);
        if job["sequence_parallel"] == true {
            prop_assert_eq!(tokens % (cp * tp), 0);
        }
        let estimate = estimate(&config);
        if let Some(average) = estimate.average_batch {
            prop_assert!(average.tokens < average.fullest);
            prop_assert_eq!(average.fullest, tokens);
            prop_assert!(average.total <= estimate.worst_rank.total);
        }
    }
}

/// A dense model whose samples are packed.
fn packed(settings: &Json) -> Json {
    let job = json!({
        "num_layers": 4, "hidden_size": 1024, "num_attention_heads": 8, "vocab_size": 32000, "bf16": true,
        "position_embedding_type": "rope", "seq_length": 8192, "world_size": 8, "global_batch_size": 64,
        "context_parallel_size": 2, "max_seqlen_per_dp_cp_rank": 8192,
    });
    with(&job, settings)
}

#[test]
fn tokens_of_micro_batches_follow_from_budget_and_samples() {
    for (settings, tokens, samples, count, average) in [
        // Two samples of 8192 tokens fill 8192 · CP 2; each of 4 ranks has 16 samples.
        (json!({}), 16_384, 2, 8, None),
        // Sixteen samples of 1000 tokens need 4 tokens of padding each, to a multiple of 2 · CP · TP 1.
        (
            json!({"mean_sample_length": 1001}),
            16_384 + 16 * 3,
            16,
            1,
            Some(16_064),
        ),
        // The longest sample is a micro batch of its own.
        (json!({"max_seqlen_per_dp_cp_rank": 2048}), 8192, 1, 16, None),
        // Packs of a length are full.
        (
            json!({"max_seqlen_per_dp_cp_rank": null, "sft": true, "mean_sample_length": 512, "micro_batch_size": 2}),
            16_384,
            32,
            8,
            None,
        ),
        // One sample at a time, over as many ranks as it needs.
        (
            json!({"hybrid_context_parallel": true, "max_seqlen_per_dp_cp_rank": 2048}),
            4096,
            1,
            16,
            None,
        ),
    ] {
        let config = config(&packed(&settings));
        let module = &config.modules()[0];
        let packing = module.packing().unwrap();
        assert_eq!(packing.batch().tokens, tokens, "{settings}");
        assert_eq!(packing.batch().samples, samples, "{settings}");
        assert_eq!(module.derived().num_microbatches, count, "{settings}");
        let found = estimate(&config).average_batch.map(|average| average.tokens);
        assert_eq!(found, average, "{settings}");
    }
}

#[test]
fn what_the_number_is_of_is_said() {
    let scale = Scale::coarse(Unit::Gib);
    let said = |settings: &Json| {
        let config = config(&packed(settings));
        batches(&config, &estimate(&config), scale)
    };
    let with_mean = said(&json!({"mean_sample_length": 1001})).unwrap();
    assert!(with_mean.contains("average one of 16,064 tokens"), "{with_mean}");
    let without = said(&json!({})).unwrap();
    assert!(without.contains("16,384 tokens"), "{without}");
    let none = json!({"max_seqlen_per_dp_cp_rank": null});
    assert_eq!(said(&none), None);
}

#[test]
fn every_refusal_has_a_way_out() {
    for (settings, rule, message) in [
        (
            json!({"max_seqlen_per_dp_cp_rank": 2048}),
            "token_budget",
            "a sample of 8192 tokens is longer than max_seqlen_per_dp_cp_rank 2048 · CP 2 = 4096",
        ),
        (
            json!({"mean_sample_length": 9000}),
            "sample_lengths",
            "mean_sample_length 9000 is more than the longest sample, 8192",
        ),
        (
            json!({"hybrid_context_parallel": true, "max_seqlen_per_dp_cp_rank": null}),
            "dynamic_context_parallel",
            "needs max_seqlen_per_dp_cp_rank",
        ),
        (
            json!({"hybrid_context_parallel": true, "max_seqlen_per_dp_cp_rank": 512}),
            "dynamic_context_parallel",
            "needs 16 ranks",
        ),
        (
            json!({"hybrid_context_parallel": true, "pipeline_model_parallel_size": 2}),
            "dynamic_context_parallel",
            "does not support pipeline stages",
        ),
        (
            json!({"transformer_impl": "local", "context_parallel_size": 1}),
            "packed_attention",
            "does not support packed samples",
        ),
    ] {
        let job = packed(&settings);
        let value: Value = serde_json::from_value(job).unwrap();
        let mut raw = RawJob::from_value(&value);
        let checked = check(&raw);
        let problems = checked.problems.iter();
        let found = problems.clone().find(|problem| problem.rule == rule);
        let problem = found.unwrap_or_else(|| panic!("{settings}: {:?}", checked.problems));
        assert!(problem.message.contains(message), "{}", problem.message);
        let fix = problem.fixes.first().expect("a way out").clone();
        raw.shared.set(fix.field, fix.value);
        let after = check(&raw);
        let still = after.problems.iter().find(|other| other.rule == rule);
        assert!(still.is_none(), "{settings}: {still:?}");
    }
}
