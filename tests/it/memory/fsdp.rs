//! Megatron FSDP against buffers that Megatron's own functions laid out.

use megatron_memory::config::check;
use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::fsdp::{FsdpGroup, place_in_layer, stage_groups};
use megatron_memory::memory::line::{Line, stage_lines};
use megatron_memory::memory::{StageRef, estimate};
use megatron_memory::model::Architecture;
use megatron_memory::parallel::groups::View;
use megatron_memory::presets::PRESETS;
use megatron_memory::units::Bytes;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::jobs::{any_job, config, with};
use super::laws::adds_up;
use crate::oracle;

const FIRST: StageRef = StageRef { module: 0, pp_rank: 0 };

/// The groups of a case, one a line: the layer's number and what is known of its buffer.
fn expected(case: &Json) -> Vec<(Option<u32>, Json)> {
    let mut out = Vec::new();
    let mut unit = 0;
    for run in case["buffers"].as_array().unwrap() {
        let groups = run["groups"].as_array().unwrap();
        let Some(units) = run["units"].as_u64() else {
            out.extend(groups.iter().map(|group| (None, group.clone())));
            continue;
        };
        for _ in 0..units {
            out.extend(groups.iter().map(|group| (Some(unit), group.clone())));
            unit += 1;
        }
    }
    out
}

fn described(group: &FsdpGroup) -> (Option<u32>, Json) {
    let buffer = json!({
        "expert": group.view == View::Expert,
        "parameters": group.parameters,
        "elements": group.elements,
        "chunk_size_factor": group.chunk_size_factor,
        "padded_elements": group.padded_elements,
        "shard_elements": group.shard_elements,
    });
    (group.unit_index, buffer)
}

#[test]
fn every_buffer_is_exact() {
    let files = oracle::files("fsdp");
    assert!(files.len() > 10, "{} cases", files.len());
    for file in files {
        let case = oracle::json(&file);
        let config = config(&case["config"]);
        let groups = stage_groups(&config.modules()[0], 0);
        let groups: Vec<_> = groups.iter().map(described).collect();
        assert_eq!(groups, expected(&case), "{file}");
    }
}

/// A kind of layer whose parameters the order of `named_parameters` does not have would be laid out in another order
/// than Megatron FSDP's.
#[test]
fn every_parameter_of_a_layer_has_its_place() {
    for preset in PRESETS {
        let config = check(&preset.contents().unwrap().raw_job()).config.unwrap();
        for module in config.modules() {
            let architecture = Architecture::new(module);
            let layers = architecture.parts().iter().filter(|part| part.kind.layer().is_some());
            for parameter in layers.flat_map(|part| &part.parameters) {
                assert!(
                    place_in_layer(parameter.name).is_some(),
                    "{}: {}",
                    preset.id,
                    parameter.name
                );
            }
        }
    }
}

/// Bytes of the lines below a line whose label is this.
fn labelled(line: &Line, label: &str) -> u64 {
    let children = line.children.iter();
    let below: u64 = children.map(|child| labelled(child, label)).sum();
    if line.label == label { line.bytes.0 } else { below }
}

#[test]
fn states_and_what_stays_gathered_are_exact() {
    for file in oracle::files("fsdp") {
        let case = oracle::json(&file);
        for (name, expected) in case["steady_bytes"].as_object().unwrap() {
            let (strategy, grads) = name.split_once("/grads_").unwrap();
            let settings = json!({
                "data_parallel_sharding_strategy": strategy,
                "megatron_fsdp_main_grads_dtype": grads,
            });
            let config = config(&with(&case["config"], &settings));
            let estimate = estimate(&config);
            let stage = estimate.worst_stage().unwrap();
            let lines = stage_lines(&config, &estimate, FIRST);
            let padding = lines.iter().flat_map(|line| &line.children);
            let padding: Vec<&Line> = padding.filter(|line| line.label.starts_with("padding")).collect();
            let sum_of = |dense: Bucket, expert: Bucket| {
                let padding = padding.iter().flat_map(|line| &line.children);
                let padding = padding.filter(|line| [dense.label(), expert.label()].contains(&line.label.as_str()));
                let padding: Bytes = padding.map(|line| line.bytes).sum();
                (stage.bytes(dense) + stage.bytes(expert) + padding).0
            };
            let got = json!({
                "weights": sum_of(Bucket::WeightsDense, Bucket::WeightsExpert),
                "main_weights": sum_of(Bucket::MainParamsDense, Bucket::MainParamsExpert),
                "main_grads": sum_of(Bucket::MainGradsDense, Bucket::MainGradsExpert),
                "non_unit_full_weights": lines.iter().map(|line| {
                    labelled(line, "gathered parameters outside of layers")
                }).sum::<u64>(),
            });
            let mut expected = expected.clone();
            let adam = expected.as_object_mut().unwrap().remove("adam").unwrap();
            assert_eq!(got, expected, "{file} {name}");
            // Moments have no padding; counted with it, they are an upper bound.
            let moments = sum_of(Bucket::ExpAvgDense, Bucket::ExpAvgExpert)
                + sum_of(Bucket::ExpAvgSqDense, Bucket::ExpAvgSqExpert);
            assert!(moments <= adam.as_u64().unwrap(), "{file} {name}");
        }
    }
}

