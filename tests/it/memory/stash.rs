//! Tensors of a fixed size for experts, the paged stash that holds what they keep, and offloading of the same.

use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::line::{Line, stage_lines};
use megatron_memory::memory::{StageEstimate, StageRef, estimate};
use megatron_memory::model::tape::ActivationTensor;
use serde_json::{Value as Json, json};

use super::jobs::{config, kept_by_a_layer, with};

const TOKENS: u64 = 4096;
const H: u64 = 1024;
const F: u64 = 512;
const K: u64 = 4;

/// Four layers with experts, in one fused operation and MXFP8.
fn job(settings: &Json) -> Json {
    let job = json!({
        "num_layers": 4, "hidden_size": H, "ffn_hidden_size": 4096, "num_attention_heads": 16, "vocab_size": 50304,
        "seq_length": TOKENS, "micro_batch_size": 1, "world_size": 8, "bf16": true, "add_bias_linear": false,
        "num_experts": 64, "expert_model_parallel_size": 8, "moe_ffn_hidden_size": F, "moe_router_topk": K,
        "moe_router_dtype": "fp32", "moe_token_dispatcher_type": "flex", "moe_flex_dispatcher_backend": "hybridep",
        "moe_grouped_gemm": true, "swiglu": true, "use_transformer_engine_op_fuser": true, "normalization": "RMSNorm",
        "position_embedding_type": "rope", "hidden_dropout": 0, "attention_dropout": 0, "gpu": "b200",
        "fp8_format": "e4m3", "fp8_recipe": "mxfp8",
    });
    with(&job, settings)
}

fn stage(job: &Json) -> StageEstimate {
    estimate(&config(job)).modules[0].stages[0].clone()
}

/// Bytes of kept tensors whose names contain a word.
fn kept(job: &Json, word: &str) -> u64 {
    let tensors = kept_by_a_layer(job);
    let named = tensors.iter().filter(|tensor| tensor.what.contains(word));
    named.map(ActivationTensor::bytes).sum()
}

/// The lines of buffers whose names begin so, with their bytes.
fn buffers(job: &Json, word: &str) -> Vec<(String, u64)> {
    let config = config(job);
    let estimate = estimate(&config);
    let lines = stage_lines(&config, &estimate, StageRef { module: 0, pp_rank: 0 });
    let all = lines.iter().find(|line| line.id == Bucket::Buffers.id());
    let lines = all.map_or(&[][..], |line: &Line| &line.children);
    let named = lines.iter().filter(|line| line.label.starts_with(word));
    named.map(|line| (line.label.clone(), line.bytes.0)).collect()
}

#[test]
fn experts_get_tensors_of_a_fixed_size_whatever_the_routing() {
    let output = |settings: Json| kept(&job(&settings), "output of linear_fc1");
    let bytes = |rows: u64| rows * 2 * F * 2;
    for (settings, rows) in [
        (json!({"moe_expert_rank_capacity_factor": 1}), TOKENS * K),
        (json!({"moe_expert_rank_capacity_factor": 1.5}), TOKENS * K * 3 / 2),
        // 4096 · 4 · 1.01 = 16547.84, up to a multiple of 256.
        (json!({"moe_expert_rank_capacity_factor": 1.01}), 16_640),
        (
            json!({"moe_expert_rank_capacity_factor": 1.5, "expert_load_imbalance": 1.4}),
            TOKENS * K * 3 / 2,
        ),
        (
            json!({"moe_expert_rank_capacity_factor": 2, "moe_flex_dispatcher_backend": "ncclep"}),
            TOKENS * K * 2,
        ),
        // NCCL-EP sends 64 tokens at once: 4000 make 4032.
        (
            json!({"moe_expert_rank_capacity_factor": 2, "moe_flex_dispatcher_backend": "ncclep", "seq_length": 4000}),
            4032 * K * 2,
        ),
        // Another dispatcher has no use for it.
        (
            json!({"moe_expert_rank_capacity_factor": 2, "moe_token_dispatcher_type": "alltoall"}),
            TOKENS * K,
        ),
    ] {
        assert_eq!(output(settings.clone()), bytes(rows), "{settings}");
    }
}

#[test]
fn fields_of_what_is_off_change_nothing() {
    let needs = |job: &Json| {
        let stage = stage(job);
        (stage.memory, stage.total, stage.steady)
    };
    let plain = needs(&job(&json!({})));
    let others = json!({"moe_paged_stash_page_size": 128, "moe_paged_stash_buffer_size_factor_cuda": 2});
    assert_eq!(needs(&job(&others)), plain);
    let capacity = json!({"moe_expert_rank_capacity_factor": 1.5});
    let with_capacity = needs(&job(&capacity));
    assert!(with_capacity.1 > plain.1);
    // In bf16 fused operations mark no tensors for the stash.
    let bf16 = with(&capacity, &json!({"fp8_format": null}));
    let stashed = with(&bf16, &json!({"moe_paged_stash": true}));
    assert_eq!(needs(&job(&stashed)), needs(&job(&bf16)));
}

