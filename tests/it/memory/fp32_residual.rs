//! A residual stream in fp32, against what a real layer keeps with it.

use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::{StageEstimate, estimate};
use megatron_memory::model::kernels::Kernels;
use megatron_memory::model::sizes::Sizes;
use megatron_memory::model::tape::ActivationTensor;
use megatron_memory::model::tape::recompute::{RecomputeOptions, kept};
use megatron_memory::model::{LayerSpec, layer_tape};
use serde_json::{Value as Json, json};

use super::jobs::{config, small_model, with};
use crate::oracle;

/// The job of a record: one layer on one GPU.
fn job(record: &Json) -> Json {
    let settings = json!({
        "num_layers": 1, "vocab_size": 128, "bf16": true, "swiglu": true, "normalization": "RMSNorm",
        "add_bias_linear": false, "position_embedding_type": "none", "attention_dropout": 0, "hidden_dropout": 0,
    });
    let mut job = with(record, &settings);
    job.as_object_mut()
        .unwrap()
        .retain(|key, _| !["output", "input_is_saved", "input_bytes", "saved_bytes", "tensors"].contains(&&**key));
    job
}

#[test]
fn norms_keep_a_narrow_copy_of_a_wide_stream() {
    let oracle = oracle::json("fp32_residual.json");
    let records = oracle["records"].as_array().unwrap();
    assert_eq!(records.len(), 6);
    for record in records {
        let config = config(&job(record));
        let sizes = Sizes {
            kernels: Kernels::TE_LIKE,
            ..Sizes::new(&config.modules()[0])
        };
        let tape = layer_tape(&sizes, LayerSpec::all(sizes.m)[0]);
        let tensors = kept(&tape, RecomputeOptions::NONE);
        let bytes = |tensors: &[ActivationTensor]| tensors.iter().map(ActivationTensor::bytes).sum::<u64>();
        assert_eq!(Some(bytes(&tensors)), record["saved_bytes"].as_u64(), "{record}");
        let mut each: Vec<u64> = tensors.iter().map(ActivationTensor::bytes).collect();
        let measured = record["tensors"].as_array().unwrap().iter();
        let mut measured: Vec<u64> = measured.map(|tensor| tensor["bytes"].as_u64().unwrap()).collect();
        each.sort_unstable();
        measured.sort_unstable();
        assert_eq!(each, measured, "{record}");
        let input = tape.get(tape.input.unwrap()).unwrap();
        assert_eq!(Some(input.bytes()), record["input_bytes"].as_u64(), "{record}");
        let is_kept = tensors.iter().any(|tensor| tensor.what == input.what);
        assert_eq!(Some(is_kept), record["input_is_saved"].as_bool(), "{record}");
        let output = tape.get(tape.output.unwrap()).unwrap();
        let width = if record["output"] == "float32" { 4 } else { 2 };
        assert_eq!(output.width, width, "{record}");
    }
}

/// Recomputed layers keep their inputs, and stages send each other the stream (`pipeline_dtype`).
#[test]
fn inputs_of_recomputed_layers_are_wide() {
    let full = json!({
        "num_layers": 8, "hidden_dropout": 0, "attention_dropout": 0, "recompute_granularity": "full",
        "recompute_method": "uniform", "recompute_num_layers": 1, "global_batch_size": 16,
    });
    let narrow = with(&small_model(), &full);
    let wide = with(&narrow, &json!({"fp32_residual_connection": true}));
    let inputs = |job: &Json| {
        let stages = estimate(&config(job)).modules.remove(0).stages;
        let bytes = |stage: &StageEstimate| stage.bytes(Bucket::ActivationsResidual).0;
        stages.iter().map(bytes).collect::<Vec<u64>>()
    };
    let (narrow, wide) = (inputs(&narrow), inputs(&wide));
    assert!(narrow.iter().all(|bytes| *bytes > 0), "{narrow:?}");
    let twice: Vec<u64> = narrow.iter().map(|bytes| 2 * bytes).collect();
    assert_eq!(wide, twice);
}
