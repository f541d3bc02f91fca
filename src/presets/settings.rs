//! The fields of every preset, as `presets/settings.txt` keeps them: a line each, with the preset's id, the version
//! that links name, and its job in the public JSON form. A corrected preset has a line for every version, and from the
//! second on they say what is new. Encoders alone are no jobs, and have no version.
//!
//! Reading a preset's file takes the reader of Hugging Face configurations and all the files; this takes
//! neither. The lines are made from the files by `cargo xtask presets`, and a test asks whether they still are
//! what the files say. Lines of versions that newer ones have taken the place of stay as they are, for ever.

use super::encoders::ENCODERS;
use super::jobs::JOBS;
use super::{Contents, PRESETS};
use crate::config::fields::FieldId;
use crate::config::raw::{RawJob, Settings};
use crate::formats::json;
use crate::value::Value;

/// Where [`lines`] are kept, from the top of the repository.
pub const PATH: &str = "src/presets/settings.txt";
const LINES: &str = include_str!("settings.txt");

/// What stands for the version of an encoder.
pub(super) const ENCODER: u32 = 0;

/// The job of a version of the preset with an id, whatever it is a preset of.
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

/// The newest version of the preset with an id, of a model or of a whole job. Nothing that a menu shows is read for it.
pub(super) fn newest(id: &str) -> Option<u32> {
    let (newest, _) = versions(id).last()?;
    (newest != ENCODER).then_some(newest)
}

/// The versions of the preset with an id, the first one first, and what their lines say.
fn versions(id: &str) -> impl Iterator<Item = (u32, &'static str)> {
    LINES.lines().filter_map(move |line| {
        let (name, job) = line.split_once(' ')?;
        let (name, version) = name.split_once('@').unwrap_or((name, ""));
        (name == id).then(|| (version.parse().unwrap_or(ENCODER), job))
    })
}

/// What `settings.txt` has to hold after the presets' files. None where a file cannot be read, and where a new version
/// lacks a field of the one before it: then it has to name the field's default.
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

/// The lines of a preset: those of its versions so far, and what is new in `version`.
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

/// The job in the public JSON form.
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
