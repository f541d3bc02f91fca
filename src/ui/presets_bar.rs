//! Picking a model.

use leptos::prelude::*;

use super::parts::{input, memo, option, yes};
use super::state::{State, state};
use super::values::same;
use crate::config::check;
use crate::config::field::Group;
use crate::config::fields::FieldId;
use crate::config::raw::RawJob;
use crate::formats::state::{PresetRef, Setup};
use crate::presets::{PRESETS, Preset, by_id};

/// Settings that belong to a model; the others say how it is trained.
fn of_model(id: FieldId) -> bool {
    let group = id.field().group;
    // A layout spells out one model's layers and means nothing for another.
    let layers = [
        FieldId::pipeline_model_parallel_layout,
        FieldId::decoder_first_pipeline_num_layers,
        FieldId::decoder_last_pipeline_num_layers,
    ];
    matches!(group, Group::Model | Group::Attention | Group::Moe) || layers.contains(&id)
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
fn pick(state: &'static State, id: &str) {
    let Some(model) = by_id(id) else {
        return;
    };
    let preset = Setup::of_preset(model).job;
    let now = state.setup.get_untracked();
    let untouched = state.baseline.with_untracked(|base| {
        FieldId::ALL
            .iter()
            .filter(|id| !of_model(**id))
            .all(|id| same(id.field(), now.job.shared.get(*id), base.shared.get(*id)))
    });
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

/// The list of models.
#[component]
pub fn PresetsBar() -> impl IntoView {
    let state = state();
    let preset = memo(move || state.setup.with(|s| s.preset.clone()));
    let mut families: Vec<&str> = Vec::new();
    for model in PRESETS {
        if !families.contains(&model.family) {
            families.push(model.family);
        }
    }
    let entry = move |model: &'static Preset| {
        let chosen = move || preset.read().as_ref().is_some_and(|p| p.id == model.id);
        option(model.id, model.name, yes(chosen))
    };
    let family = move |family: &'static str| {
        let models = PRESETS.iter().filter(|model| model.family == family);
        view! { <optgroup label=family>{models.map(entry).collect_view()}</optgroup> }
    };
    view! {
        <label class="preset">
            <span class="unseen">"Model"</span>
            <select id="preset" on:change=input(move |event| pick(state, &event_target_value(&event)))>
                <option value="" disabled hidden prop:selected=yes(move || preset.read().is_none())>
                    "No preset"
                </option>
                {families.into_iter().map(family).collect_view()}
            </select>
        </label>
    }
}
