//! The rows of the chosen stage's memory by bucket.

use super::{Chart, Subject, rows};
use crate::report::grouping::Grouping;
use crate::report::parts::{by_bucket, by_group};
use crate::report::scene::Scene;

/// The rows of the chosen stage's memory by bucket.
pub const CHART: Chart = Chart {
    id: "buckets",
    title: "Buckets",
    draw,
};

fn draw(subject: &Subject<'_>) -> Scene {
    let parts = match subject.grouping {
        Grouping::Buckets => by_bucket(subject.lines),
        grouping @ Grouping::Groups(_) => by_group(subject.lines, grouping),
    };
    rows::draw(CHART.id, "Memory of the stage by bucket", subject, &parts)
}
