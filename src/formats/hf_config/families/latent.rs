//! Mixtures of experts with multi-head latent attention.

use crate::formats::hf_config::family::{
    Attention, Experts, Family, Fixed, LLAMA_LIKE, MoeLayers, NO_SHARED, Shared, Switch, VocabMultiple,
};

/// The experts of DeepSeek-V2.
const V2: Experts = Experts {
    shared: Shared::Count,
    layers: MoeLayers::AfterFirst,
    ..NO_SHARED
};

/// The experts of DeepSeek-V3.
const V3: Experts = Experts {
    bias: true,
    score: "sigmoid",
    ..V2
};

/// What all of them share.
const LATENT: Family = Family {
    attention: Attention::Latent,
    qk_norm: Switch::On,
    experts: V3,
    vocab_multiple: VocabMultiple::Of(1280),
    ..LLAMA_LIKE
};

/// Sparse attention, which has no fused rotary embedding.
const SPARSE: Family = Family {
    attention: Attention::Sparse,
    fixed: &[
        ("normalization", Fixed::Text("RMSNorm")),
        ("position_embedding_type", Fixed::Text("rope")),
        ("apply_rope_fusion", Fixed::Bool(false)),
    ],
    ..LATENT
};

pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "DeepSeek-V2",
        model_types: &["deepseek_v2"],
        architectures: &["DeepseekV2ForCausalLM"],
        defaults: r#"{"vocab_size": 102400, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
            "num_attention_heads": 32, "hidden_act": "silu", "max_position_embeddings": 2048,
            "tie_word_embeddings": false, "attention_dropout": 0.0, "first_k_dense_replace": 0,
            "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
            "v_head_dim": 128, "num_experts": 64, "n_shared_experts": 2, "moe_intermediate_size": 1407}"#,
        experts: V2,
        vocab_multiple: VocabMultiple::Of(3200),
        ..LATENT
    },
    Family {
        name: "DeepSeek-V3",
        model_types: &["deepseek_v3"],
        architectures: &["DeepseekV3ForCausalLM"],
        defaults: r#"{"vocab_size": 129280, "hidden_size": 7168, "intermediate_size": 18432, "num_hidden_layers": 61,
            "num_attention_heads": 128, "hidden_act": "silu", "max_position_embeddings": 4096,
            "tie_word_embeddings": false, "attention_dropout": 0.0, "first_k_dense_replace": 3,
            "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
            "v_head_dim": 128, "num_experts": 256, "n_shared_experts": 1, "moe_intermediate_size": 2048,
            "num_experts_per_tok": 8, "num_nextn_predict_layers": 1}"#,
        ..LATENT
    },
    Family {
        name: "DeepSeek-V3.2",
        model_types: &["deepseek_v32"],
        architectures: &["DeepseekV32ForCausalLM"],
        defaults: r#"{"vocab_size": 129280, "hidden_size": 7168, "intermediate_size": 18432, "num_hidden_layers": 61,
            "num_attention_heads": 128, "hidden_act": "silu", "max_position_embeddings": 163840,
            "tie_word_embeddings": false, "attention_dropout": 0.0, "first_k_dense_replace": 3,
            "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
            "v_head_dim": 128, "num_experts": 256, "n_shared_experts": 1, "moe_intermediate_size": 2048,
            "num_experts_per_tok": 8, "index_n_heads": 64, "index_head_dim": 128, "index_topk": 2048}"#,
        ..SPARSE
    },
    Family {
        name: "DeepSeek-V4",
        model_types: &["deepseek_v4"],
        architectures: &["DeepseekV4ForCausalLM"],
        defaults: r#"{"hidden_act": "silu", "attention_dropout": 0.0, "tie_word_embeddings": false}"#,
        attention: Attention::Compressed,
        experts: Experts {
            bias: true,
            score: "sqrtsoftplus",
            shared: Shared::Count,
            layers: MoeLayers::All,
            ..NO_SHARED
        },
        ..LATENT
    },
    Family {
        // The class comes with the files and has no defaults that can be relied on.
        name: "Kimi K2",
        model_types: &["kimi_k2", "kimi_k25"],
        architectures: &["KimiK2ForCausalLM", "KimiK25ForConditionalGeneration"],
        defaults: r#"{"hidden_act": "silu", "attention_dropout": 0.0, "tie_word_embeddings": false}"#,
        ..LATENT
    },
    Family {
        name: "Kimi K3",
        model_types: &["kimi_k3"],
        architectures: &["KimiK3ForConditionalGeneration"],
        defaults: r#"{"attention_dropout": 0.0, "tie_word_embeddings": false}"#,
        attention: Attention::LatentAndDelta,
        fixed: &[
            ("normalization", Fixed::Text("RMSNorm")),
            ("position_embedding_type", Fixed::Text("none")),
        ],
        vocab_multiple: VocabMultiple::PowerOfTwo,
        ..LATENT
    },
    Family {
        name: "GLM-4.7-Flash",
        model_types: &["glm4_moe_lite"],
        architectures: &["Glm4MoeLiteForCausalLM"],
        defaults: r#"{"vocab_size": 154880, "hidden_size": 2048, "intermediate_size": 10240, "num_hidden_layers": 47,
            "num_attention_heads": 20, "hidden_act": "silu", "max_position_embeddings": 202752,
            "tie_word_embeddings": false, "attention_dropout": 0.0, "first_k_dense_replace": 1,
            "q_lora_rank": 768, "kv_lora_rank": 512, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64,
            "v_head_dim": 256, "num_experts": 64, "n_shared_experts": 1, "moe_intermediate_size": 1536,
            "num_experts_per_tok": 4}"#,
        vocab_multiple: VocabMultiple::PowerOfTwo,
        ..LATENT
    },
    Family {
        name: "GLM-5",
        model_types: &["glm_moe_dsa"],
        architectures: &["GlmMoeDsaForCausalLM"],
        defaults: r#"{"vocab_size": 154880, "hidden_size": 6144, "intermediate_size": 12288, "num_hidden_layers": 78,
            "num_attention_heads": 64, "hidden_act": "silu", "max_position_embeddings": 202752,
            "tie_word_embeddings": false, "attention_dropout": 0.0, "first_k_dense_replace": 3,
            "q_lora_rank": 2048, "kv_lora_rank": 512, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64,
            "v_head_dim": 256, "num_experts": 256, "n_shared_experts": 1, "moe_intermediate_size": 2048,
            "num_experts_per_tok": 8, "index_n_heads": 32, "index_head_dim": 128, "index_topk": 2048}"#,
        not_modelled: &[(
            "indexer_types",
            "which layers have an indexer follows from `index_topk_freq` and `index_skip_topk_offset`, as in Megatron-Bridge",
        )],
        ..SPARSE
    },
    Family {
        name: "Mistral 4",
        model_types: &["mistral4"],
        architectures: &["Mistral4ForCausalLM"],
        defaults: r#"{"vocab_size": 131072, "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36,
            "num_attention_heads": 32, "hidden_act": "silu", "max_position_embeddings": 1048576,
            "tie_word_embeddings": false, "attention_dropout": 0.0, "first_k_dense_replace": 0,
            "q_lora_rank": 1024, "kv_lora_rank": 256, "qk_nope_head_dim": 64, "qk_rope_head_dim": 64,
            "v_head_dim": 128, "num_experts": 128, "n_shared_experts": 1, "moe_intermediate_size": 2048,
            "num_experts_per_tok": 4}"#,
        experts: V2,
        vocab_multiple: VocabMultiple::PowerOfTwo,
        ..LATENT
    },
    Family {
        name: "Sarvam MLA",
        model_types: &["sarvam_mla"],
        architectures: &["SarvamMLAForCausalLM"],
        defaults: r#"{"hidden_act": "silu", "attention_dropout": 0.0, "tie_word_embeddings": false,
            "q_lora_rank": null}"#,
        vocab_multiple: VocabMultiple::PowerOfTwo,
        ..LATENT
    },
];
