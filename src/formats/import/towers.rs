//! The encoders of images and sounds that a framework builds beside the language model, as modules of the job on the
//! ranks of the language model's first stage.

pub(in crate::formats) mod sizes;

use super::imported::{Choice, Import, Question};
use super::tower::{AUDIO, AUDIO_TOKENS, CLASS, CONFIG, Outcome, Recompute, THINKER, TOKENS, Tower};
use super::values::{truth, word};
use crate::config::edit::module_name;
use crate::config::fields::FieldId;
use crate::config::not_modelled::NotModelled;
use crate::config::raw::Settings;
use crate::formats::node::Node;
use crate::formats::report::KeyStatus;
use crate::presets::jobs::JobPreset;
use crate::value::Value;

/// The towers of a model of the Hub, by the `vision_config`, the `audio_config` and the `model_type` of its file,
/// without those of no known kind.
pub(crate) fn of_model(file: &Node, model_type: Option<&Node>) -> Vec<Tower> {
    let Some(model_type) = model_type.map(|node| word(&node.to_value())) else {
        return Vec::new();
    };
    // In Qwen3-Omni they belong to the thinker, as the language model does.
    let file = file.get(THINKER).unwrap_or(file);
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
        let output = config
            .get("output_dim")
            .or_else(|| file.get("text_config")?.get("hidden_size"));
        Some(tower(settings, output, AUDIO_TOKENS, AUDIO))
    });
    images.into_iter().chain(sounds).collect()
}

/// The model of a job preset: the fields of its language model, and its towers. `None` where an encoder is of no known
/// kind.
pub(in crate::formats) fn of_job(job: &JobPreset) -> Option<(Settings, Vec<Tower>)> {
    let (language, encoders) = job.parts()?;
    let output = language.get(FieldId::hidden_size).cloned();
    let towers = encoders.iter().map(|(preset, own)| {
        let (settings, is_audio) = sizes::of_model(preset, own)?;
        let (asks, mark) = if is_audio {
            (AUDIO_TOKENS, AUDIO)
        } else {
            (TOKENS, CONFIG)
        };
        Some(Tower {
            settings,
            output: output.clone(),
            recompute: Recompute::LikeLanguageModel,
            language_frozen: false,
            asks: Some(asks),
            mark,
            honoured: &[],
        })
    });
    let towers = towers.collect::<Option<_>>()?;
    Some((language, towers))
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
        let (attached, left_out): (Vec<_>, Vec<_>) = towers.into_iter().partition(|tower| joins(tower, &shared));
        let marks: Vec<&str> = left_out.iter().map(|tower| tower.mark).collect();
        for tower in attached {
            attach_one(import, &shared, tower, &marks);
        }
    }
}

/// Whether a tower can be a module of the job with these settings.
fn joins(tower: &Tower, shared: &Settings) -> bool {
    let joins = tower.output.as_ref() == shared.get(FieldId::hidden_size);
    let has_gpus = shared.get(FieldId::world_size).is_some();
    joins && has_gpus && tower.open().is_none()
}

/// `shared` has the settings of the job without towers; the job keeps the marks `kept`, which are of towers that are no
/// modules.
fn attach_one(import: &mut Import, shared: &Settings, mut tower: Tower, kept: &[&str]) {
    let is_of_bridge = tower.mark == CLASS;
    let job = &mut import.state.setup.job;
    let has_adapters = shared.get(FieldId::peft_type).is_some();
    let own = &mut tower.settings;
    for id in [FieldId::tensor_model_parallel_size, FieldId::context_parallel_size] {
        if let Some(value) = shared.get(id) {
            own.set(id, value.clone());
        }
    }
    recompute(own, shared, tower.recompute);
    if has_adapters && own.get(FieldId::peft_target_modules).is_none() {
        let none = Value::Text(String::from("none"));
        own.set(FieldId::peft_type, none);
    }
    let described = if tower.is_audio() { &SOUNDS } else { &IMAGES };
    job.shared.set(FieldId::colocate_modules, Value::Bool(true));
    job.add_module(module_name(&tower.settings), tower.settings);
    if tower.language_frozen {
        job.put(0, FieldId::frozen, Value::Bool(true));
    }
    if !kept.contains(&tower.mark) {
        forget_marks(import, &[tower.mark]);
    }
    forget_marks(import, tower.honoured);
    for row in &mut import.report {
        let frozen = row.key.starts_with("model.freeze_");
        let is_unread = matches!(row.status, KeyStatus::NotModelled | KeyStatus::Ignored);
        if is_unread && tower.honoured.contains(&last(&row.key)) {
            row.status = KeyStatus::Mapped;
            row.effect = None;
            row.note = described.note.into();
        } else if let Some(key) = described.key(&row.key) {
            let counts = (described.is_size)(key);
            row.status = if counts { KeyStatus::Mapped } else { KeyStatus::Ignored };
            row.note = described.note.into();
        } else if frozen && is_of_bridge {
            row.status = KeyStatus::Mapped;
            row.note = "".into();
        }
    }
}

/// Where a configuration of Megatron-Bridge describes a kind of tower.
struct Described {
    /// The parts of the model that do, each with a dot at its end.
    parts: [&'static str; 2],
    /// Whether a size of the tower follows from a key of such a part.
    is_size: fn(&str) -> bool,
    /// The note on these keys in the import report of a job that has the tower as a module.
    note: &'static str,
}

const IMAGES: Described = Described {
    parts: ["vision_config.", "thinker_config.vision_config."],
    is_size: sizes::is_size_of_images,
    note: "of the module with the vision tower",
};

const SOUNDS: Described = Described {
    parts: ["thinker_config.audio_config.", "hf_config.audio_config."],
    is_size: sizes::is_size_of_sounds,
    note: "of the module with the audio tower",
};

impl Described {
    /// The key within such a part, of a whole key.
    fn key<'k>(&self, whole: &'k str) -> Option<&'k str> {
        let key = whole.strip_prefix("model.")?;
        self.parts.iter().find_map(|part| key.strip_prefix(part))
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
