//! Experts for text beside experts for images: what the layer keeps beside what its pools keep, against a real one.

use serde_json::{Value as Json, json};

use super::saved_bytes::{Layer, bytes};
use crate::oracle;

#[test]
fn a_second_pool_keeps_the_tokens_of_the_first_in_a_copy() {
    let oracle = oracle::json("moe_pools.json");
    let records = oracle["records"].as_array().unwrap();
    assert_eq!(records.len(), 3);
    for record in records {
        let kept = |vision: Json| {
            let settings = json!({
                "num_attention_heads": 4, "num_experts": 4, "moe_router_topk": 2, "moe_ffn_hidden_size": 32,
                "moe_vision_ffn_hidden_size": vision, "moe_shared_expert_intermediate_size": 32,
                "moe_token_dispatcher_type": "alltoall",
            });
            bytes(&Layer::measured(record, &settings).kept)
        };
        let measured = record["tensors"].as_array().unwrap().iter();
        let beside = measured.filter(|tensor| tensor.get("input").is_none());
        let beside: u64 = beside.map(|tensor| tensor["bytes"].as_u64().unwrap()).sum();
        assert_eq!(kept(json!(16)) - kept(Json::Null), beside, "{record}");
    }
}
