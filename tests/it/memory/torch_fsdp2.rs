//! PyTorch's FSDP2 against what follows from its rules by hand.

use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::line::{Line, stage_lines};
use megatron_memory::memory::{StageRef, estimate};
use megatron_memory::units::Bytes;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::jobs::{any_job, config, with};
use super::laws::adds_up;

const FIRST: StageRef = StageRef { module: 0, pp_rank: 0 };

const HIDDEN: u64 = 512;
const FFN: u64 = 1200;
const VOCABULARY: u64 = 1020;
const LAYERS: u64 = 6;
const RANKS: u64 = 8;

/// Six equal layers on eight ranks, with two micro batches.
fn small_job(settings: &Json) -> Json {
    let job = json!({
        "num_layers": LAYERS, "hidden_size": HIDDEN, "ffn_hidden_size": FFN, "num_attention_heads": 8, "seq_length": 2048,
        "padded_vocab_size": VOCABULARY, "bf16": true, "world_size": RANKS, "global_batch_size": 2 * RANKS, "swiglu": true,
        "add_bias_linear": false, "normalization": "RMSNorm", "untie_embeddings_and_output_weights": true,
        "position_embedding_type": "rope", "use_torch_fsdp2": true, "gradient_accumulation_fusion": false,
        "expandable_segments": true,
    });
    with(&job, settings)
}

/// Rows and columns of every parameter of a layer.
const LAYER: [(u64, u64); 6] = [
    (HIDDEN, 1),
    (3 * HIDDEN, HIDDEN),
    (HIDDEN, HIDDEN),
    (HIDDEN, 1),
    (2 * FFN, HIDDEN),
    (HIDDEN, FFN),
];

/// Elements of the first rank's part of a parameter.
fn part((rows, columns): (u64, u64)) -> u64 {
    rows.div_ceil(RANKS) * columns
}

/// Elements of all ranks' parts of a layer.
fn layer() -> u64 {
    RANKS * LAYER.into_iter().map(part).sum::<u64>()
}

/// Bytes of all parts of the model on the first rank, in whole blocks.
fn parts(width: u64) -> u64 {
    let word = (VOCABULARY, HIDDEN);
    let layers = (0..LAYERS).flat_map(|_| LAYER);
    let all = layers.chain([word, (HIDDEN, 1), word]);
    all.map(|matrix| (part(matrix) * width).next_multiple_of(512)).sum()
}

/// Bytes of a bucket with its padding.
fn padded(job: &Json, bucket: Bucket) -> u64 {
    let config = config(job);
    let estimate = estimate(&config);
    let lines = stage_lines(&config, &estimate, FIRST);
    let padding = lines.iter().flat_map(|line| &line.children);
    let padding = padding.filter(|line| line.label.starts_with("padding"));
    let padding = padding.flat_map(|line| &line.children);
    let padding: Bytes = padding
        .filter(|line| line.label == bucket.label())
        .map(|line| line.bytes)
        .sum();
    (estimate.worst_stage().unwrap().bytes(bucket) + padding).0
}

/// Bytes of what a line of the peak counts, by the end of its label.
fn at_peak(job: &Json, label: &str) -> u64 {
    let config = config(job);
    let estimate = estimate(&config);
    let lines = stage_lines(&config, &estimate, FIRST);
    let all = lines.iter().flat_map(|line| &line.children);
    all.filter(|line| line.label.ends_with(label))
        .map(|line| line.bytes.0)
        .sum()
}

#[test]
fn states_are_the_first_ranks_rows() {
    let job = small_job(&json!({}));
    assert_eq!(padded(&job, Bucket::WeightsDense), parts(2));
    for bucket in [Bucket::MainParamsDense, Bucket::ExpAvgDense, Bucket::ExpAvgSqDense] {
        assert_eq!(padded(&job, bucket), parts(4), "{bucket:?}");
    }
    let fp32 = small_job(&json!({"bf16": false}));
    assert_eq!(padded(&fp32, Bucket::WeightsDense), parts(4));
    assert_eq!(padded(&fp32, Bucket::MainParamsDense), 0);
}

