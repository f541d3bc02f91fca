//! A residual stream in fp32, against what a real layer keeps with it.

use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::{StageEstimate, estimate};
use serde_json::{Value as Json, json};

use super::jobs::{config, small_model, with};
use super::saved_bytes::Layer;
use crate::oracle;

#[test]
fn norms_keep_a_narrow_copy_of_a_wide_stream() {
    let oracle = oracle::json("fp32_residual.json");
    let records = oracle["records"].as_array().unwrap();
    assert_eq!(records.len(), 6);
    for record in records {
        let layer = Layer::measured(record, &json!({}));
        layer.assert_keeps_what_was_measured(record);
        let input = layer.input();
        assert_eq!(Some(input.bytes()), record["input_bytes"].as_u64(), "{record}");
        let is_kept = layer.kept.iter().any(|tensor| tensor.what == input.what);
        assert_eq!(Some(is_kept), record["input_is_saved"].as_bool(), "{record}");
        let width = if record["output"] == "float32" { 4 } else { 2 };
        assert_eq!(layer.output().width, width, "{record}");
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
