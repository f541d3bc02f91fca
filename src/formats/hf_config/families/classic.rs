//! Decoders with norms that have biases, MLPs without a gate, and mostly learned positions: GPT-2 and its successors.

use super::open_dense::PARALLEL;
use crate::formats::hf_config::family::{
    Activation, Family, Is, LAYER_NORM_LEARNED, LAYER_NORM_ROPE, LLAMA_LIKE, Switch, VocabMultiple,
};

pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "GPT-2",
        model_types: &["gpt2"],
        architectures: &["GPT2LMHeadModel"],
        defaults: r#"{"vocab_size": 50257, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
            "hidden_act": "gelu_new", "max_position_embeddings": 1024, "tie_word_embeddings": true,
            "attention_dropout": 0.1, "hidden_dropout": 0.1}"#,
        qkv_bias: Switch::On,
        linear_bias: Switch::On,
        activation: Activation::Plain,
        vocab_multiple: VocabMultiple::Unset,
        fixed: LAYER_NORM_LEARNED,
        ..LLAMA_LIKE
    },
    Family {
        name: "StarCoder (GPT-BigCode)",
        model_types: &["gpt_bigcode"],
        architectures: &["GPTBigCodeForCausalLM"],
        defaults: r#"{"vocab_size": 50257, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
            "num_key_value_heads": 1, "hidden_act": "gelu_pytorch_tanh", "max_position_embeddings": 1024,
            "tie_word_embeddings": true, "attention_dropout": 0.1, "hidden_dropout": 0.1, "multi_query": true}"#,
        unsupported: &[(
            "multi_query",
            Is::Off,
            "keys and values of many heads, which the files of this family store in another order",
        )],
        qkv_bias: Switch::On,
        linear_bias: Switch::On,
        activation: Activation::Plain,
        vocab_multiple: VocabMultiple::Unset,
        fixed: LAYER_NORM_LEARNED,
        ..LLAMA_LIKE
    },
    Family {
        name: "OPT",
        model_types: &["opt"],
        architectures: &["OPTForCausalLM"],
        defaults: r#"{"vocab_size": 50272, "hidden_size": 768, "num_hidden_layers": 12, "intermediate_size": 3072,
            "num_attention_heads": 12, "hidden_act": "relu", "max_position_embeddings": 2048,
            "tie_word_embeddings": true, "attention_dropout": 0.0, "hidden_dropout": 0.1,
            "do_layer_norm_before": true, "_remove_final_layer_norm": false, "enable_bias": true,
            "layer_norm_elementwise_affine": true}"#,
        unsupported: &[
            (
                "do_layer_norm_before",
                Is::Off,
                "norms after attention and MLP, which Megatron-Core does not build",
            ),
            (
                "_remove_final_layer_norm",
                Is::On,
                "no norm after the last layer, which Megatron-Core always builds",
            ),
            (
                "layer_norm_elementwise_affine",
                Is::Off,
                "norms without weights, which Megatron-Core does not build",
            ),
        ],
        linear_bias: Switch::Key("enable_bias"),
        activation: Activation::Plain,
        fixed: LAYER_NORM_LEARNED,
        ..LLAMA_LIKE
    },
    Family {
        name: "GPT-NeoX (Pythia)",
        model_types: &["gpt_neox"],
        architectures: &["GPTNeoXForCausalLM"],
        defaults: r#"{"vocab_size": 50432, "hidden_size": 6144, "num_hidden_layers": 44, "intermediate_size": 24576,
            "num_attention_heads": 64, "hidden_act": "gelu", "max_position_embeddings": 2048,
            "tie_word_embeddings": false, "attention_dropout": 0.0, "hidden_dropout": 0.0,
            "use_parallel_residual": true, "attention_bias": true}"#,
        unsupported: &[("use_parallel_residual", Is::On, PARALLEL)],
        qkv_bias: Switch::Key("attention_bias"),
        linear_bias: Switch::On,
        activation: Activation::Plain,
        fixed: LAYER_NORM_ROPE,
        ..LLAMA_LIKE
    },
];
