//! What CUDA graphs of `cuda_graph_impl` local need while they are captured, keep, reserve and free, counted by hand.

use megatron_memory::config::{check, raw::RawJob};
use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::graph_phase::GraphPhase;
use megatron_memory::memory::line::stage_lines;
use megatron_memory::memory::{JobMoment, StageEstimate, StageRef, estimate, timeline};
use megatron_memory::units::Bytes;
use megatron_memory::value::Value;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::jobs::{config, with};

const T: u64 = 32_768;
const H: u64 = 1024;
const F: u64 = 4096;
/// The residual stream.
const STREAM: u64 = T * H * 2;
/// Parameters of a layer: queries, keys and values, the projection, the gated MLP, and two norms.
const LAYER: u64 = 3 * H * H + H * H + 3 * H * F + 2 * H;

/// Layers on one GPU that keep more than their states take: 32,768 tokens, hidden size 1024, 8 heads, MLP 4096 wide.
fn job(change: &Json) -> Json {
    let job = json!({
        "num_layers": 4, "hidden_size": H, "ffn_hidden_size": F, "num_attention_heads": 8, "swiglu": true,
        "normalization": "RMSNorm", "add_bias_linear": false, "seq_length": T, "micro_batch_size": 1,
        "attention_dropout": 0, "hidden_dropout": 0, "padded_vocab_size": 1024, "bf16": true,
        "attention_backend": "fused", "position_embedding_type": "rope", "apply_rope_fusion": true,
        "create_attention_mask_in_dataloader": false,
    });
    with(&job, change)
}

fn local(change: &Json) -> Json {
    with(&job(&json!({"cuda_graph_impl": "local"})), change)
}

fn stages(job: &Json) -> Vec<StageEstimate> {
    estimate(&config(job)).modules.remove(0).stages
}

fn stage(job: &Json) -> StageEstimate {
    stages(job).remove(0)
}

fn at(stage: &StageEstimate, moment: JobMoment) -> (u64, GraphPhase) {
    let peak = stage.moments.iter().find(|peak| peak.moment == moment);
    let peak = peak.unwrap();
    (peak.total.0, peak.at.graph_phase)
}

/// What a layer keeps for its backward pass: this many bytes more for each layer more.
fn kept_of_a_layer() -> u64 {
    let kept = |layers: u64| stage(&job(&json!({"num_layers": layers}))).chunks[0].kept.0;
    kept(9) - kept(8)
}

#[test]
fn the_first_iteration_runs_without_graphs_and_then_captures_them() {
    // With a loss over a large vocabulary, which no graph captures, the passes before the capture need most.
    let change = json!({"padded_vocab_size": 65536});
    let (plain, graphed) = (stage(&job(&change)), stage(&local(&change)));
    let (total, phase) = at(&graphed, JobMoment::FirstIteration);
    assert_eq!(phase, GraphPhase::BeforeCapture);
    assert_eq!(total, at(&plain, JobMoment::FirstIteration).0);
    // Without passes before the capture, and with many layers, it needs what they keep, their last output, a copy of
    // the main gradients of one layer, and what its forward graph needs for a moment.
    let deep = json!({"num_layers": 32, "cuda_graph_warmup_steps": 0});
    let captured = stage(&local(&deep));
    let one_more = stage(&local(&with(&deep, &json!({"num_layers": 33}))));
    let (total, phase) = at(&captured, JobMoment::FirstIteration);
    assert_eq!(phase, GraphPhase::Capture);
    let more = at(&one_more, JobMoment::FirstIteration).0 - total;
    // Weights in bf16 and gradients in fp32 are there, and what the optimizer makes in its first step is not.
    let main_parameters = 4;
    assert_eq!(more, kept_of_a_layer() + LAYER * (2 + 4 + main_parameters));
}

