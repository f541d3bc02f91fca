//! Whole jobs: presets, micro batches, freezing, shared ranks, and what is wrong with bad ones.

use megatron_memory::config::check;
use megatron_memory::config::field::Scope;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::{RawJob, RawModule};
use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::line::{Line, stage_lines};
use megatron_memory::memory::{StageRef, estimate, freezing, rank_memory};
use megatron_memory::presets::PRESETS;
use megatron_memory::presets::jobs::{self, JOBS};
use megatron_memory::value::Value;
use serde_json::{Value as Json, json};

use super::{checked, errors};
use crate::oracle;

#[test]
fn every_preset_job_runs() {
    for preset in JOBS {
        let contents = preset.contents().unwrap();
        let checked = check(&contents.job);
        assert_eq!(checked.problems, [], "{}", preset.id);
        let config = checked.config.unwrap();
        let result = estimate(&config);
        assert!(result.worst_rank.total < config.gpu_memory().unwrap(), "{}", preset.id);
        assert!(!contents.source.is_empty());
    }
}

/// The sums of published checkpoints, the projector of the language model's width included.
#[test]
fn preset_jobs_have_the_published_parameters() {
    let published: [(&str, u64); 10] = [
        ("qwen2.5-vl-3b", 3_754_622_976),
        ("qwen2.5-vl-7b", 8_292_166_656),
        ("qwen2.5-vl-32b", 33_452_718_336),
        ("qwen2.5-vl-72b", 73_410_777_344),
        ("qwen3-vl-2b", 2_127_532_032),
        ("qwen3-vl-4b", 4_437_815_808),
        ("qwen3-vl-8b", 8_767_123_696),
        ("qwen3-vl-30b-a3b", 31_070_754_032),
        ("qwen3-vl-32b", 33_357_390_064),
        ("qwen3-vl-235b-a22b", 235_670_022_896),
    ];
    for (id, expected) in published {
        let mut job = jobs::by_id(id).unwrap().contents().unwrap().job;
        // Checkpoints have no rows that fill the vocabulary up for tensor parallelism.
        job.modules[0]
            .settings
            .set(FieldId::make_vocab_size_divisible_by, Value::Int(1));
        let config = check(&job).config.unwrap();
        let counted = estimate(&config);
        let total: u64 = counted.modules.iter().map(|m| m.parameters.total()).sum();
        assert_eq!(total, expected, "{id}");
    }
}

/// Bridge's reference layout: the language model on ranks 0 to 15, images on rank 16.
#[test]
fn the_reference_layout_is_the_published_one() {
    let job = jobs::by_id("qwen3.5-vl-27b").unwrap().contents().unwrap().job;
    let config = check(&job).config.unwrap();
    assert_eq!(config.world_size(), 17);
    let spans: Vec<_> = config
        .modules()
        .iter()
        .map(|m| (m.name(), m.rank_offset(), m.ranks()))
        .collect();
    assert_eq!(spans, [("language", 0, 16), ("images", 16, 1)]);
    // 16 micro batches of 2 samples: one on each language replica, two on the image rank.
    for (m, samples) in config.modules().iter().zip([1, 2]) {
        assert_eq!(m.derived().num_microbatches, 16);
        assert_eq!(m.args().micro_batch_size, samples, "{}", m.name());
    }
    assert_eq!(config.modules()[1].args().seq_length, 64 * 64);
}

/// A small language model that every layout of the reference data can split.
fn tiny() -> Json {
    json!({
        "num_layers": 24, "hidden_size": 1536, "num_attention_heads": 24, "seq_length": 1024, "vocab_size": 32000,
        "max_position_embeddings": 1024, "num_experts": 48, "bf16": true, "micro_batch_size": 24,
        "moe_token_dispatcher_type": "alltoall", "add_bias_linear": false, "sequence_parallel": false,
    })
}

fn modules_of(input: &Json) -> Vec<Json> {
    let entries = input.as_object().unwrap().iter();
    entries
        .map(|(name, module)| {
            let mut module = module.clone();
            module["name"] = json!(name);
            if name != "language" {
                module["num_experts"] = json!(null);
            }
            module
        })
        .collect()
}

