//! What frameworks that fine-tune models of the Hugging Face Hub make of the towers of such a model. Their data do not
//! say how many images or sounds a sample has, so the import asks for their tokens.

use super::{Recompute, Tower, last};
use crate::config::fields::FieldId;
use crate::formats::import::Import;
use crate::formats::import::values::truth;
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// What becomes of a tower.
pub(super) enum Fate {
    /// It is built.
    Built(Tower),
    /// The framework builds the language model alone.
    LeftOut,
    /// The framework builds it in a way that is not followed.
    NotFollowed,
    /// The text is for no framework that builds one.
    NotBuilt,
}

/// Asks the framework of a text. `has_sounds`: whether the model has an audio tower too.
pub(super) fn settle(import: &Import, tower: Tower, has_sounds: bool) -> Fate {
    match import.dialect {
        "ms-swift" => swift(import, tower),
        "ROLL" => roll(import, tower),
        "verl" | "NeMo-RL" if has_sounds => Fate::NotFollowed,
        "verl" => verl(import, tower),
        "NeMo-RL" => nemo_rl(import, tower),
        _ => Fate::NotBuilt,
    }
}

/// The keys of a model's parts that a framework never builds: ms-swift has no use for what speaks
/// (`Qwen3Omni_Vit.prepare_model` of mcore-bridge).
pub(super) fn never_built(dialect: &str) -> &'static [&'static str] {
    match dialect {
        "ms-swift" => &["talker_config", "code2wav_config"],
        _ => &[],
    }
}

/// The value of a key, as the report shows it. Sections and dashes before the key do not count.
pub(super) fn value(import: &Import, name: &str) -> Option<String> {
    let mut rows = import.report.iter().rev();
    let row = rows.find(|row| row.status != KeyStatus::Conflicting && last(&row.key) == name)?;
    Some(row.value.clone())
}

/// The truth value of a key; `other` where the text does not have it.
fn is_on(import: &Import, name: &str, other: bool) -> bool {
    let given = value(import, name);
    given.map_or(other, |text| truth(&Value::Text(text)).unwrap_or(other))
}

pub(super) fn has_adapters(import: &Import) -> bool {
    let shared = &import.state.setup.job.shared;
    shared.get(FieldId::peft_type).is_some()
}

/// ms-swift wraps the towers of Hugging Face (`HuggingFaceVit` of mcore-bridge). Training in full freezes the parts
/// that `freeze_vit`, `freeze_aligner` and `freeze_llm` name (`_init_multimodal_full`); adapters go into the parts that
/// they do not name (`get_multimodal_target_regex`), and `lora_llm` puts them into the language model alone and trains
/// the tower in full (`_prepare_full_vit`). Checkpointing follows `freeze_vit` in all cases.
fn swift(import: &Import, mut tower: Tower) -> Fate {
    const KEYS: &[&str] = &[
        "tuner_type",
        "train_type",
        "freeze_vit",
        "freeze_aligner",
        "freeze_llm",
        "vit_gradient_checkpointing",
    ];
    if is_on(import, "language_model_only", false) {
        return Fate::LeftOut;
    }
    let [vit, aligner] = ["freeze_vit", "freeze_aligner"].map(|key| is_on(import, key, true));
    let recompute = if is_on(import, "vit_gradient_checkpointing", !vit) {
        Recompute::Full
    } else {
        Recompute::Nothing
    };
    tower.is_of_hugging_face(recompute);
    let tuner = value(import, "tuner_type").or_else(|| value(import, "train_type"));
    let targets = value(import, "target_modules");
    match tuner.as_deref() {
        Some("lora_llm") => tower.freeze(false, false),
        _ if has_adapters(import) => {
            let of_language = targets.is_none_or(|names| names.contains("all-linear"));
            if !(vit && aligner && of_language) {
                return Fate::NotFollowed;
            }
            tower.freeze(true, true);
        }
        _ => {
            tower.freeze(vit, aligner);
            tower.language_frozen = is_on(import, "freeze_llm", false);
        }
    }
    tower.honoured = KEYS;
    Fate::Built(tower)
}

/// verl trains the whole model that Megatron-Bridge builds, or mbridge before it; `freeze_vision_tower` is of other
/// engines.
fn verl(import: &Import, mut tower: Tower) -> Fate {
    if has_adapters(import) {
        return Fate::NotFollowed;
    }
    if tower.is_qwen2_5() {
        tower.is_of_hugging_face(Recompute::Nothing);
    }
    Fate::Built(tower)
}

/// ROLL runs the towers of Hugging Face, that of images checkpointed where the language model is recomputed in full
/// (`mcore_adapter/models/*/modeling_*.py`), and freezes what begins with one of the names in `freeze_module_prefix`
/// (`freeze_model`).
fn roll(import: &Import, mut tower: Tower) -> Fate {
    /// The modules beside the language model.
    const MODULES: [&str; 4] = ["vision_model", "audio_model", "talker", "code2wav"];
    let own = if tower.is_audio() {
        "audio_model"
    } else {
        "vision_model"
    };
    if has_adapters(import) || value(import, "lora_target").is_some() {
        return Fate::NotFollowed;
    }
    let shared = &import.state.setup.job.shared;
    let full = Value::Text(String::from("full"));
    let is_full = shared.get(FieldId::recompute_granularity) == Some(&full);
    let recompute = if is_full && !tower.is_audio() {
        Recompute::Full
    } else {
        Recompute::Nothing
    };
    tower.is_of_hugging_face(recompute);
    let prefixes = value(import, "freeze_module_prefix").unwrap_or_default();
    for prefix in prefixes.split(',').map(str::trim) {
        match prefix {
            "" | "null" => {}
            name if name == own => tower.freeze(true, true),
            other if MODULES.contains(&other) => {}
            _ => return Fate::NotFollowed,
        }
    }
    tower.honoured = &["freeze_module_prefix"];
    Fate::Built(tower)
}

/// NeMo-RL trains the model that Megatron-Bridge builds, and gives `freeze_config` to its `freeze`
/// (`nemo_rl/models/megatron/setup.py`).
fn nemo_rl(import: &Import, mut tower: Tower) -> Fate {
    const KEYS: [&str; 3] = [
        "freeze_language_model",
        "freeze_vision_model",
        "freeze_vision_projection",
    ];
    if has_adapters(import) {
        return Fate::NotFollowed;
    }
    let [language, vision, projection] = KEYS.map(|key| is_on(import, key, false));
    tower.freeze(vision, projection);
    tower.language_frozen = language;
    if tower.is_qwen2_5() {
        tower.is_of_hugging_face(Recompute::Nothing);
    }
    tower.honoured = &KEYS;
    Fate::Built(tower)
}
