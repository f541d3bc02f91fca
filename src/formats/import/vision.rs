//! The vision tower that a framework builds beside the language model, as a module of the job on the ranks of the language
//! model's first stage.

mod bridge;
pub(super) mod flag_scale;
mod frameworks;
mod sizes;

pub(super) use bridge::read;

use super::values::word;
use super::{Choice, Import, Question};
use crate::config::fields::FieldId;
use crate::config::not_modelled::NotModelled;
use crate::config::raw::Settings;
use crate::formats::node::Node;
use crate::formats::report::KeyStatus;
use crate::value::Value;
use frameworks::Fate;

/// The name of the module.
const NAME: &str = "images";

/// The key of a model's file under which its tower is, and of the mark while the tower is left out.
const CONFIG: &str = "vision_config";

/// The mark of a configuration of Megatron-Bridge while the tower is left out.
const CLASS: &str = "model._target_";

/// The field that tells how much a tower has to do, where neither the text nor its model says how large images are.
const TOKENS: FieldId = FieldId::image_tokens_per_sample;

/// A vision tower.
#[derive(Clone, Debug, PartialEq)]
pub struct VisionTower {
    /// The fields of the module.
    settings: Settings,
    /// The width of what it gives to the language model.
    output: Option<Value>,
    /// How many of the tower's layers the backward pass recomputes.
    recompute: Recompute,
    /// Whether the language model is not trained.
    language_frozen: bool,
    /// The field that the text does not give.
    asks: Option<FieldId>,
    /// The key of the mark that the job has while the tower is left out.
    mark: &'static str,
    /// Other keys, without their sections, that say something about the tower.
    honoured: &'static [&'static str],
}

/// How many layers of a tower the backward pass recomputes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recompute {
    /// As many as of the language model.
    LikeLanguageModel,
    /// All, one at a time.
    Full,
    /// None.
    Nothing,
}

impl VisionTower {
    /// Says which of its parts are not trained.
    fn freeze(&mut self, layers: bool, projector: bool) {
        self.settings.set(FieldId::frozen, Value::Bool(layers));
        let id = FieldId::projector_frozen;
        self.settings.set(id, Value::Bool(projector));
    }

    /// Makes it the module of Hugging Face, which knows nothing of tensor parallelism.
    fn is_of_hugging_face(&mut self, recompute: Recompute) {
        self.settings.set(FieldId::replicated, Value::Bool(true));
        self.recompute = recompute;
    }

    /// Whether it has gated layers and no table of positions. Megatron-Bridge has no layers of its own for that.
    fn is_qwen2_5(&self) -> bool {
        self.settings.get(FieldId::swiglu) == Some(&Value::Bool(true))
    }

    /// What is still to be said about its images.
    fn open(&self) -> Option<FieldId> {
        self.asks.filter(|id| self.settings.get(*id).is_none())
    }

    /// Sets a field that the user gives.
    pub(in crate::formats) fn answer(&mut self, id: FieldId, value: Value) {
        self.settings.set(id, value);
    }
}

/// The tower of a model of the Hub, by the `vision_config` and the `model_type` of its file; `None` where it is of no known kind.
pub(crate) fn of_model(tower: &Node, model_type: &Node) -> Option<VisionTower> {
    let preset = sizes::preset_of_type(&word(&model_type.to_value()))?;
    Some(VisionTower {
        settings: sizes::settings(tower, preset)?,
        output: tower.get("out_hidden_size").map(Node::to_value),
        recompute: Recompute::LikeLanguageModel,
        language_frozen: false,
        asks: Some(TOKENS),
        mark: CONFIG,
        honoured: &[],
    })
}

fn int(map: &Node, key: &str) -> Option<i128> {
    match map.get(key)?.to_value() {
        Value::Int(number) => Some(number),
        _ => None,
    }
}

/// Sets what the framework of the text does with the tower of its model, and asks for the images of a sample where nobody says
/// how large or how many they are. A tower that is not followed is dropped, and the job stays marked.
pub(in crate::formats) fn settle(import: &mut Import) {
    let Some(tower) = import.vision.take() else {
        return;
    };
    let fate = match tower.mark {
        CONFIG => frameworks::settle(import, tower),
        CLASS if frameworks::has_adapters(import) => bridge::beside_adapters(import, tower),
        _ => Fate::Built(tower),
    };
    match fate {
        Fate::Built(tower) => {
            mark(import, tower.mark);
            if let Some(field) = tower.open() {
                let choices = choices(import, &tower, field);
                import.questions.push(Question::Field { field, choices });
            }
            import.vision = Some(tower);
        }
        Fate::NotFollowed => mark(import, CONFIG),
        Fate::LeftOut => forget_marks(import, &[CONFIG]),
        Fate::NotBuilt => {}
    }
}

/// Marks a job whose tower is left out, unless its text has done so.
fn mark(import: &mut Import, key: &str) {
    let job = &mut import.state.setup.job;
    if job.not_modelled.iter().all(|mark| mark.key != key) {
        let reason = "only the language model is read";
        job.mark(NotModelled::new(key, reason));
    }
}