/// Every set of modules of the reference data, as a job: the same sizes, or the same refusal.
#[test]
fn sets_of_modules_are_accepted_and_refused_as_upstream_does() {
    let reference = oracle::json("reference/mimo_config.json");
    let (mut accepted, mut refused) = (0, 0);
    for record in reference["mimo_parallelism"].as_array().unwrap() {
        let mut modules = modules_of(&record["input"]);
        if modules.len() < 2 {
            // One module is a plain job, an empty list a job without modules.
            continue;
        }
        // MegatronMIMO names its modules in the order given, which JSON maps here do not keep.
        modules.sort_by_key(|module| module["rank_offset"].as_u64().unwrap_or(0));
        let mut job = tiny();
        // Megatron-LM's rules about MoE layers with tensor parallelism are not what this is about.
        let tp = |module: &Json| module["tensor_model_parallel_size"].as_u64().unwrap_or(1);
        if modules.iter().any(|module| tp(module) > 1) {
            job["sequence_parallel"] = json!(true);
        }
        job["world_size"] = record["world_size"].clone();
        job["modules"] = json!(modules);
        let result = checked(&job);
        if let Some(error) = record.get("error") {
            assert!(result.config.is_none(), "{}", record["input"]);
            let message = error["message"].as_str().unwrap();
            let same = result.errors().any(|p| p.message == message)
                || result
                    .errors()
                    .any(|p| p.rule == "modules" && p.message.split(';').next() == message.split(';').next());
            assert!(
                same || record["input"].get("language").is_none(),
                "{message}: {:#?}",
                result.problems
            );
            refused += 1;
            continue;
        }
        let Some(config) = result.config else {
            panic!("{}: {:#?}", record["input"], result.problems);
        };
        for m in config.modules() {
            let expected = &record["modules"][m.name()];
            let derived = m.derived();
            assert_eq!(json!(derived.data_parallel_size), expected["data_parallel_size"]);
            assert_eq!(
                json!(derived.expert_data_parallel_size),
                expected["expert_data_parallel_size"]
            );
            assert_eq!(
                json!(derived.expert_tensor_parallel_size),
                expected["expert_tensor_parallel_size"]
            );
            assert_eq!(json!(m.rank_offset()), expected["rank_offset"]);
            assert_eq!(json!(m.ranks()), expected["total_ranks"]);
        }
        accepted += 1;
    }
    assert!(accepted >= 7 && refused >= 10, "{accepted} {refused}");
}

/// Two modules: a trained language model of 4 ranks and CLIP on 4.
pub(super) fn pair() -> Json {
    json!({
        "world_size": 8, "bf16": true, "use_distributed_optimizer": true, "micro_batch_size": 2, "global_batch_size": 16,
        "modules": [
            {"name": "language", "num_layers": 4, "hidden_size": 1024, "num_attention_heads": 16, "vocab_size": 32000,
             "seq_length": 2048, "position_embedding_type": "rope", "data_parallel_size": 4},
            {"name": "images", "front_end": "patches", "num_layers": 2, "hidden_size": 512, "num_attention_heads": 8,
             "img_h": 224, "patch_dim": 16, "class_token_len": 1, "projector": "mlp", "data_parallel_size": 4, "rank_offset": 4},
        ],
    })
}

fn change(mut job: Json, module: usize, values: Json) -> Json {
    for (key, value) in values.as_object().unwrap() {
        job["modules"][module][key] = value.clone();
    }
    job
}

/// Every module runs the language model's micro batches; replicas share their samples.
/// Wherever its settings stand, one module is the plain job.
#[test]
fn one_module_is_the_plain_job() {
    let names = oracle::files("params");
    assert!(names.len() > 80);
    for name in names {
        let mut plain = oracle::json(&name)["config"].clone();
        let settings = plain.as_object_mut().unwrap();
        settings.insert(String::from("gpu"), json!("h200"));
        settings.insert(String::from("cuda_context_mib"), json!(700));
        let mut module = plain.clone();
        module["name"] = json!("language");
        let (plain, listed) = (checked(&plain), checked(&json!({ "modules": [module] })));
        assert_eq!(plain.problems, listed.problems, "{name}");
        assert_eq!(format!("{:?}", plain.config), format!("{:?}", listed.config), "{name}");
    }
}

