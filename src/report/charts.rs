//! The charts of an estimate. Each draws a [`Scene`].

pub(super) mod axis;
pub mod bucket_bar;
pub mod buckets;
pub mod components;
mod rows;
pub mod stage_bars;
pub mod timeline;

use super::amount::Unit;
use super::grouping::Grouping;
use super::scene::{Px, Scene};
use crate::config::job::Config;
use crate::memory::line::Line;
use crate::memory::{Estimate, StageRef};
use crate::verdict::Standing;

/// The data and the sizes that a chart is drawn from.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The job.
    pub config: &'a Config,
    /// The job's estimate.
    pub estimate: &'a Estimate,
    /// Whether the job runs and fits.
    pub standing: Standing,
    /// The chosen stage.
    pub stage: StageRef,
    /// The lines of the chosen stage.
    pub lines: &'a [Line],
    /// The unit of all numbers.
    pub unit: Unit,
    /// How finely buckets are told apart.
    pub grouping: Grouping,
    /// The width of the picture.
    pub width: Px,
    /// The height of a row, for charts with rows.
    pub row: Px,
}

/// The usual height of a row, large enough for a mouse.
pub const ROW: Px = Px::of(26);

/// A chart.
#[derive(Clone, Copy, Debug)]
pub struct Chart {
    /// The chart's id, in pages and files.
    pub id: &'static str,
    /// The chart's name for people.
    pub title: &'static str,
    /// Draws the chart.
    pub draw: fn(&Subject<'_>) -> Scene,
}

/// All charts.
pub const CHARTS: &[Chart] = &[
    bucket_bar::CHART,
    stage_bars::CHART,
    buckets::CHART,
    components::CHART,
    timeline::CHART,
];
