//! The elements of published checkpoints, counted by Megatron-Bridge's verification cards, beside those of the presets.

use crate::config::check;
use crate::formats::state::Setup;
use crate::memory::estimate;
use crate::presets;
use crate::source::MEGATRON_BRIDGE_REVISION;

/// A checkpoint whose elements were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The preset of its model.
    pub preset: &'static str,
    /// The folder of its card.
    pub card: &'static str,
    /// Elements that the card counts.
    pub elements: u64,
    /// How many of them are correction biases of routers: buffers in Megatron, and no parameters.
    pub router_biases: u64,
}

/// Checkpoints of models with a preset: the preset, the folder of the card, the elements that it counts, and the
/// correction biases among them.
pub const CHECKPOINTS: &[Checkpoint] = &[
    counted(
        "nemotron-3.5-lightning-30b-a3b",
        "nemotron-3.5-lightning",
        32_913_266_240,
        24 * 128,
    ),
    counted(
        "nemotron-3-super-120b-a12b",
        "nemotron-3-super-120b-a12b",
        123_611_033_088,
        41 * 512,
    ),
    counted("glm-5.2", "glm5-2", 753_329_940_480, 76 * 256),
    counted("gpt-oss-120b", "gpt-oss-120b", 116_829_156_672, 0),
    counted("gpt-oss-20b", "gpt-oss-20b", 20_914_757_184, 0),
    // Half the bytes of the export in bf16.
    counted("qwen3-30b-a3b", "qwen3-30b-a3b", 61_064_245_248 / 2, 0),
];

const fn counted(preset: &'static str, card: &'static str, elements: u64, router_biases: u64) -> Checkpoint {
    Checkpoint {
        preset,
        card,
        elements,
        router_biases,
    }
}

impl Checkpoint {
    /// The URL of its card.
    #[must_use]
    pub fn source(&self) -> String {
        format!(
            "https://github.com/NVIDIA-NeMo/Megatron-Bridge/blob/{MEGATRON_BRIDGE_REVISION}/examples/model_verification_cards/{}/card.yaml",
            self.card
        )
    }

    /// The parameters of the preset's model without its padding; `None` where there is no such preset.
    #[must_use]
    pub fn predicted(&self) -> Option<u64> {
        let setup = Setup::of_preset(presets::by_id(self.preset)?);
        let config = check(&setup.job).config?;
        let module = config.modules().first()?;
        let estimate = estimate(&config);
        let total = estimate.modules.first()?.parameters.total();
        let tables = if module.args().untie_embeddings_and_output_weights {
            2
        } else {
            1
        };
        let padding = module.derived().vocab_padding * module.args().hidden_size * tables;
        total.checked_sub(padding)
    }
}