#[test]
fn gradients_are_in_bf16_until_the_optimizer_has_them_in_fp32() {
    let steady = |settings: Json| {
        let config = config(&small_job(&settings));
        estimate(&config).worst_stage().unwrap().steady.0
    };
    let one = json!({ "global_batch_size": RANKS });
    assert_eq!(padded(&small_job(&one), Bucket::MainGradsDense), 0);
    let two = padded(&small_job(&json!({})), Bucket::MainGradsDense);
    assert!(two.abs_diff(parts(2)) < 64 * 512, "{two} {}", parts(2));
    // What stays between iterations does not depend on how many micro batches there were.
    let difference = steady(one).abs_diff(steady(json!({})));
    assert!(difference < 256 * 512, "{difference}");
}

#[test]
fn a_layer_and_the_next_are_gathered() {
    let gathered = |settings: Json| at_peak(&small_job(&settings), "parameters gathered for layers");
    let waiting = |settings: Json| at_peak(&small_job(&settings), "gradients before their reduction");
    let norm = HIDDEN;
    let word = RANKS * part((VOCABULARY, HIDDEN));
    // The heaviest moment is in the last layer's backward pass. The layer before it is gathered ahead.
    assert_eq!(gathered(json!({})), 2 * (2 * layer() + norm));
    // Gradients are not padded before they are copied into the buffer that they are reduced from.
    let own: u64 = LAYER.into_iter().map(|(rows, columns)| rows * columns).sum();
    assert_eq!(waiting(json!({})), 2 * (own + word + norm));
    // With one micro batch this is also where the first reduced ones are.
    let one = json!({ "global_batch_size": RANKS });
    assert_eq!(waiting(one), 2 * (own + word + norm + word / RANKS));
    // Where layers stay gathered, the loss needs the most: the word embedding, the output layer and its buffer are
    // there too.
    let kept = json!({ "torch_fsdp2_reshard_after_forward": false });
    assert_eq!(gathered(kept), 2 * (LAYERS * layer() + 3 * word + norm));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_byte_has_a_line_and_more_ranks_hold_less(job in any_job(), full in any::<bool>()) {
        let size = |key: &str| job[key].as_u64().unwrap();
        let tp = size("tensor_model_parallel_size");
        let of = |ranks: u64, settings: Json| {
            let mut job = with(&job, &json!({
                "pipeline_model_parallel_size": 1, "context_parallel_size": 1, "expert_model_parallel_size": 1,
                "expert_tensor_parallel_size": null, "world_size": tp * ranks, "global_batch_size": 4 * ranks * size("micro_batch_size"),
                "use_torch_fsdp2": true, "use_distributed_optimizer": false, "gradient_accumulation_fusion": false,
                "untie_embeddings_and_output_weights": true, "fp8_param_gather": false,
            }));
            job.as_object_mut().unwrap().remove("virtual_pipeline_model_parallel_size");
            let recompute = if full {
                json!({ "recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1 })
            } else {
                json!({})
            };
            config(&with(&with(&job, &recompute), &settings))
        };
        let mut before = u64::MAX;
        for ranks in [1, 2, 4, 8] {
            let config = of(ranks, json!({}));
            let estimate = estimate(&config);
            let lines = stage_lines(&config, &estimate, FIRST);
            lines.iter().for_each(adds_up);
            let stage = estimate.worst_stage().unwrap();
            let sum: Bytes = lines.iter().map(|line: &Line| line.bytes).sum();
            prop_assert_eq!(sum, stage.total);
            let states = stage.states().0;
            prop_assert!(states < before);
            before = states;
        }
        // One rank holds what it would hold without FSDP2, with gradients in bf16.
        let plain = of(1, json!({ "use_torch_fsdp2": false, "grad_reduce_in_bf16": true }));
        let split = of(1, json!({}));
        let [plain, split] = [&plain, &split].map(estimate);
        let [plain, split] = [&plain, &split].map(|e| e.worst_stage().unwrap());
        for bucket in Bucket::ALL.into_iter().filter(|bucket| bucket.state().is_some()) {
            prop_assert_eq!(split.bytes(bucket), plain.bytes(bucket), "{:?}", bucket);
        }
    }
}
