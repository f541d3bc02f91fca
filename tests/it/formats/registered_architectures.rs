//! The classes of Hugging Face that Megatron-Bridge registers: a `config.json` of each is a job, or is refused by name
//! and with the reason.

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::{RawJob, Settings};
use megatron_memory::formats::{hf_config, json};
use megatron_memory::memory::estimate;
use megatron_memory::value::Value;
use serde_json::{Value as Json, json};

use crate::oracle;

/// The parameters of the model of a class, or why there is none.
fn parameters(row: &Json, sizes: &Json) -> Result<u64, String> {
    let mut config = sizes.clone();
    config["architectures"] = json!([row["class"]]);
    for (key, value) in row["config"].as_object().into_iter().flatten() {
        config[key] = value.clone();
    }
    let root = json::parse(&config.to_string()).map_err(|error| error.to_string())?;
    let import = hf_config::read(&root).map_err(|error| error.to_string())?;
    let named = import.family != "unknown family";
    assert!(named, "{row}");
    let settings = import.settings.into_iter();
    let mut shared: Settings = settings
        .map(|setting| (FieldId::by_name(setting.field).unwrap(), setting.value))
        .collect();
    for field in [FieldId::world_size, FieldId::micro_batch_size] {
        shared.set(field, Value::Int(1));
    }
    shared.set(FieldId::seq_length, Value::Int(1_024));
    let checked = check(&RawJob {
        shared,
        ..RawJob::default()
    });
    let config = checked.config.ok_or(format!("{:?}", checked.problems))?;
    Ok(estimate(&config).modules[0].parameters.total())
}

#[test]
fn every_registered_class_opens_or_is_refused_by_name() {
    let oracle = oracle::json("bridge_architectures.json");
    let rows = oracle["architectures"].as_array().unwrap();
    assert_eq!(rows.len(), 62);
    let mut wrong = Vec::new();
    let mut opened = 0;
    for row in rows {
        match (parameters(row, &oracle["sizes"]), row["refused"].as_str()) {
            (Ok(count), None) if count > 100_000_000 => opened += 1,
            (Err(error), Some(reason)) if error.contains(reason) => {}
            (result, _) => wrong.push(format!("{}: {result:?}", row["class"])),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(opened, 59);
}
