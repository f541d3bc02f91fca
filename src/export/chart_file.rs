//! Exports a chart of a job as the text of an SVG file.

use core::ops::RangeInclusive;

use thiserror::Error;

use super::export_text::messages;
use super::pictures;
use super::provenance::made_by;
use crate::config::check;
use crate::config::problem::Problem;
use crate::formats::share_url;
use crate::formats::state::{PresetRef, ShareState};
use crate::memory::line::stage_lines;
use crate::memory::{StageRef, estimate};
use crate::report::amount::Unit;
use crate::report::charts::{ROW, Subject};
use crate::report::grouping::Grouping;
use crate::report::markup::tag;
use crate::report::rank_map::Coloring;
use crate::report::scene::Px;
use crate::verdict::Standing;

/// The widths that a chart can have, in pixels.
pub const CHART_WIDTHS: RangeInclusive<u64> = 200..=4_000;

/// The options of [`chart_file`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChartOptions<'p> {
    /// The width in pixels, within [`CHART_WIDTHS`].
    pub width: u64,
    /// The unit of amounts.
    pub unit: Unit,
    /// The stage that the chart shows. The default is the stage with the largest peak.
    pub stage: Option<StageRef>,
    /// The quantity that the rank map shows as color. Other charts ignore it.
    pub coloring: Coloring,
    /// The address of the calculator, with which the link of a card begins. Without one, a card has what comes after
    /// it.
    pub page: &'p str,
}

/// A width of 720 pixels, amounts in GiB, the stage with the largest peak, ranks colored by memory.
impl Default for ChartOptions<'_> {
    fn default() -> Self {
        Self {
            width: 720,
            unit: Unit::Gib,
            stage: None,
            coloring: Coloring::Memory,
            page: "",
        }
    }
}

/// Why a chart was not drawn.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ChartError {
    /// No chart has this name.
    #[error("{}", pictures::unknown(.0))]
    UnknownChart(String),
    /// The job has no result because of these problems.
    #[error("{}", messages(.0))]
    Invalid(Vec<Problem>),
    /// The width is not within [`CHART_WIDTHS`].
    #[error("width must be between 200 and 4000 pixels")]
    Width,
    /// The options name a stage that the job does not have.
    #[error("the job has no such stage")]
    UnknownStage,
}

/// Draws a chart of a job as the text of a self-contained SVG file. [`pictures::names`] has the names of charts.
///
/// # Errors
/// When no chart has this name, the job has no result, or an option is out of range.
pub fn chart_file(share: &ShareState, chart: &str, options: &ChartOptions<'_>) -> Result<String, ChartError> {
    let unknown = || ChartError::UnknownChart(chart.to_owned());
    if !pictures::names().any(|(name, _)| name == chart) {
        return Err(unknown());
    }
    let checked = check(&share.setup.job);
    let Some(config) = &checked.config else {
        return Err(ChartError::Invalid(checked.problems));
    };
    let width = Some(options.width).filter(|width| CHART_WIDTHS.contains(width));
    let width = width.and_then(|width| i32::try_from(width).ok());
    let width = Px::of(width.ok_or(ChartError::Width)?);
    let estimate = estimate(config);
    let stage = options.stage.unwrap_or(estimate.worst);
    if estimate.stage(stage).is_none() {
        return Err(ChartError::UnknownStage);
    }
    let lines = stage_lines(config, &estimate, stage);
    let subject = Subject {
        config,
        estimate: &estimate,
        standing: Standing::new(config, &estimate),
        stage,
        lines: &lines,
        unit: options.unit,
        grouping: Grouping::Buckets,
        width,
        row: ROW,
    };
    let model = share.setup.preset.as_ref().and_then(PresetRef::label);
    let hash = share_url::encode(share);
    let link = format!("{}{hash}", options.page);
    let picture = pictures::draw(chart, &subject, model, options.coloring, &link);
    let picture = picture.ok_or_else(unknown)?;
    let metadata = format!("{}: {hash}", made_by());
    Ok(picture.child(tag("metadata").text(metadata)).to_string())
}
