//! The encoders of images and sounds that a framework builds beside the language model, as modules of the job on the
//! ranks of the language model's first stage.

pub(in crate::formats) mod sizes;

use super::imported::{Choice, Import, Question};
use super::values::{truth, word};
use crate::config::edit::module_name;
use crate::config::fields::FieldId;
use crate::config::not_modelled::NotModelled;
use crate::config::raw::Settings;
use crate::formats::node::Node;
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// The key of a model's file under which its vision tower is, and of the mark while the tower is left out.
const CONFIG: &str = "vision_config";

/// The key of a model's file under which its audio tower is, and of the mark while the tower is left out.
const AUDIO: &str = "audio_config";

/// The mark of a configuration of Megatron-Bridge while the tower is left out.
pub(in crate::formats) const CLASS: &str = "model._target_";

/// The field that tells how much a tower has to do, where neither the text nor its model says how large images are.
pub(in crate::formats) const TOKENS: FieldId = FieldId::image_tokens_per_sample;

/// The field that tells how much an audio tower has to do, where nobody says how long sounds are.
const AUDIO_TOKENS: FieldId = FieldId::audio_tokens_per_sample;

/// An encoder of images or sounds, called a tower in models of the Hub.
#[derive(Clone, Debug, PartialEq)]
pub struct Tower {
    /// The fields of the module.
    pub(in crate::formats) settings: Settings,
    /// The width of what it gives to the language model.
    pub(in crate::formats) output: Option<Value>,
    /// How many of the tower's layers the backward pass recomputes.
    pub(in crate::formats) recompute: Recompute,
    /// Whether the language model is not trained.
    pub(in crate::formats) language_frozen: bool,
    /// The field that the text does not give.
    pub(in crate::formats) asks: Option<FieldId>,
    /// The key of the mark that the job has while the tower is left out.
    pub(in crate::formats) mark: &'static str,
    /// Other keys, without their sections, that say something about the tower.
    pub(in crate::formats) honoured: &'static [&'static str],
}

/// What becomes of a tower in a framework.
pub(in crate::formats) enum Outcome {
    /// It is built.
    Built(Tower),
    /// The framework builds the language model alone.
    LeftOut,
    /// The framework builds it in a way that is not followed.
    NotFollowed,
    /// The framework builds none.
    NotBuilt,
}

/// How many layers of a tower the backward pass recomputes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::formats) enum Recompute {
    /// As many as of the language model.
    LikeLanguageModel,
    /// All, one at a time.
    Full,
    /// None.
    Nothing,
}

impl Tower {
    /// Says which of its parts are not trained.
    pub(in crate::formats) fn freeze(&mut self, layers: bool, projector: bool) {
        self.settings.set(FieldId::frozen, Value::Bool(layers));
        let id = FieldId::projector_frozen;
        self.settings.set(id, Value::Bool(projector));
    }

    /// Makes it the module of Hugging Face, which knows nothing of tensor parallelism.
    pub(in crate::formats) fn is_of_hugging_face(&mut self, recompute: Recompute) {
        self.settings.set(FieldId::replicated, Value::Bool(true));
        self.recompute = recompute;
    }

    /// Whether it has gated layers and no table of positions. Megatron-Bridge has no layers of its own for that.
    pub(in crate::formats) fn is_qwen2_5(&self) -> bool {
        self.settings.get(FieldId::swiglu) == Some(&Value::Bool(true))
    }

    /// Whether features of several of its layers go into the language model. Such models of Qwen's make the positions
    /// of images themselves.
    pub(in crate::formats) fn has_deepstack(&self) -> bool {
        let count = self.settings.get(FieldId::deepstack_projectors);
        count.is_some_and(|count| *count != Value::Int(0))
    }

    /// Whether it encodes sounds.
    pub(in crate::formats) fn is_audio(&self) -> bool {
        self.mark == AUDIO
    }

    /// The field about its images or sounds that still has no value, and so is asked for.
    fn open(&self) -> Option<FieldId> {
        self.asks.filter(|id| self.settings.get(*id).is_none())
    }

    /// Sets a field that the user gives, unless it is about the items of another tower.
    pub(in crate::formats) fn answer(&mut self, id: FieldId, value: &Value) {
        let of_others = if self.is_audio() { TOKENS } else { AUDIO_TOKENS };
        if id != of_others {
            self.settings.set(id, value.clone());
        }
    }
}

/// The towers of a model of the Hub, by the `vision_config`, the `audio_config` and the `model_type` of its file,
/// without those of no known kind.
pub(crate) fn of_model(file: &Node, model_type: Option<&Node>) -> Vec<Tower> {
    let Some(model_type) = model_type.map(|node| word(&node.to_value())) else {
        return Vec::new();
    };
    // In Qwen3-Omni they belong to the thinker, as the language model does.
    let file = file.get("thinker_config").unwrap_or(file);
    let tower = |settings, output: Option<&Node>, asks, mark| Tower {
        settings,
        output: output.map(Node::to_value),
        recompute: Recompute::LikeLanguageModel,
        language_frozen: false,
        asks: Some(asks),
        mark,
        honoured: &[],
    };
    let images = file.get(CONFIG).and_then(|config| {
        let settings = sizes::settings(config, sizes::preset_of_type(&model_type)?)?;
        let output = config.get("out_hidden_size");
        Some(tower(settings, output, TOKENS, CONFIG))
    });
    let sounds = file.get(AUDIO).and_then(|config| {
        let settings = sizes::of_sounds(config, &model_type)?;
        Some(tower(settings, config.get("output_dim"), AUDIO_TOKENS, AUDIO))
    });
    images.into_iter().chain(sounds).collect()
}

