//! Tests of `framework_reports`.

mod hybrid;
mod jobs;
mod laws;
mod oracle_records;
mod python_semantics;

use megatron_memory::framework_reports::megatron_bridge::{self, MegatronBridgeReport, MemoryComponent};
use megatron_memory::framework_reports::megatron_lm::{self, MegatronLmReport};
use megatron_memory::python::PythonError;
use megatron_memory::value::Value;
use serde_json::{Value as Json, json};

/// Plain data as the reports take it.
fn plain(json: &Json) -> Value {
    serde_json::from_value(json.clone()).unwrap()
}

/// Megatron-LM's report of a record's `args` and `num_microbatches`.
fn megatron_lm_report(record: &Json) -> Json {
    let args = plain(&record["args"]);
    let num_microbatches = plain(&record["num_microbatches"]);
    megatron_lm_record(&megatron_lm::report(&(&args).into(), (&num_microbatches).into()))
}

/// Megatron-Bridge's report of a whole record, of which it reads the inputs alone.
fn megatron_bridge_report(record: &Json) -> Json {
    megatron_bridge_record(&megatron_bridge::report(&(&plain(record)).into()))
}

/// A report as the records have it.
fn megatron_lm_record(report: &MegatronLmReport) -> Json {
    let instead = |error: &PythonError| json!({ "error": raised(error) });
    let bytes = |field: &Result<f64, PythonError>| match field {
        Ok(bytes) => json!(bytes),
        Err(error) => instead(error),
    };
    json!({
        "weight_and_optimizer_bytes": bytes(&report.weight_and_optimizer_bytes),
        "activation_bytes": bytes(&report.activation_bytes),
        "activation_bytes_without_sp": bytes(&report.activation_bytes_without_sp),
        "report_mb": report.report_mb.as_ref().map_or_else(instead, |mb| json!(mb)),
        "report_verbose_stdout": report.report_verbose_stdout,
    })
}

/// A report as the records have it.
fn megatron_bridge_record(report: &MegatronBridgeReport) -> Json {
    let mut record = match &report.estimate {
        Ok(estimate) => json!({
            "components": estimate.components.iter().map(component).collect::<Vec<_>>(),
            "activation": estimate.activation.as_ref().map(component),
            "total_parameters": estimate.total_parameters,
            "weight_and_optimizer_bytes": estimate.weight_and_optimizer_bytes,
            "total_memory_bytes": estimate.total_memory_bytes,
            "total_memory_mb": estimate.total_memory_mb,
            "total_memory_gb": estimate.total_memory_gb,
            "assumptions": estimate.assumptions,
            "formatted_mb": estimate.formatted_mb,
            "formatted_gb": estimate.formatted_gb,
        }),
        Err(error) => json!({ "error": raised(error) }),
    };
    if let Some(error) = &report.report_error {
        record["report_error"] = raised(error);
    }
    record["report_verbose_stdout"] = json!(report.report_verbose_stdout);
    record
}

fn component(component: &MemoryComponent) -> Json {
    json!({
        "name": component.name,
        "parameter_count": component.parameter_count,
        "parameter_count_per_gpu": component.parameter_count_per_gpu,
        "bytes_per_parameter": component.bytes_per_parameter,
        "memory_bytes": component.memory_bytes,
        "memory_mb": component.memory_mb,
        "memory_gb": component.memory_gb,
    })
}

fn raised(error: &PythonError) -> Json {
    json!({ "type": error.exception.to_string(), "message": error.message })
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
        // Of exceptions that Python itself raises the report has the class alone.
        (Json::String(_), Json::String(message)) if message.is_empty() && path.ends_with("error.message") => Vec::new(),
        _ if expected == actual => Vec::new(),
        _ => vec![format!("{path}: expected {expected}, got {actual}")],
    }
}
