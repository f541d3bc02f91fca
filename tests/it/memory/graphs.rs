//! What CUDA graphs of layers keep, reserve and free, counted by hand.

use megatron_memory::config::{check, raw::RawJob};
use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::graph_phase::GraphPhase;
use megatron_memory::memory::line::{Line, stage_lines};
use megatron_memory::memory::overhead::memory_range;
use megatron_memory::memory::peak::PassName;
use megatron_memory::memory::{StageEstimate, StageRef, estimate, timeline};
use megatron_memory::units::Bytes;
use megatron_memory::value::Value;
use serde_json::{Value as Json, json};

use super::jobs::{config, with};

const T: u64 = 2048;
const H: u64 = 1024;
/// The residual stream.
const STREAM: u64 = T * H * 2;
/// An attention mask.
const MASK: u64 = T * T;

/// 4 layers on one GPU: 2048 tokens, hidden size 1024, 8 heads of 128, MLP 4096 wide.
fn job(change: &Json) -> Json {
    let job = json!({
        "num_layers": 4, "hidden_size": H, "ffn_hidden_size": 4096, "num_attention_heads": 8, "swiglu": true,
        "normalization": "RMSNorm", "add_bias_linear": false, "seq_length": T, "micro_batch_size": 1,
        "attention_dropout": 0, "hidden_dropout": 0, "padded_vocab_size": 1024, "bf16": true,
        "attention_backend": "fused", "position_embedding_type": "rope", "apply_rope_fusion": true,
        "create_attention_mask_in_dataloader": false,
    });
    with(&job, change)
}

fn graphs(modules: &[&str]) -> Json {
    json!({"cuda_graph_impl": "transformer_engine", "cuda_graph_modules": modules})
}

fn stages(job: &Json) -> Vec<StageEstimate> {
    estimate(&config(job)).modules.remove(0).stages
}

fn stage(job: &Json) -> StageEstimate {
    stages(job).remove(0)
}

/// What stays between steps because of graphs.
fn added(change: &Json) -> u64 {
    stage(&job(change)).steady.0 - stage(&job(&json!({}))).steady.0
}

#[test]
fn every_layer_in_flight_has_static_inputs() {
    // Without a pipeline one micro batch is in flight: its inputs, a gradient of outputs and one of an input.
    assert_eq!(added(&graphs(&[])), 4 * (STREAM + MASK) + 2 * STREAM);
    assert_eq!(added(&graphs(&["attn"])), 4 * (STREAM + MASK) + 2 * STREAM);
    // Only attention reads a mask.
    assert_eq!(added(&graphs(&["mlp"])), 4 * STREAM + 2 * STREAM);
    let sixteen = with(&graphs(&["mlp"]), &json!({"global_batch_size": 16}));
    assert_eq!(added(&sixteen), 4 * STREAM + 2 * STREAM);
    // Nothing is captured.
    assert_eq!(added(&json!({"cuda_graph_modules": ["mlp"]})), 0);
    // Local graphs have static tensors in their pool alone.
    assert_eq!(added(&json!({"cuda_graph_impl": "local"})), 0);
}

#[test]
fn pipelines_have_more_of_them_in_flight() {
    let pipeline = json!({"pipeline_model_parallel_size": 4, "world_size": 4, "global_batch_size": 16});
    let plain = stages(&job(&pipeline));
    let graphed = stages(&job(&with(&pipeline, &graphs(&["mlp"]))));
    for (rank, (plain, graphed)) in plain.iter().zip(&graphed).enumerate() {
        // 1F1B: as many micro batches as stages follow, and one layer a stage.
        let in_flight = 4 - rank as u64;
        let added = graphed.steady.0 - plain.steady.0;
        assert_eq!(added, in_flight * STREAM + 2 * STREAM, "stage {rank}");
    }
    // Interleaved, with two chunks of one layer: (2 · 3 + 4 + 1) micro batches of a chunk on the first stage.
    let interleaved = with(
        &pipeline,
        &json!({"num_layers": 8, "num_virtual_stages_per_pipeline_rank": 2}),
    );
    let plain = stages(&job(&interleaved));
    let graphed = stages(&job(&with(&interleaved, &graphs(&["mlp"]))));
    let added = graphed[0].steady.0 - plain[0].steady.0;
    assert_eq!(added, 11 * STREAM + 2 * STREAM);
}

