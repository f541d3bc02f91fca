//! Compressed attention, against what a real module keeps.

use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::estimate;
use megatron_memory::model::tape::{ActivationTensor, Family};
use serde_json::json;

use super::jobs::config;
use super::saved_bytes::{Layer, bytes};
use crate::oracle;

/// What an indexer's loss keeps beside the saved tensors of autograd, which are all that the records have.
const BESIDE: &str = "causal mask over groups in fp32";

#[test]
fn an_attention_keeps_what_a_real_one_keeps() {
    let oracle = oracle::json("compressed_attention.json");
    let records = oracle["records"].as_array().unwrap();
    assert_eq!(records.len(), 6);
    let settings = json!({
        "position_embedding_type": "rope", "qk_layernorm": true, "multi_latent_attention": true,
        "experimental_attention_variant": "dsv4_hybrid", "software_stack": "megatron_dev",
    });
    for record in records {
        let layer = Layer::measured(record, &settings);
        let own = layer.kept.iter().filter(|tensor| tensor.family == Family::Attention);
        let own: Vec<_> = own.filter(|tensor| tensor.what != BESIDE).collect();
        // The output of the input norm is the input of the module.
        let measured = record["tensors"].as_array().unwrap();
        let input = measured.iter().find(|tensor| tensor.get("input").is_some()).unwrap();
        let input = input["bytes"].as_u64().unwrap();
        let names: Vec<(&str, u64)> = own.iter().map(|tensor| (tensor.what, tensor.bytes())).collect();
        let ratio = &record["csa_compress_ratios"];
        let all = bytes(own.iter().copied()) + input;
        assert_eq!(Some(all), record["saved_bytes"].as_u64(), "{ratio} {names:?}");
        let norm = layer.kept.iter().filter(|tensor| tensor.what == "input norm output");
        assert_eq!(
            norm.map(ActivationTensor::bytes).collect::<Vec<_>>(),
            [input],
            "{ratio}"
        );
    }
}

/// A router that looks experts up has a table of the vocabulary, beside the embedding only.
#[test]
fn hash_routed_layers_have_a_table() {
    let tables = |layers: u64| {
        let job = json!({
            "num_layers": 8, "hidden_size": 256, "num_attention_heads": 4, "seq_length": 512, "vocab_size": 1000,
            "num_experts": 8, "moe_router_topk": 2, "world_size": 2, "pipeline_model_parallel_size": 2,
            "pipeline_model_parallel_layout": "Et*4|t*4L", "micro_batch_size": 1, "bf16": true,
            "position_embedding_type": "rope", "add_bias_linear": false, "moe_n_hash_layers": layers,
            "software_stack": "megatron_dev", "expandable_segments": true,
        });
        let stages = estimate(&config(&job)).modules.remove(0).stages;
        [0, 1].map(|stage: usize| stages[stage].bytes(Bucket::Buffers).0)
    };
    let (without, with) = (tables(0), tables(3));
    // Two experts for each of 1,000 numbers, in int32, in blocks of 512 bytes.
    assert_eq!(with[0] - without[0], 3 * (1000_u64 * 2 * 4).next_multiple_of(512));
    assert_eq!(with[1], without[1]);
}
