//! What is known of a model by its name on the Hugging Face Hub alone, or by the name of a folder with its files: the
//! preset with the same shape, and the size of its vocabulary.

use crate::config::fields::FieldId;
use crate::presets::jobs::{JOBS, JobPreset};
use crate::presets::{PRESETS, Preset};
use crate::value::Value;

/// Parts of a model's name that say how it was trained, packed or published, not what shape it has.
const VARIANTS: &[&str] = &[
    "-instruct",
    "-thinking",
    "-reasoning",
    "-base",
    "-chat",
    "-hf",
    "-bf16",
    "-fp8",
    "-fp4",
    "-nvfp4",
    "-mxfp4",
    "-it",
    "-pt",
    "-unsloth",
    "-bnb-4bit",
    "-gguf",
    "-awq",
    "-gptq",
    "-0324",
    "-0528",
    "-0905",
    "-2507",
];

/// Organizations that publish copies of other organizations' models under their names.
const COPYISTS: [&str; 3] = ["unsloth", "nousresearch", "lmstudio-community"];

/// The vocabularies in `config.json` of models that no preset has, by the beginning of the model's name in lower case
/// without its organization. The first that fits counts.
const VOCABULARIES: &[(&str, u64, &str)] = &[
    // Named after a model whose tokenizer they do not have.
    ("deepseek-r1-distill-llama", 128_256, "Llama 3"),
    ("deepseek-v2", 102_400, "DeepSeek-V2"),
    ("deepseek-v3", 129_280, "DeepSeek-V3"),
    ("deepseek-v4", 129_280, "DeepSeek-V4"),
    ("exaone-4.5", 153_600, "EXAONE 4.5"),
    ("k-exaone", 153_600, "K-EXAONE"),
    ("gemma-2-", 256_000, "Gemma 2"),
    ("gemma-3-1b", 262_144, "Gemma 3 1B"),
    ("gemma-3-", 262_208, "Gemma 3"),
    ("glm-4.5", 151_552, "GLM-4.5"),
    ("glm-5", 154_880, "GLM-5"),
    ("gpt-oss-", 201_088, "gpt-oss"),
    ("kimi-k2", 163_840, "Kimi-K2"),
    ("llama-2-", 32_000, "Llama 2"),
    ("llama-3", 128_256, "Llama 3"),
    ("meta-llama-3", 128_256, "Llama 3"),
    ("minimax-m3", 200_064, "MiniMax-M3"),
    ("ministral-3-", 131_072, "Ministral 3"),
    ("moonlight-", 163_840, "Moonlight"),
    ("nemotron-3-", 131_072, "Nemotron 3"),
    ("nemotron-h-", 131_072, "Nemotron-H"),
    ("nvidia-nemotron-3-", 131_072, "Nemotron 3"),
    ("nvidia-nemotron-3.5-", 131_072, "Nemotron 3.5"),
    ("nvidia-nemotron-nano-", 131_072, "Nemotron Nano"),
    ("qwen2-0.5b", 151_936, "Qwen2"),
    ("qwen2-1.5b", 151_936, "Qwen2"),
    ("qwen2-7b", 152_064, "Qwen2"),
    ("qwen2-72b", 152_064, "Qwen2"),
    ("qwen2.5-0.5b", 151_936, "Qwen2.5"),
    ("qwen2.5-1.5b", 151_936, "Qwen2.5"),
    ("qwen2.5-7b", 152_064, "Qwen2.5"),
    ("qwen2.5-14b", 152_064, "Qwen2.5"),
    ("qwen2.5-32b", 152_064, "Qwen2.5"),
    ("qwen2.5-72b", 152_064, "Qwen2.5"),
    ("qwen2.5-vl-3b", 151_936, "Qwen2.5-VL"),
    ("qwen2.5-vl-", 152_064, "Qwen2.5-VL"),
    ("qwen3.5-", 248_320, "Qwen3.5"),
    ("qwen3-omni-", 152_064, "Qwen3-Omni"),
    ("qwen3-", 151_936, "Qwen3"),
    ("step-3.5-", 128_896, "Step-3.5"),
    ("step-3.7-", 128_896, "Step-3.7"),
];

