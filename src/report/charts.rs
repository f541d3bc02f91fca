//! The charts: each draws one picture of an estimate.

mod axis;
pub mod bucket_bar;
pub mod buckets;
pub mod components;
mod rows;
pub mod stage_bars;
pub mod timeline;

use super::amount::Unit;
use super::scene::{Px, Scene};
use crate::config::job::Config;
use crate::memory::line::Line;
use crate::memory::{Estimate, StageRef};

/// What a chart draws from.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The job.
    pub config: &'a Config,
    /// What it needs.
    pub estimate: &'a Estimate,
    /// The chosen stage.
    pub stage: StageRef,
    /// Its lines.
    pub lines: &'a [Line],
    /// The unit of all numbers.
    pub unit: Unit,
    /// How wide the picture is to be.
    pub width: Px,
    /// How high its rows are to be, where it has some.
    pub row: Px,
}

/// The height of a row that a mouse can hit.
pub const ROW: Px = Px::of(26);

/// A chart.
#[derive(Clone, Copy, Debug)]
pub struct Chart {
    /// Its name in pages and files.
    pub id: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// Draws it.
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
