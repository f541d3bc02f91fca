//! Two micro batches at once, as overlapped expert communication has them.

use megatron_memory::memory::blocks::BlockKind;
use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::estimate;
use megatron_memory::memory::peak::PassName;
use megatron_memory::units::Bytes;
use serde_json::{Value as Json, json};

use super::jobs::{config, with};

const T: u64 = 2048;
const H: u64 = 1024;
const V: u64 = 128_000;

/// 4 layers of 8 experts on two GPUs, four micro batches each.
fn job(change: &Json) -> Json {
    let job = json!({
        "num_layers": 4, "hidden_size": H, "ffn_hidden_size": 1024, "num_attention_heads": 8, "swiglu": true,
        "normalization": "RMSNorm", "add_bias_linear": false, "seq_length": T, "micro_batch_size": 1,
        "attention_dropout": 0, "hidden_dropout": 0, "padded_vocab_size": V, "bf16": true,
        "attention_backend": "fused", "position_embedding_type": "rope", "apply_rope_fusion": true,
        "create_attention_mask_in_dataloader": false, "untie_embeddings_and_output_weights": true,
        "num_experts": 8, "moe_router_topk": 2, "moe_grouped_gemm": true, "moe_token_dispatcher_type": "flex",
        "expert_model_parallel_size": 2, "world_size": 2, "global_batch_size": 8,
        "cross_entropy_loss_fusion": true, "cross_entropy_fusion_impl": "te", "overlap_moe_expert_parallel_comm": true,
    });
    with(&job, change)
}

#[test]
fn the_gradient_of_the_embedding_waits_for_the_loss_of_the_next_micro_batch() {
    let stage = estimate(&config(&job(&json!({})))).modules.remove(0).stages.remove(0);
    let moment = &stage.moment;
    assert_eq!(
        (moment.block, moment.pass),
        (Some(BlockKind::Embedding), PassName::Backward)
    );
    // All that the next micro batch keeps, its logits among it, and the gradient of the table with that of its output.
    let kept = Bucket::ALL
        .into_iter()
        .filter(|b| b.usage().is_some() && *b != Bucket::Transients);
    let kept: Bytes = kept.map(|bucket| stage.bytes(bucket)).sum();
    assert_eq!(kept, stage.chunks[0].kept);
    assert!(stage.bytes(Bucket::ActivationsOutput) >= Bytes(T * V * 2));
    assert_eq!(stage.bytes(Bucket::Transients), Bytes(V * H * 2 + T * H * 2));
    // Where nothing overlaps, the embedding is the last to go, when all else of its micro batch is gone.
    let alone = job(&json!({"overlap_moe_expert_parallel_comm": false}));
    let alone = estimate(&config(&alone)).modules.remove(0).stages.remove(0);
    assert_eq!(alone.moment.block, Some(BlockKind::Head));
    assert!(alone.total.0 + V * H * 2 <= stage.total.0 + T * H * 2);
}