/// A legal job without pipeline stages, with so many times two data-parallel ranks.
fn with_ranks(job: &Json, twice: u64, settings: &Json) -> Json {
    let size = |key: &str| job[key].as_u64().unwrap();
    let copy = size("tensor_model_parallel_size") * size("context_parallel_size");
    let mut job = with(
        job,
        &json!({
            "pipeline_model_parallel_size": 1, "world_size": 2 * twice * copy,
            "global_batch_size": size("global_batch_size") * twice,
            "use_megatron_fsdp": true,
        }),
    );
    job.as_object_mut()
        .unwrap()
        .remove("virtual_pipeline_model_parallel_size");
    with(&job, settings)
}

/// Bytes of states and of what pads them, without what stays gathered.
fn states(job: &Json) -> u64 {
    let config = config(job);
    let estimate = estimate(&config);
    let lines = stage_lines(&config, &estimate, FIRST);
    let padding: u64 = lines
        .iter()
        .flat_map(|line| &line.children)
        .filter(|line| line.label.starts_with("padding"))
        .map(|line| line.bytes.0)
        .sum();
    estimate.worst_stage().unwrap().states().0 + padding
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn what_is_split_further_takes_no_more(job in any_job(), twice in 1u64..4, full in any::<bool>()) {
        let with = |strategy: &str| {
            let recompute = if full {
                json!({ "recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1 })
            } else {
                json!({})
            };
            let job = with_ranks(&job, twice, &json!({ "data_parallel_sharding_strategy": strategy }));
            with(&job, &recompute)
        };
        let [optim, gradients, parameters] =
            ["optim", "optim_grads", "optim_grads_params"].map(|strategy| states(&with(strategy)));
        prop_assert!(parameters <= gradients, "{parameters} {gradients}");
        prop_assert!(gradients <= optim, "{gradients} {optim}");
        for strategy in ["no_shard", "optim_grads", "optim_grads_params"] {
            let config = config(&with(strategy));
            let estimate = estimate(&config);
            let lines = stage_lines(&config, &estimate, FIRST);
            lines.iter().for_each(adds_up);
            let sum: Bytes = lines.iter().map(|line| line.bytes).sum();
            prop_assert_eq!(sum, estimate.worst_stage().unwrap().total, "{}", strategy);
        }
    }

    #[test]
    fn one_rank_splits_nothing(job in any_job(), strategy in 0..4usize) {
        let strategies = ["no_shard", "optim", "optim_grads", "optim_grads_params"];
        let size = |key: &str| job[key].as_u64().unwrap();
        let tp = size("tensor_model_parallel_size");
        let alone = json!({
            "context_parallel_size": 1, "world_size": tp, "expert_model_parallel_size": 1,
            "expert_tensor_parallel_size": if job.get("num_experts").is_some() { json!(tp) } else { json!(null) },
            "global_batch_size": size("global_batch_size") / 2, "use_distributed_optimizer": true,
            "megatron_fsdp_main_grads_dtype": "fp32", "keep_fp8_transpose_cache": true,
            "data_parallel_sharding_strategy": strategies[strategy],
        });
        let job = with_ranks(&job, 1, &alone);
        let split = config(&job);
        let plain = config(&with(&job, &json!({ "use_megatron_fsdp": false })));
        let [split_estimate, plain_estimate] = [&split, &plain].map(estimate);
        let [with_fsdp, without] = [&split_estimate, &plain_estimate].map(|e| e.worst_stage().unwrap());
        for bucket in Bucket::ALL.into_iter().filter(|bucket| *bucket != Bucket::Buffers) {
            prop_assert_eq!(with_fsdp.bytes(bucket), without.bytes(bucket), "{:?}", bucket);
        }
        let buffers = |config, estimate| {
            let lines = stage_lines(config, estimate, FIRST).into_iter();
            let lines = lines.filter(|line| line.id == Bucket::Buffers.id());
            let lines = lines.flat_map(|line| line.children);
            // What is padded, and what the allocator does not split, depends on how buffers are cut.
            let cut = ["padding", "rests", "copies of weights in fp8"];
            let own = |line: &Line| !cut.iter().any(|start| line.label.starts_with(start));
            lines.filter(own).map(|line| (line.label, line.bytes)).collect::<Vec<_>>()
        };
        prop_assert_eq!(buffers(&split, &split_estimate), buffers(&plain, &plain_estimate));
    }
}

/// Six equal layers whose activations are the largest of all, on eight ranks.
fn small_job(settings: &Json) -> Json {
    let job = json!({
        "num_layers": 6, "hidden_size": 512, "num_attention_heads": 8, "seq_length": 2048,
        "padded_vocab_size": 1024, "bf16": true, "world_size": 8, "swiglu": true, "add_bias_linear": false,
        "untie_embeddings_and_output_weights": true, "position_embedding_type": "rope",
        "use_megatron_fsdp": true,
    });
    with(&job, settings)
}

/// Elements of one layer's buffer.
fn layer_elements(job: &Json) -> u64 {
    let config = config(job);
    let groups = stage_groups(&config.modules()[0], 0);
    groups
        .iter()
        .find(|group| group.unit_index == Some(0))
        .unwrap()
        .padded_elements
}

/// Bytes of what a line of the peak counts, by the end of its label.
fn at_peak(job: &Json, label: &str) -> u64 {
    let config = config(job);
    let estimate = estimate(&config);
    let lines = stage_lines(&config, &estimate, FIRST);
    let all = lines.iter().flat_map(|line| &line.children);
    all.filter(|line| line.label.ends_with(label))
        .map(|line| line.bytes.0)
        .sum()
}

#[test]
fn layers_are_gathered_ahead_up_to_half_of_the_communication_size() {
    let gathered = |settings: Json| at_peak(&small_job(&settings), "parameters gathered for layers");
    let layer = layer_elements(&small_job(&json!({})));
    // The heaviest moment is in the last layer's backward pass; the layers before it are gathered ahead.
    assert_eq!(gathered(json!({})), 6 * layer * 2);
    for (size, layers) in [(1, 1), (2, 2), (2 * layer, 2), (2 * layer + 2, 3)] {
        let settings = json!({ "suggested_communication_unit_size": size });
        assert_eq!(gathered(settings), layers * layer * 2, "{size}");
    }
    assert_eq!(gathered(json!({ "data_parallel_sharding_strategy": "optim_grads" })), 0);
    assert_eq!(gathered(json!({ "fsdp_double_buffer": true })), 0);
}

#[test]
fn double_buffers_hold_two_layers() {
    let layer = layer_elements(&small_job(&json!({})));
    let weights = "double buffers for gathered parameters";
    let gradients = "double buffers for unreduced gradients";
    for (settings, expected) in [
        (json!({}), [0, 0]),
        (json!({ "fsdp_double_buffer": true }), [4 * layer, 4 * layer]),
        (json!({ "use_nccl_ub": true }), [4 * layer, 4 * layer]),
        (
            json!({ "fsdp_double_buffer": true, "megatron_fsdp_grad_comm_dtype": "fp32" }),
            [4 * layer, 8 * layer],
        ),
        (
            json!({ "fsdp_double_buffer": true, "data_parallel_sharding_strategy": "optim_grads" }),
            [0, 4 * layer],
        ),
        (
            json!({ "fsdp_double_buffer": true, "data_parallel_sharding_strategy": "optim" }),
            [0, 0],
        ),
    ] {
        let job = small_job(&settings);
        let got = [weights, gradients].map(|label| at_peak(&job, label));
        assert_eq!(got, expected, "{settings}");
    }
}

#[test]
fn instances_split_main_parameters_where_they_are_told_to() {
    let bytes = |settings: Json| {
        let config = config(&small_job(&with(
            &json!({ "num_distributed_optimizer_instances": 2 }),
            &settings,
        )));
        let estimate = estimate(&config);
        let stage = estimate.worst_stage().unwrap();
        [
            Bucket::WeightsDense,
            Bucket::MainGradsDense,
            Bucket::MainParamsDense,
            Bucket::ExpAvgDense,
        ]
        .map(|bucket| stage.bytes(bucket).0)
    };
    let [weights, gradients, main, moments] = bytes(json!({}));
    assert_eq!(weights, gradients);
    assert_eq!((main, moments), (2 * weights, 2 * weights));
    let outer = bytes(json!({ "outer_dp_sharding_strategy": "optim" }));
    assert_eq!(outer, [weights, gradients, main / 2, moments / 2]);
}

/// A row of an adapter's first matrix is as long as the layer's input on a rank, and one of its second matrix as long as
/// the rank of the adapter; matrices of grouped experts have a row an expert.
#[test]
fn adapters_are_cut_between_rows() {
    let buffers = |settings: Json| {
        let config = config(&small_job(&settings));
        let groups = stage_groups(&config.modules()[0], 0);
        let sizes = groups
            .iter()
            .map(|group| (group.parameters, group.elements, group.chunk_size_factor));
        sizes.collect::<Vec<_>>()
    };
    let lora = json!({"peft": {"type": "lora", "dim": 8, "target_modules": ["linear_proj"]}});
    assert!(buffers(lora.clone()).contains(&(2, 2 * 8 * 512, 512)));
    let split = with(&lora, &json!({"tensor_model_parallel_size": 2}));
    assert!(buffers(split).contains(&(2, 2 * 8 * 256, 256)));
    // Each expert has matrices of 8 by 512 and 512 by 8, in one parameter each.
    let experts = json!({
        "num_experts": 8, "moe_router_topk": 2, "moe_grouped_gemm": true, "moe_ffn_hidden_size": 256,
        "moe_token_dispatcher_type": "alltoall",
        "peft": {"type": "lora", "dim": 8, "target_modules": ["linear_fc1"], "share_expert_adapters": false},
    });
    assert!(
        buffers(experts.clone()).contains(&(2, 2 * 8 * 8 * 512, 8 * 512)),
        "{:?}",
        buffers(experts)
    );
}
