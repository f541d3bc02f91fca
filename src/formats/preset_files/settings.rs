//! The fields of every preset, as `presets/settings.txt` stores them: one line for each preset and version, with the
//! preset's id, the version, and its job as JSON. The line of a later version holds only the fields that changed, and all
//! modules where one of them changed. Encoders are no jobs by themselves and have no version.
//!
//! `cargo xtask presets` makes the lines from the preset files, and a test compares the two. Lines of earlier versions
//! never change: links that name them keep their meaning.

use crate::config::raw::RawJob;
use crate::formats::json;

/// The path of the file with these lines, from the top of the repository.
pub const PATH: &str = "src/presets/settings.txt";
const LINES: &str = include_str!("../../presets/settings.txt");

/// The text in place of a version, for encoders.
pub(super) const ENCODER: u32 = 0;

/// The job of a version of the preset with this id: of a model, an encoder or a whole job.
pub(crate) fn job(id: &str, version: u32) -> Option<RawJob> {
    let mut job = None::<RawJob>;
    for (number, line) in versions(id) {
        let said = RawJob::from_value(&json::parse(line).ok()?.to_value());
        match &mut job {
            Some(job) => {
                job.shared.overlay(&said.shared);
                if !said.modules.is_empty() {
                    job.modules = said.modules;
                }
            }
            None => job = Some(said),
        }
        if number == version {
            return job;
        }
    }
    None
}

/// The newest version of the preset with this id, of a model or of a whole job.
pub(in crate::formats) fn newest(id: &str) -> Option<u32> {
    let (newest, _) = versions(id).last()?;
    (newest != ENCODER).then_some(newest)
}

/// The versions of the preset with this id, the first one first, and the JSON of their lines.
pub(super) fn versions(id: &str) -> impl Iterator<Item = (u32, &'static str)> {
    LINES.lines().filter_map(move |line| {
        let (name, job) = line.split_once(' ')?;
        let (name, version) = name.split_once('@').unwrap_or((name, ""));
        (name == id).then(|| (version.parse().unwrap_or(ENCODER), job))
    })
}
