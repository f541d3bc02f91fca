//! A router whose weight stays in fp32, as Megatron-Bridge builds MiniMax-M3 (`MiniMaxM3TopKRouter.gating`).

use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::estimate;
use serde_json::json;

use super::jobs::config;
use super::saved_bytes::{Layer, bytes};

#[test]
fn a_router_in_fp32_keeps_a_copy_of_its_input() {
    let job = |in_fp32: bool| {
        json!({
            "num_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "ffn_hidden_size": 128, "seq_length": 16,
            "micro_batch_size": 1, "vocab_size": 128, "bf16": true, "swiglu": true, "normalization": "RMSNorm",
            "add_bias_linear": false, "position_embedding_type": "none", "attention_dropout": 0, "hidden_dropout": 0,
            "num_experts": 4, "moe_router_topk": 2, "moe_ffn_hidden_size": 32, "moe_router_dtype": "fp32",
            "moe_shared_expert_intermediate_size": 32, "moe_token_dispatcher_type": "alltoall",
            "moe_router_weight_in_fp32": in_fp32,
        })
    };
    // Shared experts keep the normed input in bf16 either way.
    let kept = [true, false].map(|in_fp32| bytes(&Layer::of(&job(in_fp32), 0).kept));
    assert_eq!(kept[0] - kept[1], 16 * 64 * 4);
    let weights = [true, false].map(|in_fp32| {
        let stage = estimate(&config(&job(in_fp32))).modules.remove(0).stages.remove(0);
        stage.bytes(Bucket::WeightsDense).0
    });
    // Of two layers, four experts of 64 columns, in two bytes more.
    assert_eq!(weights[0] - weights[1], 2 * 4 * 64 * 2);
}
