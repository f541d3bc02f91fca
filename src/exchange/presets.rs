//! The presets as plain data.

use super::data::{int, map, or_null, text};
use super::job::plain;
use crate::formats::state::Setup;
use crate::presets::jobs::JOBS;
use crate::presets::{PRESETS, Preset};
use crate::value::Value;

/// Every preset: models with a job that they are known to run as, then jobs of several modules.
#[must_use]
pub fn presets() -> Value {
    let models = PRESETS.iter().map(model);
    let jobs = JOBS.iter().filter_map(|preset| {
        let contents = preset.contents()?;
        Some(map([
            ("kind", text("modules")),
            ("id", text(preset.id)),
            ("version", int(preset.version)),
            ("name", text(preset.name)),
            ("source", text(&contents.source)),
            ("job", plain(&contents.job)),
        ]))
    });
    models.chain(jobs).collect()
}

fn model(preset: &Preset) -> Value {
    map([
        ("kind", text("model")),
        ("id", text(preset.id)),
        ("version", int(preset.version)),
        ("name", text(preset.name)),
        ("organization", text(preset.organization)),
        ("family", text(preset.family)),
        ("parameters", int(preset.parameters)),
        ("active_parameters", or_null(preset.active_parameters, int)),
        ("job", plain(&Setup::of_preset(preset).job)),
    ])
}