/// Values of what is still to be said about images: one image, or else no tokens of images, those of the largest image that the
/// text allows, and as many as fit into a sample.
fn choices(import: &Import, tower: &VisionTower, field: FieldId) -> Vec<Choice> {
    let shared = &import.state.setup.job.shared;
    let length = shared.get(FieldId::seq_length);
    let longest = length.and_then(|value| word(value).parse().ok());
    let choice = |label: &str, value| Choice {
        label: label.to_owned(),
        value,
    };
    if field != TOKENS {
        return vec![choice("one image, or one view of it", 1)];
    }
    let mut choices = vec![choice("text alone", 0)];
    let pixels = ["image_max_pixels", "max_pixels"];
    let pixels = pixels.into_iter().find_map(|key| {
        let given = frameworks::value(import, key)?;
        given.parse::<u64>().ok()
    });
    let size = |id| word(tower.settings.get(id)?).parse::<u64>().ok();
    let edge = size(FieldId::patch_dim)
        .zip(size(FieldId::spatial_merge_size))
        .and_then(|(patch, merge)| patch.checked_mul(merge)?.checked_pow(2));
    let largest = pixels
        .zip(edge)
        .and_then(|(pixels, area)| pixels.checked_div(area));
    choices.extend(largest.map(|tokens| choice("the largest image", tokens)));
    choices.extend(longest.map(|tokens| choice("images alone", tokens)));
    choices
}

/// Takes back that a job is marked with these keys, whatever sections they stand in.
fn forget_marks(import: &mut Import, keys: &[&str]) {
    let marks = &mut import.state.setup.job.not_modelled;
    marks.retain(|mark| !keys.contains(&mark.key.as_str()) && !keys.contains(&last(&mark.key)));
}

/// The name of a key without its sections.
fn last(key: &str) -> &str {
    let name = key.trim_start_matches(['-', '+']);
    name.rsplit('.').next().unwrap_or_default()
}

/// Makes the tower a module of the job, where the estimate has jobs of that kind: then it is no longer said to be left out.
pub(in crate::formats) fn attach(import: &mut Import) {
    let Some(mut tower) = import.vision.take() else {
        return;
    };
    let is_of_bridge = tower.mark == CLASS;
    let job = &mut import.state.setup.job;
    let joins = tower.output.as_ref() == job.shared.get(FieldId::hidden_size);
    let has_adapters = job.shared.get(FieldId::peft_type).is_some();
    let has_gpus = job.shared.get(FieldId::world_size).is_some();
    if !job.modules.is_empty() || !joins || !has_gpus || tower.open().is_some() {
        return;
    }
    let own = &mut tower.settings;
    for id in [
        FieldId::tensor_model_parallel_size,
        FieldId::context_parallel_size,
    ] {
        if let Some(value) = job.shared.get(id) {
            own.set(id, value.clone());
        }
    }
    recompute(own, &job.shared, tower.recompute);
    if has_adapters {
        let none = Value::Text(String::from("none"));
        own.set(FieldId::peft_type, none);
    }
    job.shared.set(FieldId::colocate_modules, Value::Bool(true));
    job.add_module(NAME, tower.settings);
    if tower.language_frozen {
        job.put(0, FieldId::frozen, Value::Bool(true));
    }
    forget_marks(import, &[tower.mark]);
    forget_marks(import, tower.honoured);
    for row in &mut import.report {
        let frozen = row.key.starts_with("model.freeze_");
        let is_unread = matches!(row.status, KeyStatus::NotModelled | KeyStatus::Ignored);
        if is_unread && tower.honoured.contains(&last(&row.key)) {
            row.status = KeyStatus::Mapped;
            row.effect = None;
            row.note = "of the module with the vision tower".into();
        } else if let Some(key) = row.key.strip_prefix("model.vision_config.") {
            let counts = sizes::SIZES.iter().any(|(name, _)| *name == key);
            row.status = if counts {
                KeyStatus::Mapped
            } else {
                KeyStatus::Ignored
            };
            row.note = "of the module with the vision tower".into();
        } else if frozen && is_of_bridge {
            row.status = KeyStatus::Mapped;
            row.note = "".into();
        }
    }
}

/// Sets which layers are recomputed.
fn recompute(own: &mut Settings, language: &Settings, recompute: Recompute) {
    let ids = [
        FieldId::recompute_granularity,
        FieldId::recompute_method,
        FieldId::recompute_num_layers,
    ];
    match recompute {
        Recompute::LikeLanguageModel => {
            for id in ids {
                if let Some(value) = language.get(id) {
                    own.set(id, value.clone());
                }
            }
            if own.get(FieldId::recompute_granularity).map(word).as_deref() == Some("selective") {
                let core = Value::List(vec![Value::Text(String::from("core_attn"))]);
                own.set(FieldId::recompute_modules, core);
            }
        }
        Recompute::Full => {
            let values = [
                Value::Text(String::from("full")),
                Value::Text(String::from("uniform")),
                Value::Int(1),
            ];
            for (id, value) in ids.into_iter().zip(values) {
                own.set(id, value);
            }
        }
        Recompute::Nothing => {
            for id in ids {
                own.set(id, Value::Null);
            }
        }
    }
}
