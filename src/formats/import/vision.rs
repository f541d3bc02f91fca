//! The vision tower that Megatron-Bridge builds beside the language model of Qwen3-VL, Qwen3.5 and Qwen3.6, as a module of the
//! job on the same ranks.
//!
//! `get_vision_model_config` makes the tower's configuration: it takes TP and recomputation from the language model, and
//! neither sequence parallelism nor fp8 nor CUDA graphs. The tower is built on the first stage only (`pre_process`), with the
//! first virtual chunk, and does all of its work on every rank of CP.

use super::Import;
use super::values::word;
use crate::config::fields::FieldId;
use crate::config::raw::Settings;
use crate::formats::node::Node;
use crate::formats::report::KeyStatus;
use crate::presets::encoders;
use crate::value::Value;

/// The name of the module.
const NAME: &str = "images";

/// What `MockVLMSFTDatasetConfig` has where a configuration does not say it: the edge of its square images in pixels.
const MOCK_EDGE: i128 = 256;

/// The image processor enlarges images of fewer pixels.
const FEWEST_PIXELS: i128 = 256 * 256;

/// The keys of `vision_config` that sizes follow from, each with the field that it is.
const SIZES: [(&str, FieldId); 6] = [
    ("depth", FieldId::num_layers),
    ("hidden_size", FieldId::hidden_size),
    ("intermediate_size", FieldId::ffn_hidden_size),
    ("num_heads", FieldId::num_attention_heads),
    ("patch_size", FieldId::patch_dim),
    ("num_position_embeddings", FieldId::num_position_embeddings),
];

/// A vision tower.
#[derive(Clone, Debug, PartialEq)]
pub struct VisionTower {
    /// The fields of the module.
    settings: Settings,
    /// The width of what it gives to the language model.
    output: Option<Value>,
    /// Whether the language model is not trained.
    language_frozen: bool,
}

/// Reads the tower from a configuration of Megatron-Bridge. `None` where the model has none of this kind, or the dataset does
/// not say how large its images are.
pub(super) fn read(root: &Node) -> Option<VisionTower> {
    let (model, dataset) = (root.get("model")?, root.get("dataset")?);
    let class = class(model)?;
    let preset = match class.as_str() {
        name if name.starts_with("Qwen3VL") => "qwen3-vl-vit",
        name if name.starts_with("Qwen35VL") => "qwen3.5-vl-vit",
        _ => return None,
    };
    let graphs = model
        .get("vision_cuda_graph_impl")
        .map(|node| word(&node.to_value()));
    if class_of_mock(dataset).is_none() || graphs.is_some_and(|graphs| graphs != "none") {
        return None;
    }
    let tower = model.get("vision_config")?;
    let mut settings = encoders::by_id(preset)?.settings();
    for (key, id) in SIZES {
        settings.set(id, tower.get(key)?.to_value());
    }
    let (hidden, heads) = (int(tower, "hidden_size")?, int(tower, "num_heads")?);
    let merge = int(tower, "spatial_merge_size")?;
    let edge = int(tower, "patch_size")?
        .checked_mul(merge)
        .filter(|edge| *edge > 0)?;
    let [width, height] = image(dataset)?;
    // Of other sizes the processor makes ones that are no multiples of this.
    if width % edge != 0 || height % edge != 0 || width.checked_mul(height)? < FEWEST_PIXELS {
        return None;
    }
    let deepstack = match tower.get("deepstack_visual_indexes").map(Node::to_value) {
        Some(Value::List(layers)) => i128::try_from(layers.len()).ok()?,
        _ => 0,
    };
    let images = int(dataset, "num_images").unwrap_or(1);
    let counts = [
        (FieldId::kv_channels, hidden.checked_div(heads)?),
        (FieldId::spatial_merge_size, merge),
        (
            FieldId::projector_hidden_size,
            hidden.checked_mul(merge.checked_mul(merge)?)?,
        ),
        (FieldId::deepstack_projectors, deepstack),
        (FieldId::img_h, height),
        (FieldId::img_w, width),
        (FieldId::items_per_sample, images),
    ];
    for (id, count) in counts {
        settings.set(id, Value::Int(count));
    }
    let is_frozen = |key| model.get(key).map(Node::to_value) == Some(Value::Bool(true));
    let switches = [
        (FieldId::frozen, is_frozen("freeze_vision_model")),
        (
            FieldId::projector_frozen,
            is_frozen("freeze_vision_projection"),
        ),
        (FieldId::sequence_parallel, false),
        (FieldId::use_transformer_engine_op_fuser, false),
        (FieldId::fp8_param_gather, false),
    ];
    for (id, on) in switches {
        settings.set(id, Value::Bool(on));
    }
    settings.set(FieldId::fp8_format, Value::Null);
    settings.set(FieldId::fp4_format, Value::Null);
    settings.set(FieldId::cuda_graph_impl, Value::Text(String::from("none")));
    Some(VisionTower {
        settings,
        output: tower.get("out_hidden_size").map(Node::to_value),
        language_frozen: is_frozen("freeze_language_model"),
    })
}

