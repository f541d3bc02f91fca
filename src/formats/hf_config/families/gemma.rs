//! Google's Gemma models: tied embeddings, gated GELU, norm weights kept as a difference from one.

use crate::formats::hf_config::family::{
    Experts, Family, Fixed, LLAMA_LIKE, NO_SHARED, RMS_1P_ROPE, Shared, Switch, VocabMultiple,
};

const GEMMA: Family = Family {
    fixed: RMS_1P_ROPE,
    ..LLAMA_LIKE
};

/// Gemma 2 and 3 have two more norms in every layer, after attention and MLP.
const POST_NORMS: &[(&str, Fixed)] = &[
    ("normalization", Fixed::Text("RMSNorm")),
    ("apply_layernorm_1p", Fixed::Bool(true)),
    ("position_embedding_type", Fixed::Text("rope")),
    ("post_layernorm", Fixed::Bool(true)),
];

/// Gemma 4 has further norms around its experts and on values (`gemma4_block_spec`); models without experts have norms in
/// fp32 and perhaps embeddings per layer (`Gemma4DenseProvider`).
const SEPARATE_NORMS: &[(&str, Fixed)] = &[
    ("normalization", Fixed::Text("RMSNorm")),
    ("position_embedding_type", Fixed::Text("rope")),
    ("post_layernorm", Fixed::Bool(true)),
    ("separate_moe_norms", Fixed::Bool(true)),
    ("value_layernorm", Fixed::Bool(true)),
    ("final_logit_softcapping", Fixed::Int(30)),
];

pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "Gemma 4",
        model_types: &["gemma4", "gemma4_text"],
        architectures: &["Gemma4ForCausalLM", "Gemma4ForConditionalGeneration"],
        defaults: r#"{"hidden_act": "gelu_pytorch_tanh", "tie_word_embeddings": true, "attention_bias": false,
            "attention_dropout": 0.0, "head_dim": 256, "global_head_dim": 512, "enable_moe_block": false}"#,
        qk_norm: Switch::On,
        experts: Experts {
            shared: Shared::Key {
                key: "intermediate_size",
                gate: false,
            },
            ..NO_SHARED
        },
        vocab_multiple: VocabMultiple::Of(128),
        fixed: SEPARATE_NORMS,
        ..LLAMA_LIKE
    },
    Family {
        name: "Gemma",
        model_types: &["gemma"],
        architectures: &["GemmaForCausalLM"],
        defaults: r#"{"vocab_size": 256000, "hidden_size": 3072, "intermediate_size": 24576, "num_hidden_layers": 28,
            "num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 256,
            "hidden_act": "gelu_pytorch_tanh", "max_position_embeddings": 8192, "tie_word_embeddings": true,
            "attention_bias": false, "attention_dropout": 0.0}"#,
        ..GEMMA
    },
    Family {
        name: "Gemma 2",
        model_types: &["gemma2"],
        architectures: &["Gemma2ForCausalLM"],
        defaults: r#"{"vocab_size": 256000, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26,
            "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
            "hidden_act": "gelu_pytorch_tanh", "max_position_embeddings": 8192, "tie_word_embeddings": true,
            "attention_bias": false, "attention_dropout": 0.0}"#,
        fixed: POST_NORMS,
        ..GEMMA
    },
    Family {
        name: "Gemma 3",
        model_types: &["gemma3_text", "gemma3"],
        architectures: &["Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"],
        defaults: r#"{"vocab_size": 262208, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26,
            "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
            "hidden_act": "gelu_pytorch_tanh", "max_position_embeddings": 131072, "tie_word_embeddings": true,
            "attention_bias": false, "attention_dropout": 0.0}"#,
        qk_norm: Switch::On,
        fixed: POST_NORMS,
        ..GEMMA
    },
];