#[test]
fn a_value_of_the_whole_job_is_one_value() {
    let mut job = tiny();
    job["world_size"] = json!(2);
    job["modules"] = json!([
        { "name": "language", "data_parallel_size": 1, "global_batch_size": 48 },
        { "name": "images", "data_parallel_size": 1, "rank_offset": 1, "num_experts": null, "global_batch_size": 48 },
    ]);
    assert_eq!(errors(&job), []);
    job["modules"][1]["global_batch_size"] = json!(96);
    let [problem] = errors(&job).try_into().unwrap();
    assert_eq!((problem.rule, problem.module), ("value_of_the_job", 1));
    assert!(
        problem.message.contains("global_batch_size has one value"),
        "{}",
        problem.message
    );
    let fix = &problem.fixes[0];
    let mut raw = RawJob::from_value(&serde_json::from_value(job).unwrap());
    raw.put(problem.module, fix.field, fix.value.clone());
    assert_eq!(check(&raw).errors().count(), 0);
}

#[test]
fn a_list_of_modules_has_modules() {
    for wrong in [json!([]), json!({}), json!("language"), json!(1)] {
        let mut job = tiny();
        job["modules"] = wrong.clone();
        let rules: Vec<&str> = errors(&job).iter().map(|p| p.rule).collect();
        assert!(rules.contains(&"modules"), "{wrong}: {rules:?}");
    }
}

#[test]
fn modules_share_micro_batches() {
    // Data-parallel size, items a sample, imbalance; items in the fullest micro batch of a rank.
    for (dp, items, imbalance, expected) in [
        (4, 1.0, 1.0, 2),
        (2, 1.0, 1.0, 4),
        (1, 1.0, 1.0, 8),
        (4, 2.5, 1.0, 5),
        (4, 2.5, 1.5, 8),
        (1, 0.5, 1.0, 4),
    ] {
        let world = 4 + dp;
        let values = json!({"data_parallel_size": dp, "items_per_sample": items, "token_imbalance": imbalance});
        let mut job = change(pair(), 1, values);
        job["world_size"] = json!(world);
        let result = checked(&job);
        assert_eq!(result.problems, []);
        let config = result.config.unwrap();
        let images = &config.modules()[1];
        assert_eq!(images.args().micro_batch_size, expected, "DP {dp}, {items} items");
        assert_eq!(images.derived().num_microbatches, 2);
        assert_eq!(images.derived().global_batch_size, 16);
        assert_eq!(images.args().seq_length, 14 * 14 + 1);
    }
}

/// Freezing leaves weights, and the note says what it saves.
#[test]
fn freezing_saves_gradients_and_states() {
    let states = |job: &Json| {
        let config = checked(job).config.unwrap();
        let stage = estimate(&config).modules[1].stages[0].clone();
        let states: u64 = Bucket::ALL.iter().skip(2).map(|b| stage.bytes(*b).0).take(8).sum();
        (stage.bytes(Bucket::WeightsDense), states, stage.saved_by_freezing.0)
    };
    let trained = states(&pair());
    let encoder = states(&change(pair(), 1, json!({"frozen": true})));
    let projector = states(&change(pair(), 1, json!({"projector_frozen": true})));
    let both = states(&change(pair(), 1, json!({"frozen": true, "projector_frozen": true})));
    assert_eq!(trained.2, 0);
    assert_eq!(both.1, 0);
    for frozen in [encoder, projector, both] {
        assert_eq!(frozen.0, trained.0, "weights stay");
        assert_eq!(frozen.1 + frozen.2, trained.1);
    }
    // The projector is 512 to 1024 to 1024 with biases; gradients take 4 bytes, the states 12 over 4 ranks.
    let parameters = 512 * 1024 + 1024 * 1024 + 2 * 1024;
    assert_eq!(encoder.1, 4 * parameters + 12 * parameters / 4);
    let config = checked(&change(pair(), 1, json!({"frozen": true}))).config.unwrap();
    let notes = freezing(&config, &estimate(&config));
    assert!(
        notes
            .iter()
            .any(|note| note.contains("images") && note.contains("frozen")),
        "{notes:?}"
    );
}

