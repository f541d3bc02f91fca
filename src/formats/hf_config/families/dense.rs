//! Dense decoders like Llama.

use crate::formats::hf_config::family::{Family, Is, LLAMA_LIKE, RMS_ROPE_POST_NORMS, Switch};

pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "Llama-Nemotron (architecture search)",
        model_types: &["nemotron-nas", "deci"],
        architectures: &["DeciLMForCausalLM"],
        defaults: r#"{"hidden_act": "silu", "tie_word_embeddings": false, "attention_bias": false,
            "attention_dropout": 0.0, "mlp_bias": false}"#,
        qkv_bias: Switch::Key("attention_bias"),
        linear_bias: Switch::Key("mlp_bias"),
        ..LLAMA_LIKE
    },
    Family {
        name: "Llama",
        model_types: &["llama"],
        architectures: &["LlamaForCausalLM"],
        defaults: r#"{"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
            "num_attention_heads": 32, "hidden_act": "silu", "max_position_embeddings": 2048,
            "tie_word_embeddings": false, "attention_bias": false, "attention_dropout": 0.0, "mlp_bias": false}"#,
        qkv_bias: Switch::Key("attention_bias"),
        linear_bias: Switch::Key("mlp_bias"),
        ..LLAMA_LIKE
    },
    Family {
        name: "Mistral",
        model_types: &["mistral"],
        architectures: &["MistralForCausalLM"],
        defaults: r#"{"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
            "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_act": "silu",
            "max_position_embeddings": 131072, "tie_word_embeddings": false, "attention_dropout": 0.0}"#,
        ..LLAMA_LIKE
    },
    Family {
        name: "Ministral 3",
        model_types: &["ministral3", "mistral3"],
        architectures: &["Ministral3ForCausalLM", "Mistral3ForConditionalGeneration"],
        defaults: r#"{"vocab_size": 131072, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 34,
            "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "hidden_act": "silu",
            "max_position_embeddings": 262144, "tie_word_embeddings": false, "attention_dropout": 0.0}"#,
        ..LLAMA_LIKE
    },
    Family {
        name: "Qwen2",
        model_types: &[
            "qwen2",
            "qwen2_vl",
            "qwen2_vl_text",
            "qwen2_5_vl",
            "qwen2_5_vl_text",
            "qwen2_audio",
            "qwen2_5_omni",
            "qwen2_5_omni_thinker",
            "qwen2_5_omni_text",
        ],
        architectures: &[
            "Qwen2ForCausalLM",
            "Qwen2_5_VLForConditionalGeneration",
            "Qwen2_5OmniForConditionalGeneration",
            "Qwen2AudioForConditionalGeneration",
        ],
        defaults: r#"{"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32,
            "num_attention_heads": 32, "num_key_value_heads": 32, "hidden_act": "silu",
            "max_position_embeddings": 32768, "tie_word_embeddings": false, "attention_dropout": 0.0}"#,
        qkv_bias: Switch::On,
        ..LLAMA_LIKE
    },
    Family {
        name: "Qwen3",
        model_types: &[
            "qwen3",
            "qwen3_vl",
            "qwen3_vl_text",
            "qwen3_asr",
            "qwen3_asr_thinker",
            "qwen3_asr_text",
        ],
        architectures: &[
            "Qwen3ForCausalLM",
            "Qwen3VLForConditionalGeneration",
            "Qwen3ASRForConditionalGeneration",
        ],
        defaults: r#"{"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32,
            "num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": 128, "hidden_act": "silu",
            "max_position_embeddings": 32768, "tie_word_embeddings": false, "attention_bias": false,
            "attention_dropout": 0.0}"#,
        qk_norm: Switch::On,
        ..LLAMA_LIKE
    },
    Family {
        name: "MiMo",
        model_types: &["mimo"],
        architectures: &["MiMoForCausalLM"],
        defaults: r#"{"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32,
            "num_attention_heads": 32, "num_key_value_heads": 32, "hidden_act": "silu",
            "max_position_embeddings": 32768, "tie_word_embeddings": false, "attention_dropout": 0.0,
            "num_nextn_predict_layers": 0}"#,
        qkv_bias: Switch::On,
        ..LLAMA_LIKE
    },
    Family {
        name: "Phi-3",
        model_types: &["phi3"],
        architectures: &["Phi3ForCausalLM"],
        defaults: r#"{"vocab_size": 32064, "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32,
            "num_attention_heads": 32, "hidden_act": "silu", "max_position_embeddings": 4096,
            "tie_word_embeddings": false, "attention_dropout": 0.0, "hidden_dropout": 0.0}"#,
        ..LLAMA_LIKE
    },
    Family {
        name: "GLM-4",
        model_types: &["glm4"],
        architectures: &["Glm4ForCausalLM"],
        defaults: r#"{"vocab_size": 151552, "hidden_size": 4096, "intermediate_size": 13696, "num_hidden_layers": 40,
            "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "hidden_act": "silu",
            "max_position_embeddings": 131072, "tie_word_embeddings": false, "attention_bias": true,
            "attention_dropout": 0.0}"#,
        qkv_bias: Switch::Key("attention_bias"),
        fixed: RMS_ROPE_POST_NORMS,
        ..LLAMA_LIKE
    },
    Family {
        name: "GLM-4 (9B)",
        model_types: &["glm"],
        architectures: &["GlmForCausalLM"],
        defaults: r#"{"vocab_size": 151552, "hidden_size": 4096, "intermediate_size": 13696, "num_hidden_layers": 40,
            "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "hidden_act": "silu",
            "max_position_embeddings": 131072, "tie_word_embeddings": false, "attention_bias": true,
            "attention_dropout": 0.0}"#,
        qkv_bias: Switch::Key("attention_bias"),
        ..LLAMA_LIKE
    },
    Family {
        // The class comes with the files, which hold all sizes.
        name: "ChatGLM",
        model_types: &["chatglm"],
        architectures: &["ChatGLMModel", "ChatGLMForConditionalGeneration"],
        defaults: r#"{"hidden_act": "silu", "tie_word_embeddings": false, "add_qkv_bias": false,
            "add_bias_linear": false, "attention_dropout": 0.0, "hidden_dropout": 0.0}"#,
        unsupported: &[(
            "position_encoding_2d",
            Is::On,
            "positions in two dimensions, which Megatron-Core does not have",
        )],
        qkv_bias: Switch::Key("add_qkv_bias"),
        linear_bias: Switch::Key("add_bias_linear"),
        ..LLAMA_LIKE
    },
    Family {
        name: "Hunyuan (dense)",
        model_types: &["hunyuan_v1_dense"],
        architectures: &["HunYuanDenseV1ForCausalLM"],
        defaults: r#"{"vocab_size": 290943, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
            "num_attention_heads": 32, "hidden_act": "silu", "max_position_embeddings": 2048,
            "tie_word_embeddings": false, "attention_bias": false, "attention_dropout": 0.0}"#,
        qk_norm: Switch::On,
        qkv_bias: Switch::Key("attention_bias"),
        ..LLAMA_LIKE
    },
    Family {
        // The class comes with the files.
        name: "InternLM2",
        model_types: &["internlm2"],
        architectures: &["InternLM2ForCausalLM"],
        defaults: r#"{"vocab_size": 103168, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
            "num_attention_heads": 32, "hidden_act": "silu", "max_position_embeddings": 2048,
            "tie_word_embeddings": false, "bias": true}"#,
        qkv_bias: Switch::Key("bias"),
        ..LLAMA_LIKE
    },
    Family {
        name: "InternLM3",
        model_types: &["internlm3"],
        architectures: &["InternLM3ForCausalLM"],
        defaults: r#"{"vocab_size": 128512, "hidden_size": 4096, "intermediate_size": 10240, "num_hidden_layers": 48,
            "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "hidden_act": "silu",
            "max_position_embeddings": 32768, "tie_word_embeddings": false, "qkv_bias": false, "bias": false,
            "attention_dropout": 0.0}"#,
        qkv_bias: Switch::Key("qkv_bias"),
        linear_bias: Switch::Key("bias"),
        ..LLAMA_LIKE
    },
    Family {
        // The class comes with the files.
        name: "EXAONE 3",
        model_types: &["exaone"],
        architectures: &["ExaoneForCausalLM"],
        defaults: r#"{"hidden_act": "silu", "max_position_embeddings": 2048, "tie_word_embeddings": true,
            "attention_dropout": 0.0}"#,
        ..LLAMA_LIKE
    },
    Family {
        name: "EXAONE 4.5",
        model_types: &["exaone4_5", "exaone4_5_text"],
        architectures: &["Exaone4_5_ForConditionalGeneration"],
        defaults: r#"{"hidden_act": "silu", "tie_word_embeddings": false, "attention_dropout": 0.0,
            "num_nextn_predict_layers": 0}"#,
        qk_norm: Switch::On,
        ..LLAMA_LIKE
    },
    Family {
        name: "EXAONE 4",
        model_types: &["exaone4"],
        architectures: &["Exaone4ForCausalLM"],
        defaults: r#"{"vocab_size": 102400, "hidden_size": 4096, "intermediate_size": 16384, "num_hidden_layers": 32,
            "num_attention_heads": 32, "num_key_value_heads": 32, "hidden_act": "silu",
            "max_position_embeddings": 2048, "tie_word_embeddings": false, "attention_dropout": 0.0}"#,
        qk_norm: Switch::On,
        ..LLAMA_LIKE
    },
    Family {
        name: "ERNIE 4.5",
        model_types: &["ernie4_5"],
        architectures: &["Ernie4_5ForCausalLM"],
        defaults: r#"{"vocab_size": 103424, "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 18,
            "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 128, "hidden_act": "silu",
            "max_position_embeddings": 131072, "tie_word_embeddings": true, "use_bias": false}"#,
        linear_bias: Switch::Key("use_bias"),
        ..LLAMA_LIKE
    },
    Family {
        name: "Seed-OSS",
        model_types: &["seed_oss"],
        architectures: &["SeedOssForCausalLM"],
        defaults: r#"{"vocab_size": 155136, "hidden_size": 4096, "intermediate_size": 27648, "num_hidden_layers": 64,
            "num_attention_heads": 80, "num_key_value_heads": 8, "head_dim": 128, "hidden_act": "silu",
            "max_position_embeddings": 524288, "tie_word_embeddings": false, "attention_bias": true,
            "attention_dropout": 0.1, "hidden_dropout": 0.1, "mlp_bias": false}"#,
        qkv_bias: Switch::Key("attention_bias"),
        linear_bias: Switch::Key("mlp_bias"),
        not_modelled: &[(
            "attention_out_bias",
            "a bias on the output projection alone is not counted",
        )],
        ..LLAMA_LIKE
    },
];
