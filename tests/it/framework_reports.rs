//! Tests of `framework_reports`.

mod jobs;
mod laws;
mod oracle_records;
mod python_semantics;

use megatron_memory::framework_reports::{megatron_bridge, megatron_lm};
use megatron_memory::value::Value;
use serde_json::Value as Json;

/// Plain data as the reports take it.
fn plain(json: &Json) -> Value {
    serde_json::from_value(json.clone()).unwrap()
}

/// Megatron-LM's report of a record's `args` and `num_microbatches`.
fn megatron_lm_report(record: &Json) -> Json {
    let args = plain(&record["args"]);
    let num_microbatches = plain(&record["num_microbatches"]);
    serde_json::to_value(megatron_lm::report(&args, Some(&num_microbatches))).unwrap()
}

/// Megatron-Bridge's report of a whole record, of which it reads the inputs alone.
fn megatron_bridge_report(record: &Json) -> Json {
    serde_json::to_value(megatron_bridge::report(&plain(record))).unwrap()
}

/// Where two reports differ, as one line per field; floats are compared by their bits.
fn differences(path: &str, expected: &Json, actual: &Json) -> Vec<String> {
    match (expected, actual) {
        (Json::Object(a), Json::Object(b)) => {
            let absent = Json::from("(absent)");
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            keys.flat_map(|key| {
                let [a, b] = [a, b].map(|tree| tree.get(key).unwrap_or(&absent));
                differences(&format!("{path}.{key}"), a, b)
            })
            .collect()
        }
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => (0..)
            .zip(a.iter().zip(b))
            .flat_map(|(i, (a, b))| differences(&format!("{path}[{i}]"), a, b))
            .collect(),
        (Json::Number(a), Json::Number(b)) => {
            let bits = |number: &serde_json::Number| number.as_f64().unwrap().to_bits();
            let same = a.is_f64() && b.is_f64() && bits(a) == bits(b);
            (!same)
                .then(|| format!("{path}: expected {a}, got {b}"))
                .into_iter()
                .collect()
        }
        _ if expected == actual => Vec::new(),
        _ => vec![format!("{path}: expected {expected}, got {actual}")],
    }
}
