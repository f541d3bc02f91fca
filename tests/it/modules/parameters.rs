//! Parameters of encoders and projectors, by component and holding.

use std::collections::BTreeMap;

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::{RawJob, Settings};
use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::{Estimate, estimate};
use megatron_memory::model::tensor::{Component, Sharding};
use megatron_memory::presets::encoders::{self, ENCODERS};
use megatron_memory::value::Value;

use crate::{ROOT, oracle};

/// An encoder alone, with changes.
fn alone(id: &str, changes: &[(&str, Value)]) -> Estimate {
    let contents = encoders::by_id(id).unwrap().contents().unwrap();
    let mut shared: Settings = contents.settings;
    for (name, value) in changes {
        shared.set(FieldId::by_name(name).unwrap(), value.clone());
    }
    let raw = RawJob {
        shared,
        ..RawJob::default()
    };
    let checked = check(&raw);
    let config = checked.config.unwrap_or_else(|| panic!("{id}: {:?}", checked.problems));
    estimate(&config)
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// What the published numbers leave out.
fn without_projector(id: &str) -> Vec<(&'static str, Value)> {
    if id.starts_with("internvit") {
        vec![("projector", text("none"))]
    } else {
        // The merger of Qwen's encoders puts out the hidden size of the model that they belong to.
        let output = match id {
            "qwen2.5-vl-vit" | "qwen2.5-omni-audio" => 3584,
            "qwen3-vl-vit" | "qwen2-audio" | "glm-4.5v-vit" => 4096,
            "qwen3-omni-audio" => 2048,
            "gemma-3-siglip" => 2560,
            "gemma-4-vit" => 2816,
            "c-radio-v2-h" => 2688,
            _ => 5120,
        };
        vec![("projector_output_size", Value::Int(output))]
    }
}

#[test]
fn encoders_have_their_published_sizes() {
    for encoder in ENCODERS {
        let published = encoder.contents().unwrap().published;
        let result = alone(encoder.id, &without_projector(encoder.id));
        let total = result.modules[0].parameters.total();
        assert!(
            total.abs_diff(published.total) <= published.tolerance,
            "{}: {total}, published {}",
            encoder.id,
            published.total
        );
        assert_eq!(published.total, encoder.parameters);
    }
}

/// Towers of Megatron-Bridge, whole or split over tensor-parallel ranks, against the real modules.
#[test]
fn towers_have_the_parameters_of_the_real_modules() {
    let oracle = oracle::json("towers.json");
    let towers = oracle["towers"].as_array().unwrap();
    assert_eq!(towers.len(), 41);
    for tower in towers {
        let id = tower["preset"].as_str().unwrap();
        let number = |key: &str| tower[key].as_u64();
        let mut changes = vec![
            ("projector_output_size", number("output")),
            ("tensor_model_parallel_size", number("tensor_model_parallel_size")),
            ("class_token_len", number("class_token_len")),
        ];
        changes.retain(|(_, value)| value.is_some());
        let mut changes: Vec<(&str, Value)> = changes
            .into_iter()
            .map(|(name, value)| (name, Value::Int(value.unwrap().into())))
            .collect();
        for (name, size) in tower["sizes"].as_object().into_iter().flatten() {
            changes.push((name.as_str(), Value::Int(size.as_u64().unwrap().into())));
        }
        // RADIO and EXAONE's are Megatron's, the others are Hugging Face's.
        let of_megatron = matches!(id, "c-radio-v2-h" | "exaone-4.5-vit");
        changes.push(("replicated", Value::Bool(!of_megatron)));
        let result = alone(id, &changes);
        let parameters = result.modules[0].stages[0].parameters();
        let mut counts = [0, 0];
        for (component, _, _, count) in parameters.iter() {
            counts[usize::from(component == Component::Projector)] += count.elements;
        }
        counts[0] += number("not_counted").unwrap_or(0);
        assert_eq!(counts.map(Some), [number("tower"), number("projector")], "{tower}");
    }
}

/// `LoRA` on the layers, the merger and the deepstack mergers of Qwen's towers, against the real modules.
#[test]
fn adapters_are_in_layers_and_projectors_of_towers() {
    let oracle = oracle::json("towers.json");
    let adapted = oracle["adapted"].as_array().unwrap();
    assert_eq!(adapted.len(), 10);
    for tower in adapted {
        let number = |key: &str| Value::Int(tower[key].as_u64().unwrap().into());
        let changes = [
            ("projector_output_size", number("output")),
            ("tensor_model_parallel_size", number("tensor_model_parallel_size")),
            ("peft_type", text("lora")),
            ("peft_dim", number("peft_dim")),
        ];
        let result = alone(tower["preset"].as_str().unwrap(), &changes);
        let parameters = result.modules[0].stages[0].parameters();
        let mut counts = [0, 0];
        for (component, _, _, count) in parameters.iter() {
            counts[usize::from(component == Component::Adapters)] += count.elements;
        }
        let expected = ["tower", "adapters"].map(|key| tower[key].as_u64().unwrap());
        assert_eq!(counts, expected, "{tower}");
    }
}

/// Where Megatron differs from the checkpoint, the difference is exactly what the file's note says.
#[test]
fn differences_from_published_sizes_are_explained() {
    let difference = |id: &str| {
        let published = encoders::by_id(id).unwrap().parameters;
        let total = alone(id, &without_projector(id)).modules[0].parameters.total();
        i128::from(total) - i128::from(published)
    };
    // A weight and a bias of 1024 in the norm after the class token.
    assert_eq!(difference("clip-vit-l-14-336"), -2 * 1024);
    // A bias on the keys of every layer.
    assert_eq!(difference("whisper-large-v3"), 32 * 1280);
    assert_eq!(difference("whisper-base"), 6 * 512);
    assert_eq!(difference("internvit-6b-448"), 5_536_496_000 - 5_540_000_000);
}

#[test]
fn the_list_is_the_folder() {
    for (folder, mut listed) in [
        ("encoders", ENCODERS.iter().map(|e| e.id).collect::<Vec<_>>()),
        (
            "jobs",
            megatron_memory::presets::jobs::JOBS.iter().map(|job| job.id).collect(),
        ),
    ] {
        let path = format!("{ROOT}/src/presets/{folder}");
        let mut files: Vec<String> = std::fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        listed.sort_unstable();
        let listed: Vec<String> = listed.iter().map(|id| format!("{id}.json")).collect();
        assert_eq!(files, listed);
    }
}

fn by_holding(estimate: &Estimate) -> BTreeMap<(&'static str, &'static str), u64> {
    let mut counts = BTreeMap::new();
    for (component, mtp, holding, count) in estimate.modules[0].stages[0].parameters().iter() {
        let holding = match holding {
            Sharding::TpSharded => "sharded",
            Sharding::Replicated => "replicated",
            Sharding::Expert => "expert",
        };
        *counts.entry((component.id(mtp), holding)).or_insert(0) += count.elements;
    }
    counts
}

/// CLIP on two tensor-parallel ranks: everything before the layers is on both.
#[test]
fn front_ends_are_replicated_and_projectors_split() {
    let changes = [
        ("tensor_model_parallel_size", Value::Int(2)),
        ("projector", text("mlp")),
        ("projector_output_size", Value::Int(4096)),
    ];
    let counts = by_holding(&alone("clip-vit-l-14-336", &changes));
    let (h, f, layers) = (1024, 4096, 24);
    let expected = BTreeMap::from([
        (("front_end", "replicated"), 14 * 14 * 3 * h),
        (("class_token", "replicated"), h),
        (("position_embedding", "replicated"), 577 * h),
        (("encoder_norm", "replicated"), 2 * h),
        (("layernorm", "replicated"), layers * 4 * h),
        (("attention", "sharded"), layers * 4 * h * h / 2),
        (("attention_bias", "sharded"), layers * 3 * h / 2),
        (("attention_bias", "replicated"), layers * h),
        (("dense_mlp", "sharded"), layers * 2 * h * f / 2),
        (("dense_mlp_bias", "sharded"), layers * f / 2),
        (("dense_mlp_bias", "replicated"), layers * h),
        (("projector", "sharded"), (h * 4096 + 4096 + 4096 * 4096) / 2),
        (("projector", "replicated"), 4096),
    ]);
    assert_eq!(counts, expected);
}

/// An affine projector is one column-parallel layer, bias and all.
#[test]
fn affine_projectors_have_one_layer() {
    let changes = [
        ("tensor_model_parallel_size", Value::Int(2)),
        ("projector", text("affine")),
        ("projector_output_size", Value::Int(4096)),
    ];
    let counts = by_holding(&alone("clip-vit-l-14-336", &changes));
    assert_eq!(counts[&("projector", "sharded")], (1024 + 1) * 4096 / 2);
    assert!(!counts.contains_key(&("projector", "replicated")));
}

/// `InternViT`'s norms on queries and keys span the heads of a rank.
#[test]
fn norms_over_all_heads_are_split() {
    let changes = [
        ("tensor_model_parallel_size", Value::Int(8)),
        ("num_attention_heads", Value::Int(32)),
        ("projector", text("none")),
    ];
    let counts = by_holding(&alone("internvit-6b-448", &changes));
    assert_eq!(counts[&("qk_layernorm", "sharded")], 45 * 2 * 32 * 128 / 8);
    assert_eq!(counts[&("layer_scaling", "replicated")], 45 * 2 * 3200);
    assert!(!counts.contains_key(&("attention_bias", "sharded")));
}

/// Whisper's positions are a parameter that is never trained.
#[test]
fn fixed_positions_have_weights_but_no_gradients() {
    let bf16 = ("bf16", Value::Bool(true));
    let result = alone("whisper-base", &[bf16]);
    let stage = &result.modules[0].stages[0];
    let trained = stage.parameters().total() - 1500 * 512;
    assert_eq!(stage.memory[0].0, 2 * stage.parameters().total());
    let states: u64 = stage.memory[2..10].iter().map(|bytes| bytes.0).sum();
    assert_eq!(states, 16 * trained);
}

/// Gated delta nets: three layers of four, with the published size of Qwen3.5-27B without its multi-token
/// prediction and its vision tower.
#[test]
fn linear_attention_layers_are_counted() {
    let job = megatron_memory::presets::jobs::by_id("qwen3.5-vl-27b").unwrap();
    let checked = check(&job.contents().unwrap().job);
    let config = checked.config.unwrap();
    let result = estimate(&config);
    let language = &result.modules[0].parameters;
    // The checkpoint has 27 781 427 952 parameters: 460 730 096 in the vision tower, and 424 699 392 in
    // multi-token prediction.
    assert_eq!(language.total(), 27_781_427_952 - 460_730_096 - 424_699_392);
    let linear: u64 = language
        .components()
        .filter(|(component, ..)| component.id(false).starts_with("gdn_"))
        .map(|(.., count)| count)
        .sum();
    let (keys, values) = (16 * 128, 48 * 128);
    let one = 5120 * (2 * keys + 2 * values + 2 * 48) + (2 * keys + values) * 4 + 2 * 48 + 128 + values * 5120;
    assert_eq!(linear, 48 * one);
    // Everything in it but the norm is split over TP 4, and half of the layers are on each stage.
    let local: u64 = result.modules[0].stages[0]
        .parameters()
        .components()
        .filter(|(component, ..)| component.id(false).starts_with("gdn_"))
        .map(|(.., count)| count)
        .sum();
    assert_eq!(local, 24 * ((one - 128) / 4 + 128));
}

/// Transformer Engine keeps one stand-in for each shape of a weight, and deepstack projectors have one shape.
#[test]
fn more_deepstack_projectors_need_no_more_stand_ins() {
    let buffers = |projectors: i128| {
        let changes = [
            ("deepstack_projectors", Value::Int(projectors)),
            ("expandable_segments", Value::Bool(true)),
        ];
        let estimate = alone("qwen3-vl-vit", &changes);
        estimate.worst_stage().unwrap().bytes(Bucket::Buffers)
    };
    assert_eq!(buffers(1), buffers(3));
}

/// The convolutions of Qwen3-Omni's audio encoder keep their inputs, and the activation functions theirs: 640 chunks of
/// 100 frames of 128 bands, which three steps of 2 make 13 tokens of 16 bands.
#[test]
fn convolutions_over_time_and_frequency_keep_their_inputs() {
    let changes = [
        ("bf16", Value::Bool(true)),
        ("audio_tokens_per_sample", Value::Int(640 * 13)),
        ("encoder_post_norm", Value::Bool(false)),
        ("projector", text("none")),
    ];
    let result = alone("qwen3-omni-audio", &changes);
    let grids = [64 * 50, 64 * 50, 32 * 25, 32 * 25, 16 * 13];
    let convolutions: u64 = grids.iter().map(|grid| 480 * grid).sum();
    let chunk = 2 * (128 * 100 + convolutions + 480 * 16 * 13) + 13 * 2 * 8;
    let kept = result.modules[0].stages[0].bytes(Bucket::ActivationsOutput);
    assert_eq!(kept.0, 640 * chunk);
}
