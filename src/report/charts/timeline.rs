//! The memory of the chosen stage over the steps of one iteration, stacked by bucket.

use super::axis::{Axis, BOTTOM, HEIGHT, LEFT, TOP, gpu_within};
use super::{Chart, Subject};
use crate::memory::bucket::ByBucket;
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

/// The height of the line of micro batches below the names of the parts of the iteration.
const MICRO_BATCHES: Px = Px::of(16);
/// The most numbers of micro batches on the axis.
const MOST_TICKS: u64 = 6;

/// One column of the chart: a step of the schedule, or a part of the optimizer step.
struct Column {
    /// The bytes of each bucket.
    memory: ByBucket,
    /// The bytes of all buckets.
    total: Bytes,
    /// The name of the part of the iteration, such as `warm-up`.
    phase: &'static str,
    /// The micro batch at work, counted from 0; `None` in the optimizer step.
    microbatch: Option<u32>,
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
    behind.extend(phases(&columns, &x, subject.width));
    behind.extend(micro_batches(&columns, &x));
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
        height: HEIGHT + MICRO_BATCHES,
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
        microbatch: Some(point.moment.microbatch),
    });
    let step = (0..=line.points.len() / 20).map(|_| Column {
        memory: line.optimizer_step,
        total: line.optimizer_step.iter().copied().sum(),
        phase: "optimizer",
        microbatch: None,
    });
    passes.chain(step).collect()
}

/// The names of the parts of the iteration, and lines between the parts. The first parts that are too narrow for their
/// names have them at the left end, and the last ones at the right end.
fn phases(columns: &[Column], x: &dyn Fn(usize) -> Px, width: Px) -> Vec<Drawing> {
    let mut drawings = Vec::new();
    let mut start = 0;
    let base_line = HEIGHT - Px::of(7);
    let (mut first, mut last) = (Vec::new(), Vec::new());
    // Where names that fit begin and end.
    let (mut left, mut right) = (None, Px::ZERO);
    for part in columns.chunk_by(|a, b| a.phase == b.phase) {
        let (from, to) = (x(start), x(start + part.len()));
        start += part.len();
        let name = part.first().map_or("", |column| column.phase);
        if start < columns.len() {
            drawings.push(Drawing::line(Class::Grid, (to, TOP), (to, HEIGHT - BOTTOM)));
        }
        let needed = Px::for_words(name);
        if needed <= to - from {
            let middle = Px(i32::midpoint(from.0, to.0));
            left = left.or(Some(middle - needed.over(2)));
            right = middle + needed.over(2);
            last.clear();
            drawings.push(Drawing::text(Class::Tick, (middle, base_line), Anchor::Middle, name));
        } else if left.is_none() {
            first.push(name);
        } else {
            last.push(name);
        }
    }
    let gap = Px::of(6);
    let before = left.unwrap_or(width) - LEFT - gap;
    if let Some(first) = as_many(&first, before) {
        drawings.push(Drawing::text(Class::Tick, (LEFT, base_line), Anchor::Start, first));
    }
    if let Some(last) = as_many(&last, width - right - gap) {
        drawings.push(Drawing::text(Class::Tick, (width, base_line), Anchor::End, last));
    }
    drawings
}

/// As many names, from the first on, as there is room for; `None` where there is room for none.
fn as_many(names: &[&str], room: Px) -> Option<String> {
    let joined = (1..=names.len()).rev().filter_map(|count| names.get(..count));
    let mut joined = joined.map(|names| names.join(" · "));
    joined.find(|text| Px::for_words(text) <= room)
}

/// The numbers of micro batches, counted from 1, where the stage comes to them: a few of them at equal distances.
fn micro_batches(columns: &[Column], x: &dyn Fn(usize) -> Px) -> Vec<Drawing> {
    let count = columns.iter().filter_map(|column| column.microbatch).max();
    let count = count.map_or(0, |last| u64::from(last) + 1);
    let tens = (0..12).map(|n| 10u64.saturating_pow(n));
    let mut steps = tens.flat_map(|ten| [1, 2, 5].map(|n| ten.saturating_mul(n)));
    let step = steps.find(|step| count / step < MOST_TICKS).unwrap_or(u64::MAX);
    let numbers = core::iter::once(1).chain((1..MOST_TICKS).map(|n| n.saturating_mul(step)));
    let mut drawings = Vec::new();
    let mut end = Px::ZERO;
    for number in numbers.filter(|number| *number <= count) {
        let begins = |column: &Column| column.microbatch.is_some_and(|at| u64::from(at) + 1 >= number);
        let Some(place) = columns.iter().position(begins).map(x) else {
            continue;
        };
        let text = match number {
            1 => String::from("micro batch 1"),
            number => grouped(number),
        };
        if place < end {
            continue;
        }
        end = place + Px::for_words(&text) + Px::of(6);
        let base_line = HEIGHT + MICRO_BATCHES - Px::of(7);
        drawings.push(Drawing::line(
            Class::Grid,
            (place, HEIGHT - BOTTOM),
            (place, HEIGHT - BOTTOM + Px::of(4)),
        ));
        drawings.push(Drawing::text(Class::Tick, (place, base_line), Anchor::Start, text));
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
