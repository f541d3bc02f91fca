//! What computing in fp8 changes, counted by hand for one layer and every recipe.

use megatron_memory::config::job::Config;
use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::line::{Line, stage_lines};
use megatron_memory::memory::peak::PassName;
use megatron_memory::memory::{StageRef, estimate, timeline};
use megatron_memory::model::sizes::Sizes;
use megatron_memory::model::tape::ActivationTensor;
use megatron_memory::model::tape::recompute::{self, RecomputeOptions};
use megatron_memory::model::{LayerPrecision, LayerSpec, head_tape, layer_tape};
use serde_json::{Value as Json, json};

use super::jobs::{config, kept_by_a_layer, with};

/// 512 tokens, hidden size 512, MLP 1024 wide, 8 heads of 64.
fn job(change: &Json) -> Json {
    let job = json!({
        "num_layers": 1, "hidden_size": 512, "ffn_hidden_size": 1024, "num_attention_heads": 8, "swiglu": true,
        "normalization": "RMSNorm", "add_bias_linear": false, "seq_length": 256, "micro_batch_size": 2,
        "attention_dropout": 0, "hidden_dropout": 0, "padded_vocab_size": 1024, "bf16": true,
        "attention_backend": "fused", "position_embedding_type": "rope", "apply_rope_fusion": true,
        "use_distributed_optimizer": true, "untie_embeddings_and_output_weights": true,
    });
    with(&job, change)
}

/// Bytes of kept tensors whose names contain a word, and of all.
fn kept(job: &Json, word: &str) -> (u64, u64) {
    let tensors = kept_by_a_layer(job);
    let named = tensors.iter().filter(|tensor| tensor.what.contains(word));
    (
        named.map(ActivationTensor::bytes).sum(),
        tensors.iter().map(ActivationTensor::bytes).sum(),
    )
}

fn fp8(recipe: &str, gpu: &str) -> Json {
    json!({"fp8_format": "hybrid", "fp8_recipe": recipe, "gpu": gpu})
}

const T: u64 = 512;
const H: u64 = 512;
const F: u64 = 1024;

#[test]
fn inputs_of_linear_layers_are_kept_in_one_byte() {
    let (_, bf16) = kept(&job(&json!({})), "");
    // Inputs of linear_qkv and linear_fc1, which are norm outputs, and of linear_fc2; core attention keeps that of
    // linear_proj in bf16.
    let elements = 2 * T * H + T * F;
    for (recipe, gpu, scales) in [
        ("tensorwise", "h100-80gb", 3 * 4),
        ("tensorwise", "b200", 3 * 4),
        ("blockwise", "h100-80gb", elements / 128 * 4),
        ("mxfp8", "b200", elements / 32),
    ] {
        let job = job(&fp8(recipe, gpu));
        let (data, all) = kept(&job, "input in fp8");
        assert_eq!(data, elements, "{recipe} on {gpu}");
        assert_eq!(kept(&job, "scales").0, scales, "{recipe} on {gpu}");
        assert_eq!(all, bf16 - elements + scales, "{recipe} on {gpu}");
    }
    // Delayed scaling keeps the input of linear_proj once more.
    let (data, all) = kept(&job(&fp8("delayed", "h100-80gb")), "input in fp8");
    assert_eq!(data, elements + T * H);
    assert_eq!(all, bf16 - elements + T * H + 4 * 4);
}

#[test]
fn with_sequence_parallelism_a_rank_keeps_its_part() {
    for recipe in ["delayed", "tensorwise", "blockwise"] {
        let two = json!({"tensor_model_parallel_size": 2, "sequence_parallel": true, "world_size": 2});
        let job = with(&job(&fp8(recipe, "h100-80gb")), &two);
        // Norm outputs are this rank's tokens, the inputs of the row-parallel layers its columns.
        let proj = if recipe == "delayed" { T * H / 2 } else { 0 };
        assert_eq!(
            kept(&job, "input in fp8").0,
            2 * T * H / 2 + T * F / 2 + proj,
            "{recipe}"
        );
    }
}

#[test]
fn without_a_cache_every_micro_batch_keeps_the_weights() {
    let uncached = json!({"disable_parameter_transpose_cache": true});
    let weights = 4 * H * H + 3 * H * F;
    for (recipe, gpu, copies) in [("tensorwise", "h100-80gb", 2), ("tensorwise", "b200", 1)] {
        let job = with(&job(&fp8(recipe, gpu)), &uncached);
        assert_eq!(kept(&job, "weight in fp8").0, copies * weights, "{gpu}");
        let gathered = with(&job, &json!({"fp8_param_gather": true}));
        assert_eq!(kept(&gathered, "weight in fp8").0, 0, "{gpu}");
    }
}

