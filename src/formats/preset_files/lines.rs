//! The lines of `presets/settings.txt`, made of the preset files.

use super::PresetContents;
use super::settings::{job, versions};
use crate::config::fields::FieldId;
use crate::config::raw::{RawJob, Settings};
use crate::presets::PRESETS;
use crate::presets::encoders::ENCODERS;
use crate::presets::jobs::JOBS;
use crate::value::Value;

/// The text of `settings.txt` as made from the preset files. `None` where a file cannot be read, and where a new
/// version lacks a field of the version before: such a file must set the field to its default instead.
#[must_use]
pub fn lines() -> Option<String> {
    let plain = |shared: Settings| RawJob {
        shared,
        ..RawJob::default()
    };
    let models = PRESETS.iter().map(|preset| {
        let job = preset.contents().as_ref().map(PresetContents::raw_job);
        of_versions(preset.id, preset.version, job?)
    });
    let encoders = ENCODERS.iter().map(|encoder| {
        let job = plain(encoder.contents()?.settings);
        Some(format!("{} {}\n", encoder.id, document(&job)))
    });
    let jobs = JOBS
        .iter()
        .map(|preset| of_versions(preset.id, preset.version, preset.contents()?.job));
    models.chain(encoders).chain(jobs).collect()
}

/// The lines of a preset: those of its earlier versions, and what `version` changes.
fn of_versions(id: &str, version: u32, mut new: RawJob) -> Option<String> {
    if let Some(before) = job(id, version - 1) {
        for (field, value) in before.shared.iter() {
            if new.shared.get(field)? == value {
                new.shared.unset(field);
            }
        }
        if new.modules == before.modules {
            new.modules.clear();
        }
    }
    let earlier = versions(id)
        .filter(|(number, _)| *number < version)
        .map(|(number, line)| format!("{id}@{number} {line}\n"));
    let newest = format!("{id}@{version} {}\n", document(&new));
    Some(earlier.chain([newest]).collect())
}

/// The job as JSON.
fn document(job: &RawJob) -> Value {
    let mut entries = named(&job.shared);
    if !job.modules.is_empty() {
        let modules = job.modules.iter().map(|module| {
            let mut entries = vec![(String::from("name"), Value::Text(module.name.clone()))];
            let offset = module.rank_offset.clone();
            entries.extend(offset.map(|offset| (String::from("rank_offset"), offset)));
            entries.append(&mut named(&module.settings));
            Value::Map(entries)
        });
        entries.push((String::from("modules"), Value::List(modules.collect())));
    }
    Value::Map(entries)
}

fn named(settings: &Settings) -> Vec<(String, Value)> {
    let entry = |(id, value): (FieldId, &Value)| (id.field().name.to_owned(), value.clone());
    settings.iter().map(entry).collect()
}
