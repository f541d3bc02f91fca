//! The chosen stage by bucket.

use super::{Chart, Subject, rows};
use crate::report::parts::by_bucket;
use crate::report::scene::Scene;

/// The chosen stage by bucket.
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
