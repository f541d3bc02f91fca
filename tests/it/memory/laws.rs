//! What holds for every job.

use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::line::{Line, stage_lines};
use megatron_memory::memory::overhead::memory_range;
use megatron_memory::memory::{StageRef, estimate, timeline};
use megatron_memory::model::sizes::Sizes;
use megatron_memory::model::tape::ActivationTensor;
use megatron_memory::model::tape::recompute::{self, RecomputeOptions};
use megatron_memory::model::{LayerSpec, layer_tape};
use megatron_memory::units::Bytes;
use proptest::prelude::*;
use serde_json::json;

use super::jobs::{any_job, config, with};

pub(super) fn adds_up(line: &Line) {
    if !line.children.is_empty() {
        let sum: Bytes = line.children.iter().map(|child| child.bytes).sum();
        assert_eq!(sum, line.bytes, "{}", line.id);
        line.children.iter().for_each(adds_up);
        return;
    }
    let formula = line.formula.as_ref().expect("a product or a sum");
    let bare = formula.legend().iter().any(|(symbol, _)| *symbol == "bytes");
    assert!(!bare, "{} has no factors: {formula:?}", line.id);
}

fn recompute_options() -> impl Strategy<Value = serde_json::Value> {
    prop_oneof![
        Just(json!({})),
        Just(json!({"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1})),
        Just(json!({"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 3})),
        Just(json!({"recompute_granularity": "full", "recompute_method": "block", "recompute_num_layers": 1})),
        Just(json!({"recompute_granularity": "selective", "recompute_modules": ["core_attn"]})),
        Just(json!({"recompute_granularity": "selective", "recompute_modules": ["core_attn", "layernorm", "mlp"]})),
        Just(
            json!({"recompute_granularity": "selective", "recompute_modules": ["moe", "shared_experts", "layernorm"]})
        ),
        Just(json!({"fine_grained_activation_offloading": true, "offload_modules": ["core_attn", "attn_proj"]})),
        Just(json!({
            "fine_grained_activation_offloading": true, "min_offloaded_tensor_size": 1000,
            "offload_modules": ["attn_norm", "qkv_linear", "core_attn", "mlp_norm", "expert_fc1", "moe_act"],
            "recompute_granularity": "selective", "recompute_modules": ["layernorm", "mlp"],
        })),
        (1..8).prop_map(|layers| json!({"cpu_offloading_num_layers": layers})),
    ]
}

/// A job with such options, without pipeline stages where these exclude them.
fn saving(job: &serde_json::Value, recompute_options: &serde_json::Value) -> serde_json::Value {
    let mut job = with(job, recompute_options);
    if recompute_options.get("cpu_offloading_num_layers").is_some() {
        let size = |key: &str| job[key].as_u64().unwrap();
        let world = 2 * size("tensor_model_parallel_size") * size("context_parallel_size");
        job = with(&job, &json!({"pipeline_model_parallel_size": 1, "world_size": world}));
        let job = job.as_object_mut().unwrap();
        job.remove("virtual_pipeline_model_parallel_size");
    }
    job
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn lines_add_up_to_buckets_and_buckets_to_the_peak(job in any_job(), recompute_options in recompute_options()) {
        let config = config(&saving(&job, &recompute_options));
        let estimate = estimate(&config);
        for (pp_rank, stage) in estimate.modules[0].stages.iter().enumerate() {
            let sum: Bytes = Bucket::ALL.iter().map(|bucket| stage.bytes(*bucket)).sum();
            prop_assert_eq!(sum, stage.total);
            prop_assert!(stage.steady <= stage.total);
            let place = StageRef { module: 0, pp_rank };
            let timeline = timeline(&config, place, 20).unwrap();
            for point in &timeline.points {
                prop_assert_eq!(point.memory.iter().copied().sum::<Bytes>(), point.total);
            }
            let most = timeline.points.iter().map(|point| point.total).max().unwrap();
            let step: Bytes = timeline.optimizer_step.iter().copied().sum();
            prop_assert!(timeline.steady <= step);
            prop_assert_eq!(most.max(step), stage.total);
            let band = memory_range(&config.modules()[0], config.gpu_memory(), stage.total, stage.graphs);
            prop_assert!(stage.total < band.low && band.low < band.high);
            let lines = stage_lines(&config, &estimate, StageRef { module: 0, pp_rank });
            lines.iter().for_each(adds_up);
            for bucket in Bucket::ALL {
                let line = lines.iter().find(|line| line.id == bucket.id());
                let bytes = line.map_or(Bytes::ZERO, |line| line.bytes);
                prop_assert_eq!(bytes, stage.bytes(bucket), "{} at {}", bucket.id(), stage.moment);
            }
        }
    }
}

/// What one live micro batch keeps on the worst stage, all activation buckets together.
fn kept(job: &serde_json::Value) -> u64 {
    let config = config(job);
    let m = &config.modules()[0];
    let sizes = Sizes::new(m);
    let tape = layer_tape(&sizes, LayerSpec::all(m)[0]);
    let recompute_options = RecomputeOptions::of(m);
    let tensors = recompute::kept(&tape, recompute_options);
    tensors.iter().map(ActivationTensor::allocated).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Full recompute keeps the layer's input, which is no more than any selective choice, which is no more than
    /// nothing recomputed; further modules only save more. In fp8 that is not so: what runs again needs its input in
    /// bf16.
    #[test]
    fn recompute_never_keeps_more(job in any_job(), chosen in prop::sample::subsequence(vec!["core_attn", "layernorm", "mlp", "moe", "moe_act", "shared_experts", "mla_up_proj"], 0..7)) {
        let mut job = job;
        job.as_object_mut().unwrap().retain(|key, _| !key.contains("fp8") && key != "first_last_layers_bf16");
        let legal = |module: &&str| match *module {
            "mla_up_proj" => job.get("multi_latent_attention").is_some(),
            "moe_act" | "moe" | "shared_experts" => job.get("num_experts").is_some(),
            // Fused attention keeps copies of queries, keys and values; to run it again keeps the whole fused
            // projection that they are views of, which is more where heads share keys.
            "core_attn" => job["attention_backend"] == "unfused",
            _ => true,
        };
        let chosen: Vec<&str> = chosen.into_iter().filter(legal).collect();
        let selective = |modules: &[&str]| {
            kept(&with(&job, &json!({"recompute_granularity": "selective", "recompute_modules": modules})))
        };
        let none = kept(&job);
        let mut before = none;
        for count in 0..=chosen.len() {
            let now = selective(&chosen[..count]);
            prop_assert!(now <= before, "{:?}: {} but {}", &chosen[..count], now, before);
            before = now;
        }
        let config = config(&job);
        let sizes = Sizes::new(&config.modules()[0]);
        let input = sizes.residual().elements() * sizes.width();
        prop_assert!(input <= before);
    }

    /// More tensor parallelism never keeps more on a rank.
    #[test]
    fn tensor_parallelism_never_keeps_more(job in any_job()) {
        let tp = job["tensor_model_parallel_size"].as_u64().unwrap();
        let moe = job.get("num_experts").is_some();
        let ranks = job["world_size"].as_u64().unwrap();
        let more = json!({
            "tensor_model_parallel_size": 2 * tp, "world_size": 2 * ranks,
            "sequence_parallel": job["sequence_parallel"].as_bool().unwrap() || moe,
        });
        prop_assert!(kept(&with(&job, &more)) <= kept(&job));
    }
}
