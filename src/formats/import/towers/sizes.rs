//! The sizes of a tower, from the `vision_config` or the `audio_config` of its model.

use crate::config::fields::FieldId;
use crate::config::raw::Settings;
use crate::formats::node::Node;
use crate::presets::encoders;
use crate::value::Value;

/// The keys of `audio_config` that sizes follow from, each with the field that it is.
const AUDIO_SIZES: [(&str, FieldId); 5] = [
    ("encoder_layers", FieldId::num_layers),
    ("d_model", FieldId::hidden_size),
    ("encoder_ffn_dim", FieldId::ffn_hidden_size),
    ("encoder_attention_heads", FieldId::num_attention_heads),
    ("num_mel_bins", FieldId::num_mel_bins),
];

/// The same of encoders with 2-D convolutions.
const CONVOLUTION_SIZES: [(&str, FieldId); 2] = [
    ("downsample_hidden_size", FieldId::downsample_hidden_size),
    ("n_window", FieldId::n_window),
];

/// Whether a size of an audio tower follows from a key of its configuration.
pub(super) fn is_size_of_sounds(key: &str) -> bool {
    let mut sizes = AUDIO_SIZES.iter().chain(&CONVOLUTION_SIZES);
    sizes.any(|(name, _)| *name == key)
}

/// Whether a size of a vision tower follows from a key of its configuration.
pub(super) fn is_size_of_images(key: &str) -> bool {
    SIZES.iter().any(|(name, _)| *name == key)
}

/// The keys of `vision_config` that sizes follow from, each with the field that it is.
const SIZES: [(&str, FieldId); 6] = [
    ("depth", FieldId::num_layers),
    ("hidden_size", FieldId::hidden_size),
    ("intermediate_size", FieldId::ffn_hidden_size),
    ("num_heads", FieldId::num_attention_heads),
    ("patch_size", FieldId::patch_dim),
    ("num_position_embeddings", FieldId::num_position_embeddings),
];

/// The families whose towers are known: the beginning of their `model_type`, the beginning of Megatron-Bridge's class
/// where that is followed, and the encoder preset that has what their `vision_config` does not say.
const FAMILIES: [(&str, Option<&str>, &str); 6] = [
    ("qwen3_vl", Some("Qwen3VL"), "qwen3-vl-vit"),
    ("qwen3_omni_moe", None, "qwen3-vl-vit"),
    ("qwen3_5", Some("Qwen35VL"), "qwen3.5-vl-vit"),
    ("qwen2_5_vl", Some("Qwen25VL"), "qwen2.5-vl-vit"),
    ("qwen2_5_omni", Some("Qwen25Omni"), "qwen2.5-vl-vit"),
    ("exaone4_5", Some("Exaone45"), "exaone-4.5-vit"),
];

/// The families whose audio towers are known, as [`FAMILIES`] has those of images.
const AUDIO_FAMILIES: [(&str, Option<&str>, &str); 4] = [
    ("qwen3_omni_moe", None, "qwen3-omni-audio"),
    ("qwen3_asr", Some("Qwen3ASR"), "qwen3-omni-audio"),
    ("qwen2_audio", Some("Qwen2Audio"), "qwen2-audio"),
    ("qwen2_5_omni", Some("Qwen25Omni"), "qwen2.5-omni-audio"),
];

/// A tower that a configuration of Megatron-Bridge does not describe, or not in keys of its own. All published models
/// of its class have the same.
#[derive(Clone, Copy)]
pub(in crate::formats) struct TowerOfClass {
    /// The class of the model.
    class: &'static str,
    /// The encoder preset.
    pub(in crate::formats) preset: &'static str,
    /// Whether it is a module of Hugging Face.
    pub(in crate::formats) of_hugging_face: bool,
    /// The number of class tokens before the patches (`class_token_len`), where it differs from the preset's.
    pub(in crate::formats) class_tokens: Option<i128>,
}

impl TowerOfClass {
    const fn of_hugging_face(class: &'static str, preset: &'static str) -> Self {
        Self {
            class,
            preset,
            of_hugging_face: true,
            class_tokens: None,
        }
    }

    const fn radio(class: &'static str, class_tokens: Option<i128>) -> Self {
        Self {
            class,
            preset: "c-radio-v2-h",
            of_hugging_face: false,
            class_tokens,
        }
    }

    /// The tower of the models of a class.
    pub(in crate::formats) fn find(class: &str) -> Option<Self> {
        TOWERS_OF_CLASSES.iter().copied().find(|tower| tower.class == class)
    }
}

const TOWERS_OF_CLASSES: [TowerOfClass; 7] = [
    TowerOfClass::of_hugging_face("Qwen2AudioModelProvider", "qwen2-audio"),
    TowerOfClass::of_hugging_face("Gemma3VLModelProvider", "gemma-3-siglip"),
    TowerOfClass::of_hugging_face("Gemma4VLModelProvider", "gemma-4-vit"),
    TowerOfClass::of_hugging_face("Ministral3ModelProvider", "ministral-3-vit"),
    TowerOfClass::of_hugging_face("GLM45VModelProvider", "glm-4.5v-vit"),
    TowerOfClass::radio("NemotronOmniModelProvider", None),
    // `use_vision_backbone_fp8_arch` fills the class tokens up to 16.
    TowerOfClass::radio("NemotronVLModelProvider", Some(16)),
];

/// The sizes that differ between models with one encoder preset.
const OF_MODEL: [FieldId; 7] = [
    FieldId::num_layers,
    FieldId::hidden_size,
    FieldId::ffn_hidden_size,
    FieldId::num_attention_heads,
    FieldId::kv_channels,
    FieldId::projector_hidden_size,
    FieldId::deepstack_projectors,
];

