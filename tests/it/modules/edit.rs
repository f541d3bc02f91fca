//! Editing the list of modules, and what the page shows of it.

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::{RawJob, Settings};
use megatron_memory::formats::share_url::{decode, encode};
use megatron_memory::formats::state::{Setup, ShareState};
use megatron_memory::memory::estimate;
use megatron_memory::presets::encoders::{self, ENCODERS};
use megatron_memory::presets::jobs::{self, JOBS};
use megatron_memory::presets::{self, PRESETS};
use megatron_memory::report::modules::rows;
use megatron_memory::value::Value;
use megatron_memory::verdict::Standing;
use serde_json::json;

use super::jobs::pair;

fn preset(id: &str) -> RawJob {
    presets::by_id(id).unwrap().contents().unwrap().raw_job()
}

fn encoder(id: &str) -> Settings {
    encoders::by_id(id).unwrap().contents().unwrap().settings
}

fn raw(job: &serde_json::Value) -> RawJob {
    let value: Value = serde_json::from_value(job.clone()).unwrap();
    RawJob::from_value(&value)
}

/// Whatever the model, an encoder joins it without a mistake, and takes nothing of the model's memory away.
#[test]
fn an_encoder_joins_every_model() {
    for preset in PRESETS {
        let plain = preset.contents().unwrap().raw_job();
        let alone = check(&plain).config.unwrap();
        for encoder in ENCODERS {
            let mut job = plain.clone();
            let settings = encoder.contents().unwrap().settings;
            assert_eq!(job.add_module("images", settings), 1);
            let checked = check(&job);
            // What MegatronMIMO asks beyond Megatron-LM is about the job itself, not about its editing.
            let errors: Vec<_> = checked
                .errors()
                .filter(|p| !p.message.contains("power of 2"))
                .map(|p| &p.message)
                .collect();
            let place = format!("{} with {}", preset.id, encoder.id);
            assert!(errors.is_empty(), "{place}: {errors:?}");
            let Some(config) = checked.config else {
                continue;
            };
            assert_eq!(config.modules()[0].ranks(), alone.world_size(), "{place}");
            let mut derived = config.modules()[0].derived();
            let expected = alone.modules()[0].derived();
            if expected.experts_per_rank == 0 {
                // Nothing has expert parallelism, whose defaults are two.
                derived.expert_data_parallel_size = expected.expert_data_parallel_size;
                derived.expert_tensor_parallel_size = expected.expert_tensor_parallel_size;
            }
            assert_eq!(derived, expected, "{place}");
            let parameters = |config| estimate(config).modules[0].stages[0].parameters().total();
            assert_eq!(parameters(&config), parameters(&alone), "{place}");
        }
    }
}

/// Adding a module and removing it again leaves the plain job.
#[test]
fn removing_the_last_encoder_leaves_the_plain_job() {
    for id in ["deepseek-v3", "llama3-8b", "mixtral-8x7b"] {
        let plain = preset(id);
        let mut job = plain.clone();
        job.add_module("images", encoder("clip-vit-l-14-336"));
        job.remove_module(1);
        assert!(job.modules.is_empty());
        let (plain, job) = (check(&plain), check(&job));
        assert_eq!(plain.problems, job.problems, "{id}");
        let (plain, job) = (plain.config.unwrap(), job.config.unwrap());
        assert_eq!(format!("{:?}", estimate(&plain)), format!("{:?}", estimate(&job)));
    }
}