pub(in crate::formats) fn int(map: &Node, key: &str) -> Option<i128> {
    match map.get(key)?.to_value() {
        Value::Int(number) => Some(number),
        _ => None,
    }
}

/// Sets what the framework of the text does with the towers of its model, and asks for the images and the sounds of a
/// sample where nobody says how large or how many they are. A tower that is not followed is dropped, and the job stays
/// marked.
pub(in crate::formats) fn build(import: &mut Import) {
    let towers = core::mem::take(&mut import.towers);
    if !towers.is_empty() {
        let never_built = import.framework.map_or(&[][..], |framework| framework.never_built);
        forget_marks(import, never_built);
    }
    let has_sounds = towers.iter().any(Tower::is_audio);
    for tower in towers {
        let key = tower.mark;
        let outcome = match (key, import.framework) {
            (CONFIG | AUDIO, Some(framework)) => (framework.tower)(import, tower, has_sounds),
            (CONFIG | AUDIO, None) => Outcome::NotBuilt,
            (CLASS, Some(framework)) if has_adapters(import) => (framework.tower)(import, tower, has_sounds),
            _ => Outcome::Built(tower),
        };
        match outcome {
            Outcome::Built(tower) => {
                mark(import, key);
                if let Some(field) = tower.open() {
                    let choices = choices(import, &tower, field);
                    import.questions.push(Question::Field { field, choices });
                }
                import.towers.push(tower);
            }
            Outcome::NotFollowed => mark(import, key),
            Outcome::LeftOut => forget_marks(import, &[key]),
            Outcome::NotBuilt => {}
        }
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

/// Values of what is still to be said about images or sounds: one image, or else no tokens of them, those of the
/// largest image that the text allows, and as many as fit into a sample.
fn choices(import: &Import, tower: &Tower, field: FieldId) -> Vec<Choice> {
    let shared = &import.state.setup.job.shared;
    let length = shared.get(FieldId::seq_length);
    let longest = length.and_then(|value| word(value).parse().ok());
    let choice = |label: &str, value| Choice {
        label: label.to_owned(),
        value,
    };
    if field == AUDIO_TOKENS {
        let longest = longest.map(|tokens| choice("sounds alone", tokens));
        return [choice("no sounds", 0)].into_iter().chain(longest).collect();
    }
    if field != TOKENS {
        return vec![choice("one image, or one view of it", 1)];
    }
    let mut choices = vec![choice("text alone", 0)];
    let pixels = ["image_max_pixels", "max_pixels"];
    let pixels = pixels.into_iter().find_map(|key| {
        let given = said(import, key)?;
        given.parse::<u64>().ok()
    });
    let size = |id| word(tower.settings.get(id)?).parse::<u64>().ok();
    let edge = size(FieldId::patch_dim)
        .zip(size(FieldId::spatial_merge_size))
        .and_then(|(patch, merge)| patch.checked_mul(merge)?.checked_pow(2));
    let largest = pixels.zip(edge).and_then(|(pixels, area)| pixels.checked_div(area));
    choices.extend(largest.map(|tokens| choice("the largest image", tokens)));
    choices.extend(longest.map(|tokens| choice("images alone", tokens)));
    choices
}

/// The value of a key, as the report shows it. Sections and dashes before the key do not count.
pub(in crate::formats) fn said(import: &Import, name: &str) -> Option<String> {
    let mut rows = import.report.iter().rev();
    let row = rows.find(|row| row.status != KeyStatus::Conflicting && last(&row.key) == name)?;
    Some(row.value.clone())
}

/// The truth value of a key; `other` where the text does not have it.
pub(in crate::formats) fn is_on(import: &Import, name: &str, other: bool) -> bool {
    let given = said(import, name);
    given.map_or(other, |text| truth(&Value::Text(text)).unwrap_or(other))
}

/// Whether the job trains adapters.
pub(in crate::formats) fn has_adapters(import: &Import) -> bool {
    let shared = &import.state.setup.job.shared;
    shared.get(FieldId::peft_type).is_some()
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

/// Makes the towers modules of the job, where the estimate has jobs of that kind: then they are no longer said to be
/// left out.
pub(in crate::formats) fn attach(import: &mut Import) {
    let towers = core::mem::take(&mut import.towers);
    let job = &import.state.setup.job;
    if job.modules.is_empty() {
        // Those of the language model, which become its own beside another module.
        let shared = job.shared.clone();
        for tower in towers {
            attach_one(import, &shared, tower);
        }
    }
}

/// `shared` has the settings of the job without towers.
fn attach_one(import: &mut Import, shared: &Settings, mut tower: Tower) {
    let is_of_bridge = tower.mark == CLASS;
    let job = &mut import.state.setup.job;
    let joins = tower.output.as_ref() == shared.get(FieldId::hidden_size);
    let has_adapters = shared.get(FieldId::peft_type).is_some();
    let has_gpus = shared.get(FieldId::world_size).is_some();
    if !joins || !has_gpus || tower.open().is_some() {
        return;
    }
    let own = &mut tower.settings;
    for id in [FieldId::tensor_model_parallel_size, FieldId::context_parallel_size] {
        if let Some(value) = shared.get(id) {
            own.set(id, value.clone());
        }
    }
    recompute(own, shared, tower.recompute);
    if has_adapters {
        let none = Value::Text(String::from("none"));
        own.set(FieldId::peft_type, none);
    }
    job.shared.set(FieldId::colocate_modules, Value::Bool(true));
    job.add_module(module_name(&tower.settings), tower.settings);
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
            row.status = if counts { KeyStatus::Mapped } else { KeyStatus::Ignored };
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
