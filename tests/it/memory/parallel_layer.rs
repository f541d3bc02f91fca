//! What layers keep whose attention and MLP stand side by side.

use megatron_memory::config::check;
use megatron_memory::memory::estimate;
use megatron_memory::model::tape::ActivationTensor;
use serde_json::{Value as Json, json};

use super::jobs::{config, kept_by_a_layer, with};

const TOKENS: u64 = 2048;
const H: u64 = 4544;
const F: u64 = 18_176;

/// Falcon 7B with untied embeddings, as `NeMo` 1 trains it.
fn job(settings: &Json) -> Json {
    let job = json!({
        "num_layers": 32, "hidden_size": H, "ffn_hidden_size": F, "num_attention_heads": 71, "group_query_attention": true,
        "num_query_groups": 1, "vocab_size": 65024, "make_vocab_size_divisible_by": 128, "seq_length": TOKENS,
        "micro_batch_size": 1, "world_size": 8, "bf16": true, "add_bias_linear": false, "normalization": "LayerNorm",
        "untie_embeddings_and_output_weights": true, "position_embedding_type": "rope", "hidden_dropout": 0,
        "attention_dropout": 0, "parallel_attention": true,
    });
    with(&job, settings)
}

/// Bytes of all tensors that a layer keeps.
fn kept(job: &Json) -> u64 {
    kept_by_a_layer(job).iter().map(ActivationTensor::bytes).sum()
}

#[test]
fn falcon_7b_has_one_norm_a_layer() {
    let result = estimate(&config(&job(&json!({}))));
    let layer = (71 + 2) * 64 * H + H * H + 2 * H * F + 2 * H;
    let expected = 32 * layer + 2 * H + 2 * 65_024 * H;
    assert_eq!(result.modules[0].parameters.total(), expected);
    // The published model has 6 921 720 704 parameters, its embedding tied.
    assert_eq!(expected - 65_024 * H, 6_921_720_704);
}

/// The norm before attention stands for both: no stream between the halves, no second norm of it with mean and
/// deviation.
#[test]
fn both_halves_keep_the_output_of_one_norm() {
    let beside = job(&json!({}));
    let after = with(&beside, &json!({"parallel_attention": false}));
    let less = TOKENS * (H * 2 + H * 2 + 2 * 4);
    assert_eq!(kept(&after) - kept(&beside), less);
}

#[test]
fn other_layers_than_those_of_falcon_are_refused() {
    for settings in [
        json!({"num_experts": 8}),
        json!({"add_bias_linear": true}),
        json!({"mtp_num_layers": 1}),
    ] {
        let raw = super::jobs::raw(&job(&settings));
        let problems = check(&raw).problems;
        let is_named = problems.iter().any(|problem| problem.rule == "parallel_attention");
        assert!(is_named, "{settings}: {problems:?}");
    }
}
