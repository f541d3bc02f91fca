//! Picking a model.

use leptos::prelude::*;

use super::catalog::{MODELS, job};
use super::state::{Sheet, State, state};
use crate::config::check;
use crate::config::field::Group;
use crate::config::fields::FieldId;
use crate::config::raw::RawJob;

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
fn pick(state: State, id: &str) {
    let (Some(preset), Some(model)) = (job(id), MODELS.iter().find(|m| m.id == id)) else {
        return;
    };
    let now = state.sheet.get_untracked();
    let untouched = state.baseline.with_untracked(|base| {
        FieldId::ALL
            .iter()
            .filter(|id| !of_model(**id))
            .all(|id| now.job.shared.get(*id) == base.shared.get(*id))
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
    state.jump(Sheet {
        preset: Some(id.to_owned()),
        job,
    });
    state.notices.offer_undo(said);
}

/// The list of models.
#[component]
pub fn PresetsBar() -> impl IntoView {
    let state = state();
    let preset = Memo::new(move |_| state.sheet.with(|s| s.preset.clone()));
    let mut families: Vec<&str> = Vec::new();
    for model in MODELS {
        if !families.contains(&model.family) {
            families.push(model.family);
        }
    }
    let option = move |id: &'static str, name: &'static str| {
        let chosen = move || preset.read().as_deref() == Some(id);
        view! { <option value=id prop:selected=chosen>{name}</option> }
    };
    let family = move |family: &'static str| {
        let models = MODELS.iter().filter(|model| model.family == family);
        view! {
            <optgroup label=family>
                {models.map(|model| option(model.id, model.name)).collect_view()}
            </optgroup>
        }
    };
    view! {
        <label class="preset">
            <span class="unseen">"Model"</span>
            <select id="preset" on:change=move |event| pick(state, &event_target_value(&event))>
                <option value="" disabled hidden prop:selected=move || preset.read().is_none()>
                    "No preset"
                </option>
                {families.into_iter().map(family).collect_view()}
            </select>
        </label>
    }
}
