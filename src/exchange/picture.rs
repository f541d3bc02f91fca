//! Charts as SVG files.

use super::data::{Failure, count_option, text, text_option};
use super::job::state;
use crate::config::check;
use crate::export::pictures;
use crate::export::provenance::made_by;
use crate::formats::share_url;
use crate::memory::line::stage_lines;
use crate::memory::{StageRef, estimate};
use crate::report::amount::Unit;
use crate::report::charts::{ROW, Subject};
use crate::report::markup::tag;
use crate::report::rank_map::Coloring;
use crate::report::scene::Px;
use crate::value::Value;

/// How wide a picture is where nobody says: a column of text, in pixels.
const WIDTH: u64 = 720;
/// The narrowest and the widest picture.
const WIDTHS: core::ops::RangeInclusive<u64> = 200..=4_000;

/// A chart of a job, as the text of an SVG file. `options` may have its `width` in pixels, the `unit` (`GiB` or `GB`),
/// the `stage` that it is about, and for the ranks what their `color` says (`module`, `stage` or `memory`).
///
/// # Errors
/// A [`Failure`] when there is no such chart, the job has problems, or an option is wrong.
pub fn svg(job: &Value, chart: &str, options: &Value) -> Result<Value, Failure> {
    if !pictures::names().any(|(name, _)| name == chart) {
        return Err(Failure::new("ExportError", pictures::unknown(chart)));
    }
    let share = state(job, options)?;
    let checked = check(&share.setup.job);
    let Some(config) = &checked.config else {
        return Err(Failure::config(&checked.problems));
    };
    let unit = match text_option(options, "unit")? {
        None | Some("GiB") => Unit::Gib,
        Some("GB") => Unit::Gb,
        Some(_) => return Err(Failure::wrong_type("unit must be GiB or GB")),
    };
    let color = text_option(options, "color")?.unwrap_or(Coloring::Memory.id());
    let Some(coloring) = Coloring::ALL.into_iter().find(|one| one.id() == color) else {
        return Err(Failure::wrong_type("color must be module, stage or memory"));
    };
    let width = count_option(options, "width")?.unwrap_or(WIDTH);
    if !WIDTHS.contains(&width) {
        return Err(Failure::wrong_type(
            "width must be between 200 and 4000 pixels",
        ));
    }
    let estimate = estimate(config);
    let stage = stage(options.get("stage").unwrap_or(&Value::Null))?;
    let exists = |at: &StageRef| {
        let module = estimate.modules.get(at.module);
        module.is_some_and(|module| at.pp_rank < module.stages.len())
    };
    let stage = match stage {
        Some(stage) if !exists(&stage) => {
            return Err(Failure::new("ExportError", "the job has no such stage"));
        }
        stage => stage.unwrap_or(estimate.worst),
    };
    let lines = stage_lines(config, &estimate, stage);
    let subject = Subject {
        config,
        estimate: &estimate,
        stage,
        lines: &lines,
        unit,
        width: Px::of(i32::try_from(width).unwrap_or(i32::MAX)),
        row: ROW,
    };
    let picture = pictures::draw(chart, &subject, coloring);
    let made = format!("{}: {}", made_by(), share_url::encode(&share));
    let file = picture.map(|picture| picture.child(tag("metadata").text(made)).to_string());
    Ok(text(file.unwrap_or_default()))
}

fn stage(stage: &Value) -> Result<Option<StageRef>, Failure> {
    if !matches!(stage, Value::Map(_)) {
        return Ok(None);
    }
    let index = |key| {
        let index = count_option(stage, key)?.unwrap_or(0);
        Ok(usize::try_from(index).unwrap_or(usize::MAX))
    };
    Ok(Some(StageRef {
        module: index("module")?,
        pp_rank: index("pp_rank")?,
    }))
}