#[test]
fn ranks_have_the_memory_of_their_stage() {
    let job = jobs::by_id("qwen3.5-vl-27b").unwrap().contents().unwrap().job;
    let config = check(&job).config.unwrap();
    let result = estimate(&config);
    for (rank, module, pp_rank) in [(0, 0, 0), (7, 0, 0), (8, 0, 1), (15, 0, 1), (16, 1, 0)] {
        let memory = rank_memory(&config, &result, rank).unwrap();
        assert_eq!(memory.stages, [StageRef { module, pp_rank }]);
        assert_eq!(memory.total, result.modules[module].stages[pp_rank].total);
    }
    assert_eq!(rank_memory(&config, &result, 17), None);
    assert_eq!(result.worst_rank.stages, [result.worst]);
    assert_eq!(result.worst_rank.total, result.worst_stage().unwrap().total);
}

/// On shared ranks the worst rank has the memory of all modules.
#[test]
fn shared_ranks_add_up() {
    let mut job = change(pair(), 1, json!({"rank_offset": 0, "data_parallel_size": 8}));
    job["modules"][0]["data_parallel_size"] = json!(4);
    job["modules"][0]["tensor_model_parallel_size"] = json!(2);
    job["colocate_modules"] = json!(true);
    let result = checked(&job);
    assert_eq!(result.problems, []);
    let config = result.config.unwrap();
    let estimate = estimate(&config);
    let stages = || estimate.modules.iter().map(|m| &m.stages[0]);
    // A process has its workspaces once.
    let twice = stages().map(|stage| stage.workspaces.0).min().unwrap();
    let both = stages().map(|stage| stage.total.0).sum::<u64>() - twice;
    assert_eq!(estimate.worst_rank.total.0, both);
    assert_eq!(estimate.worst_rank.stages.len(), 2);
    assert_eq!(estimate.worst, StageRef { module: 0, pp_rank: 0 });
    for rank in 0..8 {
        let memory = rank_memory(&config, &estimate, rank).unwrap();
        assert_eq!((memory.total.0, memory.stages.len()), (both, 2));
        let sum: u64 = Bucket::ALL.iter().map(|bucket| memory.bytes(*bucket).0).sum();
        assert_eq!(sum, both);
    }
}

/// An encoder on shared ranks of a pipeline is on its first stage, and has as many micro batches in flight as that
/// stage.
#[test]
fn encoders_share_the_first_stage_of_a_pipeline() {
    for vpp in [None, Some(2), Some(3)] {
        let mut job = change(pair(), 1, json!({"rank_offset": 0, "data_parallel_size": 2}));
        let language = &mut job["modules"][0];
        language["num_layers"] = json!(24);
        language["pipeline_model_parallel_size"] = json!(4);
        language["virtual_pipeline_model_parallel_size"] = json!(vpp);
        language["data_parallel_size"] = json!(2);
        job["colocate_modules"] = json!(true);
        job["micro_batch_size"] = json!(1);
        job["global_batch_size"] = json!(16);
        let result = checked(&job);
        let errors: Vec<_> = result.errors().map(|p| &p.message).collect();
        assert_eq!(errors, [""; 0]);
        let config = result.config.unwrap();
        let estimate = estimate(&config);
        let [language, encoder] = [0, 1].map(|module| &estimate.modules[module].stages);
        assert_eq!((language.len(), encoder.len()), (4, 1));
        // Without interleaving one for each stage; with it two groups, since the first one's backward pass through the
        // first chunk comes after its backward passes through the others.
        let in_flight = match vpp {
            None => 4,
            Some(_) => 8,
        };
        assert_eq!(encoder[0].in_flight[0], in_flight, "{vpp:?}");
        for (rank, modules) in [(0, 2), (1, 2), (2, 1), (7, 1)] {
            let memory = rank_memory(&config, &estimate, rank).unwrap();
            assert_eq!(memory.stages.len(), modules, "rank {rank}");
        }
    }
    let mut other_groups = change(pair(), 1, json!({"rank_offset": 0}));
    other_groups["modules"][0]["pipeline_model_parallel_size"] = json!(2);
    other_groups["modules"][0]["tensor_model_parallel_size"] = json!(2);
    other_groups["colocate_modules"] = json!(true);
    assert!(checked(&other_groups).config.is_none());
}

