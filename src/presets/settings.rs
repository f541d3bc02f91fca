//! The fields of every preset, as `presets/settings.txt` stores them: one line for each preset and version, with the
//! preset's id, the version, and its job as JSON. The line of a later version holds only the fields that changed.
//! Encoders are no jobs by themselves and have no version.
//!
//! `cargo xtask presets` makes the lines from the preset files, and a test compares the two. Lines of earlier versions
//! never change: links that name them keep their meaning.

use super::encoders::ENCODERS;
use super::jobs::JOBS;
use super::{Contents, PRESETS};
use crate::config::fields::FieldId;
use crate::config::raw::{RawJob, Settings};
use crate::formats::json;
use crate::value::Value;

/// The path of the file with these [`lines`], from the top of the repository.
pub const PATH: &str = "src/presets/settings.txt";
const LINES: &str = include_str!("settings.txt");

/// The text in place of a version, for encoders.
pub(super) const ENCODER: u32 = 0;

/// The job of a version of the preset with this id: of a model, an encoder or a whole job.
pub(crate) fn job(id: &str, version: u32) -> Option<RawJob> {
    let mut job = None::<RawJob>;
    for (number, line) in versions(id) {
        let said = RawJob::from_value(&json::parse(line).ok()?.to_value());
        match &mut job {
            Some(job) => job.shared.overlay(&said.shared),
            None => job = Some(said),
        }
        if number == version {
            return job;
        }
    }
    None
}

/// The newest version of the preset with this id, of a model or of a whole job.
pub(super) fn newest(id: &str) -> Option<u32> {
    let (newest, _) = versions(id).last()?;
    (newest != ENCODER).then_some(newest)
}

/// The versions of the preset with this id, the first one first, and the JSON of their lines.
fn versions(id: &str) -> impl Iterator<Item = (u32, &'static str)> {
    LINES.lines().filter_map(move |line| {
        let (name, job) = line.split_once(' ')?;
        let (name, version) = name.split_once('@').unwrap_or((name, ""));
        (name == id).then(|| (version.parse().unwrap_or(ENCODER), job))
    })
}

/// The text of `settings.txt` as made from the preset files. `None` where a file cannot be read, and where a new
/// version lacks a field of the version before: such a file must set the field to its default instead.
#[must_use]
pub fn lines() -> Option<String> {
    let plain = |shared: Settings| RawJob {
        shared,
        ..RawJob::default()
    };
    let models = PRESETS.iter().map(|preset| {
        let job = preset.contents().as_ref().map(Contents::raw_job);
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

/// The lines of a preset: those of its earlier versions, and the changed fields of `version`.
fn of_versions(id: &str, version: u32, mut new: RawJob) -> Option<String> {
    if let Some(before) = job(id, version - 1) {
        for (field, value) in before.shared.iter() {
            if new.shared.get(field)? == value {
                new.shared.unset(field);
            }
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
