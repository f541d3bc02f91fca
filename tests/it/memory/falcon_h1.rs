//! What a layer with a Mamba mixer beside attention keeps, against what a real `FalconH1Layer` keeps.

use megatron_memory::model::kernels::Kernels;
use megatron_memory::model::sizes::Sizes;
use megatron_memory::model::tape::ActivationTensor;
use megatron_memory::model::tape::recompute::{RecomputeOptions, kept};
use megatron_memory::model::{LayerSpec, layer_tape};
use serde_json::{Value as Json, json};

use super::jobs::{config, with};
use crate::oracle;

/// The job of a record: two layers on one GPU, of which the record has one.
fn job(record: &Json) -> Json {
    let settings = json!({
        "num_layers": 2, "vocab_size": 128, "bf16": true, "swiglu": true, "normalization": "RMSNorm",
        "add_bias_linear": false, "position_embedding_type": "none", "attention_dropout": 0, "hidden_dropout": 0,
        "group_query_attention": true, "mamba_beside_attention": true, "bias_dropout_fusion": false,
    });
    let mut job = with(record, &settings);
    job.as_object_mut()
        .unwrap()
        .retain(|key, _| !["output", "first", "saved_bytes", "tensors"].contains(&&**key));
    job
}

#[test]
fn every_tensor_that_a_real_layer_keeps_is_listed() {
    let oracle = oracle::json("falcon_h1_layer.json");
    let records = oracle["records"].as_array().unwrap();
    assert_eq!(records.len(), 8);
    for record in records.iter().filter(|record| record["first"] == false) {
        let config = config(&job(record));
        let sizes = Sizes {
            kernels: Kernels::TE_LIKE,
            ..Sizes::new(&config.modules()[0])
        };
        let tape = layer_tape(&sizes, LayerSpec::all(sizes.m)[0]);
        let tensors = kept(&tape, RecomputeOptions::NONE);
        let mut ours: Vec<u64> = tensors.iter().map(ActivationTensor::bytes).collect();
        let measured = record["tensors"].as_array().unwrap().iter();
        let mut theirs: Vec<u64> = measured.map(|tensor| tensor["bytes"].as_u64().unwrap()).collect();
        ours.sort_unstable();
        theirs.sort_unstable();
        assert_eq!(ours, theirs, "{record} {tensors:#?}");
        let output = tape.get(tape.output.unwrap()).unwrap();
        assert_eq!((output.width, &record["output"]), (4, &json!("float32")), "{record}");
    }
}
