//! Model and GPU presets, each with its source.
//!
//! A model preset is a file under `presets/models` with the model's Hugging Face keys and a job that the model is
//! known to train in. `formats::preset_files` turns the file into fields, which `presets/settings.txt` stores; the
//! list here holds the names and numbers for menus. A published preset never changes: a correction gets a new
//! version number and replaces the file, and `presets/settings.txt` keeps the fields of the earlier versions.

pub mod encoders;
pub mod jobs;

pub use crate::config::gpus;

/// A model preset with its names and numbers for menus.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Name in links; never reused for another model.
    pub id: &'static str,
    /// The version, counted from 1; every correction of the preset has a new one.
    pub version: u32,
    /// Name for people.
    pub name: &'static str,
    /// Who published the model.
    pub organization: &'static str,
    /// The series that it belongs to.
    pub family: &'static str,
    /// The published number of parameters.
    pub parameters: u64,
    /// The published number of parameters that are active for one token, for a mixture of experts.
    pub active_parameters: Option<u64>,
    /// When it was published, as year and month.
    pub released: &'static str,
}

/// The newest version of the preset with an id.
#[must_use]
pub fn by_id(id: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.id == id)
}

/// The id of the preset that is most like a text, where it is like one: `deepseek-v3` for `deepseekv3`.
#[must_use]
pub fn nearest(text: &str) -> Option<&'static str> {
    let wanted = text.to_ascii_lowercase();
    let jobs = jobs::JOBS.iter().map(|job| job.id);
    let ids = PRESETS.iter().map(|preset| preset.id).chain(jobs);
    ids.map(|id| (strsim::normalized_damerau_levenshtein(&wanted, id), id))
        .filter(|(similarity, _)| *similarity >= SIMILAR)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, id)| id)
}

/// A text less like an id than this, as the part of its letters that need no edit, is no misspelling of it.
const SIMILAR: f64 = 0.6;

/// Declares the list of presets, one line for each file under `presets/models`.
macro_rules! presets {
    ($(($id:literal, $version:literal, $name:literal, $organization:literal, $family:literal, $parameters:literal, $active:expr, $released:literal);)+) => {
        /// Every preset, in the order of the menu.
        pub static PRESETS: &[Preset] = &[$(Preset {
            id: $id,
            version: $version,
            name: $name,
            organization: $organization,
            family: $family,
            parameters: $parameters,
            active_parameters: $active,
            released: $released,
        }),+];

        /// Their files.
        pub(crate) static FILES: &[&str] = &[$(include_str!(concat!("presets/models/", $id, ".json"))),+];
    };
}

