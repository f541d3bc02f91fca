//! What layers of Kimi K3 keep, against what real ones keep, and what their stages send each other.

use megatron_memory::memory::line::stage_lines;
use megatron_memory::memory::{StageRef, estimate};
use serde_json::json;

use super::jobs::config;
use super::saved_bytes::Layer;
use crate::oracle;

#[test]
fn every_tensor_that_a_real_layer_keeps_is_listed() {
    let oracle = oracle::json("kimi_k3_layer.json");
    let records = oracle["records"].as_array().unwrap();
    assert_eq!(records.len(), 10);
    for record in records {
        let settings = json!({"multi_latent_attention": true, "qk_layernorm": true});
        Layer::measured(record, &settings).assert_keeps_what_was_measured(record);
    }
}

/// A stage receives the residual stream with the snapshots of all layers before it, of which no layer keeps the tensor
/// itself.
#[test]
fn stages_receive_snapshots_beside_the_stream() {
    let job = |block: u64| {
        json!({
            "num_layers": 8, "hidden_size": 256, "num_attention_heads": 4, "ffn_hidden_size": 512, "seq_length": 1024,
            "vocab_size": 1024, "micro_batch_size": 1, "global_batch_size": 2, "world_size": 2,
            "pipeline_model_parallel_size": 2, "bf16": true, "swiglu": true, "normalization": "RMSNorm",
            "add_bias_linear": false, "position_embedding_type": "none", "attention_dropout": 0, "hidden_dropout": 0,
            "multi_latent_attention": true, "q_lora_rank": 64, "kv_lora_rank": 64, "qk_layernorm": true,
            "kimi_attn_res_block_size": block, "linear_attention_freq": [1, 1, 1, 0, 1, 1, 1, 0],
            "linear_num_key_heads": 4, "linear_num_value_heads": 4,
        })
    };
    let received = |block: u64| {
        let config = config(&job(block));
        let last = StageRef { module: 0, pp_rank: 1 };
        let lines = stage_lines(&config, &estimate(&config), last);
        let mut below = lines.iter().flat_map(|line| &line.children);
        below
            .find(|line| line.label.contains("received input"))
            .unwrap()
            .bytes
            .0
    };
    let stream = 1024 * 256 * 2;
    // Of blocks of two layers, the first four have taken two snapshots, and of one block all layers one.
    assert_eq!(received(2), 3 * stream);
    assert_eq!(received(8), 2 * stream);
}
