//! The rows of the chosen stage's memory by bucket.

use super::{Chart, Subject, rows};
use crate::report::parts::by_bucket;
use crate::report::scene::Scene;

/// The rows of the chosen stage's memory by bucket.
pub const CHART: Chart = Chart {
    id: "buckets",
    title: "Buckets",
    draw,
};

fn draw(subject: &Subject<'_>) -> Scene {
    rows::draw(
        CHART.id,
        "Memory of the stage by bucket",
        subject,
        &by_bucket(subject.lines),
    )
}