/// Each mistake is named at the module that has it.
#[test]
fn mistakes_are_named_at_their_module() {
    let cases = [
        ("a gap", change(pair(), 1, json!({"rank_offset": 5})), 1, true),
        ("an overlap", change(pair(), 1, json!({"rank_offset": 2})), 1, true),
        (
            "two of one name",
            change(pair(), 1, json!({"name": "language"})),
            1,
            true,
        ),
        (
            "an encoder with EP",
            change(pair(), 1, json!({"expert_model_parallel_size": 2})),
            1,
            true,
        ),
        ("no language module", change(pair(), 0, json!({"name": "llm"})), 0, true),
        (
            "beyond the world",
            change(pair(), 1, json!({"rank_offset": 8})),
            1,
            true,
        ),
        (
            "TP 3",
            change(pair(), 1, json!({"tensor_model_parallel_size": 3})),
            1,
            true,
        ),
        ("DP 0", change(pair(), 1, json!({"data_parallel_size": 0})), 1, true),
        ("DP 3", change(pair(), 1, json!({"data_parallel_size": 3})), 1, true),
    ];
    for (what, job, module, repair) in cases {
        let found = errors(&job);
        let named = found.iter().find(|p| p.rule == "modules" && p.module == module);
        let named = named.unwrap_or_else(|| panic!("{what}: {found:#?}"));
        assert_eq!(named.repair.is_some(), repair, "{what}: {named:?}");
    }
}

/// Rules about encoders themselves.
#[test]
fn encoders_have_rules_of_their_own() {
    let cases = [
        (json!({"img_h": 230}), "image_by_patch", "224 or 240"),
        (json!({"img_w": 230}), "image_by_patch", "img_w"),
        (
            json!({"spatial_merge_size": 4}),
            "image_by_patch",
            "spatial_merge_size 4",
        ),
        (
            json!({"projector_hidden_size": 1023, "tensor_model_parallel_size": 2, "data_parallel_size": 2}),
            "projector_by_tp",
            "1023",
        ),
        (json!({"projector_output_size": 512}), "projector_output", "1024"),
        (json!({"micro_batch_size": 3}), "module_micro_batch", "8 samples"),
    ];
    for (values, rule, words) in cases {
        let job = change(pair(), 1, values.clone());
        let found = errors(&job);
        let problem = found.iter().find(|p| p.rule == rule && p.module == 1);
        let problem = problem.unwrap_or_else(|| panic!("{values}: {found:#?}"));
        assert!(problem.message.contains(words), "{problem}");
        for fix in &problem.fixes {
            let value: Value = serde_json::from_value(job.clone()).unwrap();
            let mut raw = RawJob::from_value(&value);
            raw.modules[1].settings.set(fix.field, fix.value.clone());
            assert!(!check(&raw).errors().any(|p| p == problem), "{fix:?}");
        }
    }
}

/// An encoder needs no vocabulary and no sequence length of its own.
#[test]
fn encoders_need_less_than_language_models() {
    let job = pair();
    assert!(job["modules"][1].get("vocab_size").is_none());
    assert_eq!(checked(&job).problems, []);
    let features = change(pair(), 1, json!({"front_end": null, "img_h": null}));
    let missing = errors(&features);
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert_eq!(missing[0].fields, [FieldId::seq_length]);
    let tokens = change(pair(), 1, json!({"front_end": "tokens", "seq_length": 128}));
    assert!(errors(&tokens).iter().any(|p| p.rule == "vocabulary" && p.module == 1));
}

/// A list of one module is the plain job, for every model preset.
#[test]
fn single_modules_are_plain_jobs() {
    for preset in PRESETS {
        let plain = preset.contents().unwrap().raw_job();
        let mut listed = plain.clone();
        let module = RawModule {
            name: "language".to_owned(),
            rank_offset: None,
            settings: plain
                .shared
                .iter()
                .filter(|(id, _)| id.field().scope == Scope::Module)
                .map(|(id, value)| (id, value.clone()))
                .collect(),
        };
        for (id, _) in module.settings.iter() {
            listed.shared.unset(id);
        }
        listed.modules.push(module);
        let (plain, listed) = (check(&plain), check(&listed));
        assert_eq!(plain.problems, listed.problems, "{}", preset.id);
        let (plain, listed) = (plain.config.unwrap(), listed.config.unwrap());
        assert_eq!(
            format!("{:?}", estimate(&plain)),
            format!("{:?}", estimate(&listed)),
            "{}",
            preset.id
        );
        assert_eq!(plain.modules()[0].derived(), listed.modules()[0].derived());
    }
}