/// The name of a section's class.
fn class(section: &Node) -> Option<String> {
    let target = word(&section.get("_target_")?.to_value());
    Some(target.rsplit('.').next()?.to_owned())
}

/// The class of a dataset of random images.
fn class_of_mock(dataset: &Node) -> Option<String> {
    class(dataset).filter(|class| class.starts_with("MockVLM"))
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

fn int(map: &Node, key: &str) -> Option<i128> {
    match map.get(key)?.to_value() {
        Value::Int(number) => Some(number),
        _ => None,
    }
}

/// Makes the tower a module of the job, where the estimate has jobs of that kind: then it is no longer said to be left out.
pub(in crate::formats) fn attach(import: &mut Import) {
    let Some(mut tower) = import.vision.take() else {
        return;
    };
    let job = &mut import.state.setup.job;
    let is_one =
        |id: FieldId| matches!(job.shared.get(id), None | Some(Value::Null | Value::Int(1)));
    let joins = tower.output.as_ref() == job.shared.get(FieldId::hidden_size);
    let has_adapters = job.shared.get(FieldId::peft_type).is_some();
    let has_gpus = job.shared.get(FieldId::world_size).is_some();
    if !job.modules.is_empty()
        || !is_one(FieldId::context_parallel_size)
        || !joins
        || has_adapters
        || !has_gpus
    {
        return;
    }
    let own = &mut tower.settings;
    for id in [
        FieldId::tensor_model_parallel_size,
        FieldId::recompute_granularity,
        FieldId::recompute_method,
        FieldId::recompute_num_layers,
    ] {
        if let Some(value) = job.shared.get(id) {
            own.set(id, value.clone());
        }
    }
    if own.get(FieldId::recompute_granularity).map(word).as_deref() == Some("selective") {
        let core = Value::List(vec![Value::Text(String::from("core_attn"))]);
        own.set(FieldId::recompute_modules, core);
    }
    job.shared.set(FieldId::colocate_modules, Value::Bool(true));
    job.add_module(NAME, tower.settings);
    if tower.language_frozen {
        job.put(0, FieldId::frozen, Value::Bool(true));
    }
    job.not_modelled.retain(|mark| mark.key != "model._target_");
    for row in &mut import.report {
        let frozen = row.key.starts_with("model.freeze_");
        if let Some(key) = row.key.strip_prefix("model.vision_config.") {
            let counts = SIZES.iter().any(|(name, _)| *name == key);
            row.status = if counts {
                KeyStatus::Mapped
            } else {
                KeyStatus::Ignored
            };
            row.note = "of the module with the vision tower".into();
        } else if frozen {
            row.status = KeyStatus::Mapped;
            row.note = "".into();
        }
    }
}
