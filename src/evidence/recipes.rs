//! The jobs that Megatron-Bridge publishes as recipe functions, each as the `run_config.yaml` that Bridge writes for
//! it.
//!
//! The recipes are data, in `tests/oracle/bridge_recipes.json`: the values that each function's job runs with. They are
//! not compiled in.

use core::fmt::Write as _;

use super::record::ReadError;
use crate::formats::json;
use crate::value::Value;

/// Keys and values in their order.
type Map = Vec<(String, Value)>;

/// A recipe function and its job.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// The file below Bridge's sources and the function:
    /// `perf/llama/h100/llama3:llama3_8b_pretrain_8gpu_h100_bf16_config`.
    pub id: String,
    /// How many GPUs the job runs on; `None` where the recipe does not say.
    pub gpus: Option<u64>,
    /// As the function's name has it: `bf16`, `fp8mx`, `nvfp4`, …
    pub precision: String,
    /// Parameters of the model that Bridge builds; `None` where it could not be built without GPUs.
    pub parameters: Option<u64>,
    /// Whether ranks and batch of the job fit the GPUs of the recipe.
    pub launches: bool,
    /// `run_config.yaml`.
    pub text: String,
}

/// Reads all recipes.
///
/// # Errors
///
/// When the text is not JSON, or has no list of recipes.
pub fn read_recipes(text: &str) -> Result<Vec<Recipe>, ReadError> {
    let root = json::parse(text)?.to_value();
    match (root.get("base"), root.get("recipes")) {
        (Some(base), Some(Value::List(recipes))) => Ok(recipes.iter().map(|recipe| read(recipe, base)).collect()),
        _ => Err(ReadError::NotARecord),
    }
}

/// Reads one recipe. `base` has the values that the recipes with a class of sections have in common.
fn read(recipe: &Value, base: &Value) -> Recipe {
    let mut text = String::new();
    if let Some(Value::Map(sections)) = recipe.get("config") {
        for (name, section) in sections {
            write(&mut text, 0, name, &whole(name, section, base));
        }
    }
    let parameters = recipe.get("parameters").and_then(|own| own.get("total"));
    Recipe {
        id: word(recipe, "id"),
        gpus: recipe.get("gpus").and_then(count),
        precision: word(recipe, "precision"),
        parameters: parameters.and_then(count),
        launches: recipe.get("launch_problems").is_none(),
        text,
    }
}

/// A section with the common values of its class, and for some models with the layers in a map of their own.
fn whole(name: &str, section: &Value, base: &Value) -> Value {
    let Value::Map(own) = section else {
        return section.clone();
    };
    let class = match section.get("_class") {
        Some(Value::Text(class)) => class.as_str(),
        _ => "None",
    };
    let mut map: Map = match base.get(&format!("{name}:{class}")) {
        Some(Value::Map(common)) => common.clone(),
        _ => Map::new(),
    };
    if let Some(Value::List(without)) = section.get("_without") {
        map.retain(|(key, _)| !without.contains(&Value::Text(key.clone())));
    }
    for (key, value) in own.iter().filter(|(key, _)| key != "_without") {
        map.retain(|(other, _)| other != key);
        map.push((key.clone(), value.clone()));
    }
    map.retain(|(key, _)| key != "_class");
    let target = Value::Text(format!("megatron.bridge.{class}"));
    if name == "model" && class.ends_with("Config") {
        let outer = ["vocab_size", "should_pad_vocab", "seq_length"];
        let (mut outside, inside): (Map, Map) = map.into_iter().partition(|(key, _)| outer.contains(&key.as_str()));
        outside.push((String::from("_target_"), target));
        outside.push((String::from("transformer"), Value::Map(inside)));
        return Value::Map(outside);
    }
    map.push((String::from("_target_"), target));
    Value::Map(map)
}

/// Writes a key with its value as YAML.
fn write(text: &mut String, depth: usize, key: &str, value: &Value) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Map(map) if !map.is_empty() => {
            _ = writeln!(text, "{indent}{key}:");
            for (key, value) in map {
                write(text, depth + 1, key, value);
            }
        }
        other => _ = writeln!(text, "{indent}{key}: {other}"),
    }
}

/// The text under a key; empty where there is none.
pub(super) fn word(map: &Value, key: &str) -> String {
    match map.get(key) {
        Some(Value::Text(text)) => text.clone(),
        _ => String::new(),
    }
}

/// A whole number that is not negative.
pub(super) fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Int(count) => u64::try_from(*count).ok(),
        _ => None,
    }
}
