//! More mixtures of experts with grouped-query attention.

use super::moe::{ONLY_EXPERTS, SIGMOID};
use crate::formats::hf_config::family::{
    Activation, Experts, Family, Fixed, Is, LAYER_NORM_ROPE, LLAMA_LIKE, MoeLayers, NO_SHARED,
    RMS_ROPE_NORM_OVER_HEADS, Shared, Switch,
};

const MULTIPLIER: &str = "Megatron-LM does not scale by it; what that keeps for the backward pass is not counted";
const POST_NORMS: &str = "two more norms after each layer's attention and MLP are not counted";
const BLOCK_SPARSE: &str =
    "as Megatron-Bridge builds the language model: every layer attends to all tokens and has no indexer";

/// Experts after the first layers, with shared experts beside them and a sigmoid router.
const AFTER_FIRST: Experts = Experts {
    shared: Shared::Count,
    layers: MoeLayers::AfterFirst,
    ..SIGMOID
};

pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "Phi-3.5-MoE",
        model_types: &["phimoe"],
        architectures: &["PhimoeForCausalLM", "PhiMoEForCausalLM"],
        defaults: r#"{"vocab_size": 32064, "hidden_size": 4096, "intermediate_size": 6400, "num_hidden_layers": 32,
            "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_act": "silu",
            "max_position_embeddings": 131072, "tie_word_embeddings": false, "attention_bias": false,
            "attention_dropout": 0.0, "num_experts": 16, "num_experts_per_tok": 2, "lm_head_bias": false}"#,
        qkv_bias: Switch::Key("attention_bias"),
        experts: ONLY_EXPERTS,
        fixed: LAYER_NORM_ROPE,
        not_modelled: &[(
            "lm_head_bias",
            "Megatron-Core's output layer has no bias; one number a token of the vocabulary is not counted",
        )],
        ..LLAMA_LIKE
    },
    Family {
        name: "Hunyuan-A13B",
        model_types: &["hunyuan_v1_moe", "hunyuan"],
        architectures: &["HunYuanMoEV1ForCausalLM"],
        defaults: r#"{"vocab_size": 290943, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
            "num_attention_heads": 32, "hidden_act": "silu", "max_position_embeddings": 2048,
            "tie_word_embeddings": false, "attention_bias": false, "attention_dropout": 0.0, "num_experts": 1,
            "num_experts_per_tok": 1, "n_shared_experts": 1}"#,
        unsupported: &[(
            "use_cla",
            Is::On,
            "layers that share keys and values, which Megatron-Core does not build",
        )],
        qk_norm: Switch::On,
        qkv_bias: Switch::Key("attention_bias"),
        experts: Experts {
            width_may_be_dense: true,
            shared: Shared::Count,
            ..NO_SHARED
        },
        ..LLAMA_LIKE
    },
    Family {
        name: "dots.llm1",
        model_types: &["dots1"],
        architectures: &["Dots1ForCausalLM"],
        defaults: r#"{"vocab_size": 152064, "hidden_size": 4608, "intermediate_size": 10944, "num_hidden_layers": 62,
            "num_attention_heads": 32, "num_key_value_heads": 32, "hidden_act": "silu",
            "max_position_embeddings": 2048, "tie_word_embeddings": false, "attention_bias": false,
            "attention_dropout": 0.0, "moe_intermediate_size": 1408, "first_k_dense_replace": 0}"#,
        qk_norm: Switch::On,
        qkv_bias: Switch::Key("attention_bias"),
        experts: AFTER_FIRST,
        ..LLAMA_LIKE
    },
    Family {
        name: "Solar Open",
        model_types: &["solar_open"],
        architectures: &["SolarOpenForCausalLM"],
        defaults: r#"{"vocab_size": 196608, "hidden_size": 4096, "num_hidden_layers": 48, "num_attention_heads": 64,
            "num_key_value_heads": 8, "head_dim": 128, "hidden_act": "silu", "max_position_embeddings": 131072,
            "tie_word_embeddings": false, "attention_bias": false, "attention_dropout": 0.0, "num_experts": 128,
            "num_experts_per_tok": 8, "n_shared_experts": 1, "moe_intermediate_size": 1280}"#,
        qkv_bias: Switch::Key("attention_bias"),
        // No layer is dense, and the file names no width for such layers.
        dense_width: "moe_intermediate_size",
        experts: Experts {
            shared: Shared::Count,
            ..SIGMOID
        },
        ..LLAMA_LIKE
    },
    Family {
        name: "AFMoE (Trinity)",
        model_types: &["afmoe"],
        architectures: &["AfmoeForCausalLM"],
        defaults: r#"{"vocab_size": 200192, "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 32,
            "num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 128, "hidden_act": "silu",
            "max_position_embeddings": 16384, "tie_word_embeddings": false, "attention_bias": false,
            "attention_dropout": 0.0, "num_experts": 64, "num_experts_per_tok": 6, "n_shared_experts": 2,
            "moe_intermediate_size": 1408, "first_k_dense_replace": 1}"#,
        qk_norm: Switch::On,
        qkv_bias: Switch::Key("attention_bias"),
        experts: AFTER_FIRST,
        fixed: &[
            ("normalization", Fixed::Text("RMSNorm")),
            ("position_embedding_type", Fixed::Text("rope")),
            ("attention_output_gate", Fixed::Bool(true)),
        ],
        not_modelled: &[("model_type", POST_NORMS)],
        ..LLAMA_LIKE
    },
    Family {
        name: "MiniMax-M3",
        model_types: &["minimax_m3", "minimax_m3_vl", "minimax_m3_vl_text"],
        architectures: &[
            "MiniMaxM3ForCausalLM",
            "MiniMaxM3VLForConditionalGeneration",
            "MiniMaxM3SparseForConditionalGeneration",
        ],
        defaults: r#"{"vocab_size": 200064, "hidden_size": 6144, "intermediate_size": 3072, "num_hidden_layers": 60,
            "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 128,
            "max_position_embeddings": 524288, "tie_word_embeddings": false, "attention_dropout": 0.0,
            "num_experts": 128, "num_experts_per_tok": 4, "dense_intermediate_size": 12288,
            "shared_intermediate_size": 3072, "first_k_dense_replace": 3, "hidden_act": "swigluoai",
            "swiglu_limit": 7.0, "use_gemma_norm": true, "use_qk_norm": true}"#,
        qk_norm: Switch::Key("use_qk_norm"),
        dense_width: "dense_intermediate_size",
        activation: Activation::QuickGated,
        experts: Experts {
            width: "intermediate_size",
            shared: Shared::CountOf("shared_intermediate_size"),
            layers: MoeLayers::AfterFirst,
            ..SIGMOID
        },
        flags: &[("use_gemma_norm", "apply_layernorm_1p")],
        fixed: &[
            ("normalization", Fixed::Text("RMSNorm")),
            ("position_embedding_type", Fixed::Text("rope")),
            ("moe_router_weight_in_fp32", Fixed::Bool(true)),
        ],
        without_effect: &[
            ("sparse_attention_config", BLOCK_SPARSE),
            ("index_n_heads", BLOCK_SPARSE),
            ("index_head_dim", BLOCK_SPARSE),
            ("index_topk_blocks", BLOCK_SPARSE),
            ("index_block_size", BLOCK_SPARSE),
            ("index_local_blocks", BLOCK_SPARSE),
            (
                "moe_intermediate_size",
                "Megatron-Bridge builds experts as wide as `intermediate_size`",
            ),
            ("use_mtp", NO_PREDICTION),
            ("num_mtp_modules", NO_PREDICTION),
            ("num_nextn_predict_layers", NO_PREDICTION),
        ],
        not_modelled: &[(
            "attention_output_gate",
            "Megatron-Bridge builds attention of this family without an output gate",
        )],
        ..LLAMA_LIKE
    },
    Family {
        name: "Granite 3 MoE",
        model_types: &["granitemoe"],
        architectures: &["GraniteMoeForCausalLM"],
        defaults: r#"{"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
            "num_attention_heads": 32, "hidden_act": "silu", "max_position_embeddings": 2048,
            "tie_word_embeddings": false, "attention_bias": false, "attention_dropout": 0.0, "num_experts": 8,
            "num_experts_per_tok": 2}"#,
        qkv_bias: Switch::Key("attention_bias"),
        experts: ONLY_EXPERTS,
        not_modelled: &[
            ("residual_multiplier", MULTIPLIER),
            ("attention_multiplier", MULTIPLIER),
        ],
        ..LLAMA_LIKE
    },
    Family {
        name: "DBRX",
        model_types: &["dbrx"],
        architectures: &["DbrxForCausalLM"],
        defaults: r#"{"vocab_size": 32000, "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 16,
            "num_key_value_heads": 1, "hidden_act": "silu", "max_position_embeddings": 2048,
            "tie_word_embeddings": false, "attention_dropout": 0.0, "hidden_dropout": 0.0, "num_experts": 4,
            "num_experts_per_tok": 1, "intermediate_size": 3584}"#,
        experts: ONLY_EXPERTS,
        fixed: LAYER_NORM_ROPE,
        not_modelled: &[(
            "model_type",
            "its norms have no bias; Megatron-Core builds and the estimate counts norms with one",
        )],
        ..LLAMA_LIKE
    },
    Family {
        // The class comes with the files.
        name: "Grok-1",
        model_types: &["grok-1", "grok1"],
        architectures: &["Grok1ModelForCausalLM", "Grok1ForCausalLM"],
        defaults: r#"{"vocab_size": 131072, "hidden_size": 6144, "intermediate_size": 32768, "num_hidden_layers": 64,
            "num_attention_heads": 48, "num_key_value_heads": 8, "hidden_act": "gelu",
            "max_position_embeddings": 8192, "tie_word_embeddings": true, "num_experts": 8,
            "num_experts_per_tok": 2}"#,
        experts: ONLY_EXPERTS,
        not_modelled: &[("model_type", POST_NORMS)],
        ..LLAMA_LIKE
    },
    Family {
        name: "FlexOlmo",
        model_types: &["flex_olmo"],
        architectures: &["FlexOlmoForCausalLM"],
        defaults: r#"{"vocab_size": 100352, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
            "num_attention_heads": 32, "hidden_act": "silu", "max_position_embeddings": 4096,
            "tie_word_embeddings": false, "attention_bias": false, "attention_dropout": 0.0, "num_experts": 7,
            "num_experts_per_tok": 5}"#,
        qk_norm: Switch::On,
        qkv_bias: Switch::Key("attention_bias"),
        experts: ONLY_EXPERTS,
        fixed: RMS_ROPE_NORM_OVER_HEADS,
        not_modelled: &[("model_type", super::open_dense::NORMS_AFTER)],
        ..LLAMA_LIKE
    },
];

const NO_PREDICTION: &str =
    "Megatron-Bridge builds no multi-token prediction for this family, of which the published weights have none";
