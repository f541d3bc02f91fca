//! Weight gradients that are computed later than the gradients of inputs (`delay_wgrad_compute`).

use megatron_memory::config::{check, raw::RawJob};
use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::line::stage_lines;
use megatron_memory::memory::{StageEstimate, StageRef, estimate, timeline};
use megatron_memory::units::Bytes;
use megatron_memory::value::Value;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::jobs::{config, with};

const T: u64 = 2048;
const H: u64 = 1024;
/// Inner width of an expert.
const F: u64 = 4096;
/// Copies of this rank's tokens, one for each chosen expert.
const ROWS: u64 = 2 * T;

/// 4 layers of 8 wide experts on two GPUs, four micro batches each, and a loss over a small vocabulary.
fn job(change: &Json) -> Json {
    let job = json!({
        "num_layers": 4, "hidden_size": H, "ffn_hidden_size": F, "moe_ffn_hidden_size": F, "num_attention_heads": 8,
        "swiglu": true, "normalization": "RMSNorm", "add_bias_linear": false, "seq_length": T, "micro_batch_size": 1,
        "attention_dropout": 0, "hidden_dropout": 0, "padded_vocab_size": 1024, "bf16": true,
        "attention_backend": "fused", "position_embedding_type": "rope", "apply_rope_fusion": true,
        "create_attention_mask_in_dataloader": false, "num_experts": 8, "moe_router_topk": 2, "moe_grouped_gemm": true,
        "moe_token_dispatcher_type": "flex", "expert_model_parallel_size": 2, "world_size": 2, "global_batch_size": 8,
        "overlap_moe_expert_parallel_comm": true,
    });
    with(&job, change)
}

fn stages(job: &Json) -> Vec<StageEstimate> {
    estimate(&config(job)).modules.remove(0).stages
}

fn peak(change: &Json) -> u64 {
    stages(&job(change))[0].total.0
}

fn added(change: &Json) -> u64 {
    peak(&with(change, &json!({"delay_wgrad_compute": true}))) - peak(change)
}

#[test]
fn experts_keep_the_input_and_the_output_gradient_of_linear_fc2() {
    // Most is alive while the activation function goes backwards. Then linear_fc2 is done, but for its weight gradient.
    assert_eq!(added(&json!({})), (ROWS * F + ROWS * H) * 2);
    // The activation's output is made again for linear_fc2 and stays, too.
    let recompute = json!({"recompute_granularity": "selective", "recompute_modules": ["moe_act"]});
    assert_eq!(added(&recompute), (ROWS * F + ROWS * H) * 2);
}

fn adds_up(job: &Json) -> Result<(), TestCaseError> {
    let config = config(job);
    let result = estimate(&config);
    for (pp_rank, stage) in result.modules[0].stages.iter().enumerate() {
        let at = StageRef { module: 0, pp_rank };
        let lines = stage_lines(&config, &result, at);
        for bucket in Bucket::ALL {
            let line = lines.iter().find(|line| line.id == bucket.id());
            let bytes = line.map_or(Bytes::ZERO, |line| line.bytes);
            prop_assert_eq!(bytes, stage.bytes(bucket), "{} of {}", bucket.id(), job);
            let children: Bytes = line.iter().flat_map(|l| &l.children).map(|c| c.bytes).sum();
            prop_assert_eq!(children, bytes, "{} of {}", bucket.id(), job);
        }
        let shown = timeline(&config, at, 64).unwrap();
        let highest = shown.points.iter().map(|point| point.total).max().unwrap();
        prop_assert!(highest <= stage.total, "{}", job);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Waiting never needs less, nothing that stays changes, and every byte of the peak has its line.
    #[test]
    fn a_peak_with_delayed_weight_gradients_is_no_smaller(
        tp in prop::sample::select(vec![1u64, 2]),
        chunks in 1u64..3,
        pp in prop::sample::select(vec![1u64, 2]),
        fused in any::<bool>(),
        fp8 in prop::sample::select(vec![Json::Null, json!("tensorwise"), json!("mxfp8"), json!("blockwise")]),
        mla in any::<bool>(),
        shared in any::<bool>(),
        dense in any::<bool>(),
        alltoall in any::<bool>(),
        latent in any::<bool>(),
        mtp in any::<bool>(),
        modules in prop::sample::subsequence(vec!["core_attn", "layernorm", "moe_act", "shared_experts"], 0..4),
        layers in prop::sample::select(vec![4u64, 8]),
    ) {
        let mut change = json!({
            "tensor_model_parallel_size": tp, "sequence_parallel": tp > 1, "pipeline_model_parallel_size": pp,
            "world_size": 2 * tp * pp, "num_layers": layers, "gradient_accumulation_fusion": fused,
            "multi_latent_attention": mla, "moe_token_dispatcher_type": if alltoall { "alltoall" } else { "flex" },
            "moe_layer_freq": if dense { "([0]*1+[1]*3)" } else { "1" },
        });
        if dense { change["num_layers"] = json!(4); }
        if shared { change["moe_shared_expert_intermediate_size"] = json!(2048); }
        if latent { change["moe_latent_size"] = json!(512); }
        if mtp { change["mtp_num_layers"] = json!(1); }
        if pp > 1 || chunks > 1 {
            change["pipeline_model_parallel_size"] = json!(2);
            change["world_size"] = json!(4 * tp);
            change["num_virtual_stages_per_pipeline_rank"] = json!(2);
        }
        if !fp8.is_null() {
            change["fp8_format"] = json!("e4m3");
            change["fp8_recipe"] = fp8;
            change["gpu"] = json!("b200");
        }
        if !modules.is_empty() {
            change["recompute_granularity"] = json!("selective");
            change["recompute_modules"] = json!(modules);
        }
        let plain = job(&change);
        let delayed = with(&plain, &json!({"delay_wgrad_compute": true}));
        let value: Value = serde_json::from_value(delayed.clone()).unwrap();
        prop_assume!(check(&RawJob::from_value(&value)).config.is_some());
        for (plain, delayed) in stages(&plain).iter().zip(&stages(&delayed)) {
            prop_assert!(delayed.total >= plain.total, "{}: {:?}", change, plain.total);
            prop_assert_eq!(delayed.steady, plain.steady);
            for (plain, delayed) in plain.chunks.iter().zip(&delayed.chunks) {
                prop_assert_eq!(delayed.kept, plain.kept);
            }
        }
        adds_up(&delayed)?;
        adds_up(&with(&delayed, &json!({"deallocate_pipeline_outputs": false})))?;
    }
}
