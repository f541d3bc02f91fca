//! The tables that rotary embeddings keep: one embedding for each layer with latent attention, or for each chunk.

use megatron_memory::memory::line::stage_lines;
use megatron_memory::memory::{StageRef, estimate};
use serde_json::{Value as Json, json};

use super::jobs::{config, with};

/// Bytes of the rotary frequencies of the first stage, and of its cosines and sines.
fn tables(settings: &Json) -> [u64; 2] {
    let job = json!({
        "num_layers": 6, "hidden_size": 256, "num_attention_heads": 4, "padded_vocab_size": 1024, "seq_length": 1024,
        "max_position_embeddings": 1024, "micro_batch_size": 1, "world_size": 1, "bf16": true,
        "position_embedding_type": "rope", "kv_channels": 64,
    });
    let config = config(&with(&job, settings));
    let stage = StageRef { module: 0, pp_rank: 0 };
    let buckets = stage_lines(&config, &estimate(&config), stage);
    let lines = || buckets.iter().flat_map(|bucket| &bucket.children);
    ["rotary frequencies in fp32", "cosines and sines"].map(|start| {
        let of_kind = lines().filter(|line| line.label.starts_with(start));
        of_kind.map(|line| line.bytes.0).sum()
    })
}

#[test]
fn every_chunk_has_a_table() {
    assert_eq!(tables(&json!({})), [1024 * 64 * 4, 0]);
    let chunks = json!({
        "world_size": 2, "pipeline_model_parallel_size": 2, "num_layers": 8, "num_virtual_stages_per_pipeline_rank": 2,
        "global_batch_size": 4,
    });
    assert_eq!(tables(&chunks), [2 * 1024 * 64 * 4, 0]);
}

#[test]
fn every_layer_with_latent_attention_has_tables() {
    let latent = |settings: &Json| {
        let job = json!({
            "multi_latent_attention": true, "kv_lora_rank": 64, "qk_head_dim": 32, "qk_pos_emb_head_dim": 16,
            "v_head_dim": 32,
        });
        tables(&with(&job, settings))
    };
    let frequencies = 6 * 1024 * 16 * 4;
    // Cosines and sines in bf16: of the sequence where they are read, else of the 4,096 positions they are built with.
    assert_eq!(
        latent(&json!({"apply_rope_fusion": true})),
        [frequencies, 6 * 2 * 1024 * 16 * 2]
    );
    let separate = json!({"apply_rope_fusion": false});
    assert_eq!(latent(&separate), [frequencies, 6 * 2 * 4096 * 16 * 2]);
    let plain = json!({"apply_rope_fusion": false, "rope_type": "rope"});
    assert_eq!(latent(&plain), [frequencies, 0]);
    // At most 32 tables are cached, of all layers together.
    let many = json!({"apply_rope_fusion": false, "rope_type": "rope", "num_layers": 40});
    assert_eq!(latent(&many)[0], 32 * 1024 * 16 * 4);
    // Of packed samples every length has a table, but for fused embeddings, which grow one.
    let packed = json!({"max_seqlen_per_dp_cp_rank": 1024, "mean_sample_length": 100, "apply_rope_fusion": false});
    assert_eq!(latent(&packed)[0], 32 * 1024 * 16 * 4);
    let fused = json!({"max_seqlen_per_dp_cp_rank": 1024, "mean_sample_length": 100, "apply_rope_fusion": true});
    assert_eq!(latent(&fused)[0], frequencies);
}
