//! Soft caps on the scores of attention and on logits.

use megatron_memory::memory::estimate;
use serde_json::{Value as Json, json};

use super::jobs::{config, with};

const TOKENS: u64 = 4096;
const HEADS: u64 = 4;
const VOCABULARY: u64 = 1024;
const SCORES: u64 = HEADS * TOKENS * TOKENS;

fn job() -> Json {
    json!({
        "num_layers": 2, "hidden_size": 64, "num_attention_heads": HEADS, "padded_vocab_size": VOCABULARY, "seq_length": TOKENS,
        "micro_batch_size": 1, "bf16": true, "position_embedding_type": "rope", "world_size": 1, "expandable_segments": true,
        "attention_dropout": 0, "create_attention_mask_in_dataloader": false,
    })
}

/// What a micro batch keeps, and the peak.
fn kept(settings: &Json) -> (u64, u64) {
    let config = config(&with(&job(), settings));
    let stage = &estimate(&config).modules[0].stages[0];
    (stage.chunks[0].kept.0, stage.total.0)
}

#[test]
fn attention_under_a_cap_keeps_the_tangent_of_its_scores_beside_their_probabilities() {
    let unfused = json!({"attention_backend": "unfused"});
    let cap = json!({"attn_logit_softcapping": 50});
    let capped = with(&unfused, &cap);
    let layers = 2;
    assert_eq!(kept(&capped).0 - kept(&unfused).0, layers * SCORES * 2);
    // A fused kernel caps its scores as it makes them.
    assert_eq!(kept(&cap), kept(&json!({})));
    // Without the fused softmax every layer keeps its mask.
    let torch = with(&capped, &json!({"masked_softmax_fusion": false}));
    assert_eq!(kept(&torch).0 - kept(&capped).0, layers * TOKENS * TOKENS);
    // In fp32 it keeps its result in fp32 too, beside that in bf16.
    let fp32 = with(&torch, &json!({"attention_softmax_in_fp32": true}));
    assert_eq!(kept(&fp32).0 - kept(&torch).0, layers * SCORES * 4);
    // The fused one takes rows of at most 4,096 scores.
    let longer = |settings: &Json| kept(&with(settings, &json!({"seq_length": 2 * TOKENS}))).0;
    assert_eq!(longer(&capped), longer(&torch));
}

#[test]
fn logits_under_a_cap_keep_their_tangent() {
    let cap = json!({"final_logit_softcapping": 30, "padded_vocab_size": 64 * VOCABULARY});
    let plain = json!({"padded_vocab_size": 64 * VOCABULARY});
    let logits = TOKENS * 64 * VOCABULARY;
    assert_eq!(kept(&cap).0 - kept(&plain).0, logits * 2);
    assert_eq!(kept(&cap).1 - kept(&plain).1, logits * 2);
}
