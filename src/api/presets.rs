//! Presets.

use serde::Serialize;
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use super::plain_data::PlainData;
use super::{Exact, job, to_ts};
use crate::formats::state::Setup;
use crate::presets::jobs::{JOBS, JobPreset};
use crate::presets::{self, PRESETS};

/// A preset.
#[derive(Debug, Serialize, Tsify)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Preset {
    /// A model.
    Model(ModelPreset),
    /// A job of several modules.
    Modules(ModulesPreset),
}

/// A model.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct ModelPreset {
    id: &'static str,
    version: u32,
    name: &'static str,
    organization: &'static str,
    family: &'static str,
    /// As published.
    parameters: Exact,
    active_parameters: Option<Exact>,
    /// The model, and a job that it is known to run as.
    #[tsify(type = "Job")]
    job: PlainData,
}

/// A job of several modules.
#[derive(Debug, Serialize, Tsify)]
pub struct ModulesPreset {
    id: &'static str,
    version: u32,
    name: &'static str,
    source: String,
    #[tsify(type = "Job")]
    job: PlainData,
}

/// Every preset: models, then jobs of several modules.
///
/// # Errors
/// None that a caller could cause.
#[wasm_bindgen]
pub fn presets() -> Result<Vec<Ts<Preset>>, JsValue> {
    let models = PRESETS.iter().map(Preset::from);
    let jobs = JOBS.iter().filter_map(Preset::of_job);
    models.chain(jobs).map(|preset| to_ts(&preset)).collect()
}

impl From<&presets::Preset> for Preset {
    fn from(preset: &presets::Preset) -> Self {
        Self::Model(ModelPreset {
            id: preset.id,
            version: preset.version,
            name: preset.name,
            organization: preset.organization,
            family: preset.family,
            parameters: preset.parameters.into(),
            active_parameters: preset.active_parameters.map(Exact::from),
            job: job::canonical(&Setup::of_preset(preset).job),
        })
    }
}

impl Preset {
    fn of_job(preset: &JobPreset) -> Option<Self> {
        let contents = preset.contents()?;
        Some(Self::Modules(ModulesPreset {
            id: preset.id,
            version: preset.version,
            name: preset.name,
            source: contents.source.clone(),
            job: job::canonical(&contents.job),
        }))
    }
}