#[test]
fn passes_before_a_capture_come_on_top() {
    let without = json!({"num_layers": 32, "cuda_graph_warmup_steps": 0});
    let with = json!({"num_layers": 32, "cuda_graph_warmup_steps": 3});
    let [without, with] = [without, with].map(|change| stage(&local(&change)));
    // At the last layer: its passes keep what any layer keeps, and need more for a moment.
    let more = with.total.0 - without.total.0;
    assert!(more > STREAM, "{more}");
    // They are not in the pool.
    let device = |stage: &StageEstimate| stage.graphs.0 + stage.total.0;
    assert!(device(&with) >= device(&without));
}

#[test]
fn replays_have_all_that_layers_keep_in_their_pool() {
    let stage = stage(&local(&json!({"num_layers": 32})));
    let pool = 32 * kept_of_a_layer();
    assert!(stage.graphs.0 + stage.total.0 > pool);
    let resumed = at(&stage, JobMoment::FirstIterationAfterResume).0;
    // States of the optimizer are there when the job goes on.
    let moments = 2 * 4 * 32 * LAYER;
    assert!(resumed >= at(&stage, JobMoment::FirstIteration).0 + moments);
    // Saving a checkpoint needs what lies between iterations.
    let saving = at(&stage, JobMoment::SavingCheckpoint).0;
    assert!(saving < resumed);
}

#[test]
fn a_graph_for_each_micro_batch_in_flight() {
    let pipeline = |change: &Json| {
        let pipeline =
            json!({"num_layers": 32, "pipeline_model_parallel_size": 4, "world_size": 4, "global_batch_size": 16});
        with(&pipeline, change)
    };
    let graphed = stages(&local(&pipeline(&json!({"cuda_graph_warmup_steps": 0}))));
    // 1F1B has as many micro batches in flight as stages follow: as many copies of 8 layers, and of their last output.
    let kept = 8 * kept_of_a_layer() + STREAM;
    let reserved: Vec<u64> = graphed.iter().map(|s| s.graphs.0 + s.total.0).collect();
    for rank in 1..2 {
        let fewer = reserved[rank] - reserved[rank + 1];
        // The passes before the capture have one fewer as well.
        let plain = fewer.abs_diff(2 * kept);
        assert!(plain <= 2 * STREAM, "stage {rank}: {fewer}, {kept}");
    }
}

#[test]
fn modules_say_which_layers_are_captured() {
    let kept = |change: &Json| {
        let captured = stage(&local(change));
        captured.graphs.0 + captured.total.0
    };
    // One of its modules takes the whole layer.
    for modules in [json!(["attn"]), json!(["mlp"]), json!(["attn", "mlp"])] {
        assert_eq!(kept(&json!({"cuda_graph_modules": modules})), kept(&json!({})));
    }
    // Nothing is captured of a GPT's layers with experts unless their attention is.
    let experts = json!({"num_experts": 8, "moe_router_topk": 2, "moe_grouped_gemm": true, "moe_ffn_hidden_size": 512});
    for change in [
        json!({"cuda_graph_modules": ["moe_router"]}),
        json!({"cuda_graph_modules": ["mamba"]}),
    ] {
        let graphed = stage(&local(&with(&experts, &change)));
        let plain = stage(&job(&experts));
        assert_eq!(graphed.graphs, Bytes::ZERO);
        assert_eq!(graphed.steady, plain.steady);
    }
}

