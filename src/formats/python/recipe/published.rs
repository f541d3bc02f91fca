//! What is known of functions that recipes of Megatron-Bridge call and that stand in other files: the templates that
//! they start from, and the models that published recipes are for, by the recipes of Megatron-Bridge at the pinned
//! revision.

use crate::formats::dialects::bridge::base_recipes;

/// Settings by their keys, as Python writes them.
type Settings = Vec<(&'static str, &'static str)>;

/// The adapters that templates for them put into the model.
const ADAPTERS: [(&str, &str); 3] = [("peft._target_", "LoRA"), ("peft.dim", "32"), ("peft.alpha", "32")];

/// The models of published recipes on the Hugging Face Hub, by the beginning of the recipe's name before its task.
const MODELS: &[(&str, &str)] = &[
    ("deepseek_v2", "deepseek-ai/DeepSeek-V2"),
    ("deepseek_v3", "deepseek-ai/DeepSeek-V3"),
    ("deepseek_v4_flash", "deepseek-ai/DeepSeek-V4-Flash"),
    ("deepseek_v4_flash_no_mtp", "deepseek-ai/DeepSeek-V4-Flash"),
    ("deepseek_v4_pro", "deepseek-ai/DeepSeek-V4-Pro"),
    ("exaone45_vl_33b", "LGAI-EXAONE/EXAONE-4.5-33B"),
    ("exaone_moe_236b_a23b", "LGAI-EXAONE/K-EXAONE-236B-A23B"),
    ("exaone_moe_2_0_750b_a37", "LGAI-EXAONE/K-EXAONE-2.0-750B-A37B"),
    ("gemma2_27b", "google/gemma-2-27b"),
    ("gemma2_2b", "google/gemma-2-2b"),
    ("gemma2_9b", "google/gemma-2-9b"),
    ("gemma3_1b", "google/gemma-3-1b-pt"),
    ("gemma3_vl_12b", "google/gemma-3-12b-it"),
    ("gemma3_vl_27b", "google/gemma-3-27b-it"),
    ("gemma3_vl_4b", "google/gemma-3-4b-it"),
    ("gemma4_vl_26b", "google/gemma-4-26B-A4B-it"),
    ("glm45_355b", "zai-org/GLM-4.5"),
    ("glm45_air_106b", "zai-org/GLM-4.5-Air"),
    ("glm51", "zai-org/GLM-5.1"),
    ("glm52", "zai-org/GLM-5.2"),
    ("glm_45v", "zai-org/GLM-4.5V"),
    ("gpt_oss_120b", "openai/gpt-oss-120b"),
    ("gpt_oss_20b", "openai/gpt-oss-20b"),
    ("kimi_k2", "moonshotai/Kimi-K2-Instruct"),
    ("llama31_405b", "meta-llama/Meta-Llama-3.1-405B"),
    ("llama31_70b", "meta-llama/Meta-Llama-3.1-70B"),
    ("llama31_8b", "meta-llama/Meta-Llama-3.1-8B"),
    ("llama32_1b", "meta-llama/Llama-3.2-1B"),
    ("llama32_3b", "meta-llama/Llama-3.2-3B"),
    ("llama3_70b", "meta-llama/Meta-Llama-3-70B"),
    ("llama3_8b", "meta-llama/Meta-Llama-3-8B"),
    ("minimax_m3", "MiniMaxAI/MiniMax-M3"),
    ("ministral3_14b", "mistralai/Ministral-3-14B-Instruct-2512"),
    ("ministral3_3b", "mistralai/Ministral-3-3B-Instruct-2512"),
    ("ministral3_8b", "mistralai/Ministral-3-8B-Instruct-2512"),
    ("moonlight_16b", "moonshotai/Moonlight-16B-A3B"),
    ("nemotron_3_nano", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"),
    ("nemotron_3_nano_gb200", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"),
    ("nemotron_3_super", "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16"),
    ("nemotron_3_ultra", "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16"),
    ("nemotron_nano_v2_vl_12b", "nvidia/NVIDIA-Nemotron-Nano-12B-v2-VL-BF16"),
    (
        "nemotron_omni_cord_v2",
        "nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-BF16",
    ),
    (
        "nemotron_omni_cord_v2_long_context",
        "nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-BF16",
    ),
    (
        "nemotron_omni_valor32k",
        "nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-BF16",
    ),
    ("qwen25_14b", "Qwen/Qwen2.5-14B"),
    ("qwen25_1p5b", "Qwen/Qwen2.5-1.5B"),
    ("qwen25_32b", "Qwen/Qwen2.5-32B"),
    ("qwen25_500m", "Qwen/Qwen2.5-0.5B"),
    ("qwen25_72b", "Qwen/Qwen2.5-72B"),
    ("qwen25_7b", "Qwen/Qwen2.5-7B"),
    ("qwen25_vl_32b", "Qwen/Qwen2.5-VL-32B-Instruct"),
    ("qwen25_vl_3b", "Qwen/Qwen2.5-VL-3B-Instruct"),
    ("qwen25_vl_72b", "Qwen/Qwen2.5-VL-72B-Instruct"),
    ("qwen25_vl_7b", "Qwen/Qwen2.5-VL-7B-Instruct"),
    ("qwen2_1p5b", "Qwen/Qwen2-1.5B"),
    ("qwen2_500m", "Qwen/Qwen2-0.5B"),
    ("qwen2_72b", "Qwen/Qwen2-72B"),
    ("qwen2_7b", "Qwen/Qwen2-7B"),
    ("qwen2_audio_7b", "Qwen/Qwen2-Audio-7B-Instruct"),
    ("qwen35_text_35b_a3b", "Qwen/Qwen3.5-35B-A3B-Base"),
    ("qwen35_text_9b", "Qwen/Qwen3.5-9B-Base"),
    ("qwen35_vl_122b_a10b", "Qwen/Qwen3.5-122B-A10B"),
    ("qwen35_vl_27b", "Qwen/Qwen3.5-27B"),
    ("qwen35_vl_2b", "Qwen/Qwen3.5-2B"),
    ("qwen35_vl_35b_a3b", "Qwen/Qwen3.5-35B-A3B"),
    ("qwen35_vl_397b_a17b", "Qwen/Qwen3.5-397B-A17B"),
    ("qwen35_vl_4b", "Qwen/Qwen3.5-4B"),
    ("qwen35_vl_800m", "Qwen/Qwen3.5-0.8B"),
    ("qwen35_vl_9b", "Qwen/Qwen3.5-9B"),
    ("qwen3_14b", "Qwen/Qwen3-14B"),
    ("qwen3_1p7b", "Qwen/Qwen3-1.7B"),
    ("qwen3_235b_a22b", "Qwen/Qwen3-235B-A22B"),
    ("qwen3_30b_a3b", "Qwen/Qwen3-30B-A3B"),
    ("qwen3_32b", "Qwen/Qwen3-32B"),
    ("qwen3_4b", "Qwen/Qwen3-4B"),
    ("qwen3_600m", "Qwen/Qwen3-0.6B"),
    ("qwen3_8b", "Qwen/Qwen3-8B"),
    ("qwen3_next_80b_a3b", "Qwen/Qwen3-Next-80B-A3B-Instruct"),
    ("qwen3_vl_235b_a22b", "Qwen/Qwen3-VL-235B-A22B-Instruct"),
    ("qwen3_vl_30b_a3b", "Qwen/Qwen3-VL-30B-A3B-Instruct"),
    ("qwen3_vl_8b", "Qwen/Qwen3-VL-8B-Instruct"),
    ("step35_196b_a11b", "stepfun-ai/Step-3.5-Flash"),
    ("step37", "stepfun-ai/Step-3.7-Flash"),
];

/// A constant that recipes import from another file.
pub(super) fn constant(name: &str) -> Option<&'static str> {
    // Of `recipes/utils/tokenizer_utils.py`.
    (name == "DEFAULT_NULL_TOKENIZER_VOCAB_SIZE").then_some("32000")
}

/// Tasks in the names of recipes, behind the name of the model.
const TASKS: [&str; 4] = ["_pretrain", "_sft", "_peft", "_finetune"];

/// The settings of a template.
pub(super) fn base(function: &str) -> Option<Settings> {
    let settings = base_recipes::settings(function)?;
    let adapters = ADAPTERS.iter().filter(|_| function.contains("_peft"));
    Some(settings.iter().chain(adapters).copied().collect())
}

/// The settings of the template that a recipe of another file starts from, by its task.
pub(super) fn base_of_recipe(function: &str) -> Settings {
    let template = if function.contains("_peft") {
        "_peft_common"
    } else if function.contains("_sft") || function.contains("_finetune") {
        "_sft_common"
    } else {
        "_pretrain_common"
    };
    base(template).unwrap_or_default()
}

/// Whether a function's name is that of a recipe or of a template.
pub(super) fn is_recipe(function: &str) -> bool {
    base(function).is_some() || (function.ends_with("_config") && TASKS.iter().any(|task| function.contains(task)))
}

/// The repository on the Hub with the model of a recipe, by the recipe's name.
#[must_use]
pub fn model_of(recipe: &str) -> Option<&'static str> {
    let end = TASKS.iter().filter_map(|task| recipe.find(task)).min();
    let name = recipe.get(..end.unwrap_or(recipe.len()))?;
    let found = MODELS.iter().find(|(known, _)| *known == name);
    found.map(|(_, repository)| *repository)
}
