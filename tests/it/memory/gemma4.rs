//! What the norms of Gemma 4 around experts and on values keep, against PyTorch's operations.

use megatron_memory::model::sizes::Sizes;
use megatron_memory::model::tape::ActivationTensor;
use megatron_memory::model::tape::recompute::{RecomputeOptions, kept};
use megatron_memory::model::{LayerSpec, layer_tape};
use serde_json::json;

use super::jobs::config;
use super::saved_bytes::{Layer, bytes};
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
            .filter(|tensor| tensor.source.citation().symbol == symbol && tensor.width == width);
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

/// Layers of dense models: their norms in fp32, keys and values that later layers share, masks of windows, and
/// embeddings per layer.
#[test]
fn dense_layers_keep_what_real_ones_do() {
    let oracle = oracle::json("gemma4_dense_layer.json");
    let records = oracle["records"].as_array().unwrap();
    assert_eq!(records.len(), 3);
    for record in records {
        let mut job = json!({
            "num_layers": 6, "hidden_size": 64, "ffn_hidden_size": 96, "num_attention_heads": 4,
            "group_query_attention": true, "num_query_groups": 2, "kv_channels": 16, "vocab_size": 128, "bf16": true,
            "geglu": true, "normalization": "RMSNorm", "add_bias_linear": false, "qk_layernorm": true,
            "position_embedding_type": "rope", "apply_rope_fusion": false, "attention_dropout": 0, "hidden_dropout": 0,
            "post_layernorm": true, "value_layernorm": true, "layer_norms_in_fp32": true, "transformer_impl": "local",
            "masked_softmax_fusion": false, "attention_softmax_in_fp32": true, "untie_embeddings_and_output_weights": false,
        });
        for key in ["seq_length", "micro_batch_size", "layer_sizes"] {
            job[key] = record[key].clone();
        }
        if record["per_layer_embed_dim"] != 0 {
            job["per_layer_embed_dim"] = record["per_layer_embed_dim"].clone();
        }
        let config = config(&job);
        let sizes = Sizes::new(&config.modules()[0]);
        let by_dtype = |kept: &[ActivationTensor]| {
            let of = |width: u64| bytes(kept.iter().filter(|tensor| tensor.width == width));
            json!({"float32": of(4), "bfloat16": of(2), "bool": of(1)})
        };
        for (index, measured) in record["layers"].as_array().unwrap().iter().enumerate() {
            let tape = layer_tape(&sizes, LayerSpec::all(sizes.m)[index]);
            let mut ours = kept(&tape, RecomputeOptions::NONE);
            // Real layers with full attention share one mask.
            let mask = measured["bool"].as_u64().unwrap();
            let has_window = ours.iter().any(|tensor| tensor.width == 1);
            assert_eq!(has_window, index % 3 < 2);
            ours.retain(|tensor| tensor.width != 1 || tensor.bytes() != mask);
            let mut measured = measured.clone();
            measured["bool"] = json!(0);
            assert_eq!(
                by_dtype(&ours),
                measured,
                "layer {index} of {}: {ours:#?}",
                record["what"]
            );
        }
    }
}
