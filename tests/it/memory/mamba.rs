//! What a Mamba layer keeps for its backward pass, against what a real `MambaLayer` keeps.

use megatron_memory::model::sizes::Sizes;
use megatron_memory::model::tape::ActivationTensor;
use megatron_memory::model::tape::recompute::{RecomputeOptions, kept};
use megatron_memory::model::{LayerSpec, layer_tape};
use serde_json::{Value as Json, json};

use super::jobs::config;
use crate::oracle;

/// The job of a record: one Mamba layer on one GPU.
fn job(record: &Json) -> Json {
    let norm = if record["rms"] == true { "RMSNorm" } else { "LayerNorm" };
    json!({
        "hybrid_layer_pattern": "M", "hidden_size": record["hidden"], "num_attention_heads": 1, "vocab_size": 128,
        "seq_length": record["s"], "micro_batch_size": record["b"], "mamba_num_heads": record["heads"],
        "mamba_head_dim": record["head_dim"], "mamba_state_dim": record["state"], "mamba_num_groups": record["groups"],
        "normalization": norm, "hidden_dropout": record["dropout"], "bf16": true, "position_embedding_type": "none",
    })
}

#[test]
fn every_tensor_that_a_real_layer_keeps_is_listed() {
    let oracle = oracle::json("activations_hybrid/mamba.json");
    let records = oracle["records"].as_array().unwrap();
    assert!(!records.is_empty());
    for record in records {
        let config = config(&job(record));
        let sizes = Sizes::new(&config.modules()[0]);
        let tape = layer_tape(&sizes, LayerSpec::all(sizes.m)[0]);
        let mut ours: Vec<u64> = kept(&tape, RecomputeOptions::NONE)
            .iter()
            .map(ActivationTensor::bytes)
            .collect();
        ours.sort_unstable();
        let tensors = record["tensors"].as_array().unwrap();
        let mut theirs: Vec<u64> = tensors.iter().map(|tensor| tensor["bytes"].as_u64().unwrap()).collect();
        theirs.sort_unstable();
        // The mean and the deviation of a LayerNorm are one tensor here.
        if record["rms"] == true {
            assert_eq!(ours, theirs, "{record}");
        }
        // The record was made on a CPU, whose dropout mask is as wide as the values; a GPU's has one byte an element.
        let mask = tape.get(tape.input.unwrap()).unwrap().elements();
        let wider = if record["dropout"] == 0.0 { 0 } else { mask };
        assert_eq!(
            ours.iter().sum::<u64>() + wider,
            record["saved_bytes"].as_u64().unwrap()
        );
    }
}
