//! `presets`: the names of all presets.

use megatron_memory::presets::{PRESETS, jobs};

use super::exit::{Failure, Status};
use super::output;

/// Prints one preset a line: its name, two spaces or more, and what it is.
pub(crate) fn run() -> Result<Status, Failure> {
    let models = PRESETS.iter().map(|preset| (preset.id, preset.name));
    let presets: Vec<_> = models.chain(jobs::JOBS.iter().map(|job| (job.id, job.name))).collect();
    let width = presets.iter().map(|(id, _)| id.len()).max().unwrap_or_default();
    let lines: Vec<String> = presets
        .iter()
        .map(|(id, name)| format!("{id:width$}  {name}\n"))
        .collect();
    output::print(&lines.concat())?;
    Ok(Status::Success)
}
