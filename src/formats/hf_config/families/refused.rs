//! Families for which a number would mislead: their layers are not those of a GPT model.

use crate::formats::hf_config::family::{Family, LLAMA_LIKE};

const PER_LAYER: &str =
    "its layers have different shapes, and the estimate takes one shape for all";

pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "Nemotron-H (architecture search)",
        model_types: &["nemotron_h_puzzle"],
        architectures: &["NemotronHPuzzleForCausalLM"],
        refused: Some(PER_LAYER),
        ..LLAMA_LIKE
    },
    Family {
        name: "Falcon-H1",
        model_types: &["falcon_h1"],
        architectures: &["FalconH1ForCausalLM"],
        refused: Some(
            "in each of its layers Mamba and attention stand side by side, which Megatron-Core's HybridModel does not build: a letter of its pattern is one of them",
        ),
        ..LLAMA_LIKE
    },
    Family {
        name: "Mamba-1",
        model_types: &["mamba", "falcon_mamba", "jamba"],
        architectures: &["MambaForCausalLM", "JambaForCausalLM"],
        refused: Some(
            "its layers are Mamba-1, and Megatron-Core's HybridModel builds Mamba-2: other projections and another state",
        ),
        ..LLAMA_LIKE
    },
    Family {
        name: "Zamba",
        model_types: &["zamba", "zamba2"],
        architectures: &["ZambaForCausalLM", "Zamba2ForCausalLM"],
        refused: Some(
            "its attention layers share their weights, which Megatron-Core's HybridModel does not build",
        ),
        ..LLAMA_LIKE
    },
    Family {
        name: "Mamba-2",
        model_types: &["mamba2", "bamba"],
        architectures: &["Mamba2ForCausalLM", "BambaForCausalLM"],
        refused: Some(
            "its keys are not read; Megatron-Core's HybridModel builds it: write hybrid_layer_pattern and the mamba_* fields",
        ),
        ..LLAMA_LIKE
    },
    Family {
        name: "Llama-Nemotron (architecture search)",
        model_types: &["nemotron-nas", "deci"],
        architectures: &["DeciLMForCausalLM"],
        refused: Some(PER_LAYER),
        ..LLAMA_LIKE
    },
    Family {
        name: "DeepSeek-V4",
        model_types: &["deepseek_v4"],
        architectures: &["DeepseekV4ForCausalLM"],
        refused: Some("compressed attention and hyper-connections are not in the estimate"),
        ..LLAMA_LIKE
    },
    Family {
        name: "Kimi Linear",
        model_types: &["kimi_linear", "kimi_k3"],
        architectures: &["KimiLinearForCausalLM", "KimiK3ForConditionalGeneration"],
        refused: Some("most of its layers have delta attention, which the estimate does not have"),
        ..LLAMA_LIKE
    },
    Family {
        name: "Gemma 3n and Gemma 4",
        model_types: &["gemma3n", "gemma3n_text", "gemma4", "gemma4_text"],
        architectures: &[
            "Gemma3nForConditionalGeneration",
            "Gemma4ForConditionalGeneration",
            "Gemma4ForCausalLM",
        ],
        refused: Some(
            "embeddings per layer and layers that share keys and values are not in the estimate",
        ),
        ..LLAMA_LIKE
    },
    Family {
        name: "MiMo-V2-Flash",
        model_types: &["mimo_v2_flash"],
        architectures: &["MiMoV2FlashForCausalLM"],
        refused: Some(
            "layers with a sliding window have other heads than the rest, and the estimate takes one shape for all",
        ),
        ..LLAMA_LIKE
    },
    Family {
        name: "Encoder or encoder-decoder",
        model_types: &[
            "bert", "roberta", "t5", "mt5", "bart", "whisper", "clip", "vit", "siglip",
        ],
        architectures: &[],
        refused: Some("it is not a decoder-only language model"),
        ..LLAMA_LIKE
    },
];
