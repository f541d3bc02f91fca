//! Mixtures of experts with grouped-query attention.

use crate::formats::hf_config::family::{
    Activation, Experts, Family, LLAMA_LIKE, MoeLayers, NO_SHARED, RMS_ROPE_NORM_OVER_HEADS, Shared, Switch,
    VocabMultiple,
};

/// Routed experts whose width is the only one in the file.
pub(super) const ONLY_EXPERTS: Experts = Experts {
    width: "intermediate_size",
    ..NO_SHARED
};

/// Routed experts with a shared expert that has a gate of its own.
pub(super) const GATED_SHARED: Experts = Experts {
    shared: Shared::Key {
        key: "shared_expert_intermediate_size",
        gate: true,
    },
    layers: MoeLayers::SparseStep,
    ..NO_SHARED
};

/// A sigmoid router with a bias per expert, as DeepSeek-V3 introduced it.
pub(super) const SIGMOID: Experts = Experts {
    bias: true,
    score: "sigmoid",
    ..NO_SHARED
};

const NO_PREDICTION: &str = "Megatron-Bridge builds no multi-token prediction for this family";

pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "MiMo-V2-Flash",
        model_types: &["mimo_v2_flash"],
        architectures: &["MiMoV2FlashForCausalLM"],
        defaults: r#"{"hidden_act": "silu", "tie_word_embeddings": false, "attention_bias": false,
            "attention_dropout": 0.0}"#,
        experts: SIGMOID,
        dense_mtp: true,
        ..LLAMA_LIKE
    },
    Family {
        // The class comes with the files; the sizes are those that Megatron-Bridge has for Sarvam 30B.
        name: "Sarvam MoE",
        model_types: &["sarvam_moe"],
        architectures: &["SarvamMoEForCausalLM", "SarvamMoeForCausalLM"],
        defaults: r#"{"hidden_act": "silu", "tie_word_embeddings": false, "attention_dropout": 0.0,
            "first_k_dense_replace": 1, "n_shared_experts": 1}"#,
        qk_norm: Switch::On,
        experts: Experts {
            shared: Shared::Count,
            layers: MoeLayers::AfterFirst,
            ..SIGMOID
        },
        vocab_multiple: VocabMultiple::Of(128),
        ..LLAMA_LIKE
    },
    Family {
        name: "Mixtral",
        model_types: &["mixtral"],
        architectures: &["MixtralForCausalLM"],
        defaults: r#"{"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
            "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_act": "silu",
            "max_position_embeddings": 131072, "tie_word_embeddings": false, "attention_dropout": 0.0,
            "num_experts": 8, "num_experts_per_tok": 2}"#,
        experts: ONLY_EXPERTS,
        ..LLAMA_LIKE
    },
    Family {
        name: "Qwen2-MoE",
        model_types: &["qwen2_moe"],
        architectures: &["Qwen2MoeForCausalLM"],
        defaults: r#"{"vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 24,
            "num_attention_heads": 16, "num_key_value_heads": 16, "hidden_act": "silu",
            "max_position_embeddings": 32768, "tie_word_embeddings": false, "attention_dropout": 0.0,
            "qkv_bias": true, "num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408,
            "shared_expert_intermediate_size": 5632, "decoder_sparse_step": 1, "mlp_only_layers": []}"#,
        qkv_bias: Switch::Key("qkv_bias"),
        experts: GATED_SHARED,
        ..LLAMA_LIKE
    },
    Family {
        name: "Qwen3-MoE",
        model_types: &[
            "qwen3_moe",
            "qwen3_vl_moe",
            "qwen3_vl_moe_text",
            "qwen3_omni_moe",
            "qwen3_omni_moe_text",
        ],
        architectures: &[
            "Qwen3MoeForCausalLM",
            "Qwen3VLMoeForConditionalGeneration",
            "Qwen3OmniMoeForConditionalGeneration",
        ],
        defaults: r#"{"vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 24,
            "num_attention_heads": 32, "num_key_value_heads": 4, "hidden_act": "silu",
            "max_position_embeddings": 32768, "tie_word_embeddings": false, "attention_dropout": 0.0,
            "attention_bias": false, "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768,
            "decoder_sparse_step": 1, "mlp_only_layers": []}"#,
        qk_norm: Switch::On,
        experts: Experts {
            layers: MoeLayers::SparseStep,
            ..NO_SHARED
        },
        ..LLAMA_LIKE
    },
    Family {
        name: "GLM-4.5",
        model_types: &["glm4_moe", "glm4v_moe", "glm4v_moe_text"],
        architectures: &["Glm4MoeForCausalLM", "Glm4vMoeForConditionalGeneration"],
        defaults: r#"{"vocab_size": 151552, "hidden_size": 4096, "intermediate_size": 10944, "num_hidden_layers": 46,
            "num_attention_heads": 96, "num_key_value_heads": 8, "hidden_act": "silu",
            "max_position_embeddings": 131072, "tie_word_embeddings": false, "attention_dropout": 0.0,
            "attention_bias": false, "use_qk_norm": false, "num_experts": 128, "num_experts_per_tok": 8,
            "moe_intermediate_size": 1408, "n_shared_experts": 1, "first_k_dense_replace": 1,
            "num_nextn_predict_layers": 1}"#,
        qk_norm: Switch::Key("use_qk_norm"),
        qkv_bias: Switch::Key("attention_bias"),
        experts: Experts {
            shared: Shared::One,
            layers: MoeLayers::AfterFirst,
            ..SIGMOID
        },
        ..LLAMA_LIKE
    },
    Family {
        name: "GPT-OSS",
        model_types: &["gpt_oss"],
        architectures: &["GptOssForCausalLM"],
        defaults: r#"{"vocab_size": 201088, "hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 36,
            "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "hidden_act": "silu",
            "max_position_embeddings": 131072, "tie_word_embeddings": false, "attention_dropout": 0.0,
            "attention_bias": true, "num_experts": 128, "num_experts_per_tok": 4, "torch_dtype": "bfloat16"}"#,
        qkv_bias: Switch::Key("attention_bias"),
        linear_bias: Switch::On,
        activation: Activation::QuickGated,
        experts: ONLY_EXPERTS,
        fixed: super::special::GPT_OSS_FIXED,
        ..LLAMA_LIKE
    },
    Family {
        name: "OLMoE",
        model_types: &["olmoe"],
        architectures: &["OlmoeForCausalLM"],
        defaults: r#"{"vocab_size": 50304, "hidden_size": 2048, "intermediate_size": 2048, "num_hidden_layers": 16,
            "num_attention_heads": 16, "hidden_act": "silu", "max_position_embeddings": 4096,
            "tie_word_embeddings": false, "attention_dropout": 0.0, "attention_bias": false, "num_experts": 64,
            "num_experts_per_tok": 8}"#,
        qk_norm: Switch::On,
        qkv_bias: Switch::Key("attention_bias"),
        experts: ONLY_EXPERTS,
        fixed: RMS_ROPE_NORM_OVER_HEADS,
        ..LLAMA_LIKE
    },
    Family {
        name: "MiniMax-M2",
        model_types: &["minimax_m2"],
        architectures: &["MiniMaxM2ForCausalLM"],
        defaults: r#"{"vocab_size": 200064, "hidden_size": 3072, "intermediate_size": 1536, "num_hidden_layers": 62,
            "num_attention_heads": 48, "num_key_value_heads": 8, "head_dim": 128, "hidden_act": "silu",
            "max_position_embeddings": 196608, "tie_word_embeddings": false, "attention_dropout": 0.0,
            "num_experts": 256, "num_experts_per_tok": 8}"#,
        qk_norm: Switch::On,
        experts: Experts {
            width: "intermediate_size",
            ..SIGMOID
        },
        fixed: RMS_ROPE_NORM_OVER_HEADS,
        not_modelled: &[
            ("use_mtp", NO_PREDICTION),
            ("shared_intermediate_size", "shared experts are not counted"),
            ("num_mtp_modules", NO_PREDICTION),
            ("mtp_transformer_layers", NO_PREDICTION),
        ],
        ..LLAMA_LIKE
    },
    Family {
        name: "ERNIE 4.5 MoE",
        model_types: &["ernie4_5_moe"],
        architectures: &["Ernie4_5_MoeForCausalLM"],
        defaults: r#"{"vocab_size": 103424, "hidden_size": 2560, "intermediate_size": 12288, "num_hidden_layers": 28,
            "num_attention_heads": 20, "num_key_value_heads": 4, "hidden_act": "silu",
            "max_position_embeddings": 131072, "tie_word_embeddings": true, "use_bias": false, "num_experts": 64,
            "num_experts_per_tok": 6, "moe_intermediate_size": 1536, "n_shared_experts": 2,
            "moe_layer_start_index": 1, "moe_layer_end_index": -1, "moe_layer_interval": 1}"#,
        linear_bias: Switch::Key("use_bias"),
        experts: Experts {
            shared: Shared::Count,
            layers: MoeLayers::Range,
            ..SIGMOID
        },
        ..LLAMA_LIKE
    },
    Family {
        name: "ERNIE 4.5 VL",
        model_types: &["ernie4_5_moe_vl", "ernie4_5_vl_moe", "ernie4_5_vl_moe_text"],
        architectures: &["Ernie4_5_VLMoeForConditionalGeneration"],
        defaults: r#"{"hidden_act": "silu", "tie_word_embeddings": true, "use_bias": false, "n_shared_experts": 2}"#,
        linear_bias: Switch::Key("use_bias"),
        experts: Experts {
            shared: Shared::Count,
            layers: MoeLayers::FromStart,
            pools: true,
            ..SIGMOID
        },
        ..LLAMA_LIKE
    },
    Family {
        name: "EXAONE MoE",
        model_types: &["exaone_moe", "exaone_moe_text"],
        architectures: &["ExaoneMoEForCausalLM", "ExaoneMoeForCausalLM"],
        defaults: r#"{"vocab_size": 102400, "hidden_size": 4096, "intermediate_size": 16384, "num_hidden_layers": 32,
            "num_attention_heads": 32, "num_key_value_heads": 32, "hidden_act": "silu",
            "max_position_embeddings": 2048, "tie_word_embeddings": false, "attention_dropout": 0.0,
            "num_experts": 64, "num_experts_per_tok": 8, "moe_intermediate_size": 1024, "n_shared_experts": 1,
            "first_k_dense_replace": 1}"#,
        qk_norm: Switch::On,
        experts: Experts {
            shared: Shared::Count,
            layers: MoeLayers::AfterFirst,
            ..SIGMOID
        },
        dense_mtp: true,
        ..LLAMA_LIKE
    },
    Family {
        name: "Ling 2 (Bailing MoE V2)",
        model_types: &["bailing_moe", "bailing_moe_v2"],
        architectures: &["BailingMoeV2ForCausalLM"],
        defaults: r#"{"hidden_act": "silu", "attention_dropout": 0.0, "tie_word_embeddings": false,
            "use_qkv_bias": false, "num_nextn_predict_layers": 0}"#,
        qk_norm: Switch::On,
        qkv_bias: Switch::Key("use_qkv_bias"),
        experts: Experts {
            shared: Shared::One,
            layers: MoeLayers::AfterFirst,
            ..SIGMOID
        },
        ..LLAMA_LIKE
    },
    Family {
        name: "Hunyuan V3",
        model_types: &["hy_v3"],
        architectures: &["HYV3ForCausalLM"],
        defaults: r#"{"vocab_size": 120832, "hidden_size": 4096, "intermediate_size": 13312, "num_hidden_layers": 80,
            "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128, "hidden_act": "silu",
            "max_position_embeddings": 131072, "tie_word_embeddings": false, "attention_dropout": 0.0,
            "attention_bias": false, "num_experts": 192, "num_experts_per_tok": 8, "n_shared_experts": 1,
            "moe_intermediate_size": 1536, "first_k_dense_replace": 1}"#,
        qk_norm: Switch::On,
        experts: Experts {
            shared: Shared::Count,
            layers: MoeLayers::AfterFirst,
            ..SIGMOID
        },
        ..LLAMA_LIKE
    },
    Family {
        name: "Llama 4",
        model_types: &["llama4_text", "llama4"],
        architectures: &["Llama4ForCausalLM", "Llama4ForConditionalGeneration"],
        defaults: r#"{"vocab_size": 202048, "hidden_size": 5120, "intermediate_size": 8192,
            "intermediate_size_mlp": 16384, "num_hidden_layers": 48, "num_attention_heads": 40,
            "num_key_value_heads": 8, "head_dim": 128, "hidden_act": "silu", "max_position_embeddings": 131072,
            "tie_word_embeddings": false, "attention_dropout": 0.0, "attention_bias": false, "num_experts": 16,
            "num_experts_per_tok": 1, "interleave_moe_layer_step": 1, "moe_layers": null, "use_qk_norm": true}"#,
        l2_norm: Some("use_qk_norm"),
        qkv_bias: Switch::Key("attention_bias"),
        dense_width: "intermediate_size_mlp",
        experts: Experts {
            width: "intermediate_size",
            shared: Shared::One,
            layers: MoeLayers::Interleaved,
            score: "sigmoid",
            ..NO_SHARED
        },
        ..LLAMA_LIKE
    },
    Family {
        name: "Step-3.5 and 3.7",
        model_types: &["step3p5", "step3p7", "step3p7_text"],
        architectures: &[
            "Step3p5ForCausalLM",
            "Step3p7FlashForCausalLM",
            "Step3p7ForConditionalGeneration",
        ],
        defaults: r#"{"hidden_act": "silu", "tie_word_embeddings": false}"#,
        qk_norm: Switch::On,
        experts: Experts {
            shared: Shared::Key {
                key: "share_expert_dim",
                gate: false,
            },
            layers: MoeLayers::AfterFirst,
            score: "sigmoid",
            bias: true,
            ..NO_SHARED
        },
        dense_mtp: true,
        not_modelled: &[
            (
                "attention_other_setting",
                "layers with a sliding window have other heads; all are counted alike",
            ),
            (
                "use_head_wise_attn_gate",
                "the gate on the attention output is not counted",
            ),
        ],
        ..LLAMA_LIKE
    },
];