#[test]
fn what_graphs_keep_lies_in_their_pool() {
    let kept = |change: &Json| stage(&job(change)).chunks[0].kept.0;
    let cold = |modules: &[&str]| with(&graphs(modules), &json!({"cuda_graph_warmup_steps": 0}));
    // Of an MLP: the norm's input, statistics and output, both halves of the activation's input, its output.
    let mlp = STREAM + T * 4 + STREAM + T * 8192 * 2 + T * 4096 * 2;
    // The next layer's input, or the last norm's, lies there too.
    assert_eq!(kept(&json!({})) - kept(&cold(&["mlp"])), 4 * (mlp + STREAM));
    // With all of a layer in the graph only what surrounds the layers stays outside.
    let outside = kept(&cold(&[]));
    let most = kept(&json!({})) - kept(&json!({"num_layers": 1}));
    assert_eq!(outside + most / 3 * 4, kept(&json!({})) - STREAM);
    // Before the capture, everything is as without graphs.
    assert_eq!(kept(&graphs(&["mlp"])), kept(&json!({})));
}

#[test]
fn checkpointed_modules_keep_what_they_save_in_graphs() {
    let reserved = |change: &Json| {
        let stage = stage(&job(&with(&graphs(&["attn", "mlp"]), change)));
        stage.graphs + stage.total
    };
    let recompute = |module: &str| json!({"recompute_granularity": "selective", "recompute_modules": [module], "cuda_graph_warmup_steps": 0});
    let without = reserved(&json!({"cuda_graph_warmup_steps": 0}));
    assert_eq!(reserved(&recompute("core_attn")), without);
    assert_eq!(reserved(&recompute("mlp")), without);
    // Outputs that are discarded are not in the pool either.
    assert!(reserved(&recompute("layernorm")) <= without);
}

#[test]
fn the_peak_is_the_largest_of_a_jobs_life() {
    // A loss over a large vocabulary: no graph captures it.
    let loss = stage(&job(&with(&graphs(&["mlp"]), &json!({"padded_vocab_size": 65536}))));
    assert_eq!(loss.moment.graph_phase, GraphPhase::BeforeCapture);
    let plain = stage(&job(&json!({"padded_vocab_size": 65536})));
    assert_eq!(loss.total, plain.total);
    assert!(loss.moment.to_string().ends_with(", before CUDA graphs are captured"));
    // Many layers in flight: the capture has them all, and static tensors besides.
    let deep = json!({"num_layers": 32, "pipeline_model_parallel_size": 2, "world_size": 2, "global_batch_size": 8});
    let whole = &stages(&job(&with(&deep, &graphs(&[]))))[0];
    assert_eq!(whole.moment.graph_phase, GraphPhase::Capture);
    assert!(whole.total > stages(&job(&deep))[0].total);
    // Captured before the first step, there are no moments yet, and the first step comes later.
    let cold = with(&graphs(&[]), &json!({"cuda_graph_warmup_steps": 0}));
    let cold = &stages(&job(&with(&deep, &cold)))[0];
    assert!(cold.total < whole.total);
    assert_eq!(cold.steady, whole.steady);
}

#[test]
fn the_device_has_room_for_the_pool_too() {
    let cold = with(&graphs(&["mlp"]), &json!({"cuda_graph_warmup_steps": 0}));
    let job = job(&with(&cold, &json!({"num_layers": 16})));
    let stage = stage(&job);
    assert_eq!(stage.moment.graph_phase, GraphPhase::Replay);
    // Of 16 MLPs: the norm's output, the activation's input and output, and the layer's output.
    let kept = STREAM + T * 4 + T * 8192 * 2 + T * 4096 * 2 + STREAM;
    let least = 16 * kept;
    assert!(
        stage.graphs.0 > least && stage.graphs.0 < least + least / 4,
        "{:?}",
        stage.graphs
    );
    let config = config(&job);
    let m = &config.modules()[0];
    let with_pool = memory_range(m, None, stage.total, stage.graphs);
    let without = memory_range(m, None, stage.total, Bytes::ZERO);
    assert_eq!(with_pool.low, without.low + stage.graphs);
    assert_eq!(with_pool.high, without.high + stage.graphs);
}

