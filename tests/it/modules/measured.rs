//! Measured runs of several modules.

use serde_json::json;

use super::checked;
use crate::oracle;
use megatron_memory::memory::estimate;

/// Megatron-LM's own MIMO tests: a frozen Vicuna 7B and a frozen CLIP of the Hugging Face library on the same
/// ranks, with a projector that is trained and does not share its states. What stays between steps is known to
/// two parts in a thousand. Their peaks are not about training: with bf16 it is the fp32 checkpoint on its way in,
/// with fp32 batches are as long as their longest sample, which no one recorded.
#[test]
fn steady_states_of_mimo_tests() {
    for (id, bf16) in [
        ("cp1_dp8:dev", false),
        ("cp1_dp8_seq_packing:dev_dgx_h100", true),
    ] {
        let record = oracle::json("measured.json")["records"]
            .as_array()
            .unwrap()
            .iter()
            .find(|record| record["id"].as_str().unwrap().ends_with(id))
            .unwrap()
            .clone();
        let job = json!({
            "world_size": 8, "colocate_modules": true, "micro_batch_size": record["mbs"], "global_batch_size": record["gbs"],
            "bf16": bf16, "attention_dropout": 0.0, "hidden_dropout": 0.0, "accumulate_allreduce_grads_in_fp32": true,
            "gradient_accumulation_fusion": false, "gpu": "h100-80gb", "seq_length": 1024, "frozen": true,
            "modules": [
                {"name": "language", "num_layers": 32, "hidden_size": 4096, "ffn_hidden_size": 11008, "num_attention_heads": 32,
                 "swiglu": true, "normalization": "RMSNorm", "add_bias_linear": false, "padded_vocab_size": 32256,
                 "untie_embeddings_and_output_weights": true, "position_embedding_type": "rope", "data_parallel_size": 8},
                {"name": "images", "front_end": "patches", "num_layers": 24, "hidden_size": 1024, "num_attention_heads": 16,
                 "img_h": 336, "patch_dim": 14, "patch_bias": false, "class_token_len": 1, "encoder_pre_norm": true,
                 "projector": "mlp", "data_parallel_size": 8},
            ],
        });
        let result = checked(&job);
        assert_eq!(result.problems, []);
        let modules = estimate(&result.config.unwrap()).modules;
        let steady: u64 = modules.iter().map(|m| m.stages[0].steady.0).sum();
        let measured = record["measured_steady_allocated_bytes"].as_u64().unwrap();
        let off = steady.abs_diff(measured);
        assert!(
            off * 1000 < measured * 3,
            "{id}: {steady}, measured {measured}"
        );
    }
}
