//! Inputs that no estimator expects: what Python then makes of them, bit for bit; of exceptions, the class.

use serde_json::{Value as Json, json};

use super::{differences, megatron_bridge_report, megatron_lm_report};
use crate::oracle;

#[test]
fn ill_typed_inputs_give_what_python_gives() {
    let megatron_lm = oracle::json("reference/megatron_lm_theoretical_memory.json");
    let megatron_bridge = oracle::json("reference/megatron_bridge_estimate.json");
    let file = oracle::json("reference/framework_reports_ill_typed.json");
    let cases = file["cases"].as_array().unwrap();
    assert!(cases.len() > 200, "cases got lost");
    let found: Vec<String> = cases
        .iter()
        .flat_map(|case| {
            let (records, report): (_, fn(&Json) -> Json) = match case["estimator"].as_str() {
                Some("megatron_lm") => (&megatron_lm, megatron_lm_report),
                _ => (&megatron_bridge, megatron_bridge_report),
            };
            let record = changed(records, case);
            differences(&label(case), &case["expected"], &report(&record))
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The case's base record with its changes applied.
fn changed(records: &Json, case: &Json) -> Json {
    let records = records["records"].as_array().unwrap();
    let base = records.iter().find(|record| record["id"] == case["base"]);
    let mut record = base.unwrap().clone();
    for section in ["args", "model", "train"] {
        let Some(changes) = case.get(section) else {
            continue;
        };
        let inputs = record[section].as_object_mut().unwrap();
        inputs.extend(changes["set"].as_object().unwrap().clone());
        for name in changes["unset"].as_array().unwrap() {
            inputs.remove(name.as_str().unwrap()).unwrap();
        }
    }
    for input in ["num_microbatches", "include_activation"] {
        if let Some(value) = case.get(input) {
            record[input] = value.clone();
        }
    }
    record
}

fn label(case: &Json) -> String {
    let changes: Vec<_> = ["args", "model", "train"]
        .iter()
        .filter_map(|section| case.get(section))
        .collect();
    format!("{} with {}", case["base"], json!(changes))
}
