//! Families for which a number would mislead: their layers are not those of a GPT model.

use crate::formats::hf_config::family::{Family, LLAMA_LIKE};

const PER_LAYER: &str = "its layers have different shapes, and the estimate takes one shape for all";

const SIDE_BY_SIDE: &str = "in its layers attention and MLP stand side by side on the same input, and layers of Megatron-Core have the MLP after attention";

pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "Nemotron-H (architecture search)",
        model_types: &["nemotron_h_puzzle"],
        architectures: &["NemotronHPuzzleForCausalLM"],
        refused: Some(PER_LAYER),
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
        refused: Some("its attention layers share their weights, which Megatron-Core's HybridModel does not build"),
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
        name: "Kimi Linear",
        model_types: &["kimi_linear"],
        architectures: &["KimiLinearForCausalLM"],
        refused: Some(
            "most of its layers have delta attention and no attention residuals, and no framework at hand builds such a model on Megatron-Core",
        ),
        ..LLAMA_LIKE
    },
    Family {
        name: "Gemma 3n",
        model_types: &["gemma3n", "gemma3n_text"],
        architectures: &["Gemma3nForConditionalGeneration"],
        refused: Some("embeddings per layer and layers that share keys and values are not in the estimate"),
        ..LLAMA_LIKE
    },
    Family {
        name: "Apertus",
        model_types: &["apertus"],
        architectures: &["ApertusForCausalLM"],
        refused: Some(
            "its activation is xIELU, whose two numbers a layer are learned; Megatron-Core has no such activation, only the authors' own version of it",
        ),
        ..LLAMA_LIKE
    },
    Family {
        name: "Command-R, Command-A and Aya (Cohere)",
        model_types: &["cohere", "cohere2", "cohere2_moe", "cohere2_vision"],
        architectures: &["CohereForCausalLM", "Cohere2ForCausalLM"],
        refused: Some(SIDE_BY_SIDE),
        ..LLAMA_LIKE
    },
    Family {
        name: "Phi-1 and Phi-2",
        model_types: &["phi", "phi-msft"],
        architectures: &["PhiForCausalLM"],
        refused: Some(SIDE_BY_SIDE),
        ..LLAMA_LIKE
    },
    Family {
        name: "Falcon",
        model_types: &["falcon", "RefinedWeb", "RefinedWebModel"],
        architectures: &["FalconForCausalLM"],
        refused: Some(
            "in its layers attention and MLP stand side by side, or positions are ALiBi; Megatron-Core builds neither",
        ),
        ..LLAMA_LIKE
    },
    Family {
        name: "GPT-J and CodeGen",
        model_types: &["gptj", "codegen"],
        architectures: &["GPTJForCausalLM", "CodeGenForCausalLM"],
        refused: Some(SIDE_BY_SIDE),
        ..LLAMA_LIKE
    },
    Family {
        name: "BLOOM",
        model_types: &["bloom"],
        architectures: &["BloomForCausalLM"],
        refused: Some("its positions are ALiBi and a norm stands after the embedding; Megatron-Core builds neither"),
        ..LLAMA_LIKE
    },
    Family {
        name: "MPT",
        model_types: &["mpt"],
        architectures: &["MPTForCausalLM", "MptForCausalLM"],
        refused: Some("its positions are ALiBi and its norms have no bias; Megatron-Core builds neither"),
        ..LLAMA_LIKE
    },
    Family {
        name: "LongCat-Flash",
        model_types: &["longcat_flash", "longcat"],
        architectures: &["LongcatFlashForCausalLM", "LongcatCausalLM"],
        refused: Some(
            "its layers have two attentions and two MLPs beside their experts, and experts that compute nothing; Megatron-Core builds no such layer",
        ),
        ..LLAMA_LIKE
    },
    Family {
        name: "MiniMax-01 and MiniMax-M1",
        model_types: &["minimax", "minimax_text_01", "minimax_m1", "minimax_vl_01"],
        architectures: &["MiniMaxText01ForCausalLM", "MiniMaxM1ForCausalLM", "MiniMaxForCausalLM"],
        refused: Some("most of its layers have lightning attention, which Megatron-Core does not build"),
        ..LLAMA_LIKE
    },
    Family {
        name: "Ling 2.5 and 3 (Bailing hybrid)",
        model_types: &["bailing_hybrid", "bailing_moe_linear", "bailing_moe_v2_5"],
        architectures: &["BailingHybridForCausalLM", "BailingMoeLinearV2ForCausalLM"],
        refused: Some("most of its layers have linear attention of a kind that Megatron-Core does not build"),
        ..LLAMA_LIKE
    },
    Family {
        name: "JetMoE",
        model_types: &["jetmoe"],
        architectures: &["JetMoeForCausalLM"],
        refused: Some("its attention is a mixture of experts, which Megatron-Core does not build"),
        ..LLAMA_LIKE
    },
    Family {
        name: "LFM2",
        model_types: &["lfm2", "lfm2_moe", "lfm2-vl"],
        architectures: &["Lfm2ForCausalLM", "Lfm2MoeForCausalLM"],
        refused: Some("most of its layers are short convolutions, which Megatron-Core does not build"),
        ..LLAMA_LIKE
    },
    Family {
        name: "Laguna",
        model_types: &["laguna"],
        architectures: &["LagunaForCausalLM"],
        refused: Some(PER_LAYER),
        ..LLAMA_LIKE
    },
    Family {
        name: "Diffusion model",
        model_types: &["llada"],
        architectures: &["FluxTransformer2DModel", "WanTransformer3DModel", "LLaDAModelLM"],
        refused: Some("it is a diffusion model, which does not predict one token after another"),
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
