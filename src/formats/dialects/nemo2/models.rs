//! The classes of `NeMo` 2's models (`nemo/collections/llm/gpt/model`): the model that each is, and what it decides of
//! training.

/// A class of models.
pub struct Model {
    /// The name of the class.
    pub class: &'static str,
    /// The id of the preset with the same shape.
    pub preset: &'static str,
    /// The settings of the series that it belongs to, beside the shape: fields and values in Python.
    series: Settings,
    /// Settings of its own.
    own: Settings,
}

impl Model {
    /// The settings beside the shape.
    pub fn settings(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.series.iter().chain(self.own).copied()
    }

    /// Whether the class says how large the vocabulary is. Of other classes the tokenizer says it.
    #[must_use]
    pub fn has_vocabulary(&self) -> bool {
        self.settings().any(|(field, _)| field == "padded_vocab_size")
    }
}

type Settings = &'static [(&'static str, &'static str)];

/// The class with a name.
#[must_use]
pub fn find(class: &str) -> Option<&'static Model> {
    MODELS.iter().find(|model| model.class == class)
}

/// The kind of model of a class that is no GPT, with an article.
#[must_use]
pub fn refused(class: &str) -> Option<&'static str> {
    let is = |part: &str| class.contains(part);
    match () {
        () if class.starts_with("T5") => Some("a NeMo 2 recipe of T5"),
        () if is("Bert") => Some("a NeMo 2 recipe of BERT"),
        () if is("Hyena") || is("Evo2") => Some("a NeMo 2 recipe of Hyena"),
        () if is("Embedding") || is("Rerank") => Some("a NeMo 2 recipe of a model for embeddings or ranking"),
        () if class.starts_with("HFAutoModel") => Some("a NeMo 2 recipe that does not train with Megatron"),
        () => None,
    }
}

const DROPOUT_OFF: [(&str, &str); 2] = [("hidden_dropout", "0.0"), ("attention_dropout", "0.0")];
const BIAS_DROPOUT: (&str, &str) = ("bias_dropout_fusion", "False");
const BIAS_SWIGLU: (&str, &str) = ("bias_swiglu_fusion", "False");
const BIAS_GELU: (&str, &str) = ("bias_gelu_fusion", "False");
const ROPE: (&str, &str) = ("apply_rope_fusion", "False");
const ALLTOALL: (&str, &str) = ("moe_token_dispatcher_type", "alltoall");
const GROUPED: (&str, &str) = ("moe_grouped_gemm", "True");
const PERMUTED: (&str, &str) = ("moe_permute_fusion", "True");

/// `LlamaConfig` fuses as Megatron-LM's command line does.
const LLAMA: Settings = &DROPOUT_OFF;
/// `MistralConfig7B` and what `TransformerConfig` has by default: nothing is fused.
const MISTRAL: Settings = &[DROPOUT_OFF[0], DROPOUT_OFF[1], BIAS_SWIGLU, BIAS_DROPOUT, ROPE];
const MIXTRAL: Settings = &[
    DROPOUT_OFF[0],
    DROPOUT_OFF[1],
    ALLTOALL,
    ("moe_grouped_gemm", "False"),
    ("masked_softmax_fusion", "False"),
];
const GEMMA: Settings = &[
    DROPOUT_OFF[0],
    DROPOUT_OFF[1],
    BIAS_GELU,
    BIAS_DROPOUT,
    ROPE,
    ("attention_backend", "flash"),
];
/// Gemma 2 has attention of `NeMo`'s own, which keeps its scores.
const GEMMA_2: Settings = &[
    DROPOUT_OFF[0],
    DROPOUT_OFF[1],
    BIAS_GELU,
    BIAS_DROPOUT,
    ROPE,
    ("attention_backend", "unfused"),
    ("attn_logit_softcapping", "50.0"),
    ("final_logit_softcapping", "30.0"),
    ("gradient_accumulation_fusion", "False"),
    ("padded_vocab_size", "256000"),
];
const QWEN: Settings = &[DROPOUT_OFF[0], DROPOUT_OFF[1], BIAS_SWIGLU, BIAS_DROPOUT, ROPE];
const QWEN_MOE: Settings = &[
    DROPOUT_OFF[0],
    DROPOUT_OFF[1],
    BIAS_SWIGLU,
    BIAS_DROPOUT,
    ROPE,
    ALLTOALL,
    GROUPED,
    PERMUTED,
];
const DEEPSEEK: Settings = &[
    DROPOUT_OFF[0],
    DROPOUT_OFF[1],
    ROPE,
    ALLTOALL,
    GROUPED,
    PERMUTED,
    ("moe_shared_expert_overlap", "True"),
    ("moe_router_dtype", "fp32"),
    // `DeepSeekConfig` derives from `MLATransformerConfig` first.
    ("deallocate_pipeline_outputs", "False"),
    ("cross_entropy_fusion_impl", "te"),
    ("mtp_num_layers", "0"),
];
const NEMOTRON: Settings = &[DROPOUT_OFF[0], DROPOUT_OFF[1], BIAS_DROPOUT];
const GPT: Settings = &DROPOUT_OFF;

