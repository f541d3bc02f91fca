//! The jobs that Megatron-Bridge publishes, as it writes them to `run_config.yaml`: each imports as the model that Bridge
//! builds, or says what is missing.

use core::fmt::Write;
use std::collections::BTreeMap;

use megatron_memory::config::check;
use megatron_memory::config::choices::AdapterType;
use megatron_memory::formats::detect::{Format, detect};
use megatron_memory::formats::import_text::{ImportOptions, import_text};
use megatron_memory::memory::estimate;
use serde_json::{Map, Value as Json};

use crate::oracle;

/// A recipe.
struct Recipe {
    id: String,
    gpus: Option<u64>,
    /// Parameters of the real model.
    parameters: u64,
    /// `run_config.yaml`.
    text: String,
}

/// All recipes that Megatron can launch.
fn recipes() -> Vec<Recipe> {
    let oracle = oracle::json("bridge_recipes.json");
    let recipes = oracle["recipes"].as_array().unwrap().iter();
    recipes
        .filter(|recipe| recipe.get("launch_problems").is_none())
        .filter(|recipe| recipe["parameters"]["total"].is_u64())
        .map(|recipe| {
            let mut text = String::new();
            for (name, section) in recipe["config"].as_object().unwrap() {
                let Some(given) = section.as_object() else {
                    write_yaml(&mut text, 0, name, section);
                    continue;
                };
                let class = given.get("_class").and_then(Json::as_str).unwrap_or("None");
                let base = oracle["base"].get(format!("{name}:{class}"));
                let mut whole = base.and_then(Json::as_object).cloned().unwrap_or_default();
                for key in given
                    .get("_without")
                    .and_then(Json::as_array)
                    .into_iter()
                    .flatten()
                {
                    whole.remove(key.as_str().unwrap());
                }
                let rest = given.iter().filter(|(key, _)| *key != "_without");
                whole.extend(rest.map(|(key, value)| (key.clone(), value.clone())));
                write_yaml(&mut text, 0, name, &nested(name, whole));
            }
            Recipe {
                id: recipe["id"].as_str().unwrap().to_owned(),
                gpus: recipe["gpus"].as_u64(),
                parameters: recipe["parameters"]["total"].as_u64().unwrap(),
                text,
            }
        })
        .collect()
}

/// A section as Bridge writes it: with its class, and for some models the layers in a map of their own.
fn nested(name: &str, mut section: Map<String, Json>) -> Json {
    let class = section.remove("_class").unwrap_or_default();
    let class = class.as_str().unwrap_or_default().to_owned();
    section.insert(
        "_target_".to_owned(),
        format!("megatron.bridge.{class}").into(),
    );
    if name == "model" && class.ends_with("Config") {
        let own = ["_target_", "vocab_size", "should_pad_vocab", "seq_length"];
        let (outer, inner): (Map<_, _>, Map<_, _>) = section
            .into_iter()
            .partition(|(key, _)| own.contains(&key.as_str()));
        let mut outer = outer;
        outer.insert("transformer".to_owned(), inner.into());
        return outer.into();
    }
    section.into()
}

fn write_yaml(text: &mut String, depth: usize, key: &str, value: &Json) {
    let indent = "  ".repeat(depth);
    match value {
        Json::Object(map) if !map.is_empty() => {
            writeln!(text, "{indent}{key}:").unwrap();
            for (key, value) in map {
                write_yaml(text, depth + 1, key, value);
            }
        }
        other => writeln!(text, "{indent}{key}: {other}").unwrap(),
    }
}

/// What became of a recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// The parameters of the real model.
    Right,
    /// A job with marks: parts of it are not modelled.
    Marked,
    /// Megatron would refuse the job, or the text is refused.
    Refused,
    /// Another model, and nothing says so.
    Silent,
}

fn outcome(recipe: &Recipe) -> (Outcome, String) {
    let found = detect(&recipe.text).unwrap();
    assert_eq!(found.format, Format::BridgeYaml, "{}", recipe.id);
    let options = ImportOptions {
        gpus: recipe.gpus,
        ..ImportOptions::default()
    };
    let import = match import_text(&recipe.text, &options) {
        Ok(imported) => imported.import,
        Err(error) => return (Outcome::Refused, error.to_string()),
    };
    let job = &import.state.setup.job;
    let checked = check(job);
    let Some(config) = &checked.config else {
        let errors: Vec<_> = checked.errors().map(|p| p.message.as_str()).collect();
        return (Outcome::Refused, errors.join("; "));
    };
    let counted = &estimate(config).modules[0].parameters;
    let module = &config.modules()[0];
    let parameters = match module.args().peft_type {
        AdapterType::None => counted.total(),
        // Published numbers are those of the model without adapters.
        _ => counted.total() - counted.trainable(module),
    };
    let is_same = parameters.abs_diff(recipe.parameters) * 1000 <= recipe.parameters;
    let count = format!("{parameters}, not {}", recipe.parameters);
    match (job.not_modelled.is_empty(), is_same) {
        (false, _) => (Outcome::Marked, job.not_modelled[0].to_string()),
        (true, true) => (Outcome::Right, String::new()),
        (true, false) => (Outcome::Silent, count),
    }
}

#[test]
fn published_recipes_are_the_models_that_they_build() {
    let mut outcomes: BTreeMap<Outcome, Vec<String>> = BTreeMap::new();
    for recipe in recipes() {
        let (outcome, why) = outcome(&recipe);
        outcomes
            .entry(outcome)
            .or_default()
            .push(format!("{}: {why}", recipe.id));
    }
    let count = |outcome| outcomes.get(&outcome).map_or(0, Vec::len);
    let list = |outcome| {
        outcomes
            .get(&outcome)
            .map_or(String::new(), |all| all.join("\n"))
    };
    assert_eq!(count(Outcome::Silent), 0, "{}", list(Outcome::Silent));
    assert!(count(Outcome::Refused) <= 10, "{}", list(Outcome::Refused));
    // The others have marks: adapters, encoders, fp4, attention in fp8.
    assert!(count(Outcome::Right) >= 218, "{}", count(Outcome::Right));
}
