//! Tests of `config`: what is refused and why, and laws over all input.

mod facts;
mod fixes;
mod gpus;
mod illegal;
mod laws;
mod layer_sizes;
mod megatron;
mod not_modelled;
mod refusals;
mod software;
mod step;
mod wasteful;

use megatron_memory::config::fields::FieldId;
use megatron_memory::config::problem::{Problem, Severity};
use megatron_memory::config::raw::RawJob;
use megatron_memory::config::{Checked, check};
use megatron_memory::value::Value;
use serde_json::{Value as Json, json};

/// A small dense job that nothing is wrong with.
pub(crate) fn dense() -> Json {
    json!({
        "num_layers": 16, "hidden_size": 1024, "ffn_hidden_size": 4096, "num_attention_heads": 16, "vocab_size": 50257,
        "max_position_embeddings": 4096, "seq_length": 4096, "world_size": 32, "tensor_model_parallel_size": 2,
        "pipeline_model_parallel_size": 4, "sequence_parallel": true, "global_batch_size": 64, "bf16": true,
        "use_distributed_optimizer": true
    })
}

/// A small MoE job that nothing is wrong with.
pub(crate) fn moe() -> Json {
    with(
        dense(),
        json!({
            "num_experts": 160, "moe_ffn_hidden_size": 512, "moe_router_topk": 4, "expert_model_parallel_size": 4,
            "expert_tensor_parallel_size": 1, "add_bias_linear": false
        }),
    )
}

pub(crate) fn with(mut job: Json, changes: Json) -> Json {
    for (key, value) in changes.as_object().unwrap() {
        job[key] = value.clone();
    }
    job
}

pub(crate) fn checked(job: &Json) -> Checked {
    let value: Value = serde_json::from_value(job.clone()).unwrap();
    check(&RawJob::from_value(&value))
}

fn errors(job: &Json) -> Vec<Problem> {
    let checked = checked(job);
    assert_eq!(
        checked.config.is_none(),
        checked.errors().next().is_some(),
        "{:?}",
        checked.problems
    );
    checked.errors().cloned().collect()
}

#[test]
fn the_jobs_of_these_tests_are_fine() {
    for job in [dense(), moe()] {
        assert_eq!(checked(&job).problems, []);
    }
}