#[test]
fn transposed_weights_can_be_made_anew_in_each_backward_pass() {
    let anew = json!({"no_fp8_weight_transpose_cache": true});
    let copies = |job: &Json| line(&lines(&config(job)), "copies of weights in fp8").map_or(0, |line| line.bytes.0);
    let weights = 4 * H * H + 3 * H * F;
    for (recipe, gpu, saved) in [
        ("delayed", "h100-80gb", 1),
        ("tensorwise", "h100-80gb", 1),
        ("blockwise", "h100-80gb", 0),
        ("tensorwise", "b200", 0),
    ] {
        let job = job(&fp8(recipe, gpu));
        let without = copies(&with(&job, &anew));
        assert_eq!(copies(&job) - without, saved * weights, "{recipe} {gpu}");
    }
}

#[test]
fn the_fused_activation_can_keep_its_input_in_one_byte() {
    let (_, plain) = kept(&job(&json!({})), "");
    let (stored, all) = kept(
        &job(&json!({"activation_func_fp8_input_store": true})),
        "activation function in fp8",
    );
    assert_eq!(stored, T * 2 * F);
    assert_eq!(all, plain - T * 2 * F);
}

fn line<'a>(lines: &'a [Line], label: &str) -> Option<&'a Line> {
    lines.iter().find_map(|found| {
        if found.label == label {
            return Some(found);
        }
        line(&found.children, label)
    })
}

fn lines(config: &Config) -> Vec<Line> {
    let place = StageRef { module: 0, pp_rank: 0 };
    stage_lines(config, &estimate(config), place)
}

#[test]
fn weights_have_copies_in_fp8_or_are_stored_in_it() {
    let weights = 4 * H * H + 3 * H * F;
    // Embedding and output layer, and three norms.
    let others = 2 * 1024 * H + 3 * H;
    for (recipe, gpu, copies, scales) in [
        ("delayed", "h100-80gb", 2, 4 * 512),
        ("tensorwise", "h100-80gb", 2, 4 * 512),
        ("tensorwise", "b200", 1, 4 * 512),
        // One fp32 number for 128 x 128 elements: 48, 16, 64 and 32 of them, in blocks of 512 bytes, in both copies.
        ("blockwise", "h100-80gb", 2, 2 * 4 * 512),
        ("mxfp8", "b200", 2, 2 * weights / 32),
    ] {
        let job = job(&fp8(recipe, gpu));
        let plain = config(&job);
        let found = |config: &Config, label: &str| line(&lines(config), label).map_or(0, |line| line.bytes.0);
        assert_eq!(
            found(&plain, "copies of weights in fp8"),
            copies * weights,
            "{recipe} on {gpu}"
        );
        assert_eq!(found(&plain, "scales of weights in fp8"), scales, "{recipe} on {gpu}");
        let stage = &estimate(&plain).modules[0].stages[0];
        assert_eq!(stage.bytes(Bucket::WeightsDense).0, 2 * (weights + others));
        let gathered = config(&with(&job, &json!({"fp8_param_gather": true})));
        let stage = &estimate(&gathered).modules[0].stages[0];
        assert_eq!(
            stage.bytes(Bucket::WeightsDense).0,
            weights + 2 * others,
            "{recipe} on {gpu}"
        );
        assert_eq!(stage.bytes(Bucket::MainParamsDense).0, 4 * (weights + others));
        assert_eq!(
            found(&gathered, "copies of weights in fp8"),
            (copies - 1) * weights,
            "{recipe} on {gpu}"
        );
    }
}

#[test]
fn recipes_keep_scales_and_maxima_for_every_tensor() {
    let label = "scales and maxima of the fp8 recipe";
    let found = |change: &Json| {
        let config = config(&job(change));
        line(&lines(&config), label).map_or(0, |line| line.bytes.0)
    };
    // Four modules with three tensors forwards and two backwards: scales and histories, each less than a block.
    assert_eq!(found(&fp8("delayed", "h100-80gb")), 4 * 4 * 512);
    let long = with(&fp8("delayed", "h100-80gb"), &json!({"fp8_amax_history_len": 1024}));
    assert_eq!(found(&long), 4 * (2 * 512 + 1024 * 4 * 3 + 1024 * 4 * 2));
    // A scale and a maximum, each in a block of its own.
    assert_eq!(found(&fp8("tensorwise", "h100-80gb")), 4 * 5 * 2 * 512);
    assert_eq!(found(&fp8("blockwise", "h100-80gb")), 0);
}

