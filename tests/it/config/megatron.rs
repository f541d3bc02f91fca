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
    let latent =
        json!({"multi_latent_attention": true, "add_bias_linear": false, "normalization": "RMSNorm", "swiglu": true});
    with(plain(), latent)
}

/// A job, a change that Megatron stops at, and the rule that says so with how bad it is.
pub(super) type Refused = (Json, Json, (&'static str, Severity));

pub(super) fn cases() -> Vec<Refused> {
    let mut cases = of_attention();
    cases.extend(of_experts());
    cases.extend(of_kernels());
    cases.extend(of_optimizers());
    cases.extend(of_arguments_that_change_no_memory());
    cases
}

fn of_arguments_that_change_no_memory() -> Vec<Refused> {
    let plain = |change, rule, severity| (plain(), change, (rule, severity));
    let experts = |change, rule, severity| (experts(), change, (rule, severity));
    let step = json!({"overlap_param_gather_with_optimizer_step": true});
    vec![
        plain(json!({"rope_type": "yarn"}), "rope_type", Warning),
        plain(
            json!({"attention_backend": "local"}),
            "attention_backend_local",
            Warning,
        ),
        plain(json!({"moe_router_group_topk": 2}), "router_groups", Error),
        experts(
            json!({"moe_router_group_topk": 2, "moe_router_num_groups": 1}),
            "router_groups",
            Error,
        ),
        experts(
            json!({"moe_router_group_topk": 2, "moe_router_num_groups": 3}),
            "router_groups",
            Error,
        ),
        plain(
            json!({"overlap_p2p_communication_warmup_flush": true}),
            "overlap_warmup_flush",
            Error,
        ),
        plain(step, "overlap_with_step", Warning),
        plain(
            json!({"moe_pad_expert_input_to_capacity": true}),
            "capacity_padding",
            Error,
        ),
    ]
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
            split(json!({"context_parallel_size": 4, "tensor_model_parallel_size": 8, "cp_comm_type": "a2a"})),
            "cp_comm_type",
            Error,
        ),
        plain(
            split(json!({"cp_comm_type": "a2a", "group_query_attention": true, "num_query_groups": 1})),
            "cp_comm_type",
            Error,
        ),
        latent(split(json!({"cp_comm_type": "a2a"})), "cp_comm_type", Error),
        latent(split(json!({"cp_comm_type": "all_gather"})), "cp_comm_type", Error),
        plain(linear(json!({})), "linear_attention", Error),
        plain(
            linear(local(json!({"linear_attention_freq": 2}))),
            "linear_attention",
            Error,
        ),
    ]
}

/// Transformer implementations, attention kernels and what runs beside them.
fn of_kernels() -> Vec<Refused> {
    let case = |change: Json, rule, severity| (plain(), change, (rule, severity));
    let latent = |change: Json, rule| (latent(), change, (rule, Error));
    let local = |more: Json| with(json!({"transformer_impl": "local"}), more);
    let split = |more: Json| with(json!({"context_parallel_size": 2}), more);
    let backend = |name: &str, more: Json| with(json!({"attention_backend": name}), more);
    let fp32 = || json!({"bf16": false});
    let rms_norm = |more: Json| with(json!({"normalization": "RMSNorm"}), more);
    let sequence_parallel = || json!({"tensor_model_parallel_size": 2, "sequence_parallel": true});
    let deterministic = |more: Json| with(json!({"deterministic_mode": true}), more);
    let overlap = |more: Json| with(json!({"tp_comm_overlap": true}), more);
    let uniform = json!({"mtp_num_layers": 1, "recompute_granularity": "full", "recompute_method": "uniform",
        "recompute_num_layers": 2});
    vec![
        case(local(split(json!({}))), "local_impl", Error),
        case(local(rms_norm(sequence_parallel())), "local_impl", Error),
        case(
            local(rms_norm(json!({"apply_layernorm_1p": true}))),
            "local_impl",
            Error,
        ),
        case(backend("flash", fp32()), "attention_backend", Error),
        case(backend("fused", fp32()), "attention_backend", Error),
        case(backend("unfused", split(json!({}))), "attention_backend", Error),
        case(
            backend("flash", json!({"softmax_type": "learnable"})),
            "attention_backend",
            Error,
        ),
        case(
            deterministic(json!({"cross_entropy_loss_fusion": true})),
            "deterministic_mode",
            Error,
        ),
        case(
            deterministic(overlap(sequence_parallel())),
            "deterministic_mode",
            Warning,
        ),
        case(overlap(json!({})), "tp_comm_overlap", Warning),
        case(
            overlap(json!({"tensor_model_parallel_size": 2})),
            "tp_comm_overlap",
            Warning,
        ),
        case(uniform, "mtp_recompute", Error),
        latent(json!({"attention_output_gate": true}), "mla_excludes_gate"),
        latent(json!({"qk_pos_emb_head_dim": 33}), "rotary_width"),
    ]
}

