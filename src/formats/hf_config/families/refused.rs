//! Families for which a number would mislead: their layers are not those of a GPT model.

use crate::formats::hf_config::family::{Family, LLAMA_LIKE};

const MAMBA: &str = "most of its layers are Mamba layers, which the estimate does not have";
const PER_LAYER: &str =
    "its layers have different shapes, and the estimate takes one shape for all";

pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "Nemotron-H",
        model_types: &["nemotron_h", "nemotron_h_puzzle"],
        architectures: &["NemotronHForCausalLM"],
        refused: Some(MAMBA),
        ..LLAMA_LIKE
    },
    Family {
        name: "Falcon-H1",
        model_types: &["falcon_h1"],
        architectures: &["FalconH1ForCausalLM"],
        refused: Some(
            "each of its layers has a Mamba mixer beside attention, which the estimate does not have",
        ),
        ..LLAMA_LIKE
    },
    Family {
        name: "Mamba",
        model_types: &[
            "mamba",
            "mamba2",
            "jamba",
            "bamba",
            "zamba2",
            "granitemoehybrid",
        ],
        architectures: &[],
        refused: Some(MAMBA),
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