/// Four layers, one micro batch in flight: pages for 4 · 16384 tokens, and a tenth more.
#[test]
fn the_stash_has_pages_for_the_mean_of_tokens() {
    let stash = json!({"moe_expert_rank_capacity_factor": 1.5, "moe_paged_stash": true});
    let job = job(&stash);
    for word in ["output of linear_fc1", "probabilities of the dispatched"] {
        assert_eq!(kept(&job, word), 0, "{word}");
    }
    let tokens = (4 * TOKENS * K) * 11 / 10;
    let pages = tokens.div_ceil(64);
    let of_scales = (4 * TOKENS * K / 32 * 11 / 10).div_ceil(64);
    let expected = [
        ("stash: input of linear_fc1", pages * 64 * H),
        ("stash: scales of the input of linear_fc1", of_scales * 64 * H),
        ("stash: output of linear_fc1", pages * 64 * 2 * F * 2),
        ("stash: probabilities", pages * 64 * 4),
        ("stash: input of linear_fc2", pages * 64 * F),
        ("stash: scales of the input of linear_fc2", of_scales * 64 * F),
    ];
    let blocks = |bytes: u64| bytes.div_ceil(512) * 512;
    let expected = expected.map(|(what, bytes)| (what.to_owned(), blocks(bytes)));
    assert_eq!(buffers(&job, "stash:"), expected);
    // Two lists of free pages for each, and the page numbers of four layers' tensors.
    let lists = 4 * 2 * blocks(8 * pages) + 2 * 2 * blocks(8 * of_scales);
    let numbers = 4 * 6 * (blocks(8 * TOKENS * K * 3 / 2 / 64) + 512);
    let own = buffers(&job, "page numbers");
    assert_eq!(own[0].1, lists + numbers);
    // Larger pages and a larger stash.
    let twice = with(
        &job,
        &json!({"moe_paged_stash_buffer_size_factor_cuda": 2.2, "moe_paged_stash_page_size": 4096}),
    );
    let first = buffers(&twice, "stash: input of linear_fc1");
    assert_eq!(first[0].1, (2 * tokens).div_ceil(4096) * 4096 * H);
}

#[test]
fn a_stash_saves_what_routing_leaves_free() {
    let pipeline = json!({"num_layers": 16, "pipeline_model_parallel_size": 4, "world_size": 32, "global_batch_size": 64,
        "moe_expert_rank_capacity_factor": 3});
    for more in [
        json!({}),
        json!({"virtual_pipeline_model_parallel_size": 2}),
        json!({"virtual_pipeline_model_parallel_size": 2, "overlap_moe_expert_parallel_comm": true}),
    ] {
        let fixed = job(&with(&pipeline, &more));
        let stashed = with(&fixed, &json!({"moe_paged_stash": true}));
        let (before, after) = (stage(&fixed), stage(&stashed));
        assert!(after.total < before.total, "{more}");
        // The pages stay between iterations.
        assert!(after.steady > before.steady, "{more}");
        // As large as the fixed tensors, the stash saves nothing.
        let large = with(&stashed, &json!({"moe_paged_stash_buffer_size_factor_cuda": 3}));
        assert!(stage(&large).total > before.total, "{more}");
    }
}

#[test]
fn lines_add_up_to_the_peak() {
    for settings in [
        json!({"moe_expert_rank_capacity_factor": 1.5}),
        json!({"moe_expert_rank_capacity_factor": 1.5, "moe_paged_stash": true}),
        json!({"moe_expert_rank_capacity_factor": 1.5, "moe_paged_stash": true, "num_layers": 16,
            "pipeline_model_parallel_size": 4, "world_size": 32, "mtp_num_layers": 1}),
        json!({"moe_expert_rank_capacity_factor": 1.5, "moe_paged_stash": true, "recompute_granularity": "full",
            "recompute_method": "uniform", "recompute_num_layers": 2}),
        json!({"fine_grained_activation_offloading": true, "offload_modules": ["fused_group_mlp"]}),
    ] {
        let config = config(&job(&settings));
        let estimate = estimate(&config);
        for (pp_rank, stage) in (0..).zip(&estimate.modules[0].stages) {
            let lines = stage_lines(&config, &estimate, StageRef { module: 0, pp_rank });
            let sum: u64 = lines.iter().map(|line| line.bytes.0).sum();
            assert_eq!(sum, stage.total.0, "{settings} {pp_rank}");
        }
    }
}

#[test]
fn fused_experts_go_to_the_host_as_a_whole() {
    let plain = job(&json!({"moe_router_padding_for_quantization": true}));
    let offloaded = json!({"fine_grained_activation_offloading": true, "offload_modules": ["fused_group_mlp"]});
    let offloaded = with(&plain, &offloaded);
    assert!(kept(&plain, "output of linear_fc1") > 0);
    assert_eq!(kept(&offloaded, "output of linear_fc1"), 0);
    // Smaller tensors stay: probabilities, and with this limit all but the output of linear_fc1.
    assert_eq!(kept(&offloaded, "probabilities"), kept(&plain, "probabilities"));
    let least = with(&offloaded, &json!({"min_offloaded_tensor_size": TOKENS * K * 2 * F}));
    assert_eq!(kept(&least, "output of linear_fc1"), 0);
    assert!(kept(&least, "input in fp8") > kept(&offloaded, "input in fp8"));
    assert!(stage(&offloaded).total < stage(&plain).total);
}
