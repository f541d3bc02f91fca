//! The files of job presets.

use super::encoders::texts;
use super::{fields, list, settings, text};
use crate::config::fields::FieldId;
use crate::config::raw::{RawJob, RawModule, Settings};
use crate::formats::json;
use crate::formats::node::Node;
use crate::presets::jobs::{FILES, JOBS, JobPreset};
use crate::presets::{self, encoders};

/// The contents of a job's file.
#[derive(Clone, Debug, PartialEq)]
pub struct JobContents {
    /// The source of the job, or a remark that it is a suggestion.
    pub source: String,
    /// What a user should know about it.
    pub notes: Vec<String>,
    /// The job itself.
    pub job: RawJob,
}

impl JobPreset {
    /// The job.
    #[must_use]
    pub fn job(&self) -> RawJob {
        settings::job(self.id, self.version).unwrap_or_default()
    }

    /// The fields of its language model, and the presets of its encoders with their own fields; `None` where the language
    /// model is no preset.
    #[must_use]
    pub fn parts(&self) -> Option<(Settings, Vec<(String, Settings)>)> {
        let file = JOBS.iter().position(|job| job.id == self.id)?;
        let root = json::parse(FILES.get(file)?).ok()?;
        let mut language = None;
        let mut of_encoders = Vec::new();
        for module in list(root.get("modules")?)? {
            let preset = text(module.get("preset")?)?;
            let own = fields(module.get("settings")?)?;
            if encoders::by_id(&preset).is_some() {
                of_encoders.push((preset, own));
            } else {
                let mut model = presets::by_id(&preset)?.contents()?.model;
                if let Some(size) = own.get(FieldId::vocab_size) {
                    model.set(FieldId::vocab_size, size.clone());
                }
                language = Some(model);
            }
        }
        Some((language?, of_encoders))
    }

    /// The `model_type` that its model has on the Hugging Face Hub, where Megatron-Bridge knows it.
    #[must_use]
    pub fn model_type(&self) -> Option<String> {
        let file = JOBS.iter().position(|job| job.id == self.id)?;
        let root = json::parse(FILES.get(file)?).ok()?;
        text(root.get("model_type")?)
    }

    /// Reads the preset's file, which is part of the program. `None` never happens: a test reads all files.
    #[must_use]
    pub fn contents(&self) -> Option<JobContents> {
        let file = JOBS.iter().position(|job| job.id == self.id)?;
        let root = json::parse(FILES.get(file)?).ok()?;
        let modules = list(root.get("modules")?)?.iter().map(module);
        Some(JobContents {
            source: text(root.get("source")?)?,
            notes: texts(root.get("notes")?)?,
            job: RawJob {
                shared: fields(root.get("settings")?)?,
                modules: modules.collect::<Option<_>>()?,
                ..RawJob::default()
            },
        })
    }
}

fn module(node: &Node) -> Option<RawModule> {
    let mut own = match node.get("preset") {
        Some(preset) => preset_settings(&text(preset)?)?,
        None => Settings::default(),
    };
    let given = node.get("settings")?;
    own.overlay(&fields(given)?);
    Some(RawModule {
        name: text(node.get("name")?)?,
        rank_offset: given.get("rank_offset").map(Node::to_value),
        settings: own,
    })
}

/// The fields of a model or encoder preset.
fn preset_settings(id: &str) -> Option<Settings> {
    if let Some(encoder) = encoders::by_id(id) {
        return Some(encoder.contents()?.settings);
    }
    let mut model = presets::by_id(id)?.contents()?.model;
    // The precision is the job's to choose, whatever its checkpoint was saved in.
    model.unset(FieldId::bf16);
    model.unset(FieldId::fp16);
    Some(model)
}
