//! What layers of sparse attention, gated delta nets and gated delta products keep, against formulas.

use megatron_memory::config::NameSet;
use megatron_memory::config::choices::RecomputeModule;
use megatron_memory::model::sizes::Sizes;
use megatron_memory::model::tape::ActivationTensor;
use megatron_memory::model::tape::recompute::{RecomputeOptions, kept};
use megatron_memory::model::{LayerSpec, layer_tape};
use serde_json::{Value as Json, json};

use super::jobs::config;
use crate::config::with;

const S: u64 = 4096;
const H: u64 = 1024;

/// Bytes that the first layer of a hybrid model keeps, which has a mixer and no MLP.
fn kept_bytes(job: &Json, recomputed: &[RecomputeModule]) -> u64 {
    let config = config(job);
    let sizes = Sizes::new(&config.modules()[0]);
    let tape = layer_tape(&sizes, LayerSpec::all(sizes.m)[0]);
    let options = RecomputeOptions {
        recompute: (!recomputed.is_empty()).then(|| NameSet::of(recomputed)),
        ..RecomputeOptions::NONE
    };
    let kept = kept(&tape, options);
    kept.iter().map(ActivationTensor::bytes).sum()
}

fn job(pattern: &str, change: Json) -> Json {
    let job = json!({
        "hybrid_layer_pattern": pattern, "hidden_size": H, "num_attention_heads": 16, "vocab_size": 128,
        "seq_length": S, "micro_batch_size": 1, "normalization": "RMSNorm", "hidden_dropout": 0.0, "bf16": true,
        "position_embedding_type": "none", "add_bias_linear": false,
    });
    with(job, change)
}

/// DeepSeek-V3.2's widths with 16 heads on 1024 columns.
fn sparse(change: Json) -> Json {
    let sizes = json!({
        "qk_layernorm": true, "q_lora_rank": 384, "kv_lora_rank": 512, "qk_head_dim": 128, "qk_pos_emb_head_dim": 64,
        "v_head_dim": 128, "dsa_indexer_n_heads": 8, "dsa_indexer_head_dim": 128, "dsa_indexer_topk": 1024,
    });
    job("D", with(sizes, change))
}

/// Norms, projections and the output: what sparse attention keeps outside its core. The tables of rotary embedding, the
/// copied weight that makes values and the output in the latent space are counted with it.
fn around_sparse() -> u64 {
    let (heads, q_rank, latent, rotary) = (16, 384, 512, 64);
    let norms = 2 * H + 2 * H + 4 + (2 * q_rank + 2 * q_rank + 4) + (2 * (latent + rotary) + 4);
    let queries = 2 * heads * (128 + rotary);
    let output = 2 * heads * latent + 2 * heads * 128;
    S * (norms + queries + output) + 4 * S * rotary * 2 + heads * 128 * latent * 2
}

#[test]
fn sparse_attention_by_pytorch_keeps_masks_and_scores_of_all_pairs() {
    let core = S * (4 * 16 + 4 + 2) * 576 + (3 + 4 + 4 + 2) * 16 * S * S;
    assert_eq!(kept_bytes(&sparse(json!({})), &[]), around_sparse() + core);
}

#[test]
fn fused_sparse_attention_keeps_its_operands_and_the_picked_tokens() {
    let operands = S * (16 + 1) * 2 * 576;
    let picked = S * 4 * 1024;
    let cudnn = sparse(json!({"dsa_kernel_backend": "cudnn", "gpu": "h100-80gb"}));
    let sums = S * 16 * 4;
    assert_eq!(kept_bytes(&cudnn, &[]), around_sparse() + operands + picked + sums);
    let tilelang = sparse(json!({"dsa_kernel_backend": "tilelang"}));
    assert_eq!(kept_bytes(&tilelang, &[]), around_sparse() + operands + picked);
}

#[test]
fn the_loss_of_an_indexer_keeps_its_projections_or_their_gradients() {
    let (heads, width) = (8, 128);
    // Keys before their norm with its statistics, and tables of rotary embedding; compressed queries and the norm's
    // output are kept already.
    let projections = S * (2 * width + 8) + 4 * S * 64 * 2;
    let operands = S * 2 * (heads * width + width + heads);
    let with_loss = |backend: &str, sparse_loss: bool| {
        let job = sparse(json!({
            "dsa_kernel_backend": backend, "gpu": "h100-80gb", "dsa_indexer_loss_coeff": 0.001,
            "dsa_indexer_use_sparse_loss": sparse_loss,
        }));
        let without = with(job.clone(), json!({"dsa_indexer_loss_coeff": null}));
        kept_bytes(&job, &[]) - kept_bytes(&without, &[])
    };
    // The loss by PyTorch operations keeps queries, which products in fp32 do not, and indices of 8 bytes.
    let reference = S * 2 * 576 * 16 + S * 8 * 1024;
    assert_eq!(with_loss("none", false), projections + operands + reference);
    assert_eq!(with_loss("cudnn", false), projections + operands);
    assert_eq!(with_loss("cudnn", true), projections + operands);
    // The loss over all tokens is PyTorch's also beside TileLang's attention, which has its indices converted.
    assert_eq!(with_loss("tilelang", false), projections + operands + S * 8 * 1024);
    let gradient = S * 4 * 1024;
    let weights_in_fp32 = S * 2 * heads;
    assert_eq!(
        with_loss("tilelang", true),
        projections + operands + gradient + weights_in_fp32
    );
}

