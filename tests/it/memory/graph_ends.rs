//! Where the graphs begin that dispatchers hold between steps. What stays was seen on the Megatron-LM revision that
//! everything is read from, run on a CPU with every storage followed: of each layer its detached input and the gradient.

use megatron_memory::memory::estimate;
use serde_json::{Value as Json, json};

use super::jobs::{config, with};

/// Bytes of the residual stream of 1,024 tokens.
const RESIDUAL: u64 = 1024 * 256 * 2;

fn steady(settings: &Json) -> u64 {
    let job = json!({
        "num_layers": 6, "hidden_size": 256, "ffn_hidden_size": 512, "num_attention_heads": 4, "padded_vocab_size": 1024,
        "seq_length": 1024, "max_position_embeddings": 1024, "micro_batch_size": 1, "world_size": 2, "bf16": true,
        "add_bias_linear": false, "num_experts": 4, "moe_ffn_hidden_size": 256, "moe_router_topk": 2,
        "moe_grouped_gemm": true, "expert_model_parallel_size": 2, "position_embedding_type": "rope",
        "attention_dropout": 0, "hidden_dropout": 0, "create_attention_mask_in_dataloader": false,
        "moe_token_dispatcher_type": "alltoall",
    });
    let estimate = estimate(&config(&with(&job, settings)));
    estimate.modules[0].stages.last().unwrap().steady.0
}

/// Residual streams that stay because of `settings`.
fn kept(settings: &Json, base: &Json) -> u64 {
    let bytes = steady(&with(base, settings)) - steady(base);
    assert_eq!(bytes % RESIDUAL, 0);
    bytes / RESIDUAL
}

#[test]
fn inputs_of_what_is_computed_again_stay_with_their_gradients() {
    let full = |layers: u64| json!({"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": layers});
    let block = |layers: u64| json!({"recompute_granularity": "full", "recompute_method": "block", "recompute_num_layers": layers});
    let moe = json!({"recompute_granularity": "selective", "recompute_modules": ["moe"]});
    let none = json!({});
    for (settings, expected) in [
        (full(1), 2 * 6),
        (full(2), 2 * 3),
        (full(4), 2 * 2),
        (block(2), 2 * 2),
        (moe.clone(), 2 * 6),
    ] {
        assert_eq!(kept(&settings, &none), expected, "{settings}");
    }
    let dense = json!({"moe_layer_freq": "([1]*2+[0]*4)"});
    assert_eq!(kept(&full(1), &dense), 2 * 2);
    assert_eq!(kept(&full(4), &dense), 2);
    assert_eq!(kept(&moe, &dense), 2 * 2);
    let gathered = json!({"moe_token_dispatcher_type": "allgather"});
    assert_eq!(kept(&full(1), &gathered), 2 * 6);
}

/// A stage's first input is the tensor that it received, which stays in any case.
#[test]
fn received_inputs_are_counted_once() {
    let full = json!({"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1});
    let stages = json!({"pipeline_model_parallel_size": 2, "world_size": 4});
    assert_eq!(kept(&full, &stages), 2 * 3 - 1);
}

#[test]
fn inputs_of_overlapped_layers_stay_with_their_gradients() {
    let overlap = json!({"overlap_moe_expert_parallel_comm": true});
    assert_eq!(kept(&overlap, &json!({})), 2 * 6);
}
