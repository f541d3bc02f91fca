//! Frameworks whose configurations hold Megatron's arguments somewhere below sections of their own: which keys stand
//! where, and what they are called in Megatron-LM or Megatron-Bridge. One file for each framework, all of one shape.

pub(super) mod flag_scale;
pub(super) mod nemo;
pub mod nemo2;
pub(super) mod nemo_rl;
pub(super) mod primus;
pub(super) mod roll;

use super::Dialect;
use crate::formats::detect::Format;

/// A framework.
pub struct Layout {
    /// The format of its files.
    pub format: Format,
    /// The dialect of the keys that are left when the sections are taken off.
    pub dialect: Dialect,
    /// Single keys with other names, by their paths: the key that they mean.
    pub keys: &'static [(&'static str, &'static str)],
    /// Beginnings of paths, and what stands in their place. The first that fits counts.
    pub places: &'static [(&'static str, &'static str)],
    /// Beginnings of paths that say nothing of the memory of a training step.
    pub ignored: &'static [&'static str],
    /// Keys and sections that make another kind of job of the file, which is not read, unless they are switched off;
    /// and that kind, with an article. With `=` the key does so only with this value.
    pub refused: &'static [(&'static str, &'static str)],
    /// The key that names the model.
    pub model: &'static str,
}

/// The layout of a format, where it is one of these frameworks.
#[must_use]
pub fn of(format: Format) -> Option<&'static Layout> {
    LAYOUTS.iter().find(|layout| layout.format == format)
}

const LAYOUTS: &[Layout] = &[
    flag_scale::LAYOUT,
    primus::LAYOUT,
    nemo_rl::LAYOUT,
    nemo::LAYOUT,
    nemo2::LAYOUT,
    roll::LAYOUT,
];

/// The settings of a file that configurations of NeMo-RL change, by its path: their paths and values. With `defaults`
/// it changes another file itself.
#[must_use]
pub fn base(path: &str) -> Option<impl Iterator<Item = &'static (&'static str, &'static str)>> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let mut bases = nemo_rl::BASES.iter().chain(nemo_rl::CHANGED_BASES);
    let (_, own) = bases.find(|(known, _)| *known == name)?;
    let changes_another = own.iter().any(|(path, _)| *path == "defaults");
    let common = nemo_rl::IN_ALL_BASES.iter();
    Some(own.iter().chain(common.filter(move |_| !changes_another)))
}

/// The models of Primus, by the names of their files: what the model is called on the Hugging Face Hub.
const MODELS: &[(&str, &str)] = &[
    (
        "deepseek_r1_distill_qwen_1.5B",
        "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B",
    ),
    ("deepseek_v2", "deepseek-ai/DeepSeek-V2"),
    ("deepseek_v2_lite", "deepseek-ai/DeepSeek-V2-Lite"),
    ("deepseek_v3", "deepseek-ai/DeepSeek-V3"),
    ("glm4_7", "zai-org/GLM-4.7"),
    ("glm5", "zai-org/GLM-5"),
    ("gpt_oss_120B", "openai/gpt-oss-120b"),
    ("gpt_oss_20B", "openai/gpt-oss-20b"),
    ("kimi_k2", "moonshotai/Kimi-K2-Instruct"),
    ("llama2_13B", "meta-llama/Llama-2-13b-hf"),
    ("llama2_70B", "meta-llama/Llama-2-70b-hf"),
    ("llama2_7B", "meta-llama/Llama-2-7b-hf"),
    ("llama3.1_405B", "meta-llama/Llama-3.1-405B"),
    ("llama3.1_70B", "meta-llama/Llama-3.1-70B"),
    ("llama3.1_8B", "meta-llama/Llama-3.1-8B"),
    ("llama3.2_1B", "meta-llama/Llama-3.2-1B"),
    ("llama3.2_3B", "meta-llama/Llama-3.2-3B"),
    ("llama3.3_70B", "meta-llama/Llama-3.1-70B"),
    ("llama3_70B", "meta-llama/Meta-Llama-3-70B"),
    ("llama3_8B", "meta-llama/Meta-Llama-3-8B"),
    ("llama4_17B128E", "meta-llama/Llama-4-Maverick-17B-128E"),
    ("llama4_17B16E", "meta-llama/Llama-4-Scout-17B-16E"),
    ("minimax_m2.5", "MiniMaxAI/MiniMax-M2.5"),
    ("mixtral_8x22B_v0.1", "mistralai/Mixtral-8x22B-v0.1"),
    ("mixtral_8x7B_v0.1", "mistralai/Mixtral-8x7B-v0.1"),
    ("qwen2.5_14B", "Qwen/Qwen2.5-14B"),
    ("qwen2.5_32B", "Qwen/Qwen2.5-32B"),
    ("qwen2.5_3B", "Qwen/Qwen2.5-3B"),
    ("qwen2.5_72B", "Qwen/Qwen2.5-72B"),
    ("qwen2.5_7B", "Qwen/Qwen2.5-7B"),
    ("qwen3_14B", "Qwen/Qwen3-14B"),
    ("qwen3_235B_A22B", "Qwen/Qwen3-235B-A22B"),
    ("qwen3_30B_A3B", "Qwen/Qwen3-30B-A3B"),
    ("qwen3_32B", "Qwen/Qwen3-32B"),
    ("qwen3_4B", "Qwen/Qwen3-4B"),
    ("qwen3_5_35B_A3B", "Qwen/Qwen3.5-35B-A3B"),
    ("qwen3_8B", "Qwen/Qwen3-8B"),
];

/// The model's name on the Hub, where the framework has names of its own.
#[must_use]
pub fn hub_name(model: &str) -> &str {
    let file = model.trim_end_matches(".yaml");
    let found = MODELS.iter().find(|(known, _)| *known == file);
    found.map_or(model, |(_, name)| *name)
}

/// The arguments of a model that Primus describes by itself; `None` for models of the Hub.
#[must_use]
pub fn own_model(model: &str) -> Option<impl Iterator<Item = (&'static str, &'static str)> + use<>> {
    let file = model.trim_end_matches(".yaml");
    let mut models = primus::OWN_MODELS.iter();
    let (_, arguments) = models.find(|(known, _)| *known == file)?;
    Some(arguments.iter().copied().flatten().copied())
}
