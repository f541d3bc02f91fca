//! What runs but wastes time on the network comes with a warning that names a better value, and never with an error.

use megatron_memory::config::fields::FieldId;
use megatron_memory::value::Value;
use serde_json::{Value as Json, json};

use super::{checked, dense, moe, with};

fn one_stage(changes: Json) -> Json {
    with(json!({"pipeline_model_parallel_size": 1}), changes)
}

/// Wasteful changes, the rule, and the field with the values that are offered for it.
fn wasteful() -> Vec<(Json, Json, &'static str, &'static str, Json)> {
    let (tp, etp) = ("tensor_model_parallel_size", "expert_tensor_parallel_size");
    let tensor = "tensor_groups_leave_node";
    let experts = "expert_groups_leave_node";
    let cp = "context_parallel_size";
    vec![
        (dense(), one_stage(json!({tp: 16})), tensor, tp, json!([8, 4, 2])),
        (
            dense(),
            one_stage(json!({tp: 4, "gpus_per_node": 2})),
            tensor,
            tp,
            json!([2, 1]),
        ),
        (
            moe(),
            one_stage(json!({etp: 16, "expert_model_parallel_size": 1})),
            tensor,
            etp,
            json!([8, 4, 2]),
        ),
        (
            moe(),
            one_stage(json!({etp: 4, "moe_token_dispatcher_type": "alltoall"})),
            experts,
            etp,
            json!([1]),
        ),
        (
            moe(),
            one_stage(json!({"expert_model_parallel_size": 16})),
            experts,
            "moe_token_dispatcher_type",
            json!(["alltoall"]),
        ),
        (
            dense(),
            one_stage(json!({cp: 4})),
            "short_context_parts",
            cp,
            json!([2, 1]),
        ),
    ]
}

#[test]
fn waste_is_a_warning_with_a_value_that_would_be_none() {
    for (job, change, rule, field, offered) in wasteful() {
        let job = with(job, change.clone());
        let found = checked(&job);
        assert!(found.config.is_some(), "{change}: {:?}", found.problems);
        let [problem] = &found.problems[..] else {
            panic!("{change}: {:?}", found.problems)
        };
        assert!(!problem.is_error(), "{change}");
        assert_eq!(problem.rule, rule, "{change}: {problem}");
        let field = FieldId::by_name(field).unwrap();
        assert_eq!(problem.fields.first(), Some(&field), "{change}: {problem}");
        assert!(problem.message.contains("Megatron's guide"), "{problem}");
        let values: Vec<Value> = serde_json::from_value(offered).unwrap();
        let fixes: Vec<_> = problem.fixes.iter().map(|fix| (fix.field, &fix.value)).collect();
        let wanted: Vec<_> = values.iter().map(|value| (field, value)).collect();
        assert_eq!(fixes, wanted, "{change}");
    }
}

/// A rack's `NVLink` domain holds what a node does not; large expert groups send only what they must; and groups of any
/// size stay within a node where the job has no other.
#[test]
fn what_is_not_wasteful_has_no_warning() {
    for (job, change) in [
        (
            dense(),
            one_stage(json!({"tensor_model_parallel_size": 16, "gpu": "gb200"})),
        ),
        (
            dense(),
            one_stage(json!({"tensor_model_parallel_size": 16, "gpus_per_node": 16})),
        ),
        (dense(), one_stage(json!({"context_parallel_size": 2}))),
        (
            moe(),
            one_stage(json!({"expert_model_parallel_size": 16, "moe_token_dispatcher_type": "alltoall"})),
        ),
        (
            moe(),
            one_stage(
                json!({"expert_model_parallel_size": 16, "moe_token_dispatcher_type": "flex", "moe_router_dtype": "fp32"}),
            ),
        ),
        (
            dense(),
            one_stage(
                json!({"world_size": 6, "tensor_model_parallel_size": 3, "num_attention_heads": 12, "hidden_size": 768, "ffn_hidden_size": 3072,
                "seq_length": 3072, "global_batch_size": 2}),
            ),
        ),
    ] {
        let found = checked(&with(job, change.clone()));
        assert!(found.config.is_some(), "{change}: {:?}", found.problems);
        assert_eq!(found.problems, [], "{change}");
    }
}
