//! Parameters of published models from their `config.json`.

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::{RawJob, Settings};
use megatron_memory::formats::hf_config;
use megatron_memory::formats::json;
use megatron_memory::memory::estimate;
use megatron_memory::value::Value;

use crate::oracle;

/// The parameters of the model in a `config.json`, without layers for multi-token prediction.
fn parameters(text: &str) -> Result<u64, String> {
    let root = json::parse(text).map_err(|error| error.to_string())?;
    let import = hf_config::read(&root).map_err(|error| error.to_string())?;
    let settings = import.settings.into_iter();
    let mut shared: Settings = settings
        .map(|setting| (FieldId::by_name(setting.field).unwrap(), setting.value))
        .collect();
    for field in [
        FieldId::world_size,
        FieldId::seq_length,
        FieldId::micro_batch_size,
        FieldId::make_vocab_size_divisible_by,
    ] {
        shared.set(field, Value::Int(1));
    }
    shared.unset(FieldId::mtp_num_layers);
    if let Some(Value::Text(pattern)) = shared.get(FieldId::hybrid_layer_pattern) {
        let decoder = pattern.split('/').next().unwrap_or_default().to_owned();
        shared.set(FieldId::hybrid_layer_pattern, Value::Text(decoder));
    }
    let checked = check(&RawJob {
        shared,
        ..RawJob::default()
    });
    let problems = format!("{:?}", checked.problems);
    let config = checked.config.ok_or(problems)?;
    Ok(estimate(&config).modules[0].parameters.total())
}

#[test]
fn published_models_have_their_parameters() {
    let oracle = oracle::json("hf_totals.json");
    let models = oracle["models"].as_array().unwrap();
    let mut wrong = Vec::new();
    let mut exact = 0;
    for model in models {
        let published = model["total"].as_u64().unwrap();
        let id = model["id"].as_str().unwrap();
        match parameters(&model["config"].to_string()) {
            Ok(ours) if ours == published => exact += 1,
            Ok(ours) if ours.abs_diff(published) * 1000 <= published * 3 => {}
            Ok(ours) => wrong.push(format!("{id}: {ours}, published {published}")),
            Err(error) => wrong.push(format!("{id}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(models.len() >= 140, "{}", models.len());
    // The others have learned positions that no token uses, norms without weights, or a part that the report names.
    assert!(exact >= 130, "{exact}");
}
