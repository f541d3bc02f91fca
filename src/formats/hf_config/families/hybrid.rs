//! Families that mix Mamba-2 layers with attention.

use crate::formats::hf_config::family::{
    Activation, Experts, Family, Fixed, HybridLayers, Is, LLAMA_LIKE, MoeLayers, NO_SHARED, Shared, Switch,
};

/// Norms without biases, and no positions but those that Mamba layers see by themselves.
const RMS_WITHOUT_POSITIONS: &[(&str, Fixed)] = &[
    ("normalization", Fixed::Text("RMSNorm")),
    ("position_embedding_type", Fixed::Text("none")),
];

const MAMBA_BIAS: &str = "the projections of Megatron-LM's Mamba mixer have no biases";
const MULTIPLIER: &str = "Megatron-LM does not scale by it; what that keeps for the backward pass is not counted";

/// The layers of Falcon-H1 as Megatron-Bridge builds them (`FalconH1Layer`, `FalconH1MLP`).
const MAMBA_BESIDE_ATTENTION: &[(&str, Fixed)] = &[
    ("normalization", Fixed::Text("RMSNorm")),
    ("position_embedding_type", Fixed::Text("rope")),
    ("mamba_beside_attention", Fixed::Bool(true)),
];

pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "Falcon-H1",
        model_types: &["falcon_h1"],
        architectures: &["FalconH1ForCausalLM"],
        defaults: r#"{"vocab_size": 128000, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
            "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_act": "silu", "max_position_embeddings": 8192,
            "tie_word_embeddings": false, "attention_dropout": 0.0, "projectors_bias": false, "mamba_num_heads": 128,
            "mamba_head_dim": 8, "n_groups": 1, "ssm_state_size": 256, "mamba_rms_norm": false,
            "mamba_chunk_size": 256, "conv_kernel": 4}"#,
        unsupported: &[
            (
                "mamba_norm_before_gate",
                Is::On,
                "a norm before the gate of its Mamba mixers, which Megatron-Core does not have",
            ),
            // `MambaMixer.__init__` asserts `conv_bias`, which Megatron-Bridge takes from this key.
            (
                "mamba_conv_bias",
                Is::Off,
                "convolutions without biases in its Mamba mixers, which Megatron-Core refuses",
            ),
        ],
        mamba_beside_attention: true,
        qkv_bias: Switch::Key("attention_bias"),
        linear_bias: Switch::Key("projectors_bias"),
        fixed: MAMBA_BESIDE_ATTENTION,
        not_modelled: &[
            ("mlp_bias", "Megatron-Bridge builds no biases in MLPs"),
            ("mamba_proj_bias", MAMBA_BIAS),
        ],
        ..LLAMA_LIKE
    },
    Family {
        name: "Nemotron-H",
        model_types: &["nemotron_h"],
        architectures: &[
            "NemotronHForCausalLM",
            "NemotronH_Nano_VL_V2",
            "NemotronH_Nano_Omni_Reasoning_V3",
            "NemotronH_Super_Omni_Reasoning_V3",
        ],
        defaults: r#"{"vocab_size": 131072, "hidden_size": 4096, "intermediate_size": 21504,
            "hybrid_override_pattern": "ME*-", "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
            "max_position_embeddings": 4096, "tie_word_embeddings": false, "attention_bias": false, "mlp_bias": false,
            "attention_dropout": 0.0, "hidden_dropout": 0.0, "hidden_act": "relu2", "ssm_state_size": 128,
            "mamba_num_heads": 128, "mamba_head_dim": 64, "n_groups": 8, "conv_kernel": 4, "residual_in_fp32": false,
            "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 7688,
            "moe_shared_expert_intermediate_size": 7688, "num_nextn_predict_layers": 0,
            "mtp_hybrid_override_pattern": "*E"}"#,
        qkv_bias: Switch::Key("attention_bias"),
        linear_bias: Switch::Key("mlp_bias"),
        activation: Activation::Plain,
        experts: Experts {
            shared: Shared::Key {
                key: "moe_shared_expert_intermediate_size",
                gate: false,
            },
            layers: MoeLayers::All,
            bias: true,
            score: "sigmoid",
            ..NO_SHARED
        },
        fixed: RMS_WITHOUT_POSITIONS,
        hybrid: Some(HybridLayers::OneLetter),
        not_modelled: &[("use_bias", MAMBA_BIAS), ("mamba_proj_bias", MAMBA_BIAS)],
        ..LLAMA_LIKE
    },
    Family {
        name: "Granite 4 (hybrid)",
        model_types: &["granitemoehybrid"],
        architectures: &["GraniteMoeHybridForCausalLM"],
        defaults: r#"{"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
            "num_attention_heads": 32, "hidden_act": "silu", "max_position_embeddings": 2048,
            "tie_word_embeddings": false, "attention_bias": false, "attention_dropout": 0.0, "num_experts": 8,
            "num_experts_per_tok": 2, "shared_intermediate_size": 1024, "position_embedding_type": "nope",
            "layer_types": null, "mamba_num_heads": 128, "n_groups": 1, "ssm_state_size": 256,
            "mamba_head_dim": "auto", "conv_kernel": 4, "mamba_expand": 2}"#,
        qkv_bias: Switch::Key("attention_bias"),
        dense_width: "shared_intermediate_size",
        experts: Experts {
            width: "intermediate_size",
            shared: Shared::Key {
                key: "shared_intermediate_size",
                gate: false,
            },
            ..NO_SHARED
        },
        fixed: &[("normalization", Fixed::Text("RMSNorm"))],
        hybrid: Some(HybridLayers::MixerAndMlp),
        not_modelled: &[
            ("mamba_proj_bias", MAMBA_BIAS),
            ("residual_multiplier", MULTIPLIER),
            ("attention_multiplier", MULTIPLIER),
        ],
        ..LLAMA_LIKE
    },
];
