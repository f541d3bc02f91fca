//! Every field of every record of the frameworks' own output, bit for bit.

use serde_json::Value as Json;

use super::{differences, megatron_bridge_report, megatron_lm_report};
use crate::oracle;

const LABELS: [&str; 2] = ["id", "note"];

#[test]
fn every_megatron_lm_record_is_reproduced() {
    check(
        "reference/megatron_lm_theoretical_memory.json",
        &["args", "num_microbatches"],
        megatron_lm_report,
    );
}

#[test]
fn every_megatron_bridge_record_is_reproduced() {
    check(
        "reference/megatron_bridge_estimate.json",
        &["model", "train", "num_microbatches", "include_activation"],
        megatron_bridge_report,
    );
}

#[track_caller]
fn check(path: &str, inputs: &[&str], report: fn(&Json) -> Json) {
    let file = oracle::json(path);
    let records = file["records"].as_array().unwrap();
    assert!(records.len() > 400, "{path} has lost records");
    let found: Vec<String> = records
        .iter()
        .flat_map(|record| {
            let mut expected = record.as_object().unwrap().clone();
            expected.retain(|key, _| !LABELS.contains(&key.as_str()) && !inputs.contains(&key.as_str()));
            let id = record["id"].as_str().unwrap();
            differences(id, &Json::Object(expected), &report(record))
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}