#[test]
fn first_and_last_layers_stay_in_bf16() {
    let ends = json!({
        "num_layers": 4, "first_last_layers_bf16": true, "num_layers_at_start_in_bf16": 1,
        "num_layers_at_end_in_bf16": 2, "fp8_param_gather": true,
    });
    let config = config(&with(&job(&fp8("tensorwise", "h100-80gb")), &ends));
    let m = &config.modules()[0];
    let bf16: Vec<bool> = (0..4)
        .map(|layer| LayerSpec::all(m)[layer].precision == LayerPrecision::Bf16)
        .collect();
    assert_eq!(bf16, [true, false, true, true]);
    let weights = 4 * H * H + 3 * H * F;
    let others = 2 * 1024 * H + (2 * 4 + 1) * H;
    let stage = &estimate(&config).modules[0].stages[0];
    let expected = weights + 2 * (3 * weights + others);
    assert_eq!(stage.bytes(Bucket::WeightsDense).0, expected);
    let copies = line(&lines(&config), "copies of weights in fp8").unwrap().bytes.0;
    assert_eq!(copies, weights);
    let kept = |layer| -> u64 {
        let tape = layer_tape(&Sizes::new(m), LayerSpec::all(m)[layer]);
        let tensors = recompute::kept(&tape, RecomputeOptions::of(m));
        tensors.iter().map(ActivationTensor::bytes).sum()
    };
    assert_eq!(kept(0), kept(3));
    assert_eq!(kept(0) - kept(1), 2 * T * H + T * F - 3 * 4);
}

#[test]
fn experts_get_whole_groups_of_rows() {
    // 200 rows for 4 experts: 50 each, filled up to 64; with 32 as the unit to 64 as well.
    let moe = json!({
        "seq_length": 50, "num_experts": 4, "moe_ffn_hidden_size": 256, "moe_router_topk": 2, "moe_grouped_gemm": true,
        "moe_token_dispatcher_type": "alltoall", "moe_permute_fusion": true,
    });
    let raw = |change: &Json| kept(&job(&with(&moe, change)), "experts: output of linear_fc1").0;
    assert_eq!(raw(&json!({})), 200 * 512 * 2);
    for (recipe, gpu) in [("delayed", "h100-80gb"), ("blockwise", "h100-80gb"), ("mxfp8", "b200")] {
        assert_eq!(raw(&fp8(recipe, gpu)), 256 * 512 * 2, "{recipe}");
    }
    // Inputs of both products in 1 byte: 256 rows of 512 and of 256.
    let job = job(&with(&moe, &fp8("tensorwise", "h100-80gb")));
    let attention = 100 * H;
    assert_eq!(kept(&job, "input in fp8").0, attention + 256 * (512 + 256));
    // Run again, the activation leaves its own output to linear_fc2, which then keeps nothing.
    let again = json!({"recompute_granularity": "selective", "recompute_modules": ["moe_act"]});
    assert_eq!(kept(&with(&job, &again), "input in fp8").0, attention + 256 * 512);
}

#[test]
fn main_parameters_are_rounded_all_at_once_before_they_become_weights_in_fp8() {
    // QKV, projection, both halves of the first MLP matrix and the second; no embedding, output layer or norm.
    let weights = 4 * H * H + 3 * H * F;
    let all = weights + 2 * 1024 * H + 3 * H;
    let tiny = json!({"seq_length": 16, "micro_batch_size": 1, "fp8_param_gather": true, "grad_reduce_in_bf16": true,
        "world_size": 2, "global_batch_size": 4});
    let job = with(&job(&fp8("tensorwise", "h100-80gb")), &tiny);
    let both = |ranks| 4 * all / ranks + 2 * weights / ranks;
    let aware = json!({"use_precision_aware_optimizer": true});
    let delayed = json!({"fp8_recipe": "delayed"});
    // Gradients in bf16 are copied to fp32 as well, where Megatron holds the main parameters.
    for (change, bytes) in [
        (json!({}), both(2)),
        (json!({"fp8_recipe": "blockwise"}), both(2)),
        (json!({"world_size": 4}), both(4)),
        (json!({"fp8_param_gather": false}), 4 * all / 2),
        (delayed.clone(), both(2)),
        (aware.clone(), both(2)),
        // Transformer Engine's Adam writes the weights itself.
        (with(&delayed, &aware), 0),
        // Gone before the weights are made.
        (with(&json!({"exp_avg_dtype": "fp16"}), &aware), (4 + 4) * all / 2),
    ] {
        let config = config(&with(&job, &change));
        let place = StageRef { module: 0, pp_rank: 0 };
        let step = timeline(&config, place, 1).unwrap().optimizer_step;
        assert_eq!(step[Bucket::Transients as usize].0, bytes, "{change}");
    }
    let config = config(&job);
    let stage = &estimate(&config).modules[0].stages[0];
    assert_eq!(stage.moment.pass, PassName::OptimizerStep);
    let lines = lines(&config);
    let line = line(&lines, "dense parameters: main parameters rounded for fp8");
    assert_eq!(line.unwrap().bytes.0, 2 * weights / 2);
    assert_eq!(stage.total.0, stage.steady.0 + 2 * weights / 2);
}