#[test]
fn one_graph_of_all_passes_reserves_what_they_need() {
    let plain = stage(&job(&json!({})));
    let whole = stage(&job(&json!({"cuda_graph_impl": "full_iteration"})));
    assert_eq!(whole.total, plain.total);
    assert_eq!(plain.graphs, Bytes::ZERO);
    // States stay outside: the pool has what passes add to them, and so has the peak.
    assert_ne!(plain.moment.pass, PassName::OptimizerStep);
    let states = plain.states() + plain.bytes(Bucket::Buffers);
    assert_eq!(whole.graphs, plain.steady.saturating_sub(states));
}

fn adds_up(line: &Line) {
    if line.children.is_empty() {
        assert!(line.formula.is_some(), "{}", line.id);
        return;
    }
    let sum: Bytes = line.children.iter().map(|child| child.bytes).sum();
    assert_eq!(sum, line.bytes, "{}", line.id);
    line.children.iter().for_each(adds_up);
}

#[test]
fn lines_add_up_in_every_era() {
    let moe = json!({
        "num_experts": 8, "moe_layer_freq": "([0]*1+[1]*7)", "moe_ffn_hidden_size": 512, "moe_grouped_gemm": true,
        "moe_shared_expert_intermediate_size": 512, "moe_token_dispatcher_type": "alltoall", "mtp_num_layers": 1,
    });
    let pipeline = json!({"num_layers": 8, "pipeline_model_parallel_size": 2, "world_size": 2, "global_batch_size": 8});
    let recompute =
        json!({"recompute_granularity": "selective", "recompute_modules": ["core_attn", "layernorm", "moe_act"]});
    let scopes: [&[&str]; 6] = [
        &[],
        &["attn"],
        &["mlp"],
        &["moe_router"],
        &["attn", "moe_router", "moe_preprocess"],
        &["attn", "mlp", "moe_router", "moe_preprocess"],
    ];
    let mut graph_phases = Vec::new();
    for scope in scopes {
        for warm in [0, 3] {
            for change in [
                json!({}),
                recompute.clone(),
                json!({"moe_shared_expert_overlap": true}),
                json!({"num_virtual_stages_per_pipeline_rank": 2, "overlap_moe_expert_parallel_comm": true,
                    "expert_model_parallel_size": 2, "data_parallel_size": 2, "world_size": 4}),
            ] {
                let graphs = with(&graphs(scope), &json!({"cuda_graph_warmup_steps": warm}));
                let job = with(&with(&with(&job(&moe), &pipeline), &graphs), &change);
                let value: Value = serde_json::from_value(job.clone()).unwrap();
                let Some(config) = check(&RawJob::from_value(&value)).config else {
                    continue;
                };
                let result = estimate(&config);
                for (pp_rank, stage) in result.modules[0].stages.iter().enumerate() {
                    let at = StageRef { module: 0, pp_rank };
                    let lines = stage_lines(&config, &result, at);
                    lines.iter().for_each(adds_up);
                    for bucket in Bucket::ALL {
                        let line = lines.iter().find(|line| line.id == bucket.id());
                        let bytes = line.map_or(Bytes::ZERO, |line| line.bytes);
                        assert_eq!(bytes, stage.bytes(bucket), "{} of {job}", bucket.id());
                    }
                    let shown = timeline(&config, at, 64).unwrap();
                    assert_eq!(shown.steady, stage.steady);
                    let highest = shown.points.iter().map(|point| point.total).max().unwrap();
                    assert!(highest <= stage.total, "{job}");
                    if !graph_phases.contains(&stage.moment.graph_phase) {
                        graph_phases.push(stage.moment.graph_phase);
                    }
                }
            }
        }
    }
    assert_eq!(graph_phases.len(), 3, "{graph_phases:?}");
}
