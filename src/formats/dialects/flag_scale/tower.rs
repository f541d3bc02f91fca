//! The towers of `FlagScale`'s trainers, whose sizes are in its source: Qwen2.5-VL's in
//! `flagscale/train/models/qwen2_5_vl/transformer_config.py`, and that of LLaVA-OneVision in
//! `flagscale/train/models/llava_onevision/config.py`. Both have Megatron's layers, on the first stage.
//!
//! `LLaVA` 1.5 takes its tower from Megatron-LM's examples, which no longer know its language model; it is not read.

use crate::config::fields::FieldId;
use crate::formats::import::keys::Keys;
use crate::formats::import::tower::{Frozen, Recompute, Tower};
use crate::formats::import::towers::sizes;
use crate::formats::import::values::{int, truth};
use crate::formats::report::shown;
use crate::value::Value;

/// The mark of a job whose tower is left out. Both trainers have this argument.
const MARK: &str = "model.disable_vision_class_token";

/// The keys that say something about a tower.
const KEYS: &[&str] = &[
    "freeze_ViT",
    "freeze_LM",
    "vision_model_type",
    "image_aspect_ratio",
    "image_grid_pinpoints",
];

/// Reads the tower of a configuration from its keys; `None` where it has none of a known kind.
pub(super) fn read(keys: &Keys<'_>) -> Option<Tower> {
    let is_qwen = text(keys, "tokenizer_type")? == "Qwen2VLTokenizer";
    let mut tower = if is_qwen {
        qwen2_5(keys)?
    } else {
        llava_onevision(keys)?
    };
    tower.output = keys.named("hidden_size").map(|item| item.value.clone());
    tower.language_frozen = is_on(keys, "freeze_LM");
    Some(tower)
}

fn text(keys: &Keys<'_>, name: &str) -> Option<String> {
    keys.named(name).map(|item| shown(&item.value))
}

fn number(keys: &Keys<'_>, name: &str) -> Option<u64> {
    keys.named(name).and_then(int)
}

fn is_on(keys: &Keys<'_>, name: &str) -> bool {
    let given = keys.named(name).and_then(|item| truth(&item.value));
    given == Some(true)
}

/// Qwen2.5-VL: the width of the tower's MLP follows from the layers of the language model. Its merger is a part of what
/// `freeze_ViT` freezes.
fn qwen2_5(keys: &Keys<'_>) -> Option<Tower> {
    let own_recompute = number(keys, "vision_recompute_layer_steps").unwrap_or(0);
    if own_recompute > 0 {
        return None;
    }
    let mut settings = sizes::of_preset("qwen2.5-vl-vit")?;
    let width = match number(keys, "num_layers")? {
        28 | 36 => 3_420,
        _ => 3_456,
    };
    settings.set(FieldId::ffn_hidden_size, Value::Int(width));
    let mut tower = Tower {
        settings,
        output: None,
        recompute: Recompute::LikeLanguageModel,
        language_frozen: false,
        asks: Some(FieldId::image_tokens_per_sample),
        mark: MARK,
        honoured: KEYS,
    };
    let frozen = is_on(keys, "freeze_ViT");
    tower.freeze(Frozen {
        layers: frozen,
        projector: frozen,
    });
    Some(tower)
}

/// LLaVA-OneVision: all but the last layer of `SigLIP` on every view of an image, never recomputed, and a projector of
/// two layers that is always trained.
fn llava_onevision(keys: &Keys<'_>) -> Option<Tower> {
    if text(keys, "vision_model_type")? != "siglip" || is_on(keys, "sequence_parallel") {
        return None;
    }
    let inner = match text(keys, "language_model_type")?.as_str() {
        "qwen2_7b" | "qwen2.5_7b" => 3_584,
        "qwen2_1.5b" | "qwen2.5_1.5b" => 1_536,
        _ => return None,
    };
    let patch = number(keys, "patch_dim")?;
    // What patches do not cover of an image is left out (`padding="valid"`).
    let covered = |side: u64| Some(side.checked_div(patch)?.saturating_mul(patch));
    let numbers = [
        (FieldId::num_layers, 26),
        (FieldId::patch_dim, patch),
        (FieldId::img_h, covered(number(keys, "img_h")?)?),
        (FieldId::img_w, covered(number(keys, "img_w")?)?),
        (FieldId::projector_hidden_size, inner),
    ];
    let mut settings = sizes::of_preset("siglip-so400m-14-384")?;
    for (id, number) in numbers {
        settings.set(id, Value::Int(number.into()));
    }
    settings.set(FieldId::projector, Value::Text(String::from("mlp")));
    let mut tower = Tower {
        settings,
        output: None,
        recompute: Recompute::Nothing,
        language_frozen: false,
        asks: Some(FieldId::items_per_sample),
        mark: MARK,
        honoured: KEYS,
    };
    tower.freeze(Frozen {
        layers: is_on(keys, "freeze_ViT"),
        projector: false,
    });
    Some(tower)
}