#[test]
fn attention_in_fp8_keeps_queries_keys_and_values_in_fp8() {
    let tokens = i128::from(T);
    let (width, heads) = (i128::from(H), 8);
    for (recipe, gpu, change) in [
        // Queries, keys, values and the output in one byte, and a second number for each row.
        ("delayed", "h100-80gb", -4 * tokens * width + 4 * tokens * heads),
        // The output stays in bf16.
        ("tensorwise", "b200", -3 * tokens * width + 4 * tokens * heads),
        // Two copies of one byte, each with a scale for 32 elements.
        ("mxfp8", "b200", 6 * tokens * width / 32),
        // Blockwise scaling has no attention in fp8.
        ("blockwise", "h100-80gb", 0),
    ] {
        let plain = fp8(recipe, gpu);
        let (_, before) = kept(&job(&plain), "");
        let attention = with(&plain, &json!({"fp8_dot_product_attention": true}));
        let (_, after) = kept(&job(&attention), "");
        assert_eq!(i128::from(after) - i128::from(before), change, "{recipe} on {gpu}");
        let whole = with(&plain, &json!({"fp8_multi_head_attention": true}));
        let (_, whole) = kept(&job(&whole), "");
        let expected = if recipe == "delayed" { after } else { before };
        assert_eq!(whole, expected, "{recipe} on {gpu}");
    }
}

#[test]
fn fused_experts_fill_up_rows_and_keep_the_input_of_their_second_product() {
    let moe = json!({"num_experts": 4, "moe_router_topk": 1, "moe_ffn_hidden_size": 1024, "moe_grouped_gemm": true,
        "seq_length": 250});
    let plain = job(&with(&moe, &fp8("mxfp8", "b200")));
    let fused = with(&plain, &json!({"use_transformer_engine_op_fuser": true}));
    // 500 tokens of 4 experts: 125 each, filled up to 128, or to 256.
    let inner = |rows: u64| rows * 2 * F * 2;
    let of_fc1 = |job: &Json| kept(job, "output of linear_fc1").0;
    assert_eq!(of_fc1(&plain), inner(4 * 128));
    assert_eq!(of_fc1(&fused), inner(4 * 256));
    let recompute = json!({"recompute_granularity": "selective", "recompute_modules": ["moe_act"]});
    let fp8_inputs = |job: &Json| kept(job, "input in fp8").0;
    // The operation of SwiGLU does not compute its result again.
    assert_eq!(fp8_inputs(&with(&fused, &recompute)), fp8_inputs(&fused));
    assert!(fp8_inputs(&with(&plain, &recompute)) <= fp8_inputs(&plain));
    assert_eq!(of_fc1(&with(&fused, &recompute)), of_fc1(&fused));
}

/// `gpt3_mcore_te_tp1_pp1_te_4experts_groupedGEMM_op_fuser` of Megatron-LM's functional tests, on an H100.
#[test]
fn a_recorded_run_with_fused_operations_is_met() {
    let job = json!({
        "num_layers": 4, "hidden_size": 512, "num_attention_heads": 8, "micro_batch_size": 4, "global_batch_size": 32,
        "seq_length": 1024, "moe_grouped_gemm": true, "use_transformer_engine_op_fuser": true, "add_bias_linear": false,
        "num_experts": 4, "moe_router_topk": 1, "swiglu": true, "deterministic_mode": true, "bf16": true,
        "gradient_accumulation_fusion": false, "attention_softmax_in_fp32": true, "padded_vocab_size": 50304,
        "bias_gelu_fusion": false, "gpu": "h100-80gb", "world_size": 8,
    });
    let estimate = estimate(&config(&job));
    let stage = &estimate.modules[0].stages[0];
    let within_one_percent = |number: u64, measured: u64| number.abs_diff(measured) * 100 <= measured;
    assert!(within_one_percent(stage.steady.0, 1_384_147_968), "{:?}", stage.steady);
    assert!(within_one_percent(stage.total.0, 2_956_330_496), "{:?}", stage.total);
}