#[test]
fn recomputed_sparse_attention_keeps_its_inputs() {
    let core = kept_bytes(&sparse(json!({})), &[RecomputeModule::CoreAttn]);
    let inputs = S * (16 + 1) * 2 * 576;
    // The output in the latent space and the weight that makes values are part of the core.
    let within = S * 2 * 16 * 512 + 16 * 128 * 512 * 2;
    assert_eq!(core, around_sparse() - within + inputs);
}

#[test]
fn a_fused_down_projection_of_mla_keeps_no_norm_of_its_own() {
    let sizes = json!({
        "qk_layernorm": true, "q_lora_rank": 384, "kv_lora_rank": 256, "qk_head_dim": 64, "qk_pos_emb_head_dim": 64,
        "v_head_dim": 64, "tensor_model_parallel_size": 2, "sequence_parallel": true,
    });
    let apart = kept_bytes(&job("+", sizes.clone()), &[]);
    let fused = with(sizes, json!({"mla_down_proj_fusion": true}));
    let fused = kept_bytes(&job("+", fused), &[]);
    // Apart, a rank keeps compressed queries of its own tokens, and latent vectors with their rotary part.
    let (own, all) = (S / 2, S);
    assert_eq!(
        fused + own * 2 * 384 + own * 2 * (256 + 64),
        apart + all * 2 * 384 + own * 2 * 256
    );
}

#[test]
fn an_l2_norm_keeps_one_number_a_head() {
    let change = json!({"group_query_attention": true, "num_query_groups": 4});
    let plain = with(change, json!({"kv_channels": 64}));
    let l2 = kept_bytes(&job("*", with(plain.clone(), json!({"qk_l2_norm": true}))), &[]);
    let learned = with(plain, json!({"qk_layernorm": true}));
    let learned = kept_bytes(&job("*", learned), &[]);
    // The learned norms of Transformer Engine copy queries and keys; L2 norms keep the projection with values in it
    // instead, and queries that are copied to lie side by side.
    assert_eq!(l2 + S * 2 * 64 * 4, learned + S * 2 * 64 * (16 + 8));
}

fn linear(change: Json) -> Json {
    let sizes = json!({
        "linear_num_key_heads": 4, "linear_num_value_heads": 8, "linear_key_head_dim": 64, "linear_value_head_dim": 32,
        "linear_attention_freq": 4,
    });
    job("G", with(sizes, change))
}

#[test]
fn gates_of_every_channel_are_kept_twice() {
    let of_heads = linear(json!({"experimental_attention_variant": "gdn"}));
    let of_channels = linear(json!({"experimental_attention_variant": "gdn2"}));
    let (keys, values) = (8 * 64, 8 * 32);
    // Decay and its sums in fp32, both strengths, and one more matrix a chunk; the projection is wider by the gates.
    let channels = S * (2 * 4 * keys + 2 * keys + 2 * values + 2 * 8 * 64);
    let heads = S * (4 * 8 + 2 * 8);
    let wider = S * 2 * (2 * 4 * 64 + 8 * 32 - 2 * 8);
    assert_eq!(
        kept_bytes(&of_channels, &[]) - kept_bytes(&of_heads, &[]),
        channels - heads + wider
    );
    // Statistics, normed output, gate in fp32 and gated output come back.
    let discarded = S * (4 * 8 + 2 * values + 4 * values + 2 * values);
    for job in [of_heads, of_channels] {
        assert_eq!(
            kept_bytes(&job, &[]) - kept_bytes(&job, &[RecomputeModule::GdnNormOut]),
            discarded
        );
    }
}

#[test]
fn a_gated_delta_product_keeps_its_steps() {
    let (heads, width, state, groups, steps) = (16, 64, 32, 4, 3);
    let product = job(
        "M",
        json!({
            "spec": "gated_delta_product_stack_spec", "mamba_num_heads": heads, "mamba_head_dim": width,
            "mamba_state_dim": state, "mamba_num_groups": groups, "gdp_num_householder": steps,
        }),
    );
    let inner = heads * width;
    let projected = (1 + steps) * (inner + groups * state + heads);
    let input = 4 * H + 4;
    let normed = 2 * (1 + steps) * groups * state + 4 * (1 + steps) * groups;
    let by_head = 2 * (1 + steps) * heads * state;
    let values = 2 * steps * inner;
    let gates = 2 * steps * heads + 4 * steps * heads + 2 * 4 * heads;
    let inverse = 2 * steps * heads * 64;
    let norm = 2 * inner + 2 * inner + 4 * groups + 2 * inner;
    let all = S * (input + 2 * projected + normed + by_head + values + gates + inverse + norm);
    assert_eq!(kept_bytes(&product, &[]), all);
    // Each module keeps its input and loses its outputs and what it keeps within.
    let in_proj = S * (2 * H + 4 + 2 * projected);
    assert_eq!(kept_bytes(&product, &[RecomputeModule::GdpInProj]), all - in_proj);
    let qkv = S * (normed + by_head + values);
    assert_eq!(kept_bytes(&product, &[RecomputeModule::GdpQkv]), all - qkv);
}