/// Vocabularies that the classes of Qwen have.
const V_151936: Settings = &[("padded_vocab_size", "151936")];
const V_152064: Settings = &[("padded_vocab_size", "152064")];
/// The classes of DeepSeek pad the vocabulary to a multiple of these.
const OF_3200: Settings = &[("make_vocab_size_divisible_by", "3200")];
const OF_1280: Settings = &[("make_vocab_size_divisible_by", "1280")];

const fn model(class: &'static str, preset: &'static str, series: Settings, own: Settings) -> Model {
    Model {
        class,
        preset,
        series,
        own,
    }
}

const MODELS: &[Model] = &[
    model("GPTConfig175B", "gpt3-175b", GPT, &[]),
    model("Llama2Config7B", "llama2-7b", LLAMA, &[]),
    model("Llama2Config70B", "llama2-70b", LLAMA, &[]),
    model("Llama3Config8B", "llama3-8b", LLAMA, &[]),
    model("Llama3Config70B", "llama3-70b", LLAMA, &[]),
    model("Llama31Config8B", "llama3.1-8b", LLAMA, &[]),
    model("Llama31Config70B", "llama3.1-70b", LLAMA, &[]),
    model("Llama31Config405B", "llama3.1-405b", LLAMA, &[]),
    model("Llama32Config1B", "llama3.2-1b", LLAMA, &[]),
    model("Llama32Config3B", "llama3.2-3b", LLAMA, &[]),
    model("MistralConfig7B", "mistral-7b", MISTRAL, &[]),
    model("MistralNeMoConfig12B", "mistral-nemo-12b", MISTRAL, &[]),
    model("MixtralConfig8x7B", "mixtral-8x7b", MIXTRAL, &[]),
    model("MixtralConfig8x22B", "mixtral-8x22b", MIXTRAL, &[]),
    model("GemmaConfig2B", "gemma-2b", GEMMA, &[]),
    model("GemmaConfig7B", "gemma-7b", GEMMA, &[]),
    model("Gemma2Config2B", "gemma-2-2b", GEMMA_2, &[]),
    model("Gemma2Config9B", "gemma-2-9b", GEMMA_2, &[]),
    model("Gemma2Config27B", "gemma-2-27b", GEMMA_2, &[]),
    model("Nemotron4Config15B", "nemotron-4-15b", NEMOTRON, &[]),
    model("Nemotron4Config340B", "nemotron-4-340b", NEMOTRON, &[]),
    model("Qwen25Config3B", "qwen2.5-3b", QWEN, V_151936),
    model("Qwen25Config7B", "qwen2.5-7b", QWEN, V_152064),
    model("Qwen25Config14B", "qwen2.5-14b", QWEN, V_152064),
    model("Qwen25Config32B", "qwen2.5-32b", QWEN, V_152064),
    model("Qwen25Config72B", "qwen2.5-72b", QWEN, V_152064),
    model("Qwen3Config600M", "qwen3-0.6b", QWEN, V_151936),
    model("Qwen3Config1P7B", "qwen3-1.7b", QWEN, V_151936),
    model("Qwen3Config4B", "qwen3-4b", QWEN, V_151936),
    model("Qwen3Config8B", "qwen3-8b", QWEN, V_151936),
    model("Qwen3Config14B", "qwen3-14b", QWEN, V_151936),
    model("Qwen3Config32B", "qwen3-32b", QWEN, V_151936),
    model("Qwen3Config30B_A3B", "qwen3-30b-a3b", QWEN_MOE, V_151936),
    model("Qwen3Config235B_A22B", "qwen3-235b-a22b", QWEN_MOE, V_151936),
    model("DeepSeekV2Config", "deepseek-v2", DEEPSEEK, OF_3200),
    model("DeepSeekV2LiteConfig", "deepseek-v2-lite", DEEPSEEK, OF_3200),
    model("DeepSeekV3Config", "deepseek-v3", DEEPSEEK, OF_1280),
];
