//! The memory of the chosen stage over the steps of one iteration, stacked by bucket.

use super::axis::{Axis, BOTTOM, HEIGHT, LEFT, TOP, gpu_within};
use super::{Chart, Subject};
use crate::memory::bucket::Bucket;
use crate::memory::{Timeline, timeline};
use crate::parallel::schedule::Phase;
use crate::report::amount::{Scale, grouped};
use crate::report::scene::{Anchor, Class, Drawing, Mark, Px, Scene};
use crate::report::summary::stage_name;
use crate::report::target::Target;
use crate::units::Bytes;

/// The memory of the chosen stage over the steps of one iteration.
pub const CHART: Chart = Chart {
    id: "timeline",
    title: "Timeline",
    draw,
};

/// The least width of a column. Where steps would be narrower, several share a column, which shows the one with the
/// most memory.
const NARROWEST: Px = Px::of(3);

/// One column of the chart: a step of the schedule, or a part of the optimizer step.
struct Column {
    /// The bytes of each bucket.
    memory: [Bytes; Bucket::COUNT],
    /// The bytes of all buckets.
    total: Bytes,
    /// The name of the part of the iteration, such as `warm-up`.
    phase: &'static str,
}

fn draw(subject: &Subject<'_>) -> Scene {
    let room = (subject.width - LEFT).max(NARROWEST);
    let most = u32::try_from(room.0 / NARROWEST.0).unwrap_or(1).max(2) - 1;
    let line = timeline(subject.config, subject.stage, most);
    let columns = line.as_ref().map_or_else(Vec::new, columns);
    let stage = subject.estimate.stage(subject.stage);
    let peak = stage.map_or(Bytes::ZERO, |stage| stage.total);
    let memory = subject.config.gpu_memory();
    let gpu = gpu_within(memory, peak);
    let most = peak.max(gpu.unwrap_or(Bytes::ZERO));
    let axis = Axis::new(most, subject.unit, subject.width);
    let x = |i: usize| {
        let (i, all) = (i as u128, columns.len() as u128);
        LEFT + room.share(i, all)
    };
    let mut behind = axis.grid();
    behind.extend(phases(&columns, &x));
    let scale = Scale::coarse(subject.unit);
    let mut before = Vec::new();
    let heaviest = columns.iter().position(|column| column.total == peak);
    if let (Some(i), Some(stage)) = (heaviest, stage) {
        let middle = Px(i32::midpoint(x(i).0, x(i + 1).0));
        let y = axis.y(peak);
        before.push(Drawing::line(Class::Peak, (middle, y), (middle, HEIGHT - BOTTOM)));
        let text = format!("{} · {}", scale.amount(peak), stage.moment.pass.label());
        let half = Px::for_words(&text).over(2);
        let at = middle.max(LEFT + half).min(subject.width - half);
        before.push(Drawing::text(Class::Value, (at, y - Px::of(6)), Anchor::Middle, text));
    }
    before.extend(axis.gpu(memory, gpu.is_some()));
    Scene {
        id: CHART.id,
        width: subject.width,
        height: HEIGHT,
        title: format!(
            "Memory of {} over one iteration",
            stage_name(subject.config, subject.stage)
        ),
        description: line.zip(stage).map_or_else(String::new, |(line, stage)| {
            let when = match stage.moment.step {
                Some(step) => format!("at step {} of {}", grouped(step + 1), grouped(line.steps)),
                None => format!("after {} steps", grouped(line.steps)),
            };
            format!(
                "{} between steps; the most, {}, {when}: {}.",
                scale.amount(line.steady),
                scale.amount(peak),
                stage.moment
            )
        }),
        behind,
        marks: bands(subject, &axis, &columns, &x),
        before,
    }
}

/// The columns of the schedule's steps, then those of the optimizer step, one for every twenty steps.
fn columns(line: &Timeline) -> Vec<Column> {
    let passes = line.points.iter().map(|point| Column {
        memory: point.memory,
        total: point.total,
        phase: point.moment.phase.map_or("", Phase::label),
    });
    let step = (0..=line.points.len() / 20).map(|_| Column {
        memory: line.optimizer_step,
        total: line.optimizer_step.iter().copied().sum(),
        phase: "optimizer",
    });
    passes.chain(step).collect()
}

/// The names of the parts of the iteration, where they fit, and lines between the parts.
fn phases(columns: &[Column], x: &dyn Fn(usize) -> Px) -> Vec<Drawing> {
    let mut drawings = Vec::new();
    let mut start = 0;
    for part in columns.chunk_by(|a, b| a.phase == b.phase) {
        let (from, to) = (x(start), x(start + part.len()));
        start += part.len();
        let name = part.first().map_or("", |column| column.phase);
        if start < columns.len() {
            drawings.push(Drawing::line(Class::Grid, (to, TOP), (to, HEIGHT - BOTTOM)));
        }
        if Px::for_words(name) <= to - from {
            let middle = Px(i32::midpoint(from.0, to.0));
            let place = (middle, HEIGHT - Px::of(7));
            drawings.push(Drawing::text(Class::Tick, place, Anchor::Middle, name));
        }
    }
    drawings
}

/// One stacked area for each bucket that has memory at some step.
fn bands(subject: &Subject<'_>, axis: &Axis, columns: &[Column], x: &dyn Fn(usize) -> Px) -> Vec<Mark> {
    let scale = Scale::coarse(subject.unit);
    let mut below = vec![Bytes::ZERO; columns.len()];
    let mut marks = Vec::new();
    for segment in subject.grouping.segments() {
        let bytes = |column: &Column| {
            segment.bytes(|bucket| {
                let bytes = column.memory.get(bucket as usize);
                bytes.copied().unwrap_or_default()
            })
        };
        let least = columns.iter().map(bytes).min().unwrap_or_default();
        let most = columns.iter().map(bytes).max().unwrap_or_default();
        if most == Bytes::ZERO {
            continue;
        }
        let lower = outline(&below, axis, x);
        for (below, column) in below.iter_mut().zip(columns) {
            *below += bytes(column);
        }
        let mut corners = outline(&below, axis, x);
        corners.extend(lower.into_iter().rev());
        let target = Target::line(subject.stage, segment.id());
        let amount = if least == most {
            format!("{} throughout", scale.amount(most))
        } else {
            format!("{} to {}", scale.number(least), scale.amount(most))
        };
        marks.push(Mark {
            class: Class::Row,
            target: target.clone(),
            label: format!("{}: {amount}", segment.label()),
            chosen: false,
            drawings: vec![Drawing::area(segment.class(), corners).about(target)],
        });
    }
    marks
}

/// The upper outline of columns with these heights: its corners from left to right.
fn outline(heights: &[Bytes], axis: &Axis, x: &dyn Fn(usize) -> Px) -> Vec<(Px, Px)> {
    let mut corners = Vec::new();
    let mut start = 0;
    for level in heights.chunk_by(|a, b| a == b) {
        let y = axis.y(level.first().copied().unwrap_or_default());
        corners.push((x(start), y));
        start += level.len();
        corners.push((x(start), y));
    }
    corners
}