/// Modules keep what they are through copies, moves and names; names stay apart.
#[test]
fn modules_are_copied_moved_and_named() {
    let mut job = jobs::by_id("llava-7b").unwrap().contents().unwrap().job;
    assert_eq!(job.duplicate_module(1), 2);
    let names = |job: &RawJob| -> Vec<String> { job.modules.iter().map(|m| m.name.clone()).collect() };
    assert_eq!(names(&job), ["language", "images", "images_2"]);
    assert_eq!(check(&job).problems, []);
    let before = estimate(&check(&job).config.unwrap());
    job.exchange_modules(2, 1);
    assert_eq!(names(&job), ["language", "images_2", "images"]);
    let after = estimate(&check(&job).config.unwrap());
    for (new, old) in [(0, 0), (1, 2), (2, 1)] {
        assert_eq!(
            format!("{:?}", after.modules[new]),
            format!("{:?}", before.modules[old])
        );
    }
    // Beyond the ends nothing moves.
    job.exchange_modules(2, 3);
    assert_eq!(names(&job), ["language", "images_2", "images"]);
    job.rename_module(1, "  video ");
    assert_eq!(names(&job)[1], "video");
    job.rename_module(9, "nobody");
    job.remove_module(9);
    assert_eq!(job.modules.len(), 3);
    assert_eq!(check(&job).problems, []);
}

/// One click puts right whatever is wrong with the places, and changes nothing that is right.
#[test]
fn laying_out_puts_places_right() {
    for (offset, world) in [(5, 8), (2, 8), (8, 8), (0, 8), (4, 6), (4, 100)] {
        let mut job = pair();
        job["modules"][1]["rank_offset"] = json!(offset);
        job["world_size"] = json!(world);
        let mut job = raw(&job);
        assert!(check(&job).config.is_none());
        job.lay_out();
        assert_eq!(check(&job).problems, []);
        let again = job.clone();
        job.lay_out();
        assert_eq!(job, again);
    }
    // Modules without DP share what is left; where that does not come out even they get one replica.
    for (world, dp, ranks) in [(12, 8, 12), (4, 1, 5)] {
        let mut job = pair();
        job["modules"][1]["data_parallel_size"] = json!(null);
        job["world_size"] = json!(world);
        let mut job = raw(&job);
        job.lay_out();
        let config = check(&job).config.unwrap();
        assert_eq!(config.modules()[1].derived().data_parallel_size, dp);
        assert_eq!(config.world_size(), ranks);
    }
    let mut job = pair();
    job["colocate_modules"] = json!(true);
    job["modules"][0]["tensor_model_parallel_size"] = json!(2);
    let mut job = raw(&job);
    job.lay_out();
    let config = check(&job).config.unwrap();
    let replicas: Vec<u64> = config
        .modules()
        .iter()
        .map(|m| m.derived().data_parallel_size)
        .collect();
    assert_eq!(replicas, [4, 8]);
}

/// Every repair of a mistake about modules mends that mistake.
#[test]
fn repairs_mend() {
    let cases = [
        (1, json!({"rank_offset": 5})),
        (1, json!({"rank_offset": 2})),
        (1, json!({"name": "language"})),
        (1, json!({"expert_model_parallel_size": 2})),
        (0, json!({"name": "llm"})),
        (1, json!({"rank_offset": 8})),
        (1, json!({"tensor_model_parallel_size": 3})),
        (1, json!({"data_parallel_size": 0})),
        (1, json!({"data_parallel_size": null})),
        (1, json!({"rank_offset": -1})),
    ];
    for (module, change) in cases {
        let mut job = pair();
        for (key, value) in change.as_object().unwrap() {
            job["modules"][module][key] = value.clone();
        }
        let mut job = raw(&job);
        let before = check(&job);
        let mut own = before.errors().filter(|p| p.module == module);
        let problem = own.find(|p| p.repair.is_some());
        let problem = problem.unwrap_or_else(|| panic!("{change}: {:#?}", before.problems));
        job.repair(problem.repair.as_ref().unwrap());
        assert!(!check(&job).errors().any(|p| p == problem), "{change}");
    }
}

/// No click leaves everything as it is: where the world has the right size, modules move.
#[test]
fn repairs_change_something() {
    for offset in [0, 2, 5, 8] {
        let mut job = pair();
        job["modules"][1]["rank_offset"] = json!(offset);
        let job = raw(&job);
        let problems = check(&job).problems;
        assert!(!problems.is_empty());
        for problem in problems {
            let Some(repair) = &problem.repair else {
                continue;
            };
            let mut mended = job.clone();
            mended.repair(repair);
            assert_ne!(mended, job, "{}: {}", problem.message, repair.label);
        }
    }
}

