//! What Megatron-LM refuses at the pinned revision, each with the smallest change that makes it refuse, and what it
//! takes although it looks alike.

use megatron_memory::config::canonical::meaning;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::problem::Severity::{self, Error, Warning};
use megatron_memory::config::raw::RawJob;
use megatron_memory::value::Value;
use serde_json::{Value as Json, json};

use super::{checked, with};

/// A small dense job of one GPU.
fn plain() -> Json {
    json!({"num_layers": 4, "hidden_size": 1024, "num_attention_heads": 16, "seq_length": 2048, "vocab_size": 32000,
        "bf16": true, "position_embedding_type": "rope"})
}

/// The same with experts.
fn experts() -> Json {
    let experts = json!({"num_experts": 8, "moe_ffn_hidden_size": 1024, "add_bias_linear": false, "swiglu": true,
        "normalization": "RMSNorm", "moe_token_dispatcher_type": "alltoall", "moe_grouped_gemm": true});
    with(plain(), experts)
}

/// The same with multi-latent attention.
fn latent() -> Json {
    let latent = json!({"multi_latent_attention": true, "add_bias_linear": false, "normalization": "RMSNorm", "swiglu": true});
    with(plain(), latent)
}

/// A job, a change that Megatron stops at, and the rule that says so with how bad it is.
pub(super) type Refused = (Json, Json, (&'static str, Severity));

pub(super) fn cases() -> Vec<Refused> {
    let mut cases = of_attention();
    cases.extend(of_experts());
    let sgd = json!({"optimizer": "sgd", "use_distributed_optimizer": true});
    cases.push((plain(), sgd, ("distributed_sgd", Error)));
    cases
}

fn of_attention() -> Vec<Refused> {
    let plain = |change, rule, severity| (plain(), change, (rule, severity));
    let latent = |change, rule, severity| (latent(), change, (rule, severity));
    let local = |more: Json| with(json!({"transformer_impl": "local"}), more);
    let split = |more: Json| with(json!({"context_parallel_size": 2}), more);
    let linear = |more: Json| with(json!({"experimental_attention_variant": "gdn"}), more);
    vec![
        plain(split(json!({"bf16": false})), "context_parallel", Warning),
        plain(
            split(
                json!({"context_parallel_size": 4, "tensor_model_parallel_size": 8, "cp_comm_type": "a2a"}),
            ),
            "cp_comm_type",
            Error,
        ),
        plain(
            split(
                json!({"cp_comm_type": "a2a", "group_query_attention": true, "num_query_groups": 1}),
            ),
            "cp_comm_type",
            Error,
        ),
        latent(split(json!({"cp_comm_type": "a2a"})), "cp_comm_type", Error),
        latent(
            split(json!({"cp_comm_type": "all_gather"})),
            "cp_comm_type",
            Error,
        ),
        plain(linear(json!({})), "linear_attention", Error),
        plain(
            linear(local(json!({"linear_attention_freq": 2}))),
            "linear_attention",
            Error,
        ),
    ]
}

fn of_experts() -> Vec<Refused> {
    let experts = |change, rule, severity| (experts(), change, (rule, severity));
    let biased = |more: Json| with(json!({"add_bias_linear": true}), more);
    let fusion = "expert_bias_fusion";
    vec![
        experts(biased(json!({})), fusion, Warning),
        experts(
            biased(json!({"bias_dropout_fusion": false})),
            fusion,
            Warning,
        ),
        experts(
            biased(json!({"bias_swiglu_fusion": false})),
            fusion,
            Warning,
        ),
        experts(
            biased(json!({"moe_grouped_gemm": false, "swiglu": false})),
            fusion,
            Warning,
        ),
        experts(
            json!({"moe_shared_expert_intermediate_size": 0}),
            "shared_experts_zero",
            Warning,
        ),
        experts(
            json!({"overlap_moe_expert_parallel_comm": true, "expert_model_parallel_size": 2,
                "pipeline_model_parallel_size": 2, "world_size": 4}),
            "expert_overlap",
            Error,
        ),
    ]
}

#[test]
fn the_jobs_without_the_changes_are_fine() {
    for job in [plain(), experts(), latent()] {
        assert_eq!(checked(&job).problems, []);
    }
}

#[test]
fn what_megatron_stops_at_is_said() {
    for (job, change, (rule, severity)) in cases() {
        let found = checked(&with(job, change.clone())).problems;
        assert!(
            found
                .iter()
                .any(|p| p.rule == rule && p.severity == severity),
            "{change}: no {rule} in {found:#?}"
        );
        let others: Vec<_> = found
            .iter()
            .filter(|p| p.severity == Error && p.rule != rule)
            .collect();
        assert!(others.is_empty(), "{change}: {others:#?}");
    }
}

/// What is offered leads to a job without errors, where the problem is the only one.
#[test]
fn what_is_offered_is_enough() {
    let more = [
        (plain(), json!({"overlap_param_gather": true})),
        (plain(), json!({"exp_avg_dtype": "bf16"})),
        (plain(), json!({"num_virtual_stages_per_pipeline_rank": 2})),
        (
            plain(),
            json!({"num_virtual_stages_per_pipeline_rank": 3, "pipeline_model_parallel_size": 2}),
        ),
        (plain(), json!({"num_layers_per_virtual_pipeline_stage": 3})),
        (
            plain(),
            json!({"num_layers": 5, "pipeline_model_parallel_size": 2, "world_size": 4}),
        ),
        (
            experts(),
            json!({"expert_model_parallel_size": 3, "world_size": 2}),
        ),
        (experts(), json!({"expert_model_parallel_size": 8})),
        (
            plain(),
            json!({"cuda_graph_impl": "transformer_engine", "cuda_graph_modules": "attn", "recompute_granularity": "full",
            "recompute_method": "uniform", "recompute_num_layers": 1}),
        ),
    ];
    let cases = cases().into_iter().map(|(job, change, _)| (job, change));
    for (job, change) in cases.chain(more) {
        let job: Value = serde_json::from_value(with(job, change)).unwrap();
        let job = RawJob::from_value(&job);
        let found = megatron_memory::config::check(&job);
        let mut errors = found.errors();
        let (Some(problem), None) = (errors.next(), errors.next()) else {
            continue;
        };
        assert!(!problem.fixes.is_empty(), "{problem}");
        for fix in &problem.fixes {
            let mut mended = job.clone();
            mended.put(0, fix.field, fix.value.clone());
            let left: Vec<_> = megatron_memory::config::check(&mended).problems;
            assert!(
                left.iter().all(|p| p.severity == Warning),
                "{problem}: {fix:?} leaves {left:?}"
            );
        }
    }
}

fn offers(job: &Json) -> Vec<(&'static str, Value)> {
    let problems = checked(job).problems;
    let fixes = problems.iter().flat_map(|p| &p.fixes);
    fixes
        .map(|fix| (fix.field.field().name, fix.value.clone()))
        .collect()
}

#[test]
fn experts_are_offered_the_gpus_that_they_need() {
    let found = offers(&with(experts(), json!({"expert_model_parallel_size": 8})));
    assert!(found.contains(&("world_size", Value::Int(8))), "{found:?}");
    let given = json!({"expert_model_parallel_size": 8, "world_size": 4});
    let found = offers(&with(experts(), given));
    assert!(
        found.contains(&("expert_model_parallel_size", Value::Int(4))),
        "{found:?}"
    );
}

/// The field that asks for chunks is the one that is changed.
#[test]
fn chunks_are_mended_where_they_are_asked_for() {
    let name = "num_virtual_stages_per_pipeline_rank";
    let alone = offers(&with(plain(), json!({ name: 2 })));
    assert!(alone.contains(&(name, Value::Null)), "{alone:?}");
    let uneven = json!({ name: 3, "pipeline_model_parallel_size": 2 });
    let uneven = offers(&with(plain(), uneven));
    assert!(uneven.contains(&(name, Value::Int(2))), "{uneven:?}");
    assert!(
        uneven
            .iter()
            .all(|(field, _)| *field != "virtual_pipeline_model_parallel_size"),
        "{uneven:?}"
    );
}

/// A model keeps its shape where another TP or CP would do.
#[test]
fn parallel_sizes_are_changed_before_the_model_is() {
    let job = with(
        plain(),
        json!({"num_attention_heads": 16, "ffn_hidden_size": 18432, "tensor_model_parallel_size": 7, "sequence_parallel": true}),
    );
    let found = offers(&job);
    assert!(
        found
            .iter()
            .all(|(field, _)| *field == "tensor_model_parallel_size"),
        "{found:?}"
    );
    assert!(
        found.contains(&("tensor_model_parallel_size", Value::Int(8))),
        "{found:?}"
    );
    let found = offers(&with(plain(), json!({"context_parallel_size": 3})));
    assert!(
        found
            .iter()
            .all(|(field, _)| *field == "context_parallel_size"),
        "{found:?}"
    );
}

#[test]
fn what_megatron_takes_is_taken() {
    let lawful = [
        (
            plain(),
            json!({"optimizer": "dist_muon", "overlap_param_gather": true, "overlap_grad_reduce": true}),
        ),
        (
            plain(),
            json!({"context_parallel_size": 2, "cp_comm_type": "all_gather"}),
        ),
        (
            latent(),
            json!({"context_parallel_size": 2, "cp_comm_type": "a2a", "qk_head_dim": 64, "v_head_dim": 128}),
        ),
        (
            plain(),
            json!({"transformer_impl": "local", "normalization": "RMSNorm", "tensor_model_parallel_size": 2}),
        ),
        (
            plain(),
            json!({"transformer_impl": "local", "apply_layernorm_1p": true}),
        ),
        (
            experts(),
            json!({"moe_token_dispatcher_type": "flex", "expert_model_parallel_size": 2, "world_size": 2}),
        ),
        (
            experts(),
            json!({"optimizer": "muon", "add_bias_linear": true, "bias_dropout_fusion": false, "bias_swiglu_fusion": false,
            "expert_model_parallel_size": 2, "world_size": 2}),
        ),
        (
            plain(),
            json!({"mtp_num_layers": 1, "recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1}),
        ),
        (
            plain(),
            json!({"experimental_attention_variant": "gdn", "linear_attention_freq": 2}),
        ),
    ];
    for (job, change) in lawful {
        assert_eq!(checked(&with(job, change.clone())).problems, [], "{change}");
    }
}

/// Megatron's help spells it `allgather`, its code `all_gather`: both are read, the second is written.
#[test]
fn gathering_is_written_as_megatron_reads_it() {
    let field = FieldId::cp_comm_type;
    for text in ["allgather", "all_gather"] {
        let given = Value::Text(text.to_owned());
        let written = meaning(field, Some(&given)).to_value(field);
        assert_eq!(written, Some(Value::Text("all_gather".to_owned())));
    }
    let dispatcher = json!({"moe_token_dispatcher_type": "all_gather"});
    assert!(checked(&with(experts(), dispatcher)).config.is_none());
}
