//! Compressed attention, against what a real module keeps.

use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::estimate;
use megatron_memory::model::kernels::Kernels;
use megatron_memory::model::sizes::Sizes;
use megatron_memory::model::tape::recompute::{RecomputeOptions, kept};
use megatron_memory::model::tape::{ActivationTensor, Family};
use megatron_memory::model::{LayerSpec, layer_tape};
use serde_json::{Value as Json, json};

use super::jobs::{config, with};
use crate::oracle;

/// The job of a record: one layer on one GPU.
fn job(record: &Json) -> Json {
    let settings = json!({
        "num_layers": 1, "vocab_size": 128, "bf16": true, "swiglu": true, "normalization": "RMSNorm",
        "add_bias_linear": false, "position_embedding_type": "rope", "qk_layernorm": true, "attention_dropout": 0,
        "hidden_dropout": 0, "multi_latent_attention": true, "experimental_attention_variant": "dsv4_hybrid",
        "software_stack": "megatron_dev",
    });
    let mut job = with(record, &settings);
    let object = job.as_object_mut().unwrap();
    object.retain(|key, _| !["saved_bytes", "tensors"].contains(&&**key));
    job
}

/// What an indexer's loss keeps beside the saved tensors of autograd, which are all that the records have.
const BESIDE: &str = "causal mask over groups in fp32";

#[test]
fn an_attention_keeps_what_a_real_one_keeps() {
    let oracle = oracle::json("compressed_attention.json");
    let records = oracle["records"].as_array().unwrap();
    assert_eq!(records.len(), 6);
    for record in records {
        let config = config(&job(record));
        let sizes = Sizes {
            kernels: Kernels::TE_LIKE,
            ..Sizes::new(&config.modules()[0])
        };
        let tape = layer_tape(&sizes, LayerSpec::all(sizes.m)[0]);
        let tensors = kept(&tape, RecomputeOptions::NONE);
        let own = tensors.iter().filter(|tensor| tensor.family == Family::Attention);
        let own: Vec<_> = own.filter(|tensor| tensor.what != BESIDE).collect();
        let bytes: u64 = own.iter().map(|tensor| tensor.bytes()).sum();
        // The output of the input norm is the input of the module.
        let measured = record["tensors"].as_array().unwrap();
        let input = measured.iter().find(|tensor| tensor.get("input").is_some()).unwrap();
        let input = input["bytes"].as_u64().unwrap();
        let names: Vec<(&str, u64)> = own.iter().map(|tensor| (tensor.what, tensor.bytes())).collect();
        let ratio = &record["csa_compress_ratios"];
        assert_eq!(Some(bytes + input), record["saved_bytes"].as_u64(), "{ratio} {names:?}");
        let norm = tensors.iter().filter(|tensor| tensor.what == "input norm output");
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