#[test]
fn fp4_keeps_inputs_and_weights_in_half_a_byte() {
    let fp4 = json!({"fp4_format": "e2m1", "gpu": "b200"});
    let (_, bf16) = kept(&job(&json!({})), "");
    let elements = 2 * T * H + T * F;
    let scales = elements / 16;
    let (data, all) = kept(&job(&fp4), "input in fp8");
    assert_eq!(data, elements / 2);
    assert_eq!(kept(&job(&fp4), "scales").0, scales);
    // In bf16 they take two bytes.
    assert_eq!(all, bf16 - 2 * elements + elements / 2 + scales);
    let weights = |change: &Json| {
        let estimate = estimate(&config(&with(&job(&fp4), change)));
        estimate.modules[0].stages[0].bytes(Bucket::WeightsDense).0
    };
    // qkv, proj, fc1 with its gate, and fc2: both copies, of half a byte each, in place of two bytes.
    let linear = 4 * H * H + 3 * H * F;
    let plain = weights(&json!({}));
    assert_eq!(plain - weights(&json!({"fp4_param_gather": true})), linear);
}

/// The name of a tensor or a buffer, and its bytes.
type Named = (String, u64);

/// What the head keeps, and the buffers of a stage.
fn head_and_buffers(job: &Json) -> (Vec<Named>, Vec<Named>) {
    let config = config(job);
    let m = &config.modules()[0];
    let tape = head_tape(&Sizes::new(m), 0, true, 0);
    let tensors = recompute::kept(&tape, RecomputeOptions::of(m));
    let tensors = tensors.iter().map(|tensor| (tensor.what.to_owned(), tensor.bytes()));
    let estimate = estimate(&config);
    let lines = stage_lines(&config, &estimate, StageRef { module: 0, pp_rank: 0 });
    let buffers = lines.iter().find(|line| line.id == Bucket::Buffers.id());
    let buffers = buffers.map_or(&[][..], |line: &Line| &line.children).iter();
    (
        tensors.collect(),
        buffers.map(|line| (line.label.clone(), line.bytes.0)).collect(),
    )
}

#[test]
fn the_output_layer_in_mxfp8_keeps_its_input_in_one_byte_and_its_weight_in_two_more() {
    let plain = job(&fp8("mxfp8", "b200"));
    let output = with(&plain, &json!({"fp8_output_proj": true}));
    let (before, buffers_before) = head_and_buffers(&plain);
    let (after, buffers_after) = head_and_buffers(&output);
    let bytes = |kept: &[Named], word: &str| -> u64 {
        let named = kept.iter().filter(|(what, _)| what.contains(word));
        named.map(|(_, bytes)| bytes).sum()
    };
    let norm_output = T * H * 2;
    assert_eq!(
        bytes(&before, "norm output") - bytes(&after, "norm output"),
        norm_output
    );
    assert_eq!(bytes(&after, "input in fp8, by columns"), T * H);
    assert_eq!(bytes(&after, "scales"), T * H / 32);
    let weight = 1024 * H;
    let own: Vec<_> = buffers_after
        .iter()
        .filter(|line| line.0.contains("output layer"))
        .collect();
    let expected = [
        ("copies of the output layer's weight in fp8".to_owned(), 2 * weight),
        ("scales of the output layer's weight in fp8".to_owned(), 2 * weight / 32),
    ];
    assert_eq!(own, expected.iter().collect::<Vec<_>>());
    // PyTorch multiplies nothing any more.
    let torch = |lines: &[Named]| lines.iter().any(|line| line.0.contains("workspaces of PyTorch"));
    assert!(torch(&buffers_before) && !torch(&buffers_after));
    // Without a cache the weight is made anew in every pass, and kept for the backward pass.
    let anew = json!({"disable_parameter_transpose_cache": true});
    let (kept, buffers) = head_and_buffers(&with(&output, &anew));
    assert_eq!(bytes(&kept, "weight in fp8"), 2 * weight);
    assert!(!buffers.iter().any(|line| line.0.contains("output layer")));
    // A pattern of layers makes another model, whose output layer stays in bf16.
    let lines = |settings: &Json| {
        let pattern = json!({"hybrid_layer_pattern": "*-", "num_layers": 2});
        head_and_buffers(&with(&with(&plain, &pattern), settings))
    };
    assert_eq!(lines(&json!({"fp8_output_proj": true})), lines(&json!({})));
}