/// A job, a wrong change, the rule that refuses it, a field that shows it and words of the message.
type Case = (Json, Json, &'static str, &'static str, &'static str);

/// Wrong changes.
fn cases() -> Vec<Case> {
    vec![
        (
            dense(),
            json!({"tensor_model_parallel_size": 3, "world_size": 48}),
            "heads_by_tp",
            "num_attention_heads",
            "2 or 4",
        ),
        (
            dense(),
            json!({"group_query_attention": true, "num_query_groups": 3, "num_attention_heads": 18, "kv_channels": 64}),
            "groups_by_tp",
            "num_query_groups",
            "multiple or a divisor",
        ),
        (
            dense(),
            json!({"num_attention_heads": 10, "kv_channels": null}),
            "head_width",
            "kv_channels",
            "multiple",
        ),
        (
            dense(),
            json!({"ffn_hidden_size": 4097}),
            "ffn_by_tp",
            "ffn_hidden_size",
            "4096",
        ),
        (
            dense(),
            json!({"pipeline_model_parallel_size": 3, "world_size": 48}),
            "stages",
            "num_layers",
            "3",
        ),
        (
            dense(),
            json!({"virtual_pipeline_model_parallel_size": 3}),
            "stages",
            "virtual_pipeline_model_parallel_size",
            "3",
        ),
        (
            dense(),
            json!({"world_size": 4}),
            "world_holds_one_copy",
            "world_size",
            "8 GPUs",
        ),
        (
            dense(),
            json!({"world_size": 20}),
            "world_by_copy",
            "world_size",
            "16 or 24",
        ),
        (
            dense(),
            json!({"global_batch_size": 65}),
            "global_batch",
            "global_batch_size",
            "64 or 68",
        ),
        (
            dense(),
            json!({"context_parallel_size": 2, "seq_length": 4095}),
            "sequence_by_cp",
            "seq_length",
            "4096",
        ),
        (
            dense(),
            json!({"pipeline_model_parallel_layout": "Et*4|x"}),
            "layout",
            "pipeline_model_parallel_layout",
            "x",
        ),
        (
            dense(),
            json!({"pipeline_model_parallel_layout": "Et*4|t*4|t*4|t*3L"}),
            "stages",
            "pipeline_model_parallel_layout",
            "15",
        ),
        (
            dense(),
            json!({"expert_model_parallel_size": 2}),
            "ep_needs_experts",
            "num_experts",
            "dense",
        ),
        (
            moe(),
            json!({"expert_model_parallel_size": 12}),
            "experts_by_ep",
            "expert_model_parallel_size",
            "10",
        ),
        (
            moe(),
            json!({"expert_model_parallel_size": 5}),
            "expert_grid",
            "expert_tensor_parallel_size",
            "4",
        ),
        (
            moe(),
            json!({"moe_layer_freq": [0, 1]}),
            "layer_freq_length",
            "moe_layer_freq",
            "16",
        ),
        (
            moe(),
            json!({"moe_layer_freq": {"a": 1}}),
            "value",
            "moe_layer_freq",
            "dict",
        ),
        (
            moe(),
            json!({"moe_layer_freq": "([0]*3+[1"}),
            "value",
            "moe_layer_freq",
            "character",
        ),
        (
            moe(),
            json!({"add_bias_linear": true, "expert_tensor_parallel_size": 2}),
            "expert_bias_needs_etp_1",
            "add_bias_linear",
            "ETP",
        ),
        (
            moe(),
            json!({"sequence_parallel": false}),
            "moe_needs_sequence_parallel",
            "sequence_parallel",
            "sequence_parallel",
        ),
        (moe(), json!({"moe_router_topk": 200}), "topk", "num_experts", "160"),
        (
            dense(),
            json!({"recompute_granularity": "full"}),
            "full_needs_method",
            "recompute_method",
            "uniform or block",
        ),
        (
            dense(),
            json!({"recompute_granularity": "selective", "recompute_num_layers": 1}),
            "selective_excludes",
            "recompute_num_layers",
            "takes no",
        ),
        (
            dense(),
            json!({"defer_embedding_wgrad_compute": true, "gradient_accumulation_fusion": false}),
            "deferred_gradient",
            "gradient_accumulation_fusion",
            "needs gradient_accumulation_fusion",
        ),
        (
            dense(),
            json!({"overlap_moe_expert_parallel_comm": true, "recompute_granularity": "selective", "recompute_modules": "moe"}),
            "expert_overlap",
            "recompute_modules",
            "excludes recompute module moe",
        ),
        (
            dense(),
            json!({"fine_grained_activation_offloading": true, "offload_modules": "core_attn", "cpu_offloading_num_layers": 1}),
            "offload_excludes",
            "cpu_offloading_num_layers",
            "excludes",
        ),
        (
            dense(),
            json!({"fine_grained_activation_offloading": true, "offload_modules": "moe_act", "recompute_granularity": "selective", "recompute_modules": "moe"}),
            "offload_recomputed",
            "recompute_modules",
            "runs them again",
        ),
        (
            dense(),
            json!({"recompute_granularity": "selective", "recompute_modules": "moe_act"}),
            "moe_act_needs_grouped_gemm",
            "moe_grouped_gemm",
            "grouped",
        ),
        (dense(), json!({"fp16": true}), "one_precision", "fp16", "exclude"),
        (
            dense(),
            json!({"fp32_residual_connection": true, "bf16": false}),
            "fp32_residual",
            "fp32_residual_connection",
            "needs bf16 or fp16",
        ),
        (
            dense(),
            json!({"mtp_num_layers": 1, "position_embedding_type": "learned_absolute"}),
            "mtp_positions",
            "mtp_num_layers",
            "not supported with position_embedding_type learned_absolute",
        ),
        (
            dense(),
            json!({"squared_relu": true, "swiglu": false, "add_bias_linear": true}),
            "fused_activation",
            "bias_gelu_fusion",
            "no kernel",
        ),
        (
            dense(),
            json!({"moe_router_enable_expert_bias": true}),
            "expert_bias",
            "moe_router_score_function",
            "sigmoid or sqrtsoftplus",
        ),
        (
            dense(),
            json!({"exp_avg_dtype": "bf16"}),
            "dtypes_need_precision_aware",
            "exp_avg_dtype",
            "use_precision_aware_optimizer",
        ),
        (
            dense(),
            json!({"fp8_param_gather": true}),
            "fp8",
            "fp8_format",
            "needs fp8_format",
        ),
        (
            dense(),
            json!({"fp8_format": "hybrid", "fp8_param_gather": true, "use_distributed_optimizer": false}),
            "fp8",
            "use_distributed_optimizer",
            "needs use_distributed_optimizer",
        ),
        (
            dense(),
            json!({"fp8_format": "hybrid", "first_last_layers_bf16": true}),
            "fp8",
            "fp8_recipe",
            "delayed",
        ),
        (
            dense(),
            json!({"fp8_format": "hybrid", "fp8_recipe": "tensorwise", "first_last_layers_bf16": true, "num_layers_at_end_in_bf16": 100}),
            "fp8",
            "num_layers_at_end_in_bf16",
            "at most num_layers / PP = ",
        ),
        (
            dense(),
            json!({"fp8_format": "hybrid", "gpu": "a100-80gb"}),
            "fp8",
            "gpu",
            "Ampere",
        ),
        (
            dense(),
            json!({"fp8_format": "e4m3", "fp8_recipe": "mxfp8", "gpu": "h100-80gb"}),
            "fp8",
            "gpu",
            "Blackwell",
        ),
        (
            dense(),
            json!({"swiglu": false, "activation_func_fp8_input_store": true}),
            "fp8",
            "swiglu",
            "needs swiglu",
        ),
        (
            moe(),
            json!({"moe_router_padding_for_quantization": true}),
            "fp8",
            "moe_router_padding_for_quantization",
            "needs fp8_format",
        ),
        (
            moe(),
            json!({"fp8_format": "hybrid", "fine_grained_activation_offloading": true, "offload_modules": "expert_fc1"}),
            "fp8",
            "offload_modules",
            "delayed",
        ),
        (
            moe(),
            json!({"moe_expert_capacity_factor": 0}),
            "value",
            "moe_expert_capacity_factor",
            "between 0.000001",
        ),
        (
            moe(),
            json!({"expert_load_imbalance": 0.9}),
            "value",
            "expert_load_imbalance",
            "between 1",
        ),
    ]
}

#[test]
fn every_rule_names_its_fields_and_what_would_work() {
    for (job, change, rule, field, words) in cases() {
        let field = FieldId::by_name(field).unwrap();
        let found = errors(&with(job, change.clone()));
        let problem = found.iter().find(|p| p.rule == rule && p.fields.contains(&field));
        let Some(problem) = problem else {
            panic!("{change}: no {rule} in {found:#?}")
        };
        assert!(
            problem.message.contains(words.trim_end_matches("ETP")),
            "{change}: {problem}"
        );
    }
}

#[test]
fn all_problems_come_at_once() {
    let job = with(
        moe(),
        json!({
            "num_layers": "many", "moe_router_topk": 0, "expert_model_parallel_size": 12, "global_batch_size": 65, "fp16": true
        }),
    );
    let rules: Vec<&str> = errors(&job).iter().map(|p| p.rule).collect();
    assert_eq!(rules.iter().filter(|rule| **rule == "value").count(), 2, "{rules:?}");
    for rule in ["experts_by_ep", "global_batch", "one_precision"] {
        assert!(rules.contains(&rule), "{rule} not in {rules:?}");
    }
}

/// Zero, negative, empty, text, 1e99 and 10^18 in every number.
#[test]
fn numbers_that_mean_nothing_are_refused_in_every_field() {
    use megatron_memory::config::field::Kind;
    let numbers = FieldId::ALL
        .iter()
        .filter(|id| matches!(id.field().kind, Kind::Int { .. } | Kind::Decimal { .. }));
    let mut tried = 0;
    for id in numbers {
        let (Kind::Int { min, .. } | Kind::Decimal { min, .. }) = id.field().kind else {
            continue;
        };
        let mut bad = vec![
            json!(-1),
            json!(""),
            json!("many"),
            json!(1e99),
            json!("1e99"),
            json!("-3"),
            json!([1]),
            json!({}),
        ];
        if min > 0 {
            bad.push(json!(0));
            bad.push(json!("0"));
        }
        let limit = matches!(id.field().kind, Kind::Int { max, .. } if max < 1_000_000_000_000_000_000);
        if limit {
            bad.push(json!(1_000_000_000_000_000_000_u64));
        }
        for value in bad {
            let name = id.field().name;
            let found = errors(&with(moe(), json!({ name: value.clone() })));
            let named = found.iter().any(|p| p.fields.contains(id) && p.message.contains(name));
            assert!(named, "{name} = {value}: {found:?}");
            tried += 1;
        }
    }
    assert!(tried > 400, "{tried}");
}

#[test]
fn numbers_may_be_written_as_people_write_them() {
    for text in [
        "4096", " 4096 ", "4_096", "4,096", "4 096", "4096.0", "4.096e3", "4k", "+4096",
    ] {
        let checked = checked(&with(dense(), json!({"seq_length": text})));
        assert_eq!(checked.config.unwrap().modules()[0].args().seq_length, 4096, "{text}");
    }
}

#[test]
fn unknown_keys_warn_and_name_the_nearest_field() {
    let checked = checked(&with(dense(), json!({"num_layer": 3, "colour": "red"})));
    let warnings: Vec<_> = checked.warnings().map(ToString::to_string).collect();
    assert!(checked.config.is_some());
    let about = |key: &str| warnings.iter().find(|w| w.starts_with(key)).unwrap();
    assert!(about("num_layer ").contains("did you mean num_layers?"));
    assert!(!about("colour").contains("did you mean"));
}

#[test]
fn null_is_the_default_and_dashes_are_underscores() {
    let plain = checked(&dense()).config.unwrap();
    let dashed = with(
        dense(),
        json!({"kv-channels": 64, "num_experts": null, "mtp-num-layers": null}),
    );
    let dashed = checked(&dashed).config.unwrap();
    assert_eq!(plain.modules()[0].derived(), dashed.modules()[0].derived());
}

#[test]
fn one_module_in_a_list_is_the_plain_job() {
    let plain = moe();
    let mut module = moe();
    module["name"] = json!("language");
    let world = module.as_object_mut().unwrap().remove("world_size").unwrap();
    let batch = module.as_object_mut().unwrap().remove("global_batch_size").unwrap();
    let listed = json!({"world_size": world, "global_batch_size": batch, "modules": [module]});
    let (plain, listed) = (checked(&plain).config.unwrap(), checked(&listed));
    assert_eq!(listed.problems, []);
    let listed = listed.config.unwrap();
    assert_eq!(plain.modules()[0].derived(), listed.modules()[0].derived());
    let (a, b) = (
        megatron_memory::memory::estimate(&plain),
        megatron_memory::memory::estimate(&listed),
    );
    assert_eq!(format!("{a:?}"), format!("{b:?}"));
}

#[test]
fn modules_that_do_not_tile_the_world_are_named() {
    let encoder = json!({"name": "images", "num_layers": 4, "tensor_model_parallel_size": 1, "pipeline_model_parallel_size": 1,
        "sequence_parallel": false, "data_parallel_size": 8, "rank_offset": 20});
    let mut language = dense();
    for key in ["world_size", "global_batch_size"] {
        language.as_object_mut().unwrap().remove(key);
    }
    language["name"] = json!("language");
    language["data_parallel_size"] = json!(2);
    let mut shared = dense();
    shared["world_size"] = json!(24);
    shared["modules"] = json!([language, encoder]);
    let found = errors(&shared);
    assert!(
        found
            .iter()
            .any(|p| p.rule == "modules" && p.severity == Severity::Error && p.repair.is_some()),
        "{found:?}"
    );
}

#[test]
fn layer_patterns_are_read_as_python_reads_them() {
    let config = |pattern: &str| {
        let settings = json!({
            "num_layers": 6, "hidden_size": 64, "num_attention_heads": 4, "seq_length": 16, "vocab_size": 64, "num_experts": 4,
            "add_bias_linear": false, "moe_layer_freq": pattern,
        });
        let value: Value = serde_json::from_value(settings).unwrap();
        let config = check(&RawJob::from_value(&value)).config?;
        let pattern = &config.modules()[0].args().moe_layer_freq;
        Some(format!("{pattern:?}"))
    };
    let expected = config("[0,0,0,1,1,1]");
    assert!(expected.is_some());
    for pattern in [
        "([0]*3+[1]*3)",
        "3*[0]+[1]*3",
        "3*[0]+3*([1])",
        "([0]+[0]*2)+1*3*[1]",
        "[0]*3+0*[1,0]+3*[1]",
    ] {
        assert_eq!(config(pattern), expected, "{pattern}");
    }
    for pattern in ["3[0]+[1]*3", "3*+[0]", "3*3", "*[0]", "[0]*[1]"] {
        assert_eq!(config(pattern), None, "{pattern}");
    }
}

#[test]
fn a_width_that_no_layer_has_need_not_be_even() {
    let rules = |freq: &str| {
        let settings = json!({
            "num_layers": 4, "hidden_size": 64, "num_attention_heads": 4, "seq_length": 16, "vocab_size": 64, "num_experts": 4,
            "add_bias_linear": false, "moe_ffn_hidden_size": 64, "ffn_hidden_size": 1001, "expert_tensor_parallel_size": 1,
            "tensor_model_parallel_size": 2, "sequence_parallel": true, "world_size": 2, "moe_layer_freq": freq,
        });
        let value: Value = serde_json::from_value(settings).unwrap();
        let checked = check(&RawJob::from_value(&value));
        checked.errors().map(|p| p.rule).collect::<Vec<_>>()
    };
    assert!(rules("1").is_empty(), "{:?}", rules("1"));
    assert_eq!(rules("[0]+[1]*3"), ["ffn_by_tp"]);
}