presets! {
    ("gpt3-175b", 1, "GPT-3 175B", "OpenAI", "GPT", 175_000_000_000, None, "2020-05");
    ("llama2-7b", 1, "Llama 2 7B", "Meta", "Llama 2", 6_738_415_616, None, "2023-07");
    ("llama2-70b", 1, "Llama 2 70B", "Meta", "Llama 2", 68_976_648_192, None, "2023-07");
    ("llama3-8b", 2, "Llama 3 8B", "Meta", "Llama 3", 8_030_261_248, None, "2024-04");
    ("llama3-70b", 2, "Llama 3 70B", "Meta", "Llama 3", 70_553_706_496, None, "2024-04");
    ("llama3.1-8b", 2, "Llama 3.1 8B", "Meta", "Llama 3", 8_030_261_248, None, "2024-07");
    ("llama3.1-70b", 1, "Llama 3.1 70B", "Meta", "Llama 3", 70_553_706_496, None, "2024-07");
    ("llama3.1-405b", 2, "Llama 3.1 405B", "Meta", "Llama 3", 405_853_388_800, None, "2024-07");
    ("llama3.2-1b", 2, "Llama 3.2 1B", "Meta", "Llama 3", 1_235_814_400, None, "2024-09");
    ("llama3.2-3b", 2, "Llama 3.2 3B", "Meta", "Llama 3", 3_212_749_824, None, "2024-09");
    ("qwen2.5-7b", 2, "Qwen2.5 7B", "Alibaba", "Qwen2.5", 7_615_616_512, None, "2024-09");
    ("qwen2.5-32b", 2, "Qwen2.5 32B", "Alibaba", "Qwen2.5", 32_763_876_352, None, "2024-09");
    ("qwen2.5-72b", 2, "Qwen2.5 72B", "Alibaba", "Qwen2.5", 72_706_203_648, None, "2024-09");
    ("qwen3-8b", 2, "Qwen3 8B", "Alibaba", "Qwen3", 8_190_735_360, None, "2025-04");
    ("qwen3-14b", 2, "Qwen3 14B", "Alibaba", "Qwen3", 14_768_307_200, None, "2025-04");
    ("qwen3-32b", 2, "Qwen3 32B", "Alibaba", "Qwen3", 32_762_123_264, None, "2025-04");
    ("qwen3-30b-a3b", 3, "Qwen3 30B-A3B", "Alibaba", "Qwen3", 30_532_122_624, Some(3_300_000_000), "2025-04");
    ("qwen3-235b-a22b", 3, "Qwen3 235B-A22B", "Alibaba", "Qwen3", 235_093_634_560, Some(22_000_000_000), "2025-04");
    ("mixtral-8x7b", 2, "Mixtral 8x7B", "Mistral AI", "Mixtral", 46_702_792_704, Some(12_900_000_000), "2023-12");
    ("mixtral-8x22b", 2, "Mixtral 8x22B", "Mistral AI", "Mixtral", 140_630_071_296, Some(39_000_000_000), "2024-04");
    ("mistral-7b", 1, "Mistral 7B v0.1", "Mistral AI", "Mistral", 7_241_732_096, None, "2023-09");
    ("deepseek-v2", 3, "DeepSeek-V2", "DeepSeek", "DeepSeek", 235_741_434_880, Some(21_000_000_000), "2024-05");
    ("deepseek-v2-lite", 3, "DeepSeek-V2-Lite", "DeepSeek", "DeepSeek", 15_706_484_224, Some(2_400_000_000), "2024-05");
    ("deepseek-v3", 3, "DeepSeek-V3", "DeepSeek", "DeepSeek", 671_000_000_000, Some(37_000_000_000), "2024-12");
    ("deepseek-r1", 3, "DeepSeek-R1", "DeepSeek", "DeepSeek", 671_000_000_000, Some(37_000_000_000), "2025-01");
    ("moonlight-16b-a3b", 3, "Moonlight 16B-A3B", "Moonshot AI", "Moonlight", 15_961_088_640, Some(3_000_000_000), "2025-02");
    ("kimi-k2", 3, "Kimi K2", "Moonshot AI", "Kimi", 1_000_000_000_000, Some(32_000_000_000), "2025-07");
    ("gpt-oss-20b", 3, "GPT-OSS 20B", "OpenAI", "GPT-OSS", 20_914_757_184, Some(3_600_000_000), "2025-08");
    ("gpt-oss-120b", 3, "GPT-OSS 120B", "OpenAI", "GPT-OSS", 116_829_156_672, Some(5_100_000_000), "2025-08");
    ("glm-4.5", 2, "GLM-4.5", "Z.ai", "GLM", 356_785_884_416, Some(32_000_000_000), "2025-07");
    ("glm-4.5-air", 2, "GLM-4.5-Air", "Z.ai", "GLM", 109_227_304_960, Some(12_000_000_000), "2025-07");
    ("gemma-2b", 1, "Gemma 2B", "Google", "Gemma", 2_506_172_416, None, "2024-02");
    ("gemma-7b", 1, "Gemma 7B", "Google", "Gemma", 8_537_680_896, None, "2024-02");
    ("nemotron-4-15b", 1, "Nemotron-4 15B", "NVIDIA", "Nemotron", 15_700_000_000, None, "2024-02");
    ("nemotron-4-340b", 1, "Nemotron-4 340B", "NVIDIA", "Nemotron", 341_000_000_000, None, "2024-06");
    ("nemotron-h-8b", 1, "Nemotron-H 8B", "NVIDIA", "Nemotron", 8_000_000_000, None, "2025-03");
    ("nemotron-h-47b", 1, "Nemotron-H 47B", "NVIDIA", "Nemotron", 47_000_000_000, None, "2025-03");
    ("nemotron-h-56b", 1, "Nemotron-H 56B", "NVIDIA", "Nemotron", 56_000_000_000, None, "2025-03");
    ("nemotron-3-nano-30b-a3b", 1, "Nemotron 3 Nano 30B-A3B", "NVIDIA", "Nemotron", 31_600_000_000, Some(3_600_000_000), "2025-12");
    ("nemotron-3.5-lightning-30b-a3b", 1, "Nemotron 3.5 Lightning 30B-A3B", "NVIDIA", "Nemotron", 32_913_266_240, Some(3_600_000_000), "2026-08");
    ("nemotron-3-super-120b-a12b", 1, "Nemotron 3 Super 120B-A12B", "NVIDIA", "Nemotron", 123_611_033_088, Some(12_700_000_000), "2026-03");
    ("qwen1.5-moe-a2.7b", 2, "Qwen1.5-MoE-A2.7B", "Alibaba", "Qwen1.5", 14_315_784_192, Some(2_700_000_000), "2024-03");
    ("qwen2.5-0.5b", 2, "Qwen2.5 0.5B", "Alibaba", "Qwen2.5", 494_032_768, None, "2024-09");
    ("qwen3-0.6b", 2, "Qwen3 0.6B", "Alibaba", "Qwen3", 596_049_920, None, "2025-04");
    ("qwen3-4b", 2, "Qwen3 4B", "Alibaba", "Qwen3", 4_022_468_096, None, "2025-04");
    ("gpt2", 1, "GPT-2 124M", "OpenAI", "GPT", 124_439_808, None, "2019-02");
    ("deepseek-v3.2", 1, "DeepSeek-V3.2", "DeepSeek", "DeepSeek", 671_877_929_216, Some(37_000_000_000), "2025-12");
    ("glm-5", 2, "GLM-5", "Z.ai", "GLM", 743_911_199_232, Some(40_000_000_000), "2026-02");
    ("glm-5.2", 2, "GLM-5.2", "Z.ai", "GLM", 743_377_000_704, Some(40_000_000_000), "2026-06");
    ("qwen2.5-1.5b", 2, "Qwen2.5 1.5B", "Alibaba", "Qwen2.5", 1_543_714_304, None, "2024-09");
    ("qwen2.5-3b", 1, "Qwen2.5 3B", "Alibaba", "Qwen2.5", 3_085_938_688, None, "2024-09");
    ("qwen2.5-14b", 2, "Qwen2.5 14B", "Alibaba", "Qwen2.5", 14_770_033_664, None, "2024-09");
    ("qwen3-1.7b", 1, "Qwen3 1.7B", "Alibaba", "Qwen3", 1_720_574_976, None, "2025-04");
    ("qwen3-next-80b-a3b", 1, "Qwen3-Next 80B-A3B", "Alibaba", "Qwen3", 79_674_391_296, Some(3_000_000_000), "2025-09");
    ("qwen3.5-0.8b", 1, "Qwen3.5 0.8B", "Alibaba", "Qwen3.5", 752_393_024, None, "2026-03");
    ("qwen3.5-2b", 1, "Qwen3.5 2B", "Alibaba", "Qwen3.5", 1_881_825_088, None, "2026-03");
    ("qwen3.5-4b", 2, "Qwen3.5 4B", "Alibaba", "Qwen3.5", 4_205_751_296, None, "2026-03");
    ("qwen3.5-9b", 1, "Qwen3.5 9B", "Alibaba", "Qwen3.5", 8_953_803_264, None, "2026-03");
    ("qwen3.5-27b", 1, "Qwen3.5 27B", "Alibaba", "Qwen3.5", 26_895_998_464, None, "2026-02");
    ("qwen3.5-35b-a3b", 1, "Qwen3.5 35B-A3B", "Alibaba", "Qwen3.5", 34_660_610_688, Some(3_000_000_000), "2026-02");
    ("qwen3.5-122b-a10b", 1, "Qwen3.5 122B-A10B", "Alibaba", "Qwen3.5", 122_111_526_912, Some(10_000_000_000), "2026-02");
    ("qwen3.5-397b-a17b", 1, "Qwen3.5 397B-A17B", "Alibaba", "Qwen3.5", 396_346_350_336, Some(17_000_000_000), "2026-02");
    ("qwen3.6-27b", 1, "Qwen3.6 27B", "Alibaba", "Qwen3.6", 26_895_998_464, None, "2026-04");
    ("qwen3.6-35b-a3b", 1, "Qwen3.6 35B-A3B", "Alibaba", "Qwen3.6", 34_660_610_688, Some(3_000_000_000), "2026-04");
    ("glm-4.6", 1, "GLM-4.6", "Z.ai", "GLM", 352_797_814_784, Some(32_000_000_000), "2025-09");
    ("glm-4.7", 1, "GLM-4.7", "Z.ai", "GLM", 352_797_814_784, Some(32_000_000_000), "2025-12");
    ("glm-4.7-flash", 1, "GLM-4.7-Flash", "Z.ai", "GLM", 29_943_390_976, Some(3_000_000_000), "2026-01");
    ("kimi-k2-thinking", 2, "Kimi K2 Thinking", "Moonshot AI", "Kimi", 1_026_408_209_408, Some(32_000_000_000), "2025-11");
    ("kimi-k2.5", 2, "Kimi K2.5", "Moonshot AI", "Kimi", 1_026_408_209_408, Some(32_000_000_000), "2026-01");
    ("minimax-m2", 1, "MiniMax-M2", "MiniMax", "MiniMax", 228_689_748_992, Some(10_000_000_000), "2025-10");
    ("minimax-m2.5", 1, "MiniMax-M2.5", "MiniMax", "MiniMax", 228_689_748_992, Some(10_000_000_000), "2026-02");
    ("gemma-2-2b", 2, "Gemma 2 2B", "Google", "Gemma", 2_614_341_888, None, "2024-07");
    ("gemma-2-9b", 2, "Gemma 2 9B", "Google", "Gemma", 9_241_705_984, None, "2024-06");
    ("gemma-2-27b", 2, "Gemma 2 27B", "Google", "Gemma", 27_227_128_320, None, "2024-06");
    ("gemma-3-1b", 2, "Gemma 3 1B", "Google", "Gemma", 999_885_952, None, "2025-03");
    ("gemma-3-4b", 1, "Gemma 3 4B", "Google", "Gemma", 3_880_263_168, None, "2025-03");
    ("gemma-3-12b", 1, "Gemma 3 12B", "Google", "Gemma", 11_766_034_176, None, "2025-03");
    ("gemma-3-27b", 2, "Gemma 3 27B", "Google", "Gemma", 27_009_346_304, None, "2025-03");
    ("llama4-scout", 1, "Llama 4 Scout 17B-16E", "Meta", "Llama 4", 107_769_861_120, Some(17_000_000_000), "2025-04");
    ("llama4-maverick", 1, "Llama 4 Maverick 17B-128E", "Meta", "Llama 4", 400_711_848_960, Some(17_000_000_000), "2025-04");
    ("mistral-nemo-12b", 1, "Mistral Nemo 12B", "Mistral AI", "Mistral", 12_247_782_400, None, "2024-07");
    ("mistral-small-24b", 1, "Mistral Small 3 24B", "Mistral AI", "Mistral", 23_572_403_200, None, "2025-01");
    ("mistral-large-3", 1, "Mistral Large 3", "Mistral AI", "Mistral", 673_000_000_000, Some(41_000_000_000), "2025-12");
    ("ministral-3-3b", 2, "Ministral 3 3B", "Mistral AI", "Mistral", 3_429_006_336, None, "2025-12");
    ("ministral-3-8b", 2, "Ministral 3 8B", "Mistral AI", "Mistral", 8_489_553_920, None, "2025-12");
    ("ministral-3-14b", 2, "Ministral 3 14B", "Mistral AI", "Mistral", 13_506_073_600, None, "2025-12");
    ("olmoe-1b-7b", 1, "OLMoE 1B-7B", "Ai2", "OLMo", 6_919_161_856, Some(1_300_000_000), "2024-09");
    ("olmo-2-32b", 1, "OLMo 2 32B", "Ai2", "OLMo", 32_234_279_936, None, "2025-03");
    ("olmo-3-7b", 1, "OLMo 3 7B", "Ai2", "OLMo", 7_298_011_136, None, "2025-11");
    ("olmo-3-32b", 1, "OLMo 3 32B", "Ai2", "OLMo", 32_233_522_176, None, "2025-11");
    ("ernie-4.5-21b-a3b", 1, "ERNIE 4.5 21B-A3B", "Baidu", "ERNIE", 21_825_437_888, Some(3_000_000_000), "2025-06");
    ("ernie-4.5-300b-a47b", 1, "ERNIE 4.5 300B-A47B", "Baidu", "ERNIE", 299_484_163_264, Some(47_000_000_000), "2025-06");
    ("ling-mini-2.0", 1, "Ling-mini 2.0", "Ant Group", "Ling", 16_255_638_528, Some(1_400_000_000), "2025-09");
    ("ling-flash-2.0", 1, "Ling-flash 2.0", "Ant Group", "Ling", 102_889_697_280, Some(6_100_000_000), "2025-09");
    ("ling-1t", 1, "Ling-1T", "Ant Group", "Ling", 999_705_309_184, Some(50_000_000_000), "2025-10");
    ("exaone-4.0-1.2b", 2, "EXAONE 4.0 1.2B", "LG AI Research", "EXAONE", 1_279_391_488, None, "2025-07");
    ("exaone-4.0-32b", 1, "EXAONE 4.0 32B", "LG AI Research", "EXAONE", 32_003_216_384, None, "2025-07");
    ("k-exaone-236b-a23b", 2, "K-EXAONE 236B-A23B", "LG AI Research", "EXAONE", 236_571_150_336, Some(23_000_000_000), "2026-01");
    ("nemotron-3-ultra-550b-a55b", 1, "Nemotron 3 Ultra 550B-A55B", "NVIDIA", "Nemotron", 560_524_578_816, Some(55_000_000_000), "2026-06");
    ("llama-3.3-nemotron-super-49b", 1, "Llama 3.3 Nemotron Super 49B", "NVIDIA", "Nemotron", 49_867_145_216, None, "2025-03");
    ("llama-3.1-nemotron-ultra-253b", 1, "Llama 3.1 Nemotron Ultra 253B", "NVIDIA", "Nemotron", 253_000_000_000, None, "2025-04");
    ("mimo-v2-flash", 1, "MiMo-V2-Flash", "Xiaomi", "MiMo", 309_000_000_000, Some(15_000_000_000), "2025-12");
    ("sarvam-30b", 1, "Sarvam 30B", "Sarvam AI", "Sarvam", 32_000_000_000, Some(2_400_000_000), "2026-03");
    ("phi-4", 1, "Phi-4 14B", "Microsoft", "Phi", 14_659_507_200, None, "2024-12");
    ("seed-oss-36b", 1, "Seed-OSS 36B", "ByteDance", "Seed", 36_151_104_512, None, "2025-08");
    ("smollm3-3b", 1, "SmolLM3 3B", "Hugging Face", "SmolLM", 3_075_098_624, None, "2025-07");
    ("hunyuan-a13b", 1, "Hunyuan-A13B", "Tencent", "Hunyuan", 80_393_183_232, Some(13_000_000_000), "2025-06");
    ("deepseek-v4-flash", 3, "DeepSeek-V4-Flash", "DeepSeek", "DeepSeek", 284_000_000_000, Some(13_000_000_000), "2026-04");
    ("deepseek-v4-pro", 3, "DeepSeek-V4-Pro", "DeepSeek", "DeepSeek", 1_600_000_000_000, Some(49_000_000_000), "2026-04");
    ("kimi-k3", 1, "Kimi K3", "Moonshot AI", "Kimi", 2_800_000_000_000, None, "2026-07");
    ("gemma-4-26b-a4b", 2, "Gemma 4 26B-A4B", "Google", "Gemma", 25_233_141_760, Some(3_800_000_000), "2026-04");
    ("falcon-h1-7b", 1, "Falcon-H1 7B", "TII", "Falcon", 7_590_000_000, None, "2025-05");
    ("falcon-h1-34b", 1, "Falcon-H1 34B", "TII", "Falcon", 33_600_000_000, None, "2025-05");
    ("gemma-4-e2b", 2, "Gemma 4 E2B", "Google", "Gemma", 4_628_569_344, None, "2026-04");
    ("gemma-4-e4b", 2, "Gemma 4 E4B", "Google", "Gemma", 7_463_013_376, None, "2026-04");
    ("minimax-m3", 2, "MiniMax-M3", "MiniMax", "MiniMax", 426_174_565_632, Some(23_000_000_000), "2026-06");
    ("ernie-4.5-vl-28b-a3b", 1, "ERNIE 4.5 VL 28B-A3B", "Baidu", "ERNIE", 28_000_000_000, Some(3_000_000_000), "2025-06");
    ("qwen2-audio-7b", 1, "Qwen2-Audio 7B", "Alibaba", "Qwen2", 7_754_878_976, None, "2024-08");
    ("qwen2.5-omni-7b", 1, "Qwen2.5-Omni 7B", "Alibaba", "Qwen2.5", 7_615_616_512, None, "2025-03");
    ("qwen3-asr-1.7b", 1, "Qwen3-ASR 1.7B", "Alibaba", "Qwen3", 1_720_574_976, None, "2026-01");
    ("qwen3-asr-0.6b", 1, "Qwen3-ASR 0.6B", "Alibaba", "Qwen3", 596_049_920, None, "2026-01");
}
