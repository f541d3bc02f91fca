//! Tests of the keys of mixtures of experts.

use super::{error, settings};

#[test]
fn experts_come_under_many_names() {
    let fields = "num_experts moe_router_topk moe_ffn_hidden_size moe_shared_expert_intermediate_size moe_shared_expert_gate \
                  moe_router_enable_expert_bias moe_router_score_function";
    for (text, expected) in [
        (r#"{"model_type": "mixtral"}"#, r#"8 2 14336 - - false "softmax""#),
        (
            r#"{"model_type": "mixtral", "num_experts": 16, "intermediate_size": 100}"#,
            r#"16 2 100 - - false "softmax""#,
        ),
        (
            r#"{"model_type": "mixtral", "num_local_experts": 16}"#,
            r#"16 2 14336 - - false "softmax""#,
        ),
        (
            r#"{"model_type": "qwen3_moe", "num_local_experts": 16}"#,
            r#"16 8 768 - - false "softmax""#,
        ),
        (
            r#"{"model_type": "qwen2_moe"}"#,
            r#"60 4 1408 5632 true false "softmax""#,
        ),
        (
            r#"{"model_type": "qwen2_moe", "shared_expert_intermediate_size": 0}"#,
            r#"60 4 1408 - - false "softmax""#,
        ),
        (
            r#"{"model_type": "deepseek_v2", "num_experts_per_tok": 6}"#,
            r#"64 6 1407 2814 - false "softmax""#,
        ),
        (
            r#"{"model_type": "deepseek_v3", "n_shared_experts": 2}"#,
            r#"256 8 2048 4096 - true "sigmoid""#,
        ),
        (
            r#"{"model_type": "deepseek_v3", "n_shared_experts": null}"#,
            r#"256 8 2048 - - true "sigmoid""#,
        ),
        (
            r#"{"model_type": "deepseek_v3", "num_local_experts": 7}"#,
            r#"7 8 2048 2048 - true "sigmoid""#,
        ),
        (
            r#"{"model_type": "deepseek_v3", "n_routed_experts": null}"#,
            "- - - - - - -",
        ),
        (
            r#"{"model_type": "glm4_moe", "n_shared_experts": 2}"#,
            r#"128 8 1408 1408 - true "sigmoid""#,
        ),
        (
            r#"{"model_type": "gpt_oss", "num_local_experts": 32}"#,
            r#"32 4 2880 - - false "softmax""#,
        ),
        (r#"{"model_type": "olmoe"}"#, r#"64 8 2048 - - false "softmax""#),
        (r#"{"model_type": "minimax_m2"}"#, r#"256 8 1536 - - true "sigmoid""#),
        (
            r#"{"model_type": "ernie4_5_moe", "moe_num_experts": 32, "moe_k": 3}"#,
            r#"32 3 1536 3072 - true "sigmoid""#,
        ),
        (
            r#"{"model_type": "llama4_text"}"#,
            r#"16 1 8192 8192 - false "sigmoid""#,
        ),
        (r#"{"model_type": "llama"}"#, "- - - - - - -"),
    ] {
        assert_eq!(settings(text, fields), expected, "{text}");
    }
    assert_eq!(settings(r#"{"model_type": "llama4_text"}"#, "ffn_hidden_size"), "16384");
}

#[test]
fn every_way_to_say_which_layers_have_experts() {
    for (text, expected) in [
        (r#"{"model_type": "mixtral"}"#, "1"),
        (
            r#"{"model_type": "deepseek_v3", "num_hidden_layers": 5}"#,
            "[0,0,0,1,1]",
        ),
        (
            r#"{"model_type": "deepseek_v3", "num_hidden_layers": 5, "first_k_dense_replace": 0}"#,
            "1",
        ),
        (
            r#"{"model_type": "deepseek_v3", "num_hidden_layers": 2, "first_k_dense_replace": 9}"#,
            "[0,0]",
        ),
        (
            r#"{"model_type": "deepseek_v3", "num_hidden_layers": 6, "first_k_dense_replace": 1, "moe_layer_freq": 2}"#,
            "[0,0,1,0,1,0]",
        ),
        (
            r#"{"model_type": "deepseek_v3", "num_hidden_layers": 3, "moe_layer_freq": [0, 1, 1]}"#,
            "[0,1,1]",
        ),
        (
            r#"{"model_type": "glm_moe_dsa", "num_hidden_layers": 3, "mlp_layer_types": ["dense", "sparse", "sparse"]}"#,
            "[0,1,1]",
        ),
        (
            r#"{"model_type": "glm_moe_dsa", "num_hidden_layers": 3, "mlp_layer_types": ["dense", "hash_moe", "moe"]}"#,
            "[0,1,1]",
        ),
        (
            r#"{"model_type": "exaone_moe", "num_hidden_layers": 3, "is_moe_layer": [false, true, true]}"#,
            "[0,1,1]",
        ),
        (
            r#"{"model_type": "qwen3_moe", "num_hidden_layers": 4, "decoder_sparse_step": 2}"#,
            "[0,1,0,1]",
        ),
        (
            r#"{"model_type": "qwen3_moe", "num_hidden_layers": 4, "mlp_only_layers": [0, 3]}"#,
            "[0,1,1,0]",
        ),
        (
            r#"{"model_type": "qwen3_moe", "num_hidden_layers": 4, "mlp_only_layers": null}"#,
            "1",
        ),
        (
            r#"{"model_type": "llama4_text", "num_hidden_layers": 4, "interleave_moe_layer_step": 2}"#,
            "[0,1,0,1]",
        ),
        (
            r#"{"model_type": "llama4_text", "num_hidden_layers": 4, "moe_layers": [1]}"#,
            "[0,1,0,0]",
        ),
        (r#"{"model_type": "ernie4_5_moe", "num_hidden_layers": 4}"#, "[0,1,1,1]"),
        (
            r#"{"model_type": "ernie4_5_moe", "num_hidden_layers": 5, "moe_layer_end_index": 3, "moe_layer_interval": 2}"#,
            "[0,1,0,1,0]",
        ),
    ] {
        assert_eq!(settings(text, "moe_layer_freq"), expected, "{text}");
    }
    let wrong = |keys: &str| {
        error(&format!(
            r#"{{"model_type": "qwen3_moe", "num_hidden_layers": 2, {keys}}}"#
        ))
    };
    assert_eq!(
        wrong(r#""mlp_layer_types": ["dense"]"#),
        "line 1: `mlp_layer_types` must be a list with one known entry per layer"
    );
    assert_eq!(
        wrong(r#""mlp_layer_types": ["dense", 7]"#),
        "line 1: `mlp_layer_types` must be a list with one known entry per layer"
    );
    assert_eq!(
        wrong(r#""mlp_only_layers": [2]"#),
        "line 1: `mlp_only_layers` must be a list of layer numbers, counted from 0"
    );
    assert_eq!(
        wrong(r#""decoder_sparse_step": 0"#),
        "line 1: `decoder_sparse_step` must be between 1 and 1099511627776"
    );
}
