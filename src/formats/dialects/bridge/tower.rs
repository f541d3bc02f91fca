//! The towers in a configuration of Megatron-Bridge, with the images of its dataset.
//!
//! `get_vision_model_config` makes the configuration of the towers of Qwen3-VL, Qwen3.5 and Qwen3.6: it takes TP and
//! recomputation from the language model, and neither sequence parallelism nor fp8 nor CUDA graphs. Qwen2.5-VL has the
//! tower of Hugging Face, which recomputes nothing and is whole on every rank (`Qwen25VLModel.__init__`). So are all
//! towers of Qwen2-Audio, Qwen2.5-Omni and Qwen3-ASR (`Qwen2AudioModel.__init__`, `Qwen25OmniThinkerModel.__init__`,
//! `Qwen3ASRThinkerModel.__init__`). Towers are built on the first stage only (`pre_process`), with the first virtual
//! chunk, and do all of their work on every rank of CP.

use crate::config::fields::FieldId;
use crate::formats::import::imported::Import;
use crate::formats::import::tower::{
    AUDIO, AUDIO_TOKENS, CLASS, CONFIG, Frozen, Outcome, Recompute, THINKER, TOKENS, Tower,
};
use crate::formats::import::towers::has_adapters;
use crate::formats::import::towers::sizes::{self, TowerOfClass, int};
use crate::formats::import::values::word;
use crate::formats::node::Node;
use crate::value::Value;

/// What `MockVLMSFTDatasetConfig` has where a configuration does not say it: the edge of its square images in pixels.
const MOCK_EDGE: i128 = 256;

/// The image processors enlarge images of fewer pixels.
const FEWEST_PIXELS: i128 = 256 * 256;

/// Reads the towers; none where the model has none of a known kind. The images of real datasets have many sizes, and
/// their sounds many lengths: of these the import asks how many tokens they become.
pub(super) fn read(root: &Node) -> Vec<Tower> {
    let Some((model, class)) = root.get("model").and_then(|model| Some((model, class(model)?))) else {
        return Vec::new();
    };
    let sounds = sounds(model, &class);
    if let Some(known) = TowerOfClass::find(&class).filter(|_| sounds.is_none()) {
        return of_class(model, known).into_iter().collect();
    }
    let images = images(root, model, &class);
    // A thinker with two towers is read with both or with none: with one alone it would count as a whole model.
    let thinks = model.get(THINKER);
    let has_both = |thinker: &Node| thinker.get(CONFIG).is_none() || images.is_some() && sounds.is_some();
    if thinks.is_none_or(has_both) {
        images.into_iter().chain(sounds).collect()
    } else {
        Vec::new()
    }
}

/// The tower of images that the configuration describes.
fn images(root: &Node, model: &Node, class: &str) -> Option<Tower> {
    let preset = sizes::preset_of_class(class)?;
    let graphs = model.get("vision_cuda_graph_impl").map(|node| word(&node.to_value()));
    if graphs.is_some_and(|graphs| graphs != "none") {
        return None;
    }
    let tower = model.get(THINKER).unwrap_or(model).get(CONFIG)?;
    let mut settings = sizes::settings(tower, preset)?;
    let images = root.get("dataset").and_then(|dataset| mock_images(dataset, tower));
    if let Some([width, height, number]) = images {
        let counts = [
            (FieldId::img_h, height),
            (FieldId::img_w, width),
            (FieldId::items_per_sample, number),
        ];
        for (id, count) in counts {
            settings.set(id, Value::Int(count));
        }
    }
    let of_hugging_face = preset == "qwen2.5-vl-vit";
    let mut tower = Tower {
        output: tower.get("out_hidden_size").map(Node::to_value),
        recompute: Recompute::LikeLanguageModel,
        language_frozen: is_on(model, "freeze_language_model"),
        asks: images.is_none().then_some(TOKENS),
        mark: CLASS,
        honoured: &[],
        settings,
    };
    tower.freeze(frozen(model, ["freeze_vision_model", "freeze_vision_projection"]));
    if of_hugging_face {
        tower.is_of_hugging_face(Recompute::Nothing);
    }
    Some(tower)
}

/// The tower of sounds whose sizes are in a configuration of Hugging Face within that of the model.
fn sounds(model: &Node, class: &str) -> Option<Tower> {
    let within = [THINKER, "hf_config"].into_iter();
    let tower = within
        .filter_map(|key| model.get(key))
        .find_map(|part| part.get(AUDIO))?;
    let output = tower.get("output_dim").or_else(|| model.get("hidden_size"));
    let mut tower = Tower {
        settings: sizes::of_sounds_of_class(tower, class)?,
        output: output.map(Node::to_value),
        recompute: Recompute::Nothing,
        language_frozen: is_on(model, "freeze_language_model"),
        asks: Some(AUDIO_TOKENS),
        mark: CLASS,
        honoured: &[],
    };
    tower.freeze(frozen(model, SOUNDS_FROZEN));
    tower.is_of_hugging_face(Recompute::Nothing);
    Some(tower)
}

/// The keys that freeze the layers of a tower of sounds and its projection.
const SOUNDS_FROZEN: [&str; 2] = ["freeze_audio_model", "freeze_audio_projection"];

