//! What a gated activation keeps where its input is clamped.

use megatron_memory::model::tape::ActivationTensor;
use serde_json::{Value as Json, json};

use super::jobs::{kept_by_a_layer, with};

const TOKENS: u64 = 4096;
const F: u64 = 512;
const K: u64 = 4;

/// A layer with experts whose activation is a quick GEGLU.
fn job(settings: &Json) -> Json {
    let job = json!({
        "num_layers": 1, "hidden_size": 1024, "ffn_hidden_size": 4096, "num_attention_heads": 16, "vocab_size": 50304,
        "seq_length": TOKENS, "micro_batch_size": 1, "bf16": true, "add_bias_linear": false, "num_experts": 8,
        "moe_ffn_hidden_size": F, "moe_router_topk": K, "moe_token_dispatcher_type": "alltoall", "moe_grouped_gemm": true,
        "quick_geglu": true, "position_embedding_type": "rope", "hidden_dropout": 0, "attention_dropout": 0,
    });
    with(&job, settings)
}

/// Bytes of all kept tensors.
fn kept(job: &Json) -> u64 {
    kept_by_a_layer(job).iter().map(ActivationTensor::bytes).sum()
}

#[test]
fn clamped_quick_geglu_keeps_its_input_twice() {
    let clamp = json!({"activation_func_clamp_value": 7.0});
    let rows = TOKENS * K;
    for (settings, more) in [
        (json!({}), rows * 2 * F * 2),
        // One fused operation clamps within its kernel, and so does SwiGLU.
        (json!({"use_transformer_engine_op_fuser": true}), 0),
        (json!({"quick_geglu": false, "swiglu": true}), 0),
        // Operation by operation, the clamped gate is one tensor more.
        (json!({"bias_swiglu_fusion": false}), rows * F * 2),
    ] {
        let plain = job(&settings);
        let clamped = with(&plain, &clamp);
        assert_eq!(kept(&clamped) - kept(&plain), more, "{settings}");
    }
    // Recomputed with the activation.
    let recompute = json!({"recompute_granularity": "selective", "recompute_modules": ["moe_act"]});
    let plain = job(&recompute);
    assert_eq!(kept(&with(&plain, &clamp)), kept(&plain));
}

/// Megatron-LM's own launcher asks the flag of GELU, and turns it off without biases; others have one flag for every
/// function (`core_transformer_config_from_args`).
#[test]
fn the_launcher_says_which_flag_fuses_quick_geglu() {
    let of =
        |launcher: &str, settings: &Json| kept(&with(&with(&job(settings), &json!({"launcher": launcher})), settings));
    let (swiglu, gelu) = (json!({"bias_swiglu_fusion": false}), json!({"bias_gelu_fusion": false}));
    let biases = json!({"add_bias_linear": true});
    let without_fusion = |settings: &Json| of("any", &with(settings, &swiglu));
    for (settings, is_fused) in [
        (json!({}), false),
        (gelu.clone(), false),
        (biases.clone(), true),
        (with(&biases, &swiglu), true),
        (with(&biases, &gelu), false),
    ] {
        let fused = of("any", &with(&settings, &json!({"bias_swiglu_fusion": true})));
        let plain = without_fusion(&settings);
        assert!(fused < plain);
        let expected = if is_fused { fused } else { plain };
        assert_eq!(of("megatron_lm", &settings), expected, "{settings}");
    }
    assert_eq!(of("any", &gelu), of("any", &json!({})));
}
