//! What a layer with a Mamba mixer beside attention keeps, against what a real `FalconH1Layer` keeps.

use serde_json::json;

use super::saved_bytes::Layer;
use crate::oracle;

#[test]
fn every_tensor_that_a_real_layer_keeps_is_listed() {
    let oracle = oracle::json("falcon_h1_layer.json");
    let records = oracle["records"].as_array().unwrap();
    assert_eq!(records.len(), 8);
    // Of two layers, the record has the first.
    let settings = json!({
        "num_layers": 2, "group_query_attention": true, "mamba_beside_attention": true, "bias_dropout_fusion": false,
    });
    for record in records.iter().filter(|record| record["first"] == false) {
        let layer = Layer::measured(record, &settings);
        layer.assert_keeps_what_was_measured(record);
        let output = layer.output().width;
        assert_eq!((output, &record["output"]), (4, &json!("float32")), "{record}");
    }
}