fn of_optimizers() -> Vec<Refused> {
    let case = |change: Json, rule| (plain(), change, (rule, Error));
    let named = |name: &str, more: Json| with(json!({"optimizer": name}), more);
    let instances = || json!({"num_distributed_optimizer_instances": 2, "world_size": 4});
    let distributed = |more: Json| with(json!({"use_distributed_optimizer": true}), more);
    let fp32 = || json!({"bf16": false});
    let mut cases = vec![
        case(named("sgd", distributed(json!({}))), "distributed_sgd"),
        case(instances(), "optimizer_instances"),
        case(named("sgd", instances()), "optimizer_instances"),
        case(named("dist_muon", fp32()), "emerging_optimizer"),
    ];
    for name in ["muon", "dist_muon", "lion"] {
        for change in [
            json!({"fp16": true, "bf16": false}),
            distributed(fp32()),
            instances(),
            distributed(instances()),
        ] {
            cases.push(case(named(name, change), "emerging_optimizer"));
        }
        let biased = |more: Json| {
            let biases = json!({"add_bias_linear": true, "bias_dropout_fusion": false, "bias_swiglu_fusion": false});
            distributed(with(biases, more))
        };
        for groups in [
            json!({"expert_model_parallel_size": 2, "world_size": 2}),
            json!({"tensor_model_parallel_size": 2, "sequence_parallel": true, "expert_tensor_parallel_size": 1}),
        ] {
            let change = named(name, biased(groups));
            cases.push((experts(), change, ("emerging_optimizer", Error)));
        }
    }
    cases
}

fn of_experts() -> Vec<Refused> {
    let experts = |change, rule, severity| (experts(), change, (rule, severity));
    let biased = |more: Json| with(json!({"add_bias_linear": true}), more);
    let fusion = "expert_bias_fusion";
    vec![
        experts(biased(json!({})), fusion, Warning),
        experts(biased(json!({"bias_dropout_fusion": false})), fusion, Warning),
        experts(biased(json!({"bias_swiglu_fusion": false})), fusion, Warning),
        experts(
            biased(json!({"moe_grouped_gemm": false, "swiglu": false})),
            fusion,
            Warning,
        ),
        experts(json!({"moe_token_dispatcher_type": "flex"}), "flex_dispatcher", Warning),
        experts(
            json!({"moe_token_dispatcher_type": "flex", "expert_model_parallel_size": 2, "world_size": 2,
                "moe_expert_capacity_factor": 1, "moe_pad_expert_input_to_capacity": true}),
            "flex_dispatcher",
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
            found.iter().any(|p| p.rule == rule && p.severity == severity),
            "{change}: no {rule} in {found:#?}"
        );
        let others: Vec<_> = found.iter().filter(|p| p.severity == Error && p.rule != rule).collect();
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
        (experts(), json!({"expert_model_parallel_size": 3, "world_size": 2})),
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
    fixes.map(|fix| (fix.field.field().name, fix.value.clone())).collect()
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
        found.iter().all(|(field, _)| *field == "tensor_model_parallel_size"),
        "{found:?}"
    );
    assert!(
        found.contains(&("tensor_model_parallel_size", Value::Int(8))),
        "{found:?}"
    );
    let found = offers(&with(plain(), json!({"context_parallel_size": 3})));
    assert!(
        found.iter().all(|(field, _)| *field == "context_parallel_size"),
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
            json!({"seq_length": 4096, "context_parallel_size": 2, "cp_comm_type": "all_gather"}),
        ),
        (
            latent(),
            json!({"seq_length": 4096, "context_parallel_size": 2, "cp_comm_type": "a2a", "qk_head_dim": 64, "v_head_dim": 128}),
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
        (
            plain(),
            json!({"mtp_num_layers": 1, "recompute_granularity": "full", "recompute_method": "block", "recompute_num_layers": 2}),
        ),
        (plain(), json!({"attention_backend": "unfused", "bf16": false})),
        (
            plain(),
            json!({"attention_backend": "fused", "softmax_type": "learnable"}),
        ),
        (
            plain(),
            json!({"attention_backend": "flash", "seq_length": 4096, "context_parallel_size": 2, "fp16": true, "bf16": false}),
        ),
        (
            plain(),
            json!({"tp_comm_overlap": true, "tensor_model_parallel_size": 2, "sequence_parallel": true}),
        ),
        (plain(), json!({"deterministic_mode": true})),
        (
            plain(),
            json!({"num_distributed_optimizer_instances": 2, "world_size": 4, "use_distributed_optimizer": true}),
        ),
        (plain(), json!({"optimizer": "lion", "use_distributed_optimizer": true})),
        (plain(), json!({"optimizer": "lion", "bf16": false})),
        (plain(), json!({"qk_pos_emb_head_dim": 33})),
        (
            plain(),
            json!({"attention_output_gate": true, "group_query_attention": true, "num_query_groups": 4}),
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
        assert_eq!(written, Value::Text("all_gather".to_owned()));
    }
    let dispatcher = json!({"moe_token_dispatcher_type": "all_gather"});
    assert!(checked(&with(experts(), dispatcher)).config.is_none());
}
