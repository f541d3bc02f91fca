//! Presets that take their job from a recipe of Megatron-Bridge, against what the recipe makes of its model.

use std::collections::BTreeSet;

use megatron_memory::config::canonical::meaning;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::Settings;
use megatron_memory::presets::jobs::{self, JOBS};
use megatron_memory::presets::{PRESETS, by_id};

use super::bridge_providers::{matters, texts, value};
use crate::oracle;

/// The fields of a model's preset, or of a module of a job.
fn settings(id: &str, module: &str) -> Settings {
    if let Some(preset) = by_id(id) {
        return preset.settings();
    }
    let job = jobs::by_id(id).unwrap().job();
    let of_job = job.modules.iter().find(|of_job| of_job.name == module).unwrap();
    let mut settings = job.shared.clone();
    settings.overlay(&of_job.settings);
    settings
}

/// A row of a job says which module it is of, where that is not the language model. A row of `gaps` is a difference that
/// is left, with its reason; it goes when the difference does.
#[test]
fn presets_have_the_kernels_of_their_recipes() {
    let data = oracle::json("bridge_presets.json");
    let gaps = texts(&data, "gaps");
    let mut left: BTreeSet<_> = gaps.iter().map(|row| (row[0].as_str(), row[1].as_str())).collect();
    let mut wrong = Vec::new();
    for row in data["rows"].as_array().unwrap() {
        let id = row[0].as_str().unwrap();
        let module = row[3].as_str().unwrap_or("language");
        let settings = settings(id, module);
        for (name, theirs) in row[2].as_object().unwrap() {
            let field = FieldId::by_name(name).unwrap();
            let (ours, theirs) = (
                meaning(field, settings.get(field)),
                meaning(field, Some(&value(theirs))),
            );
            if matters(&settings, field) && ours != theirs && !left.remove(&(id, name.as_str())) {
                wrong.push(format!(
                    "{id}: {name} of {module} is {ours:?}, not {theirs:?} as in {}",
                    row[1]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(left.is_empty(), "no longer different: {left:?}");
}

#[test]
fn every_preset_that_names_a_recipe_is_compared_with_it() {
    let data = oracle::json("bridge_presets.json");
    let apart = texts(&data, "not_compared");
    let rows = data["rows"].as_array().unwrap().iter();
    let compared: BTreeSet<(&str, &str)> = rows
        .map(|row| {
            let (_, recipe) = row[1].as_str().unwrap().rsplit_once(':').unwrap();
            (row[0].as_str().unwrap(), recipe)
        })
        .collect();
    let models = PRESETS
        .iter()
        .map(|preset| (preset.id, preset.contents().unwrap().job_source));
    let jobs = JOBS.iter().map(|job| (job.id, job.contents().unwrap().source));
    for (id, source) in models.chain(jobs) {
        let words = source.split(|c: char| !c.is_alphanumeric() && c != '_');
        for recipe in words.filter(|word| word.ends_with("_config")) {
            let is_apart = apart.iter().any(|row| row[0] == id);
            assert_ne!(is_apart, compared.contains(&(id, recipe)), "{id}: {recipe}");
        }
    }
}
