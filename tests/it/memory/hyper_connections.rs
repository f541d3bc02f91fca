//! Hyper-connections, against what a real layer keeps with them.

use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::{StageEstimate, estimate};
use serde_json::{Value as Json, json};

use super::jobs::{config, kept_by_a_layer, small_model, with};
use super::saved_bytes::{Layer, bytes};
use crate::oracle;

/// A small model with hyper-connections on four pipeline stages.
fn deep_model() -> Json {
    let settings = json!({
        "num_layers": 16, "hidden_dropout": 0, "attention_dropout": 0, "tensor_model_parallel_size": 1,
        "pipeline_model_parallel_size": 4, "world_size": 4, "global_batch_size": 16,
        "software_stack": "megatron_dev", "enable_mhc_connections": true,
    });
    with(&small_model(), &settings)
}

#[test]
fn a_layer_keeps_what_a_real_one_keeps() {
    let oracle = oracle::json("hyper_connections.json");
    let records = oracle["records"].as_array().unwrap();
    assert_eq!(records.len(), 3);
    for record in records {
        let settings = json!({"software_stack": "megatron_dev", "enable_mhc_connections": true});
        let layer = Layer::measured(record, &settings);
        layer.assert_keeps_what_was_measured(record);
        let ends = [layer.input().bytes(), layer.output().bytes()];
        let measured = ["input_bytes", "output_bytes"].map(|key| record[key].as_u64().unwrap());
        assert_eq!(ends, measured, "{record}");
    }
}

/// One stream before each half, the norms of their own and the streams between the halves are made again.
#[test]
fn recompute_module_mhc_discards_what_stands_between_the_streams() {
    let recompute = json!({"recompute_granularity": "selective", "recompute_modules": ["mhc"]});
    for implementation in ["transformer_engine", "local"] {
        let job = with(&deep_model(), &json!({"transformer_impl": implementation}));
        let all = bytes(&kept_by_a_layer(&job));
        let less = bytes(&kept_by_a_layer(&with(&job, &recompute)));
        // 1,024 tokens of 512 channels in bf16.
        let stream = 1024 * 512 * 2;
        // Norms of their own keep two numbers of each token in fp32 as well.
        let norm = stream + 1024 * 2 * 4;
        let norms = if implementation == "local" { 2 * norm } else { 0 };
        assert_eq!(all - less, (2 + 4) * stream + norms, "{implementation}");
    }
}

/// A stage keeps the inputs of groups only, and in a backward pass makes one group again.
#[test]
fn groups_of_mhc_keep_one_input_each() {
    let kept = |layers: Option<u64>| {
        let modules: &[&str] = if layers.is_some() { &["mhc"] } else { &[] };
        let recompute = json!({
            "recompute_granularity": "selective", "recompute_modules": modules, "mhc_recompute_layer_num": layers,
        });
        let job = with(&deep_model(), &recompute);
        let stages = estimate(&config(&job)).modules.remove(0).stages;
        stages[0].bytes(Bucket::ActivationsResidual).0
    };
    let each = [kept(None), kept(Some(1)), kept(Some(2)), kept(Some(4))];
    assert!(each.is_sorted_by(|more, less| more > less), "{each:?}");
    // Four micro batches are under way on the first of four stages: with groups of two instead of one, each of them
    // keeps two inputs less; what is made again for one group is a transient.
    let streams = 4 * 1024 * 512 * 2;
    assert_eq!(each[1] - each[2], 4 * 2 * streams, "{each:?}");
    assert_eq!(each[2] - each[3], 4 * streams, "{each:?}");
}

/// Stages send each other all streams.
#[test]
fn messages_are_as_wide_as_the_streams() {
    let received = |job: &Json| {
        let stages = estimate(&config(job)).modules.remove(0).stages;
        let inputs = |stage: &StageEstimate| stage.bytes(Bucket::ActivationsResidual).0;
        (inputs(&stages[1]), stages.len())
    };
    let full = json!({"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 4});
    let with_streams = with(&deep_model(), &full);
    let without = with(&with_streams, &json!({"enable_mhc_connections": false}));
    let (with_streams, without) = (received(&with_streams), received(&without));
    assert_eq!(with_streams.0, 4 * without.0);
}
