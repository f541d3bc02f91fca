//! Job presets: several modules that are known to run together, with their layout.
//!
//! A module's file entry names a model or encoder preset and adds its own fields.

/// A job preset with its name for menus.
#[derive(Clone, Copy, Debug)]
pub struct JobPreset {
    /// Name in links; never reused for another job.
    pub id: &'static str,
    /// The version, counted from 1; every correction of the preset has a new one.
    pub version: u32,
    /// Name for people.
    pub name: &'static str,
    /// The series that its language model belongs to.
    pub family: &'static str,
    /// When the model was published, as year and month.
    pub released: &'static str,
}

/// The job with an id.
#[must_use]
pub fn by_id(id: &str) -> Option<&'static JobPreset> {
    JOBS.iter().find(|job| job.id == id)
}

macro_rules! jobs {
    ($(($id:literal, $version:literal, $name:literal, $family:literal, $released:literal);)+) => {
        /// Every job, in the order of the menu.
        pub static JOBS: &[JobPreset] = &[$(JobPreset {
            id: $id,
            version: $version,
            name: $name,
            family: $family,
            released: $released,
        }),+];

        /// Their files.
        pub(crate) static FILES: &[&str] = &[$(include_str!(concat!("jobs/", $id, ".json"))),+];
    };
}

jobs! {
    ("llava-7b", 2, "LLaVA 7B: CLIP ViT-L/14 and Vicuna 7B", "LLaVA", "2023-10");
    ("llava-audio-7b", 2, "LLaVA 7B with sound: CLIP, Whisper base and Vicuna 7B", "LLaVA", "2023-10");
    ("qwen2.5-vl-3b", 2, "Qwen2.5-VL 3B", "Qwen2.5", "2025-01");
    ("qwen2.5-vl-7b", 2, "Qwen2.5-VL 7B", "Qwen2.5", "2025-01");
    ("qwen2.5-vl-32b", 2, "Qwen2.5-VL 32B", "Qwen2.5", "2025-03");
    ("qwen2.5-vl-72b", 2, "Qwen2.5-VL 72B", "Qwen2.5", "2025-01");
    ("qwen3-vl-2b", 1, "Qwen3-VL 2B", "Qwen3", "2025-10");
    ("qwen3-vl-4b", 1, "Qwen3-VL 4B", "Qwen3", "2025-10");
    ("qwen3-vl-8b", 1, "Qwen3-VL 8B", "Qwen3", "2025-10");
    ("qwen3-vl-30b-a3b", 1, "Qwen3-VL 30B-A3B", "Qwen3", "2025-10");
    ("qwen3-vl-32b", 1, "Qwen3-VL 32B", "Qwen3", "2025-10");
    ("qwen3-vl-235b-a22b", 1, "Qwen3-VL 235B-A22B", "Qwen3", "2025-09");
    ("qwen3-omni-30b-a3b", 1, "Qwen3-Omni 30B-A3B", "Qwen3", "2025-09");
    ("internvl3-8b", 1, "InternVL3 8B: InternViT 300M and Qwen2.5 7B", "InternVL", "2025-04");
    ("qwen3.5-vl-27b", 1, "Qwen3.5-VL 27B", "Qwen3.5", "2026-02");
}
