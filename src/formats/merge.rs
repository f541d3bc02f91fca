//! Merges an imported text into the current job: replaces the model but keeps training settings, sets single settings,
//! or keeps only the GPU.

use super::detect::Format;
use super::import::{Import, Row};
use super::report::{KeyStatus, shown};
use super::state::Setup;
use crate::config::canonical::{is_on, meaning};
use crate::config::field::{Aspect, Group, Kind};
use crate::config::fields::FieldId;
use crate::config::raw::{RawJob, Settings};
use crate::config::suggest::{Resolution, resolve_conflicts};
use crate::parallel::mimo::LANGUAGE_MODULE;
use crate::value::Value;

/// Whether texts of a format hold a whole job, with its GPU.
pub(super) fn is_complete(format: Format) -> bool {
    matches!(format, Format::ShareLink | Format::OwnJson)
}

/// Whether a text says how large its model is, or would if a variable had a value.
pub(super) fn has_model(import: &Import) -> bool {
    let shape = [FieldId::num_layers, FieldId::hidden_size];
    let settings = &import.state.setup.job.shared;
    let asked = |id| {
        let mut rows = import.report.iter();
        rows.any(|row| row.status == KeyStatus::Missing && row.field == Some(id))
    };
    shape.into_iter().any(|id| settings.get(id).is_some() || asked(id))
}

/// Copies the GPU of the current job where the text names none, as no launch script can.
pub(super) fn keep_gpu(import: &mut Import, job: &RawJob) {
    let own = &mut import.state.setup.job.shared;
    let gpu = [FieldId::gpu, FieldId::gpu_memory_mib];
    if gpu.iter().any(|id| own.get(*id).is_some()) {
        return;
    }
    for id in gpu {
        if let Some(value) = job.shared.get(id) {
            own.set(id, value.clone());
        }
    }
}

/// Puts the imported model into the training of `job`. The training settings of `job` win over those of the model's
/// file; those that the new model cannot be trained with are dropped or changed, with a report row each.
pub(super) fn replace_model(import: &mut Import, job: &RawJob) {
    let model = core::mem::take(&mut import.state.setup.job.shared);
    let mut training = job.shared.clone();
    training.overlay(&job.settings_of(LANGUAGE_MODULE));
    let experts = model.get(FieldId::num_experts).is_some();
    // Dense Gemma 4 is built of Megatron's own modules alone, which were the old model's then and no choice of the job.
    let is_of_local_modules = is_on(&training, FieldId::layer_norms_in_fp32);
    let trains = |id: FieldId| match id.field().aspect {
        Aspect::Training if id == FieldId::transformer_impl => !is_of_local_modules,
        Aspect::Training | Aspect::LayerSplit => true,
        Aspect::ExpertTraining => experts,
        Aspect::Model => false,
    };
    let kept = training.iter().filter(|(id, _)| trains(*id));
    let kept: Settings = kept.map(|(id, value)| (id, value.clone())).collect();
    let precision = [FieldId::bf16, FieldId::fp16];
    let chosen = precision.iter().any(|id| kept.get(*id).is_some());
    let mut joined: Settings = model
        .iter()
        .filter(|(id, _)| !(chosen && precision.contains(id)))
        .map(|(id, value)| (id, value.clone()))
        .collect();
    joined.overlay(&kept);
    let own = &mut import.state.setup.job;
    own.shared = joined;
    for mark in &job.not_modelled {
        own.mark(mark.clone());
    }
    let free = |id: FieldId| {
        let group = id.field().group;
        trains(id) && group != Group::Hardware && id != FieldId::world_size
    };
    let gone = resolve_conflicts(own, 0, &free);
    report(import, gone);
}

/// Sets the imported values in the current job, and drops what contradicts them there. Returns the fields that change.
pub(super) fn set_fields(import: &mut Import, onto: &Setup) -> Vec<FieldId> {
    let said = core::mem::take(&mut import.state.setup.job.shared);
    let marks = core::mem::take(&mut import.state.setup.job.not_modelled);
    let mut setup = onto.clone();
    for mark in marks {
        setup.job.mark(mark);
    }
    let mut names = setup.job.modules.iter();
    let module = names.position(|module| module.name == LANGUAGE_MODULE);
    let module = module.unwrap_or_default();
    for (id, value) in said.iter() {
        setup.job.put(module, id, value.clone());
    }
    let precision = [FieldId::bf16, FieldId::fp16];
    if precision.iter().any(|id| is_on(&said, *id)) {
        for id in precision.into_iter().filter(|id| said.get(*id).is_none()) {
            setup.job.put(module, id, Value::Null);
        }
    }
    let free = |id: FieldId| {
        let gives_way = id.field().aspect == Aspect::LayerSplit || matches!(id.field().kind, Kind::Set(_));
        said.get(id).is_none() && gives_way
    };
    let gone = resolve_conflicts(&mut setup.job, module, &free);
    let differs = |id: &FieldId| {
        let value = |job: &RawJob| meaning(*id, job.get(module, *id));
        value(&setup.job) != value(&onto.job)
    };
    let changed = FieldId::ALL.iter().copied().filter(differs).collect();
    import.state.setup = setup;
    report(import, gone);
    changed
}

/// Adds a report row for every setting of the current job that was dropped or changed.
fn report(import: &mut Import, gone: Vec<Resolution>) {
    import.report.extend(gone.into_iter().map(|change| {
        let now = match &change.to {
            Value::Null => "left out".to_owned(),
            to => format!("now {}", shown(to)),
        };
        Row {
            key: change.field.field().name.to_owned(),
            value: shown(&change.from),
            line: None,
            status: KeyStatus::Conflicting,
            field: Some(change.field),
            note: format!("of your job, {now}: {}", change.why).into(),
            effect: None,
        }
    }));
}
