//! Dense decoders like Llama by groups that publish their training, and by smaller ones.

use crate::formats::hf_config::family::{
    Activation, Family, Is, LAYER_NORM_ROPE, LLAMA_LIKE, RMS_ROPE_NORM_OVER_HEADS, Switch,
};

const MULTIPLIER: &str = "Megatron-LM does not scale by it; what that keeps for the backward pass is not counted";
pub(super) const NORMS_AFTER: &str =
    "its norms stand after attention and MLP; Megatron-Core builds and the estimate counts as many before them";

/// `OLMo` 2 and its successors.
const OLMO2: Family = Family {
    qk_norm: Switch::On,
    qkv_bias: Switch::Key("attention_bias"),
    fixed: RMS_ROPE_NORM_OVER_HEADS,
    not_modelled: &[("model_type", NORMS_AFTER)],
    ..LLAMA_LIKE
};

pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "Granite 3",
        model_types: &["granite"],
        architectures: &["GraniteForCausalLM"],
        defaults: r#"{"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
            "num_attention_heads": 32, "hidden_act": "silu", "max_position_embeddings": 2048,
            "tie_word_embeddings": false, "attention_bias": false, "attention_dropout": 0.0, "mlp_bias": false}"#,
        qkv_bias: Switch::Key("attention_bias"),
        linear_bias: Switch::Key("mlp_bias"),
        not_modelled: &[
            ("residual_multiplier", MULTIPLIER),
            ("attention_multiplier", MULTIPLIER),
        ],
        ..LLAMA_LIKE
    },
    Family {
        name: "SmolLM3",
        model_types: &["smollm3"],
        architectures: &["SmolLM3ForCausalLM"],
        defaults: r#"{"vocab_size": 128256, "hidden_size": 2048, "intermediate_size": 11008, "num_hidden_layers": 36,
            "num_attention_heads": 16, "num_key_value_heads": 4, "hidden_act": "silu",
            "max_position_embeddings": 32768, "tie_word_embeddings": true, "attention_bias": false,
            "attention_dropout": 0.0, "mlp_bias": false}"#,
        qkv_bias: Switch::Key("attention_bias"),
        linear_bias: Switch::Key("mlp_bias"),
        ..LLAMA_LIKE
    },
    Family {
        name: "OLMo",
        model_types: &["olmo"],
        architectures: &["OlmoForCausalLM"],
        defaults: r#"{"vocab_size": 50304, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
            "num_attention_heads": 32, "hidden_act": "silu", "max_position_embeddings": 2048,
            "tie_word_embeddings": false, "attention_bias": false, "attention_dropout": 0.0}"#,
        qkv_bias: Switch::Key("attention_bias"),
        fixed: LAYER_NORM_ROPE,
        not_modelled: &[(
            "model_type",
            "its norms have no weights; Megatron-Core builds and the estimate counts norms with a weight and a bias",
        )],
        ..LLAMA_LIKE
    },
    Family {
        name: "OLMo 2",
        model_types: &["olmo2"],
        architectures: &["Olmo2ForCausalLM"],
        defaults: r#"{"vocab_size": 50304, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
            "num_attention_heads": 32, "hidden_act": "silu", "max_position_embeddings": 2048,
            "tie_word_embeddings": false, "attention_bias": false, "attention_dropout": 0.0}"#,
        ..OLMO2
    },
    Family {
        name: "OLMo 3",
        model_types: &["olmo3"],
        architectures: &["Olmo3ForCausalLM"],
        defaults: r#"{"vocab_size": 50304, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
            "num_attention_heads": 32, "hidden_act": "silu", "max_position_embeddings": 2048,
            "tie_word_embeddings": false, "attention_bias": false, "attention_dropout": 0.0}"#,
        ..OLMO2
    },
    Family {
        name: "StarCoder2",
        model_types: &["starcoder2"],
        architectures: &["Starcoder2ForCausalLM"],
        defaults: r#"{"vocab_size": 49152, "hidden_size": 3072, "intermediate_size": 12288, "num_hidden_layers": 30,
            "num_attention_heads": 24, "num_key_value_heads": 2, "hidden_act": "gelu_pytorch_tanh",
            "max_position_embeddings": 4096, "tie_word_embeddings": true, "attention_dropout": 0.0,
            "hidden_dropout": 0.0, "use_bias": true}"#,
        linear_bias: Switch::Key("use_bias"),
        activation: Activation::Plain,
        fixed: LAYER_NORM_ROPE,
        ..LLAMA_LIKE
    },
    Family {
        name: "StableLM 2",
        model_types: &["stablelm"],
        architectures: &["StableLmForCausalLM"],
        defaults: r#"{"vocab_size": 50304, "hidden_size": 2560, "intermediate_size": 6912, "num_hidden_layers": 32,
            "num_attention_heads": 32, "num_key_value_heads": 32, "hidden_act": "silu",
            "max_position_embeddings": 4096, "tie_word_embeddings": false, "use_qkv_bias": false,
            "qk_layernorm": false, "use_parallel_residual": false, "attention_dropout": 0.0, "hidden_dropout": 0.0}"#,
        unsupported: &[
            ("use_parallel_residual", Is::On, PARALLEL),
            (
                "qk_layernorm",
                Is::On,
                "norms on queries and keys with weights of their own for every head, which Megatron-Core does not build",
            ),
        ],
        qkv_bias: Switch::Key("use_qkv_bias"),
        fixed: LAYER_NORM_ROPE,
        ..LLAMA_LIKE
    },
    Family {
        name: "Arcee (AFM)",
        model_types: &["arcee"],
        architectures: &["ArceeForCausalLM"],
        defaults: r#"{"vocab_size": 32000, "hidden_size": 2560, "intermediate_size": 18432, "num_hidden_layers": 32,
            "num_attention_heads": 32, "hidden_act": "relu2", "max_position_embeddings": 4096,
            "tie_word_embeddings": false, "attention_bias": false, "attention_dropout": 0.0, "mlp_bias": false}"#,
        qkv_bias: Switch::Key("attention_bias"),
        linear_bias: Switch::Key("mlp_bias"),
        activation: Activation::Plain,
        ..LLAMA_LIKE
    },
    Family {
        name: "Code World Model",
        model_types: &["cwm"],
        architectures: &["CwmForCausalLM"],
        defaults: r#"{"vocab_size": 128256, "hidden_size": 6144, "intermediate_size": 21504, "num_hidden_layers": 64,
            "num_attention_heads": 48, "num_key_value_heads": 8, "head_dim": 128, "hidden_act": "silu",
            "max_position_embeddings": 131072, "tie_word_embeddings": false, "attention_dropout": 0.0}"#,
        ..LLAMA_LIKE
    },
];

/// What Megatron-Core's layers do not have.
pub(super) const PARALLEL: &str =
    "attention and MLP side by side on the same input, and layers of Megatron-Core have the MLP after attention";
