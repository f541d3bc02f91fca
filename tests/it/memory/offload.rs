//! What offloading activations leaves on the GPU, counted by hand.

use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::line::{Line, stage_lines};
use megatron_memory::memory::{StageRef, estimate};
use megatron_memory::model::tape::ActivationTensor;
use serde_json::{Value as Json, json};

use super::jobs::{config, kept_by_a_layer, with};

/// 2048 tokens, hidden size 1024, 8 heads of 128, MLP 4096 wide.
fn job(change: &Json) -> Json {
    let job = json!({
        "num_layers": 4, "hidden_size": 1024, "ffn_hidden_size": 4096, "num_attention_heads": 8, "swiglu": true,
        "normalization": "RMSNorm", "add_bias_linear": false, "seq_length": 2048, "micro_batch_size": 1,
        "attention_dropout": 0, "hidden_dropout": 0, "padded_vocab_size": 1024, "bf16": true,
        "attention_backend": "unfused", "position_embedding_type": "rope", "apply_rope_fusion": true,
        "create_attention_mask_in_dataloader": false,
    });
    with(&job, change)
}

fn fine(modules: &[&str]) -> Json {
    json!({"fine_grained_activation_offloading": true, "offload_modules": modules})
}

/// What one layer keeps on the GPU, bytes by name.
fn bytes(kept: &[ActivationTensor], what: &str) -> u64 {
    let named = kept.iter().filter(|tensor| tensor.what == what);
    named.map(ActivationTensor::bytes).sum()
}

const T: u64 = 2048;
const H: u64 = 1024;

#[test]
fn an_offload_module_moves_what_it_keeps() {
    let plain = kept_by_a_layer(&job(&json!({})));
    let scores = 8 * T * T * 2;
    assert_eq!(bytes(&plain, "attention probabilities"), scores);
    assert_eq!(bytes(&plain, "attention output"), T * H * 2);
    let core = kept_by_a_layer(&job(&fine(&["core_attn"])));
    assert_eq!(bytes(&core, "attention probabilities"), 0);
    // linear_proj keeps it still.
    assert_eq!(bytes(&core, "attention output"), T * H * 2);
    let both = kept_by_a_layer(&job(&fine(&["core_attn", "attn_proj"])));
    assert_eq!(bytes(&both, "attention output"), 0);
    // The fused kernel keeps its output itself, but linear_proj does as well.
    let fused = with(&job(&fine(&["core_attn"])), &json!({"attention_backend": "fused"}));
    assert_eq!(bytes(&kept_by_a_layer(&fused), "attention output"), T * H * 2);
    // Norms are part of the linear layers after them: there is no module to offload.
    assert_eq!(kept_by_a_layer(&job(&fine(&["attn_norm", "mlp_norm"]))), plain);
    let linear = kept_by_a_layer(&job(&fine(&["qkv_linear"])));
    assert_eq!(bytes(&plain, "layer input"), T * H * 2);
    assert_eq!(bytes(&linear, "layer input"), 0);
    assert_eq!(bytes(&linear, "input norm statistics"), T * 4);
}

#[test]
fn small_tensors_stay() {
    let least = |elements: u64| {
        let change = with(&fine(&["core_attn"]), &json!({"min_offloaded_tensor_size": elements}));
        bytes(&kept_by_a_layer(&job(&change)), "attention probabilities")
    };
    assert_eq!(least(8 * T * T), 0);
    assert_eq!(least(8 * T * T + 1), 8 * T * T * 2);
}

fn line<'a>(lines: &'a [Line], label: &str) -> Option<&'a Line> {
    lines.iter().find_map(|found| {
        if found.label == label {
            return Some(found);
        }
        line(&found.children, label)
    })
}

#[test]
fn one_layer_is_back_ahead_of_its_backward_pass_every_tensor_as_often_as_it_was_kept() {
    // The logits make the forward pass of the loss the heaviest moment, where nothing of a layer is at work.
    let wide = json!({"padded_vocab_size": 1 << 20});
    let config = config(&with(&job(&fine(&["core_attn"])), &wide));
    let stage = &estimate(&config).modules[0].stages[0];
    assert!(stage.moment.to_string().contains("output"), "{}", stage.moment);
    let place = StageRef { module: 0, pp_rank: 0 };
    let lines = stage_lines(&config, &estimate(&config), place);
    let back = |what: &str| {
        let label = format!("back from the host: {what}");
        line(&lines, &label).map_or(0, |line| line.bytes.0)
    };
    // The softmax keeps its result, and so does the product with the values.
    assert_eq!(back("attention probabilities"), 2 * 8 * T * T * 2);
    assert_eq!(back("queries after rotary embedding"), T * H * 2);
    assert_eq!(
        stage.bytes(Bucket::Transients),
        line(&lines, "Transient at the peak").unwrap().bytes
    );
}

#[test]
fn whole_layers_leave_as_many_as_are_not_offloaded() {
    let flash = json!({"attention_backend": "fused", "padded_vocab_size": 1 << 20});
    let activations = |layers: u64| {
        let change = json!({"cpu_offloading_num_layers": layers});
        let config = config(&with(&job(&flash), &change));
        let stage = estimate(&config).modules[0].stages[0].clone();
        assert!(stage.moment.to_string().contains("output"), "{}", stage.moment);
        stage.bytes(Bucket::ActivationsMlp).0
    };
    let each = activations(0) / 4;
    // The output of linear_fc1 and that of the activation function.
    assert_eq!(each, T * (2 * 4096 + 4096) * 2);
    for layers in 0..4 {
        assert_eq!(activations(layers), (4 - layers) * each, "{layers}");
    }
}
