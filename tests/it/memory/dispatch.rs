//! Buffers of the fused token dispatchers, beside PyTorch's allocations.

use megatron_memory::config::fields::FieldId;
use megatron_memory::memory::estimate;
use megatron_memory::memory::overhead::memory_range;
use megatron_memory::units::Bytes;
use serde_json::{Value as Json, json};

use super::jobs::{config, with};

/// A job whose experts 64 GPUs can share.
fn job(settings: &Json) -> Json {
    let job = json!({
        "num_layers": 4, "hidden_size": 1024, "ffn_hidden_size": 4096, "num_attention_heads": 16, "vocab_size": 50304,
        "seq_length": 4096, "micro_batch_size": 1, "world_size": 64, "bf16": true, "add_bias_linear": false, "num_experts": 128,
        "moe_ffn_hidden_size": 512, "moe_router_topk": 4, "moe_token_dispatcher_type": "flex", "moe_grouped_gemm": true,
        "position_embedding_type": "rope", "gpu": "h100-80gb",
    });
    with(&job, settings)
}

/// The dispatcher's buffers; `None` where it has none.
fn buffers(settings: &Json) -> Option<u64> {
    let config = config(&job(settings));
    let range = memory_range(&config.modules()[0], None, Bytes(1 << 30), Bytes::ZERO);
    let field = FieldId::moe_flex_dispatcher_backend;
    let found = range.overheads().find(|overhead| overhead.field == field).copied();
    let all: Bytes = range.overheads().map(|overhead| overhead.high).sum();
    assert_eq!(range.high, Bytes(1 << 30) + all);
    found.map(|overhead| overhead.high.0)
}

/// Sizes as `Config` of `DeepEP` 1.2.1 hints them, with 32 MiB of workspace, and those that `HybridEP` allocates.
#[test]
fn dispatchers_have_the_buffers_that_their_sources_allocate() {
    for (settings, expected) in [
        (json!({"expert_model_parallel_size": 8}), Some(117_606_016)),
        (json!({"expert_model_parallel_size": 64}), Some(220_416_256)),
        (
            json!({"expert_model_parallel_size": 64, "moe_token_dispatcher_type": "alltoall"}),
            None,
        ),
        (
            json!({"expert_model_parallel_size": 64, "moe_flex_dispatcher_backend": "ncclep"}),
            None,
        ),
        (
            json!({"expert_model_parallel_size": 8, "moe_flex_dispatcher_backend": "hybridep"}),
            Some(84_934_656),
        ),
        (
            json!({"expert_model_parallel_size": 64, "moe_flex_dispatcher_backend": "hybridep"}),
            Some(755_236_864),
        ),
        (
            json!({"expert_model_parallel_size": 64, "moe_flex_dispatcher_backend": "hybridep", "gpu": "gb200"}),
            Some(679_477_248),
        ),
    ] {
        assert_eq!(buffers(&settings), expected, "{settings}");
    }
}

/// What attributes of `_HybridEPManager` and the context of `HybridEPDispatch` keep between steps: of 4,096 tokens and 128
/// experts on 8 ranks, four bytes a token and rank, and five a token and expert, for the maps; one and four a token and
/// expert for the routing map and the probabilities; and four for each of a token's four experts.
#[test]
fn hybrid_ep_refers_to_its_maps_between_steps() {
    let steady = |backend: &str, router: &str| {
        let settings = json!({
            "expert_model_parallel_size": 8, "moe_flex_dispatcher_backend": backend, "moe_router_dtype": router,
        });
        estimate(&config(&job(&settings))).modules[0].stages[0].steady.0
    };
    for router in ["fp32", "fp64"] {
        let kept = steady("hybridep", router) - steady("ncclep", router);
        assert_eq!(kept, 4 * 4096 * (4 * 8 + (1 + 4) * 128 + (1 + 4) * 128 + 4 * 4));
    }
}

/// What attributes of `MoEAllGatherTokenDispatcher` refer to between steps: a byte for each of the 32,768 tokens of 8 ranks
/// and each of 16 local experts, and of the 16,384 tokens that these get a row number and a probability; beside the buffer
/// for all tokens.
#[test]
fn the_all_gather_dispatcher_refers_to_its_map_between_steps() {
    let steady = |settings: &Json| {
        let settings = with(
            &json!({"expert_model_parallel_size": 8, "moe_router_dtype": "fp32"}),
            settings,
        );
        estimate(&config(&job(&settings))).modules[0].stages[0].steady.0
    };
    let gathered = steady(&json!({"moe_token_dispatcher_type": "allgather"}));
    let kept = gathered - steady(&json!({"moe_flex_dispatcher_backend": "ncclep"}));
    let tokens = 8 * 4096;
    assert_eq!(kept, tokens * 1024 * 2 + 4 * (tokens * 16 + 16384 * (8 + 4)));
}
