//! Charts as SVG files.

use super::data::{Failure, count_option, text, text_option};
use super::job::state;
use crate::export::{ChartError, ChartOptions, chart_file};
use crate::memory::StageRef;
use crate::report::amount::Unit;
use crate::report::rank_map::Coloring;
use crate::value::Value;

/// A chart of a job, as the text of an SVG file. `options` may have its `width` in pixels, the `unit` (`GiB` or `GB`),
/// the `stage` that it is about, and for the ranks what their `color` says (`module`, `stage` or `memory`).
///
/// # Errors
/// A [`Failure`] when there is no such chart, the job has problems, or an option is wrong.
pub fn svg(job: &Value, chart: &str, options: &Value) -> Result<Value, Failure> {
    let mut chosen = ChartOptions::default();
    match text_option(options, "unit")? {
        None | Some("GiB") => {}
        Some("GB") => chosen.unit = Unit::Gb,
        Some(_) => return Err(Failure::wrong_type("unit must be GiB or GB")),
    }
    if let Some(color) = text_option(options, "color")? {
        let known = Coloring::ALL.into_iter().find(|one| one.id() == color);
        let wrong = || Failure::wrong_type("color must be module, stage or memory");
        chosen.coloring = known.ok_or_else(wrong)?;
    }
    if let Some(width) = count_option(options, "width")? {
        chosen.width = width;
    }
    chosen.stage = stage(options.get("stage").unwrap_or(&Value::Null))?;
    let drawn = chart_file(&state(job, options)?, chart, &chosen);
    drawn.map(text).map_err(|error| match &error {
        ChartError::Invalid(problems) => Failure::config(problems),
        ChartError::Width => Failure::wrong_type(error.to_string()),
        _ => Failure::new("ExportError", error.to_string()),
    })
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