/// The parts of a tower that a model freezes, by its keys for the layers and for the projection. A thinker has no key for
/// the projection, which it freezes with the layers.
fn frozen(model: &Node, [layers, projector]: [&str; 2]) -> Frozen {
    let projector = if model.get(THINKER).is_some() {
        layers
    } else {
        projector
    };
    Frozen {
        layers: is_on(model, layers),
        projector: is_on(model, projector),
    }
}

fn is_on(model: &Node, key: &str) -> bool {
    model.get(key).map(Node::to_value) == Some(Value::Bool(true))
}

/// A tower that the configuration does not describe. Neither those of Hugging Face nor RADIO recompute anything
/// (`_build_vision_config`).
fn of_class(model: &Node, known: TowerOfClass) -> Option<Tower> {
    // Nemotron Omni has an encoder of sounds then, or one of videos, which are not known.
    let has_more = ["has_sound", "separate_video_embedder"]
        .into_iter()
        .any(|key| is_on(model, key));
    if has_more || int(model, "temporal_patch_dim").is_some_and(|n| n > 1) {
        return None;
    }
    let mut tower = Tower {
        output: model.get("hidden_size").map(Node::to_value),
        recompute: Recompute::Nothing,
        language_frozen: is_on(model, "freeze_language_model"),
        asks: None,
        mark: CLASS,
        honoured: &[],
        settings: sizes::of_preset(known.preset)?,
    };
    tower.asks = Some(if tower.is_audio() { AUDIO_TOKENS } else { TOKENS });
    let parts = if tower.is_audio() {
        SOUNDS_FROZEN
    } else {
        ["freeze_vision_model", "freeze_vision_projection"]
    };
    tower.freeze(frozen(model, parts));
    let class_tokens = int(model, "vision_class_token_len").or(known.class_tokens);
    if let Some(tokens) = class_tokens {
        tower.settings.set(FieldId::class_token_len, Value::Int(tokens));
    }
    if known.of_hugging_face {
        tower.is_of_hugging_face(Recompute::Nothing);
    }
    Some(tower)
}

/// The tower of a job that trains adapters: adapters go into Megatron's linear layers in every part of the model, towers
/// included, and all other weights are frozen (`PEFT.freeze_model`). The tower of Hugging Face has layers of other
/// names. Names with the place of a layer in them are not followed.
///
/// Neither is the tower of a job without adapters whose text only names the model, as recipes in Python do: what these
/// set of towers is not read.
pub(in crate::formats) fn beside_adapters(import: &Import, mut tower: Tower) -> Outcome {
    if !has_adapters(import) {
        return Outcome::NotFollowed;
    }
    let shared = &import.state.setup.job.shared;
    let text = |id| shared.get(id).map(word);
    let given = text(FieldId::peft_target_modules);
    let names: Vec<&str> = given
        .as_deref()
        .map_or_else(|| IN_TOWERS.to_vec(), |names| names.split(',').map(str::trim).collect());
    let is_whole = tower.settings.get(FieldId::replicated) == Some(&Value::Bool(true));
    if is_whole {
        tower.freeze(Frozen::WHOLE);
        let of_megatron = names.iter().all(|name| name.contains("linear_"));
        return if of_megatron {
            Outcome::Built(tower)
        } else {
            Outcome::NotFollowed
        };
    }
    let is_plain = names.iter().all(|name| !name.contains(['*', '.']));
    let is_lora = text(FieldId::peft_type).as_deref() == Some("lora");
    if !is_lora || !is_plain || shared.get(FieldId::peft_exclude_modules).is_some() {
        return Outcome::NotFollowed;
    }
    let adapted = IN_TOWERS.into_iter().filter(|name| names.contains(name));
    let adapted: Vec<&str> = adapted.collect();
    if adapted.is_empty() {
        tower.freeze(Frozen::WHOLE);
    } else {
        let id = FieldId::peft_target_modules;
        tower.settings.set(id, Value::Text(adapted.join(", ")));
    }
    Outcome::Built(tower)
}

/// The linear layers of Megatron's towers and of their projectors.
const IN_TOWERS: [&str; 4] = ["linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"];

/// The name of a section's class.
fn class(section: &Node) -> Option<String> {
    let target = word(&section.get("_target_")?.to_value());
    Some(target.rsplit('.').next()?.to_owned())
}

/// Width, height and number of the random images of a dataset; `None` for other datasets, and for images whose size the
/// processor changes.
fn mock_images(dataset: &Node, tower: &Node) -> Option<[i128; 3]> {
    if !class(dataset)?.starts_with("MockVLM") {
        return None;
    }
    let edge = int(tower, "patch_size")?
        .checked_mul(int(tower, "spatial_merge_size")?)
        .filter(|edge| *edge > 0)?;
    let [width, height] = image(dataset)?;
    // Of other sizes the processor makes ones that are no multiples of this.
    if width % edge != 0 || height % edge != 0 || width.checked_mul(height)? < FEWEST_PIXELS {
        return None;
    }
    Some([width, height, int(dataset, "num_images").unwrap_or(1)])
}

/// Width and height of the images.
fn image(dataset: &Node) -> Option<[i128; 2]> {
    match dataset.get("image_size").map(Node::to_value) {
        Some(Value::List(sizes)) => match sizes.as_slice() {
            [Value::Int(width), Value::Int(height)] => Some([*width, *height]),
            _ => None,
        },
        _ => Some([MOCK_EDGE; 2]),
    }
}
