//! Families that differ from Llama in more than a switch, and those that are read with parts left out.

use super::moe::GATED_SHARED;
use crate::formats::hf_config::family::{Activation, Family, Fixed, LLAMA_LIKE, RMS_1P_ROPE, Switch};

/// GPT-OSS learns one attention sink per head, and cuts off what goes into the activation at 7, as Megatron-Bridge sets
/// it (`gpt_oss_bridge.py`).
pub(super) const GPT_OSS_FIXED: &[(&str, Fixed)] = &[
    ("normalization", Fixed::Text("RMSNorm")),
    ("position_embedding_type", Fixed::Text("rope")),
    ("softmax_type", Fixed::Text("learnable")),
    ("activation_func_clamp_value", Fixed::Int(7)),
];

/// Qwen3-Next and its successors: three of four layers are gated delta nets.
const LINEAR_QWEN: Family = Family {
    gated_delta_net: true,
    qk_norm: Switch::On,
    qkv_bias: Switch::Key("attention_bias"),
    fixed: RMS_1P_ROPE,
    ..LLAMA_LIKE
};

pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "Nemotron",
        model_types: &["nemotron"],
        architectures: &["NemotronForCausalLM"],
        defaults: r#"{"vocab_size": 256000, "hidden_size": 6144, "intermediate_size": 24576, "num_hidden_layers": 32,
            "num_attention_heads": 48, "hidden_act": "relu2", "max_position_embeddings": 4096,
            "tie_word_embeddings": false, "attention_bias": false, "attention_dropout": 0.0, "mlp_bias": false}"#,
        qkv_bias: Switch::Key("attention_bias"),
        activation: Activation::Plain,
        fixed: &[
            ("normalization", Fixed::Text("LayerNorm")),
            ("apply_layernorm_1p", Fixed::Bool(true)),
            ("position_embedding_type", Fixed::Text("rope")),
        ],
        ..LLAMA_LIKE
    },
    Family {
        name: "Qwen3-Next",
        model_types: &["qwen3_next"],
        architectures: &["Qwen3NextForCausalLM"],
        defaults: r#"{"vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 48,
            "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256, "hidden_act": "silu",
            "max_position_embeddings": 32768, "tie_word_embeddings": false, "attention_bias": false,
            "attention_dropout": 0.0, "num_experts": 512, "num_experts_per_tok": 10,
            "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512, "decoder_sparse_step": 1,
            "mlp_only_layers": [], "full_attention_interval": 4, "linear_conv_kernel_dim": 4,
            "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 16,
            "linear_num_value_heads": 32}"#,
        experts: GATED_SHARED,
        ..LINEAR_QWEN
    },
    Family {
        name: "Qwen3.5",
        model_types: &["qwen3_5", "qwen3_5_text"],
        architectures: &[
            "Qwen3_5ForCausalLM",
            "Qwen3_5ForConditionalGeneration",
            "Qwen3_5ForTokenClassification",
        ],
        defaults: r#"{"vocab_size": 248320, "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 32,
            "num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 256, "hidden_act": "silu",
            "max_position_embeddings": 32768, "tie_word_embeddings": false, "attention_bias": false,
            "attention_dropout": 0.0, "full_attention_interval": 4, "linear_conv_kernel_dim": 4,
            "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 16,
            "linear_num_value_heads": 32}"#,
        ..LINEAR_QWEN
    },
    Family {
        name: "Qwen3.5-MoE",
        model_types: &["qwen3_5_moe", "qwen3_5_moe_text"],
        architectures: &["Qwen3_5MoeForCausalLM", "Qwen3_5MoeForConditionalGeneration"],
        defaults: r#"{"vocab_size": 248320, "hidden_size": 2048, "num_hidden_layers": 40, "num_attention_heads": 16,
            "num_key_value_heads": 2, "head_dim": 256, "hidden_act": "silu", "max_position_embeddings": 32768,
            "tie_word_embeddings": false, "attention_bias": false, "attention_dropout": 0.0, "num_experts": 256,
            "num_experts_per_tok": 8, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512,
            "decoder_sparse_step": 1, "mlp_only_layers": [], "full_attention_interval": 4, "linear_conv_kernel_dim": 4,
            "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 16,
            "linear_num_value_heads": 32}"#,
        // The file names no dense width, as no layer is dense.
        dense_width: "moe_intermediate_size",
        experts: GATED_SHARED,
        ..LINEAR_QWEN
    },
];
