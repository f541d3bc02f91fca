//! Replaces the model of a job by the one that is picked.

use crate::state::State;
use crate::values::same;
use leptos::prelude::*;
use megatron_memory::config::check;
use megatron_memory::config::field::Aspect;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::formats::state::{PresetRef, Setup};
use megatron_memory::presets::by_id;
use megatron_memory::presets::jobs::{self, JobPreset};

/// Whether a setting belongs to the model; the others say how it is trained.
fn of_model(id: FieldId) -> bool {
    id.field().aspect != Aspect::Training
}

/// The model of `preset` trained as `now` is.
fn trained_as(preset: &RawJob, now: &RawJob) -> RawJob {
    let mut job = RawJob::default();
    for id in FieldId::ALL.iter().copied() {
        let from = if of_model(id) { preset } else { now };
        if let Some(value) = from.shared.get(id) {
            job.shared.set(id, value.clone());
        }
    }
    job
}

/// Takes over the preset with this id. Training settings that were changed stay where the model can be trained with
/// them; otherwise, and where nothing was changed, the job suggested for the model comes with it.
pub(super) fn pick(state: State, id: &str) {
    if let Some(job) = jobs::by_id(id) {
        return pick_job(state, job);
    }
    let Some(model) = by_id(id) else {
        return;
    };
    let preset = Setup::of_preset(model).job;
    let now = state.setup.get_untracked();
    let base = state.baseline.read_untracked();
    let untouched = FieldId::ALL
        .iter()
        .filter(|id| !of_model(**id))
        .all(|id| same(id.field(), now.job.shared.get(*id), base.shared.get(*id)));
    drop(base);
    let name = model.name;
    let kept = trained_as(&preset, &now.job);
    let (job, said) = if untouched || !now.job.modules.is_empty() {
        (preset, format!("{name} loaded with its suggested setup."))
    } else if check(&kept).config.is_some() {
        (
            kept,
            format!("{name} loaded with your parallelism and training settings."),
        )
    } else {
        let said = format!("{name} cannot run with your parallelism: its suggested job is set instead.");
        (preset, said)
    };
    state.jump(Setup {
        preset: Some(PresetRef::from(model)),
        job,
    });
    state.toasts.offer_undo(said);
}

/// Takes over a whole job of several modules.
fn pick_job(state: State, job: &JobPreset) {
    let setup = Setup {
        preset: Some(job.into()),
        ..Setup::default()
    };
    state.jump(setup.start());
    state
        .toasts
        .offer_undo(format!("{} loaded with its suggested layout.", job.name));
}
