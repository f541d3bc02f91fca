//! The rows of the chosen stage's memory by component of the model.

use super::{Chart, Subject, rows};
use crate::report::parts::by_component;
use crate::report::scene::Scene;

/// The rows of the chosen stage's memory by component of the model.
pub const CHART: Chart = Chart {
    id: "components",
    title: "Components",
    draw,
};

fn draw(subject: &Subject<'_>) -> Scene {
    rows::draw(
        CHART.id,
        "Memory of the stage by component",
        subject,
        &by_component(subject.lines),
    )
}
