//! Picking a model.

use super::draw::option;
use super::state::State;
use super::values::same;
use crate::config::adapt::{LAYERS, is_of_model};
use crate::config::check;
use crate::config::fields::FieldId;
use crate::config::raw::RawJob;
use crate::formats::state::{PresetRef, Setup};
use crate::presets::jobs::{self, JOBS, JobPreset};
use crate::presets::{PRESETS, by_id};
use crate::report::markup::{Markup, tag};
use leptos::prelude::*;

/// The list's id and place.
pub(super) const PRESET: &str = "preset";

/// Settings that come with a model; the others say how it is trained.
fn of_model(id: FieldId) -> bool {
    is_of_model(id) || LAYERS.contains(&id)
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

/// Takes over a model. Settings that were changed stay where the model can be trained with them;
/// otherwise, and where nothing was changed, the job suggested for the model comes with it.
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
        (preset, format!("{name} with the job suggested for it."))
    } else if check(&kept).config.is_some() {
        (
            kept,
            format!("{name} with your parallelism and training settings."),
        )
    } else {
        let said =
            format!("{name} cannot run with your parallelism: its suggested job is set instead.");
        (preset, said)
    };
    state.jump(Setup {
        preset: Some(PresetRef::from(model)),
        job,
    });
    state.notices.offer_undo(said);
}

/// Takes over a whole job of several modules.
fn pick_job(state: State, job: &JobPreset) {
    let setup = Setup {
        preset: Some(job.into()),
        ..Setup::default()
    };
    state.jump(setup.start());
    state
        .notices
        .offer_undo(format!("{} with the layout suggested for it.", job.name));
}

/// The list of models.
pub(super) fn draw(state: State) -> Markup {
    let setup = state.setup.read();
    let chosen = setup.preset.as_ref().map(|preset| preset.id.clone());
    let none = option("", "No preset")
        .mark("disabled", true)
        .mark("hidden", true);
    let mut list = tag("select")
        .with("id", PRESET)
        .with("data-at", PRESET)
        .with("value", chosen.unwrap_or_default())
        .child(none);
    let mut families: Vec<(&str, Markup)> = Vec::new();
    for model in PRESETS {
        let entry = option(model.id, model.name);
        let known = families.iter_mut().find(|(name, _)| *name == model.family);
        if let Some((_, family)) = known {
            family.children.push(entry);
        } else {
            let family = tag("optgroup").with("label", model.family);
            families.push((model.family, family.child(entry)));
        }
    }
    list.children
        .extend(families.into_iter().map(|(_, family)| family));
    let jobs = JOBS.iter().map(|job| option(job.id, job.name));
    let several = tag("optgroup").with("label", "Several modules");
    list.children.push(several.children(jobs));
    tag("label")
        .class("preset")
        .child(tag("span").class("unseen").text("Model"))
        .child(list)
}
