//! What the norms of Gemma 4 around experts and on values keep, against PyTorch's operations.

use megatron_memory::model::tape::ActivationTensor;
use serde_json::json;

use super::saved_bytes::Layer;
use crate::oracle;

#[test]
fn norms_keep_copies_in_fp32() {
    let oracle = oracle::json("gemma4_norms.json");
    let measured = |key: &str| -> u64 {
        let tensors = oracle[key].as_array().unwrap().iter();
        tensors.map(|bytes| bytes.as_u64().unwrap()).sum()
    };
    let job = json!({
        "num_layers": 1, "hidden_size": 64, "num_attention_heads": 4, "kv_channels": 16, "group_query_attention": true,
        "num_query_groups": 2, "ffn_hidden_size": 32, "seq_length": 16, "micro_batch_size": 1, "vocab_size": 128,
        "bf16": true, "geglu": true, "normalization": "RMSNorm", "add_bias_linear": false, "qk_layernorm": true,
        "position_embedding_type": "rope", "attention_dropout": 0, "hidden_dropout": 0, "num_experts": 4,
        "moe_router_topk": 2, "moe_ffn_hidden_size": 32, "moe_shared_expert_intermediate_size": 32,
        "moe_grouped_gemm": true, "moe_token_dispatcher_type": "alltoall", "post_layernorm": true,
        "separate_moe_norms": true, "value_layernorm": true,
    });
    let kept = Layer::of(&job, 0).kept;
    let of = |symbol: &str, width: u64| -> u64 {
        let tensors = kept
            .iter()
            .filter(|tensor| tensor.source.symbol == symbol && tensor.width == width);
        tensors.map(ActivationTensor::bytes).sum()
    };
    // Before routed and shared experts, after both, and after their sum.
    assert_eq!(of("_gemma4_rms_norm", 4), 5 * measured("with_weight"));
    // The scores before and after they are divided by their sums, and the sums twice: for 16 tokens and 4 experts.
    let scores = 2 * 16 * 4 * 4 + 2 * 16 * 4;
    assert_eq!(of("Gemma4TopKRouter", 4), measured("without_weight") + scores);
    assert_eq!(
        of("Gemma4SelfAttention.get_query_key_value_tensors", 4),
        measured("values")
    );
    // The normed values in bf16, which attention keeps.
    assert_eq!(
        of("Gemma4SelfAttention.get_query_key_value_tensors", 2),
        16 * 2 * 16 * 2
    );
}
