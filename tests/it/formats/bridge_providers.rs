//! Recipes of Megatron-Bridge that make their model of a published one, against what Megatron-Bridge makes of it.

use std::collections::BTreeSet;

use megatron_memory::config::canonical::meaning;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::Settings;
use megatron_memory::formats::import_text::{ImportOptions, import_text};
use megatron_memory::value::Value;
use serde_json::Value as Json;

use super::functions::import_function;
use crate::oracle;

/// A recipe that says nothing of kernels, with the model of a preset.
fn recipe(id: &str, more: &str) -> Settings {
    let text = format!(
        "def acme_pretrain_config() -> ConfigContainer:\n    cfg = _pretrain_common()\n    \
         cfg.model = AutoBridge.from_hf_pretrained(\"acme/x\").to_megatron_provider(load_weights=False)\n{more}    \
         return cfg\n"
    );
    let options = ImportOptions {
        model: Some(id.to_owned()),
        ..ImportOptions::default()
    };
    import_text(&text, &options).unwrap().import.state.setup.job.shared
}

/// The columns of a table of the data, which are all texts.
pub(super) fn texts(data: &Json, table: &str) -> Vec<Vec<String>> {
    let text = |cell: &Json| cell.as_str().unwrap().to_owned();
    let row = |row: &Json| row.as_array().unwrap().iter().map(text).collect();
    data[table].as_array().unwrap().iter().map(row).collect()
}

/// A value of the data.
pub(super) fn value(json: &Json) -> Value {
    match json {
        Json::Bool(on) => Value::Bool(*on),
        Json::String(text) => Value::Text(text.clone()),
        Json::Null => Value::Null,
        other => panic!("{other}"),
    }
}

/// Whether a field matters to a model.
pub(super) fn matters(settings: &Settings, id: FieldId) -> bool {
    let on = |id| meaning(id, settings.get(id)) == meaning(id, Some(&Value::Bool(true)));
    let given = |id| meaning(id, settings.get(id)) != meaning(id, None);
    let rotary = Value::Text("rope".to_owned());
    let positions = FieldId::position_embedding_type;
    match id {
        FieldId::bias_swiglu_fusion => [FieldId::swiglu, FieldId::geglu, FieldId::quick_geglu]
            .into_iter()
            .any(on),
        FieldId::apply_rope_fusion => meaning(positions, settings.get(positions)) == meaning(positions, Some(&rotary)),
        FieldId::cross_entropy_fusion_impl => on(FieldId::cross_entropy_loss_fusion),
        FieldId::moe_shared_expert_overlap => given(FieldId::moe_shared_expert_intermediate_size),
        id if id.field().name.starts_with("moe_") => given(FieldId::num_experts),
        _ => true,
    }
}

/// A row of `gaps` is a difference that is left, with its reason; it goes when the difference does.
#[test]
fn a_model_comes_with_the_kernels_of_its_bridge() {
    let data = oracle::json("bridge_providers.json");
    let gaps = texts(&data, "gaps");
    let mut left: BTreeSet<_> = gaps.iter().map(|row| (row[0].as_str(), row[1].as_str())).collect();
    let mut wrong = Vec::new();
    for row in data["rows"].as_array().unwrap() {
        let id = row[0].as_str().unwrap();
        let settings = recipe(id, "");
        for (name, theirs) in row[2].as_object().unwrap() {
            let field = FieldId::by_name(name).unwrap();
            let (ours, theirs) = (
                meaning(field, settings.get(field)),
                meaning(field, Some(&value(theirs))),
            );
            if matters(&settings, field) && ours != theirs && !left.remove(&(id, name.as_str())) {
                wrong.push(format!("{id}: {name} is {ours:?}, not {theirs:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(left.is_empty(), "no longer different: {left:?}");
}

#[test]
fn what_a_recipe_says_itself_counts() {
    let field = FieldId::bias_swiglu_fusion;
    for (id, plain) in [("llama3-8b", true), ("qwen3-8b", false)] {
        for on in [true, false] {
            let says = if on { "True" } else { "False" };
            let settings = recipe(id, &format!("    cfg.model.bias_activation_fusion = {says}\n"));
            assert_eq!(settings.get(field), Some(&Value::Bool(on)), "{id}");
        }
        assert_eq!(recipe(id, "").get(field), Some(&Value::Bool(plain)), "{id}");
    }
}

/// `_benchmark_common` and `_perf_precision`, which stand in another file.
#[test]
fn performance_recipes_have_settings_in_common() {
    let file = |precision: &str, more: &str| {
        format!(
            "def acme_pretrain_8gpu_h100_config() -> ConfigContainer:\n    cfg = _pretrain_common()\n    \
             cfg.model = AutoBridge.from_hf_pretrained(\"Qwen/Qwen3-8B\").to_megatron_provider()\n    \
             cfg.mixed_precision = _perf_precision(\"{precision}\")\n    _benchmark_common(cfg{more})\n    return cfg\n"
        )
    };
    for (precision, more, wanted) in [
        (
            "bf16",
            "",
            vec![
                (FieldId::apply_rope_fusion, "true"),
                (FieldId::bias_swiglu_fusion, "false"),
                (FieldId::cross_entropy_fusion_impl, "\"te\""),
                (FieldId::grad_reduce_in_bf16, "true"),
            ],
        ),
        (
            "fp8_cs",
            ", cross_entropy_impl=\"native\"",
            vec![
                (FieldId::cross_entropy_fusion_impl, "\"native\""),
                (FieldId::fp8_recipe, "\"tensorwise\""),
                (FieldId::fp8_param_gather, "true"),
            ],
        ),
    ] {
        let import = import_function(&file(precision, more), None).import;
        let job = &import.state.setup.job;
        assert_eq!(job.not_modelled, [], "{precision}");
        let in_bf16 = job.shared.get(FieldId::first_last_layers_bf16);
        assert_ne!(in_bf16, Some(&Value::Bool(true)), "{precision}");
        for (id, value) in wanted {
            let found = job.shared.get(id).map(ToString::to_string);
            assert_eq!(found.as_deref(), Some(value), "{precision}: {}", id.field().name);
        }
    }
    let unknown = import_function(&file("int4", ""), None).import;
    assert_ne!(unknown.state.setup.job.not_modelled, []);
}
