//! The fields of every preset, as `presets/settings.txt` keeps them: a line each, with the preset's id, the version
//! that links name, and its job in the public JSON form. Encoders alone are no jobs, and have no version.
//!
//! Reading a preset's file takes the reader of Hugging Face configurations and all the files; this takes
//! neither. The lines are made from the files by `cargo xtask presets`, and a test asks whether they still are
//! what the files say.

use super::encoders::ENCODERS;
use super::jobs::JOBS;
use super::{Contents, PRESETS, Preset};
use crate::config::fields::FieldId;
use crate::config::raw::{RawJob, Settings};
use crate::formats::json;
use crate::value::Value;

/// Where [`lines`] are kept, from the top of the repository.
pub const PATH: &str = "src/presets/settings.txt";
const LINES: &str = include_str!("settings.txt");

/// The job of the preset with an id, whatever it is a preset of.
pub(crate) fn job(id: &str) -> Option<RawJob> {
    let (_, job) = line(id)?;
    Some(RawJob::from_value(&json::parse(job).ok()?.to_value()))
}

/// The version of the preset with an id, of a model or of a whole job. Nothing that a menu shows is read for it.
pub(super) fn version(id: &str) -> Option<u32> {
    let (version, _) = line(id)?;
    version.parse().ok()
}

/// The version and the job of the preset with an id.
fn line(id: &str) -> Option<(&'static str, &'static str)> {
    LINES.lines().find_map(|line| {
        let (name, job) = line.split_once(' ')?;
        let (name, version) = name.split_once('@').unwrap_or((name, ""));
        (name == id).then_some((version, job))
    })
}

/// What `settings.txt` has to hold after the presets' files. None where a file cannot be read.
#[must_use]
pub fn lines() -> Option<String> {
    let plain = |shared: Settings| RawJob {
        shared,
        ..RawJob::default()
    };
    let model = |preset: &Preset| preset.contents().as_ref().map(Contents::raw_job);
    let numbered = |id: &str, version: u32| format!("{id}@{version}");
    let models = PRESETS.iter().map(|preset| {
        let name = numbered(preset.id, preset.version);
        (name, model(preset))
    });
    let encoders = ENCODERS.iter().map(|encoder| {
        let contents = encoder.contents();
        (
            encoder.id.to_owned(),
            contents.map(|contents| plain(contents.settings)),
        )
    });
    let jobs = JOBS.iter().map(|preset| {
        let name = numbered(preset.id, preset.version);
        (name, preset.contents().map(|contents| contents.job))
    });
    models
        .chain(encoders)
        .chain(jobs)
        .map(|(id, job)| Some(format!("{id} {}\n", document(&job?))))
        .collect()
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
