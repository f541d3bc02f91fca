//! Encoder presets: the image and sound encoders of well-known models, each with its source.
//!
//! Their files have this calculator's own field names, since Hugging Face has no common ones for encoders.

/// An encoder preset with its names and numbers for menus.
#[derive(Clone, Copy, Debug)]
pub struct Encoder {
    /// Name in links; never reused for another encoder.
    pub id: &'static str,
    /// The version, counted from 1; every correction of the preset has a new one.
    pub version: u32,
    /// Name for people.
    pub name: &'static str,
    /// Who published it.
    pub organization: &'static str,
    /// The published number of parameters.
    pub parameters: u64,
}

/// The encoder with an id.
#[must_use]
pub fn by_id(id: &str) -> Option<&'static Encoder> {
    ENCODERS.iter().find(|encoder| encoder.id == id)
}

macro_rules! encoders {
    ($(($id:literal, $name:literal, $organization:literal, $parameters:literal);)+) => {
        /// Every encoder, in the order of the menu.
        pub static ENCODERS: &[Encoder] = &[$(Encoder {
            id: $id,
            version: 1,
            name: $name,
            organization: $organization,
            parameters: $parameters,
        }),+];

        /// Their files.
        pub(crate) static FILES: &[&str] = &[$(include_str!(concat!("encoders/", $id, ".json"))),+];
    };
}

encoders! {
    ("clip-vit-l-14-336", "CLIP ViT-L/14 336 px", "OpenAI", 303_507_456);
    ("siglip-so400m-14-384", "SigLIP SO400M/14 384 px", "Google", 412_987_248);
    ("qwen2.5-vl-vit", "Qwen2.5-VL ViT", "Alibaba", 676_550_144);
    ("qwen3-vl-vit", "Qwen3-VL ViT", "Alibaba", 576_388_336);
    ("qwen3.5-vl-vit", "Qwen3.5-VL ViT", "Alibaba", 460_730_096);
    ("internvit-300m-448", "InternViT 300M 448 px", "OpenGVLab", 304_012_288);
    ("internvit-6b-448", "InternViT 6B 448 px", "OpenGVLab", 5_540_000_000);
    ("whisper-base", "Whisper base encoder", "OpenAI", 20_590_592);
    ("whisper-large-v3", "Whisper large-v3 encoder", "OpenAI", 636_968_960);
    ("qwen3-omni-audio", "Qwen3-Omni audio encoder", "Alibaba", 647_927_168);
    ("gemma-3-siglip", "Gemma 3 vision tower", "Google", 419_816_304);
    ("gemma-4-vit", "Gemma 4 vision tower", "Google", 572_792_112);
    ("ministral-3-vit", "Ministral 3 vision tower", "Mistral AI", 438_958_080);
    ("c-radio-v2-h", "C-RADIOv2-H", "NVIDIA", 811_558_400);
    ("glm-4.5v-vit", "GLM-4.5V ViT", "Z.ai", 892_498_432);
    ("exaone-4.5-vit", "EXAONE 4.5 ViT", "LG AI Research", 1_286_482_944);
    ("qwen2-audio", "Qwen2-Audio encoder", "Alibaba", 642_215_936);
    ("qwen2.5-omni-audio", "Qwen2.5-Omni audio encoder", "Alibaba", 639_647_232);
}