/// Specs that are written are read back as the same job; new names become encoders.
#[test]
fn component_specs_go_both_ways() {
    for preset in JOBS {
        let mut job = preset.contents().unwrap().job;
        let before = estimate(&check(&job).config.unwrap());
        let specs = job.component_specs();
        assert_eq!(specs.lines().count(), job.modules.len());
        job.set_component_specs(&specs, &Settings::default()).unwrap();
        let after = estimate(&check(&job).config.unwrap());
        assert_eq!(format!("{before:?}"), format!("{after:?}"), "{}", preset.id);
    }
    let mut job = preset("llama3-8b");
    assert_eq!(job.component_specs(), "");
    let clip = encoder("clip-vit-l-14-336");
    job.shared.set(FieldId::world_size, Value::Int(16));
    job.set_component_specs("--component language=tp=2 --component images=tp=4", &clip)
        .unwrap();
    let config = check(&job).config.unwrap();
    let spans: Vec<_> = config
        .modules()
        .iter()
        .map(|m| (m.name(), m.rank_offset(), m.ranks()))
        .collect();
    assert_eq!(spans, [("language", 0, 8), ("images", 8, 8)]);
    let before = job.clone();
    for bad in [
        "",
        "language",
        "language=tp=x",
        "language=tp=1 language=tp=1",
        "language=tp=1,zz=2",
    ] {
        assert!(job.set_component_specs(bad, &clip).is_err(), "{bad}");
        assert_eq!(job, before, "a refused text changes nothing");
    }
}

/// What the list shows of the reference layout, with and without a mistake in it.
#[test]
fn rows_show_sizes_ranks_and_memory() {
    let mut job = jobs::by_id("qwen3.5-vl-27b").unwrap().contents().unwrap().job;
    let config = check(&job).config.unwrap();
    let estimate = estimate(&config);
    let shown = rows(&job, Some((&config, &estimate, &Standing::new(&config, &estimate))));
    let texts: Vec<_> = shown
        .iter()
        .map(|r| (r.name.as_str(), r.sizes.as_str(), r.ranks.as_str()))
        .collect();
    assert_eq!(
        texts,
        [
            ("language", "TP 4 · PP 2 · DP 2", "ranks 0–15"),
            ("images", "TP 1 · DP 1", "rank 16"),
        ]
    );
    for (row, module) in shown.iter().zip(&estimate.modules) {
        let most = module.stages.iter().map(|s| s.total).max().unwrap();
        assert_eq!(row.memory.unwrap().0, most);
    }
    job.modules[1]
        .settings
        .set(FieldId::tensor_model_parallel_size, Value::Text("x".into()));
    let shown = rows(&job, None);
    assert_eq!(shown[1].sizes, "TP x · DP 1");
    assert_eq!((shown[1].ranks.as_str(), shown[1].memory), ("", None));
    assert_eq!(rows(&preset("llama3-8b"), None), []);
}

/// Links carry every job of several modules, edited ones too.
#[test]
fn links_carry_modules() {
    let mut edited = preset("deepseek-v3");
    edited.add_module("images", encoder("qwen3-vl-vit"));
    edited.duplicate_module(1);
    let jobs = JOBS.iter().map(|job| job.contents().unwrap().job);
    for job in jobs.chain([edited]) {
        let share = ShareState {
            setup: Setup {
                preset: None,
                job: job.clone(),
            },
            ..ShareState::default()
        };
        let link = encode(&share);
        let (back, notices) = decode(&link);
        assert!(notices.is_empty(), "{notices:?}");
        assert_eq!(encode(&back), link);
        let (before, after) = (check(&job).config.unwrap(), check(&back.setup.job).config.unwrap());
        assert_eq!(format!("{:?}", estimate(&before)), format!("{:?}", estimate(&after)));
    }
}
