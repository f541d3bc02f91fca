//! The vision tower in a configuration of Megatron-Bridge, with the images of its dataset.
//!
//! `get_vision_model_config` makes the configuration of the towers of Qwen3-VL, Qwen3.5 and Qwen3.6: it takes TP and
//! recomputation from the language model, and neither sequence parallelism nor fp8 nor CUDA graphs. Qwen2.5-VL has the tower of
//! Hugging Face, which recomputes nothing and is whole on every rank (`Qwen25VLModel.__init__`). Both are built on the first
//! stage only (`pre_process`), with the first virtual chunk, and do all of their work on every rank of CP.

use super::{CLASS, Recompute, VisionTower, int, sizes};
use crate::config::fields::FieldId;
use crate::formats::import::values::word;
use crate::formats::node::Node;
use crate::value::Value;

/// What `MockVLMSFTDatasetConfig` has where a configuration does not say it: the edge of its square images in pixels.
const MOCK_EDGE: i128 = 256;

/// The image processors enlarge images of fewer pixels.
const FEWEST_PIXELS: i128 = 256 * 256;

/// Reads the tower. `None` where the model has none of a known kind, or the dataset does not say how large its images are.
pub(in crate::formats::import) fn read(root: &Node) -> Option<VisionTower> {
    let (model, dataset) = (root.get("model")?, root.get("dataset")?);
    let preset = sizes::preset_of_class(&class(model)?)?;
    let graphs = model
        .get("vision_cuda_graph_impl")
        .map(|node| word(&node.to_value()));
    if !is_mock(dataset) || graphs.is_some_and(|graphs| graphs != "none") {
        return None;
    }
    let tower = model.get("vision_config")?;
    let mut settings = sizes::settings(tower, preset)?;
    let edge = int(tower, "patch_size")?
        .checked_mul(int(tower, "spatial_merge_size")?)
        .filter(|edge| *edge > 0)?;
    let [width, height] = image(dataset)?;
    // Of other sizes the processor makes ones that are no multiples of this.
    if width % edge != 0 || height % edge != 0 || width.checked_mul(height)? < FEWEST_PIXELS {
        return None;
    }
    let images = int(dataset, "num_images").unwrap_or(1);
    let counts = [
        (FieldId::img_h, height),
        (FieldId::img_w, width),
        (FieldId::items_per_sample, images),
    ];
    for (id, count) in counts {
        settings.set(id, Value::Int(count));
    }
    let is_frozen = |key| model.get(key).map(Node::to_value) == Some(Value::Bool(true));
    let of_hugging_face = preset == "qwen2.5-vl-vit";
    let mut tower = VisionTower {
        output: tower.get("out_hidden_size").map(Node::to_value),
        recompute: Recompute::LikeLanguageModel,
        language_frozen: is_frozen("freeze_language_model"),
        asks: None,
        mark: CLASS,
        honoured: &[],
        settings,
    };
    tower.freeze(
        is_frozen("freeze_vision_model"),
        is_frozen("freeze_vision_projection"),
    );
    if of_hugging_face {
        tower.is_of_hugging_face(Recompute::Nothing);
    }
    Some(tower)
}

/// The name of a section's class.
fn class(section: &Node) -> Option<String> {
    let target = word(&section.get("_target_")?.to_value());
    Some(target.rsplit('.').next()?.to_owned())
}

/// Whether a dataset has random images.
fn is_mock(dataset: &Node) -> bool {
    class(dataset).is_some_and(|class| class.starts_with("MockVLM"))
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