/// The preset with the shape of the model that is published under this name, or as a variant of it.
#[must_use]
pub fn preset_of(name: &str) -> Option<&'static Preset> {
    let (organization, model) = split(name)?;
    PRESETS.iter().find(|preset| {
        let Some(url) = preset.contents().map(|contents| contents.source_url) else {
            return false;
        };
        let Some((of_preset, of_model)) = repository(&url).and_then(split) else {
            return false;
        };
        let is_published = organization.eq_ignore_ascii_case(of_preset)
            || COPYISTS.contains(&organization.to_ascii_lowercase().as_str());
        is_published && shape(model) == shape(of_model)
    })
}

/// The preset with the shape of the model in a folder of this name, whoever publishes the model.
#[must_use]
pub fn preset_of_folder(name: &str) -> Option<&'static Preset> {
    let model = name.trim_end_matches('/').rsplit('/').next()?;
    PRESETS.iter().find(|preset| {
        let url = preset.contents().map(|contents| contents.source_url);
        let published = url.as_deref().and_then(repository).and_then(split);
        published.is_some_and(|(_, of_preset)| shape(model) == shape(of_preset))
    })
}

/// The job preset whose language model and encoders are those of the model with this name, or in a folder of this name.
#[must_use]
pub fn job_of(name: &str) -> Option<&'static JobPreset> {
    let model = name.trim_end_matches('/').rsplit('/').next()?;
    JOBS.iter().find(|job| shape(model) == shape(job.id))
}

/// The preset to propose for a model that a text only names: its id, which [`ImportOptions::model`] takes, and its name
/// for people. Those with encoders come last.
///
/// [`ImportOptions::model`]: crate::formats::import_text::ImportOptions::model
#[must_use]
pub fn proposed(name: &str) -> Option<(&'static str, &'static str)> {
    let preset = preset_of(name).or_else(|| preset_of_folder(name));
    let with_encoders = || job_of(name).map(|job| (job.id, job.name));
    preset.map(|preset| (preset.id, preset.name)).or_else(with_encoders)
}

/// The size of the vocabulary in the `config.json` of the model that is published under this name, or that lies in a
/// folder of this name, with the name of the model or series that is known to have it.
#[must_use]
pub fn vocabulary_of(name: &str) -> Option<(u64, &'static str)> {
    let of_preset = preset_of(name).and_then(|preset| {
        let contents = preset.contents()?;
        match contents.model.get(FieldId::vocab_size)? {
            Value::Int(size) => Some((u64::try_from(*size).ok()?, preset.name)),
            _ => None,
        }
    });
    of_preset.or_else(|| {
        let model = name.trim_end_matches('/').rsplit('/').next()?;
        let model = model.to_ascii_lowercase();
        let mut known = VOCABULARIES.iter();
        let found = known.find(|(start, ..)| model.starts_with(start));
        found.map(|(_, size, series)| (*size, *series))
    })
}

/// The organization and the model of a repository's name.
fn split(name: &str) -> Option<(&str, &str)> {
    name.split_once('/')
        .filter(|(organization, model)| !organization.is_empty() && !model.contains('/'))
}

/// The repository in the address of one of its files.
fn repository(url: &str) -> Option<&str> {
    let path = url.strip_prefix("https://huggingface.co/")?;
    path.split("/blob/").next()
}

/// A model's name without what says nothing about its shape.
fn shape(model: &str) -> String {
    let mut shape = model.to_ascii_lowercase();
    while let Some(shorter) = VARIANTS.iter().find_map(|variant| without(&shape, variant)) {
        shape = shorter;
    }
    shape.strip_prefix("meta-").unwrap_or(&shape).to_owned()
}

/// A name without a whole part of it, `a-base-8k` without `-base`.
fn without(name: &str, part: &str) -> Option<String> {
    let mut found = name.match_indices(part);
    found.find_map(|(at, _)| {
        let (before, after) = (name.get(..at)?, name.get(at + part.len()..)?);
        (after.is_empty() || after.starts_with('-')).then(|| format!("{before}{after}"))
    })
}