/// Lines add up to buckets on every stage of every preset job, whatever is frozen.
#[test]
fn lines_add_up() {
    for preset in JOBS {
        for frozen in [None, Some(false), Some(true)] {
            let mut job = preset.contents().unwrap().job;
            for module in &mut job.modules {
                if let Some(frozen) = frozen {
                    module.settings.set(FieldId::frozen, Value::Bool(frozen));
                }
            }
            let config = check(&job).config.unwrap();
            let result = estimate(&config);
            for (module, e) in result.modules.iter().enumerate() {
                for (pp_rank, stage) in e.stages.iter().enumerate() {
                    let lines = stage_lines(&config, &result, StageRef { module, pp_rank });
                    let place = format!("{} module {module} stage {pp_rank} frozen {frozen:?}", preset.id);
                    for bucket in Bucket::ALL {
                        let line = lines.iter().find(|line| line.id == bucket.id());
                        let bytes = line.map_or(0, |line| line.bytes.0);
                        assert_eq!(bytes, stage.bytes(bucket).0, "{place} {}", bucket.id());
                        if let Some(line) = line {
                            assert_eq!(line.children.iter().map(|c| c.bytes.0).sum::<u64>(), bytes, "{place}");
                        }
                    }
                }
            }
        }
    }
}

/// The amount under a label in the lines of a stage, wherever it stands.
fn labelled(lines: &[Line], label: &str) -> u64 {
    let own = |line: &Line| {
        if line.children.is_empty() && line.label.contains(label) {
            line.bytes.0
        } else {
            labelled(&line.children, label)
        }
    };
    lines.iter().map(own).sum()
}

/// What encoders send arrives at the language model's first stage, and every micro batch in flight keeps it.
#[test]
fn outputs_of_encoders_wait_at_the_first_stage() {
    let config = checked(&pair()).config.unwrap();
    let result = estimate(&config);
    let at = StageRef { module: 0, pp_rank: 0 };
    let stage = &result.modules[0].stages[0];
    // Two samples with an image of 14 · 14 patches, 1024 wide, in bf16; one micro batch at a time.
    assert_eq!(stage.in_flight, [1]);
    let lines = stage_lines(&config, &result, at);
    assert_eq!(labelled(&lines, "outputs of the encoders"), 2 * 196 * 1024 * 2);
    // Alone, the language model gets nothing.
    let mut alone = pair();
    alone["modules"].as_array_mut().unwrap().pop();
    alone["world_size"] = json!(4);
    let config = checked(&alone).config.unwrap();
    let result = estimate(&config);
    assert_eq!(
        labelled(&stage_lines(&config, &result, at), "outputs of the encoders"),
        0
    );
}

/// Encoders and the language model are stages of one pipeline (`compute_total_pipeline_stages`).
#[test]
fn encoders_run_ahead_of_the_language_model() {
    let alive = |job: Json| -> Vec<u32> {
        let config = checked(&job).config.unwrap();
        let result = estimate(&config);
        let stages = result.modules.iter().flat_map(|m| &m.stages);
        stages.map(|stage| stage.in_flight[0]).collect()
    };
    let mut job = pair();
    job["global_batch_size"] = json!(64);
    // Language stages first: one of one, then the encoder's one before it.
    assert_eq!(alive(job.clone()), [1, 2]);
    let job = change(
        job,
        0,
        json!({"data_parallel_size": 2, "pipeline_model_parallel_size": 2}),
    );
    assert_eq!(alive(job), [2, 1, 3]);
}

/// A frozen encoder keeps only what its projector needs; frozen linear layers keep no inputs.
#[test]
fn frozen_modules_keep_less() {
    let kept = |job: &Json, module: usize| {
        let config = checked(job).config.unwrap();
        let stage = &estimate(&config).modules[module].stages[0];
        let buckets = Bucket::ALL
            .into_iter()
            .filter(|b| b.usage().is_some_and(|use_| use_ < 5));
        buckets.map(|bucket| stage.bytes(bucket).0).sum::<u64>()
    };
    let frozen = change(pair(), 1, json!({"frozen": true}));
    let (trained, without) = (kept(&pair(), 1), kept(&frozen, 1));
    assert!(without * 4 < trained, "{without} of {trained}");
    let frozen = change(pair(), 0, json!({"frozen": true}));
    let (trained, without) = (kept(&pair(), 0), kept(&frozen, 0));
    assert!(without < trained && without * 2 > trained, "{without} of {trained}");
}
