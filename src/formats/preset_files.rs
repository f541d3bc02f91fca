//! The files of presets, which are part of the program, and the fields that are made of them.

pub mod encoders;
pub mod jobs;
mod lines;
pub mod settings;

pub use lines::lines;

use super::hf_config;
use super::import::tower::Tower;
use super::import::towers;
use super::json;
use super::node::{Data, Node};
use super::report::KeyReport;
use crate::config::fields::FieldId;
use crate::config::raw::{RawJob, Settings};
use crate::presets::{FILES, PRESETS, Preset};

/// The contents of a preset's file.
#[derive(Clone, Debug, PartialEq)]
pub struct PresetContents {
    /// Where the model's keys are published.
    pub source_url: String,
    /// When they were read there, as year and month.
    pub source_date: String,
    /// The published size.
    pub published: Published,
    /// The model's fields.
    pub model: Settings,
    /// The `model_type` among the model's keys.
    pub model_type: String,
    /// The encoders that the published model has beside its language model.
    pub towers: Vec<Tower>,
    /// The report row of every key of the model.
    pub report: Vec<KeyReport>,
    /// The source of the job, or a remark that it is a suggestion.
    pub job_source: String,
    /// The fields of the job: parallelism, batch sizes, recompute, precision, GPU. They override those of the model.
    pub job: Settings,
}

/// A model's published number of parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// All parameters.
    pub total: u64,
    /// The rounding error of `total`: half a unit of the last published digit.
    pub tolerance: u64,
    /// Whether `total` counts the layers of multi-token prediction.
    pub with_mtp: bool,
    /// Parameters that are active for one token, rounded as published.
    pub active: Option<u64>,
    /// Where the number comes from.
    pub note: String,
}

impl Preset {
    /// The fields of the model, overridden by those of its job.
    #[must_use]
    pub fn settings(&self) -> Settings {
        settings::job(self.id, self.version).unwrap_or_default().shared
    }

    /// Reads the preset's file, which is part of the program. `None` never happens: a test reads all files.
    #[must_use]
    pub fn contents(&self) -> Option<PresetContents> {
        let file = PRESETS.iter().position(|preset| preset.id == self.id)?;
        let root = json::parse(FILES.get(file)?).ok()?;
        let config = root.get("config")?;
        let import = hf_config::read(config).ok()?;
        let source = root.get("source")?;
        let published = root.get("published_parameters")?;
        let job = root.get("job")?;
        let model = import.settings.into_iter();
        let model: Settings = model
            .map(|setting| Some((FieldId::by_name(setting.field)?, setting.value)))
            .collect::<Option<_>>()?;
        let mut towers = towers::of_model(&root, config.get("model_type"));
        for tower in &mut towers {
            tower.joins(&model);
        }
        Some(PresetContents {
            source_url: text(source.get("url")?)?,
            source_date: text(source.get("date")?)?,
            published: Published {
                total: count(published.get("total")?)?,
                tolerance: count(published.get("tolerance")?)?,
                with_mtp: published
                    .get("with_mtp")
                    .is_none_or(|with| with.data != Data::Bool(false)),
                active: published.get("active").and_then(count),
                note: text(published.get("note")?)?,
            },
            model,
            model_type: text(config.get("model_type")?)?,
            towers,
            report: import.report,
            job_source: text(job.get("source")?)?,
            job: fields(job.get("settings")?)?,
        })
    }
}

impl PresetContents {
    /// The model in its own job.
    #[must_use]
    pub fn raw_job(&self) -> RawJob {
        let mut shared = self.model.clone();
        shared.overlay(&self.job);
        RawJob {
            shared,
            ..RawJob::default()
        }
    }
}

/// The fields of a map, without the keys that place a module in the job.
fn fields(node: &Node) -> Option<Settings> {
    let entries = node.entries().iter();
    entries
        .filter(|entry| entry.key != "rank_offset")
        .map(|entry| Some((FieldId::by_name(&entry.key)?, entry.node.to_value())))
        .collect()
}

fn list(node: &Node) -> Option<&[Node]> {
    match &node.data {
        Data::List(items) => Some(items),
        _ => None,
    }
}

fn text(node: &Node) -> Option<String> {
    match &node.data {
        Data::Text(text) => Some(text.clone()),
        _ => None,
    }
}

fn count(node: &Node) -> Option<u64> {
    match node.data {
        Data::Int(i) => u64::try_from(i).ok(),
        _ => None,
    }
}