/// The fields of a tower by its encoder preset and the fields of one model, and whether it encodes sounds; `None` where
/// the preset is of no known family.
pub(super) fn of_model(preset: &str, model: &Settings) -> Option<(Settings, bool)> {
    let is_audio = AUDIO_FAMILIES.iter().any(|(.., known)| *known == preset);
    if !is_audio && FAMILIES.iter().all(|(.., known)| *known != preset) {
        return None;
    }
    let mut settings = of_preset(preset)?;
    for id in OF_MODEL {
        if let Some(size) = model.get(id) {
            settings.set(id, size.clone());
        }
    }
    Some((settings, is_audio))
}

/// The encoder preset of a model by its `model_type`.
pub(super) fn preset_of_type(model_type: &str) -> Option<&'static str> {
    let mut families = FAMILIES.iter();
    let found = families.find(|(start, ..)| model_type.starts_with(start));
    found.map(|(.., preset)| *preset)
}

/// The encoder preset of a model by its class in Megatron-Bridge.
pub(in crate::formats) fn preset_of_class(class: &str) -> Option<&'static str> {
    let mut families = FAMILIES.iter();
    let found = families.find(|(_, start, _)| start.is_some_and(|start| class.starts_with(start)));
    found.map(|(.., preset)| *preset)
}

/// The fields of an encoder preset without the size of its images or the length of its sounds. As a tower it computes
/// in half precision and without CUDA graphs whatever the language model does, and does not split sequences.
pub(in crate::formats) fn of_preset(preset: &str) -> Option<Settings> {
    let mut settings = encoders::by_id(preset)?.settings();
    settings.unset(FieldId::img_h);
    settings.unset(FieldId::img_w);
    settings.unset(FieldId::audio_tokens_per_sample);
    settings.unset(FieldId::projector_output_size);
    let off = [
        FieldId::sequence_parallel,
        FieldId::use_transformer_engine_op_fuser,
        FieldId::fp8_param_gather,
    ];
    for id in off {
        settings.set(id, Value::Bool(false));
    }
    settings.set(FieldId::fp8_format, Value::Null);
    settings.set(FieldId::fp4_format, Value::Null);
    settings.set(FieldId::cuda_graph_impl, Value::Text(String::from("none")));
    Some(settings)
}

/// The fields of a tower with this `vision_config`, without the size of its images.
pub(in crate::formats) fn settings(tower: &Node, preset: &str) -> Option<Settings> {
    let mut settings = of_preset(preset)?;
    for (key, id) in SIZES {
        match tower.get(key) {
            Some(size) => settings.set(id, size.to_value()),
            // The preset has what the class of its configuration has: a number of rows, or rotary positions alone.
            None if id == FieldId::num_position_embeddings => {}
            None => return None,
        }
    }
    let (hidden, heads) = (int(tower, "hidden_size")?, int(tower, "num_heads")?);
    let merge = int(tower, "spatial_merge_size")?;
    let deepstack = match tower.get("deepstack_visual_indexes").map(Node::to_value) {
        Some(Value::List(layers)) => i128::try_from(layers.len()).ok()?,
        _ => 0,
    };
    let counts = [
        (FieldId::kv_channels, hidden.checked_div(heads)?),
        (FieldId::spatial_merge_size, merge),
        (
            FieldId::projector_hidden_size,
            hidden.checked_mul(merge.checked_mul(merge)?)?,
        ),
        (FieldId::deepstack_projectors, deepstack),
    ];
    for (id, count) in counts {
        settings.set(id, Value::Int(count));
    }
    Some(settings)
}

/// The fields of an audio tower with this `audio_config`, without the length of its sounds; `None` where the model is
/// of no known family.
pub(super) fn of_sounds(tower: &Node, model_type: &str) -> Option<Settings> {
    let mut families = AUDIO_FAMILIES.iter();
    let (.., preset) = families.find(|(start, ..)| model_type.starts_with(start))?;
    of_sounds_of(tower, preset)
}

/// The fields of an audio tower by its `audio_config` and the class of its model in Megatron-Bridge; `None` where the class
/// is of no known family.
pub(in crate::formats) fn of_sounds_of_class(tower: &Node, class: &str) -> Option<Settings> {
    let mut families = AUDIO_FAMILIES.iter();
    let (.., preset) = families.find(|(_, start, _)| start.is_some_and(|start| class.starts_with(start)))?;
    of_sounds_of(tower, preset)
}

fn of_sounds_of(tower: &Node, preset: &str) -> Option<Settings> {
    let mut settings = of_preset(preset)?;
    let of_convolutions = settings.get(FieldId::downsample_hidden_size).is_some();
    let convolutions = CONVOLUTION_SIZES.iter().filter(|_| of_convolutions);
    for (key, id) in AUDIO_SIZES.iter().chain(convolutions) {
        settings.set(*id, tower.get(key)?.to_value());
    }
    let (hidden, heads) = (int(tower, "d_model")?, int(tower, "encoder_attention_heads")?);
    let inner = if of_convolutions {
        FieldId::projector_hidden_size
    } else {
        FieldId::projector_input_size
    };
    let counts = [(FieldId::kv_channels, hidden.checked_div(heads)?), (inner, hidden)];
    for (id, count) in counts {
        settings.set(id, Value::Int(count));
    }
    Some(settings)
}

/// The whole number under a key.
pub(in crate::formats) fn int(map: &Node, key: &str) -> Option<i128> {
    match map.get(key)?.to_value() {
        Value::Int(number) => Some(number),
        _ => None,
    }
}
