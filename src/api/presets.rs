//! `presets`: the list of presets.

use serde::Serialize;
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use super::plain_data::PlainData;
use super::{Exact, job, to_ts};
use megatron_memory::formats::state::Setup;
use megatron_memory::presets::jobs::{JOBS, JobPreset};
use megatron_memory::presets::{self, PRESETS};

/// A preset.
#[derive(Debug, Serialize, Tsify)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Preset {
    /// A model with a job that trains it.
    Model(ModelPreset),
    /// A job with several modules.
    Modules(ModulesPreset),
}

/// The preset of a model.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct ModelPreset {
    id: &'static str,
    version: u32,
    name: &'static str,
    organization: &'static str,
    family: &'static str,
    /// The published number of parameters.
    parameters: Exact,
    active_parameters: Option<Exact>,
    /// When it was published, as year and month.
    released: &'static str,
    /// The model with the settings of a known training run.
    #[tsify(type = "Job")]
    job: PlainData,
}

/// The preset of a job with several modules.
#[derive(Debug, Serialize, Tsify)]
pub struct ModulesPreset {
    id: &'static str,
    version: u32,
    name: &'static str,
    family: &'static str,
    /// When the model was published, as year and month.
    released: &'static str,
    source: String,
    #[tsify(type = "Job")]
    job: PlainData,
}

/// All presets: models, then jobs with several modules.
///
/// # Errors
/// No argument leads to an error; only a failure of the conversion to JavaScript would.
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
            released: preset.released,
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
            family: preset.family,
            released: preset.released,
            source: contents.source.clone(),
            job: job::canonical(&contents.job),
        }))
    }
}
