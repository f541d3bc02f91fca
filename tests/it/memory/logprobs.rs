//! What log-probabilities of NeMo-RL, verl, `ChatLearn`, slime and ms-swift need in place of Megatron's cross-entropy.

use megatron_memory::memory::estimate;
use serde_json::{Value as Json, json};

use super::jobs::{config, with};

const TOKENS: u64 = 4096;
const VOCABULARY: u64 = 131_072;
/// The logits of all tokens, in elements.
const LOGITS: u64 = TOKENS * VOCABULARY;

/// The peak of a job whose loss is its heaviest moment.
fn peak(settings: &Json) -> u64 {
    let job = json!({
        "num_layers": 1, "hidden_size": 64, "num_attention_heads": 4, "padded_vocab_size": VOCABULARY, "seq_length": TOKENS,
        "micro_batch_size": 1, "bf16": true, "position_embedding_type": "rope", "world_size": 1, "expandable_segments": true,
    });
    let config = config(&with(&job, settings));
    estimate(&config).modules[0].stages[0].total.0
}

#[test]
fn nemo_rl_makes_the_softmax_in_fp32_and_again_where_it_is_chunked() {
    // The logits in fp32, their logarithmic softmax and the softmax.
    let fp32 = peak(&json!({"token_loss": "nemo_rl"}));
    // The same beside the logits in bf16.
    let deferred = peak(&json!({"token_loss": "nemo_rl_deferred"}));
    assert_eq!(deferred - fp32, LOGITS * 2);
    let chunked = |chunk: u64| peak(&json!({"token_loss": "nemo_rl_deferred", "logprob_chunk_size": chunk}));
    // Of a chunk: logits and softmax in fp32, and the targets twice in 8 bytes.
    assert_eq!(chunked(1024) - chunked(128), (1024 - 128) * VOCABULARY * 24);
    // Of all tokens: the logits in bf16 and their gradient.
    let of_chunk = 128 * VOCABULARY * 24;
    assert!(fp32 - chunked(128) >= LOGITS * (12 - 4) - of_chunk);
    assert!(fp32 - chunked(128) < LOGITS * (12 - 3) - of_chunk);
    // A chunk is no longer than the sample.
    assert_eq!(chunked(TOKENS), chunked(TOKENS * 4));
    // A chunk counts only where the loss converts the logits.
    assert_eq!(peak(&json!({"token_loss": "nemo_rl", "logprob_chunk_size": 128})), fp32);
}

#[test]
fn fused_kernels_of_verl_make_no_logits() {
    let megatron = peak(&json!({}));
    let fused = peak(&json!({"token_loss": "verl_fused"}));
    // Megatron has the logits in bf16 and their softmax in fp32.
    assert!(megatron - fused > LOGITS * 5, "{megatron} {fused}");
    // The gradient of 9,504 columns is made at a time.
    let columns = TOKENS * 9504 * 2;
    let short = peak(&json!({"token_loss": "verl_fused", "seq_length": TOKENS / 2}));
    assert!(fused - short > columns / 2, "{fused} {short}");
}

#[test]
fn chatlearn_makes_entropies_of_logits_in_fp32_beside_the_softmax() {
    // NeMo-RL has the logarithmic softmax besides.
    let deferred = peak(&json!({"token_loss": "nemo_rl_deferred"}));
    let chatlearn = peak(&json!({"token_loss": "chatlearn"}));
    assert_eq!(deferred - chatlearn, LOGITS * 4);
    assert!(chatlearn > peak(&json!({})) + LOGITS);
}

/// Bytes that a logit of this rank keeps until the backward pass, and at the heaviest moment of both passes.
fn bytes_a_logit(settings: &Json) -> [u64; 2] {
    let job = json!({
        "num_layers": 1, "hidden_size": 64, "num_attention_heads": 4, "padded_vocab_size": VOCABULARY, "seq_length": TOKENS,
        "micro_batch_size": 1, "bf16": true, "position_embedding_type": "rope", "expandable_segments": true,
    });
    let config = config(&with(&job, settings));
    let ranks = config.modules()[0].args().tensor_model_parallel_size;
    let stage = &estimate(&config).modules[0].stages[0];
    [stage.chunks[0].kept.0, stage.total.0 - stage.steady.0].map(|bytes| bytes / (LOGITS / ranks))
}

#[test]
fn slime_keeps_the_softmax_and_needs_more_for_a_temperature_an_entropy_and_chunks() {
    let slime = |settings: Json| bytes_a_logit(&with(&json!({"token_loss": "slime"}), &settings));
    // The logits in fp32 and their softmax, over which the gradient is written.
    assert_eq!(slime(json!({})), [4, 8]);
    // The logits before they are divided stay while the loss is computed.
    let warm = json!({"rollout_temperature": 0.8});
    assert_eq!(slime(warm.clone()), [4, 12]);
    // The logits are kept for the gradient of the entropy, which is a third tensor in the backward pass.
    let entropy = json!({"entropy_coef": 0.001});
    assert_eq!(slime(entropy.clone()), [8, 12]);
    assert_eq!(slime(with(&warm, &entropy)), [8, 12]);
    // In chunks the gradients are joined to one beside them.
    let chunks = json!({"logprob_chunk_size": 1024});
    assert_eq!(slime(chunks.clone()), [4, 8]);
    // The gradient of the entropy is that of a chunk.
    assert_eq!(slime(with(&chunks, &entropy)), [8, 9]);
    // The logits alone are kept where the loss is computed again: then with the whole softmax.
    let again = json!({"recompute_loss_function": true});
    assert_eq!(slime(again.clone()), [4, 8]);
    assert_eq!(slime(with(&again, &chunks)), [4, 8]);
    assert_eq!(slime(with(&again, &warm)), [4, 12]);
    assert_eq!(slime(with(&again, &entropy)), [4, 12]);
}

#[test]
fn ms_swift_makes_the_logarithmic_softmax_of_logits_in_fp32() {
    let swift = |settings: Json| bytes_a_logit(&with(&json!({"token_loss": "ms_swift"}), &settings));
    // PyTorch's operation keeps its result, and has two gradients beside it.
    assert_eq!(swift(json!({})), [4, 12]);
    // Operations on a shard keep the exponentials too, and have the logits and their difference beside both.
    assert_eq!(swift(json!({"tensor_model_parallel_size": 2})), [8, 16]);
}
