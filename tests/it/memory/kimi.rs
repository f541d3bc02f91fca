//! What layers of Kimi K3 keep, against what real ones keep, and what their stages send each other.

use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::line::stage_lines;
use megatron_memory::memory::{StageRef, estimate};
use megatron_memory::units::Bytes;
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

/// Groups of recomputed layers keep the residual stream, and together the snapshots that they read, until a layer takes
/// another one. At the peak one group runs backwards, or all are kept.
#[test]
fn recomputed_groups_keep_snapshots_together() {
    let oracle = oracle::json("kimi_k3_recompute.json");
    let records = oracle["records"].as_array().unwrap();
    let mut of_last_group = 0;
    for record in records {
        let number = |key: &str| record[key].as_u64().unwrap();
        let job = json!({
            "num_layers": number("num_layers"), "hidden_size": 64, "num_attention_heads": 4, "ffn_hidden_size": 96,
            "seq_length": 16, "vocab_size": 1024, "micro_batch_size": 1, "global_batch_size": 1, "bf16": true,
            "world_size": number("pipeline_model_parallel_size"), "swiglu": true, "normalization": "RMSNorm",
            "pipeline_model_parallel_size": number("pipeline_model_parallel_size"), "add_bias_linear": false,
            "position_embedding_type": "none", "attention_dropout": 0, "hidden_dropout": 0, "qk_layernorm": true,
            "multi_latent_attention": true, "q_lora_rank": 32, "kv_lora_rank": 16, "linear_num_key_heads": 4,
            "linear_num_value_heads": 4, "kimi_attn_res_block_size": number("kimi_attn_res_block_size"),
            "recompute_granularity": "full", "recompute_method": "uniform",
            "recompute_num_layers": number("recompute_num_layers"),
        });
        let config = config(&job);
        let pp_rank = usize::try_from(number("pp_rank")).unwrap();
        let estimate = estimate(&config);
        let lines = stage_lines(&config, &estimate, StageRef { module: 0, pp_rank });
        for line in &lines {
            let bucket = Bucket::ALL.into_iter().find(|bucket| bucket.id() == line.id).unwrap();
            assert_eq!(
                line.bytes,
                estimate.modules[0].stages[pp_rank].bytes(bucket),
                "{record}"
            );
            let sum: Bytes = line.children.iter().map(|child| child.bytes).sum();
            assert!(line.children.is_empty() || sum == line.bytes, "{record}: {}", line.id);
        }
        let lines: Vec<_> = lines.iter().flat_map(|line| &line.children).collect();
        let bytes = |label: &str| -> u64 {
            let found = lines.iter().filter(|line| line.label.contains(label));
            found.map(|line| line.bytes.0).sum()
        };
        let groups = |key: &str| -> Vec<u64> {
            let groups = record[key].as_array().unwrap().iter();
            groups.map(|group| group.as_u64().unwrap()).collect()
        };
        let kept = bytes("inputs of recomputed layers");
        let sums = groups("kept").into_iter().scan(0, |sum, group| {
            *sum += group;
            Some(*sum)
        });
        let group = sums.clone().position(|sum| sum == kept);
        let group = group.unwrap_or_else(|| panic!("{record}: {kept}"));
        let [output, gradient] = ["recomputed output", "gradient that recompute was called with"].map(bytes);
        assert!([0, groups("outputs")[group]].contains(&output), "{record}: {output}");
        assert!(gradient <= groups("gradients")[group], "{record}: {gradient}");
        of_last_group += usize::from(group + 1 == sums.count());
    }
    assert!(of_last_group * 4 >= records.len() * 3, "{of_last_group}");
}