#[test]
fn settings_that_are_not_followed_beside_local_graphs_mark_the_job() {
    let marks = |change: &Json| config(&local(change)).not_modelled().len();
    assert_eq!(marks(&json!({})), 0);
    assert_eq!(marks(&json!({"software_stack": "torch_only"})), 1);
    let fsdp = json!({"use_megatron_fsdp": true, "use_distributed_optimizer": true});
    assert_eq!(marks(&fsdp), 1);
    let hybrid = json!({"hybrid_layer_pattern": "M*E-", "num_layers": null, "mamba_num_heads": 16, "num_experts": 8,
        "moe_router_topk": 2, "moe_grouped_gemm": true, "moe_ffn_hidden_size": 512});
    assert_eq!(
        marks(&with(&hybrid, &json!({"cuda_graph_modules": ["mamba", "attn"]}))),
        0
    );
    assert_eq!(marks(&with(&hybrid, &json!({"cuda_graph_modules": ["moe_router"]}))), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Every byte has its line in every phase, graphs never make the first iteration cheaper, and where no layer is
    /// captured nothing differs.
    #[test]
    fn lines_add_up_and_graphs_never_need_less(
        layers in prop::sample::select(vec![4u64, 16, 32]),
        pp in prop::sample::select(vec![1u64, 2, 4]),
        tp in prop::sample::select(vec![1u64, 2]),
        warmups in prop::sample::select(vec![0u64, 1, 3]),
        vocabulary in prop::sample::select(vec![1024u64, 65536]),
        modules in prop::sample::select(vec![json!([]), json!(["attn"]), json!(["mlp"]), json!(["mamba"])]),
        recompute in prop::sample::subsequence(vec!["core_attn", "layernorm", "mlp"], 0..3),
        fp8 in any::<bool>(),
        mask in any::<bool>(),
        chunks in any::<bool>(),
        mtp in any::<bool>(),
    ) {
        let mut change = json!({
            "num_layers": layers, "pipeline_model_parallel_size": pp, "tensor_model_parallel_size": tp,
            "sequence_parallel": tp > 1, "world_size": pp * tp, "global_batch_size": 8, "padded_vocab_size": vocabulary,
            "cuda_graph_modules": modules, "cuda_graph_warmup_steps": warmups,
            "create_attention_mask_in_dataloader": mask,
        });
        if chunks && pp > 1 && layers > 4 { change["num_virtual_stages_per_pipeline_rank"] = json!(2); }
        if mtp { change["mtp_num_layers"] = json!(1); }
        if fp8 {
            change["fp8_format"] = json!("hybrid");
            change["fp8_recipe"] = json!("tensorwise");
        }
        if !recompute.is_empty() {
            change["recompute_granularity"] = json!("selective");
            change["recompute_modules"] = json!(recompute);
        }
        let job = local(&change);
        let value: Value = serde_json::from_value(job.clone()).unwrap();
        let checked = check(&RawJob::from_value(&value));
        prop_assume!(checked.config.is_some());
        let config = checked.config.unwrap();
        let plain = stages(&with(&job, &json!({"cuda_graph_impl": "none"})));
        let result = estimate(&config);
        for (pp_rank, (stage, plain)) in result.modules[0].stages.iter().zip(&plain).enumerate() {
            let place = StageRef { module: 0, pp_rank };
            let lines = stage_lines(&config, &result, place);
            for bucket in Bucket::ALL {
                let line = lines.iter().find(|line| line.id == bucket.id());
                let bytes = line.map_or(Bytes::ZERO, |line| line.bytes);
                prop_assert_eq!(bytes, stage.bytes(bucket), "{} of {}, {:?}", bucket.id(), job, stage.moment);
                let children: Bytes = line.iter().flat_map(|l| &l.children).map(|c| c.bytes).sum();
                prop_assert_eq!(children, bytes, "{} of {}, {:?}", bucket.id(), job, stage.moment);
            }
            let shown = timeline(&config, place, 64).unwrap();
            prop_assert_eq!(shown.steady, stage.steady);
            let highest = shown.points.iter().map(|point| point.total).max().unwrap();
            prop_assert!(highest <= stage.total, "{}", job);
            prop_assert!(at(stage, JobMoment::FirstIteration).0 >= at(plain, JobMoment::FirstIteration).0);
            prop_assert!(stage.total + stage.graphs >= plain.total.min(stage.total));
            prop_assert_eq!(stage.steady <= plain.steady, true);
            if modules == json!(["mamba"]) {
                prop_assert_eq!(stage.graphs, Bytes::ZERO);
                prop_assert_eq!(stage.total, plain.total);
            }
        }
    }
}
