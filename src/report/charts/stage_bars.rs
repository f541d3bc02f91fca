//! One bar for each pipeline stage, stacked by bucket, with a line for the GPU's memory.

use super::axis::{Axis, HEIGHT, LEFT, TOP, gpu_within};
use super::rows::clipped;
use super::{Chart, Subject};
use crate::memory::{StageEstimate, StageRef};
use crate::report::amount::Scale;
use crate::report::scene::{Anchor, Class, Drawing, Mark, Px, Scene};
use crate::report::summary::{Verdict, stage_name};
use crate::report::table::layers;
use crate::report::target::Target;
use crate::units::Bytes;

/// One bar for each pipeline stage, stacked by bucket, with a line for the GPU's memory.
pub const CHART: Chart = Chart {
    id: "stage_bars",
    title: "Stages",
    draw,
};

/// The least width of a bar with its gap. Where stages would be narrower, several share a bar.
const NARROWEST: Px = Px::of(7);
/// The largest width of a bar with its gap.
const WIDEST: Px = Px::of(72);
/// The gap between the bars of two modules.
const MODULE_GAP: Px = Px::of(18);

/// Neighboring stages that share a bar.
struct Slot<'a> {
    stages: Vec<(StageRef, &'a StageEstimate)>,
}

impl<'a> Slot<'a> {
    /// The stage that the bar shows: the chosen one, or else the one with the largest peak.
    fn shown(&self, chosen: StageRef) -> Option<(StageRef, &'a StageEstimate)> {
        let fullest = || self.stages.iter().rev().max_by_key(|(_, stage)| stage.total);
        self.stages
            .iter()
            .find(|(place, _)| *place == chosen)
            .or_else(fullest)
            .copied()
    }
}

fn draw(subject: &Subject<'_>) -> Scene {
    let summary = subject.standing;
    let scale = Scale::coarse(subject.unit);
    let gpu = gpu_within(summary.gpu_memory(), summary.total);
    let most = summary.device.1.max(gpu.unwrap_or(Bytes::ZERO));
    let axis = Axis::new(most, subject.unit, subject.width);
    let mut behind = axis.grid();
    let mut marks = Vec::new();

    let modules = subject.estimate.modules.len();
    let gaps = MODULE_GAP.times(modules.saturating_sub(1));
    let room = (subject.width - LEFT - gaps).max(NARROWEST);
    let slots = slots(subject, room);
    let slot_width = room.over(slots.iter().map(Vec::len).sum()).min(WIDEST);
    let every = labels_every(slot_width, subject);
    let mut x = LEFT;
    for (module, slots) in slots.iter().enumerate() {
        if modules > 1 {
            let name = subject.config.modules().get(module).map_or("", |m| m.name());
            behind.push(Drawing::text(
                Class::Label,
                (x, Px::of(11)),
                Anchor::Start,
                clipped(name, slot_width.times(slots.len()) + MODULE_GAP),
            ));
        }
        let holds = |slot: &Slot<'_>| slot.stages.iter().any(|(place, _)| *place == subject.stage);
        let chosen = slots.iter().position(holds);
        for (i, slot) in slots.iter().enumerate() {
            if let Some((place, stage)) = slot.shown(subject.stage) {
                // Bars whose labels would touch that of the chosen bar have none.
                let labeled = match chosen {
                    Some(chosen) if i.abs_diff(chosen) < every => i == chosen,
                    _ => i % every == 0,
                };
                let column = Column {
                    x,
                    width: slot_width,
                    labeled,
                };
                marks.push(bar(subject, &axis, slot, (place, stage), &column));
            }
            x += slot_width;
        }
        x += MODULE_GAP;
    }
    let before = axis.gpu(summary.gpu_memory(), gpu.is_some());
    Scene {
        id: CHART.id,
        width: subject.width,
        height: HEIGHT,
        title: String::from("Memory of every pipeline stage"),
        description: format!(
            "{} stages; {} needs most: {}.",
            marks.len(),
            stage_name(subject.config, summary.worst),
            scale.amount(summary.total)
        ),
        behind,
        marks,
        before,
    }
}

/// The bars of every module, each of as many stages as are needed for all bars to fit into `room`.
fn slots<'a>(subject: &Subject<'a>, room: Px) -> Vec<Vec<Slot<'a>>> {
    let stages: usize = subject.estimate.modules.iter().map(|m| m.stages.len()).sum();
    let most = usize::try_from(room.0 / NARROWEST.0).unwrap_or(1).max(1);
    let together = stages.div_ceil(most).max(1);
    let modules = subject.estimate.modules.iter().enumerate();
    modules
        .map(|(module, held)| {
            let stages: Vec<_> = (0..)
                .zip(&held.stages)
                .map(|(pp_rank, stage)| (StageRef { module, pp_rank }, stage))
                .collect();
            stages
                .chunks(together)
                .map(|stages| Slot {
                    stages: stages.to_vec(),
                })
                .collect()
        })
        .collect()
}

/// The number of bars from one label to the next, so that labels do not touch.
fn labels_every(slot: Px, subject: &Subject<'_>) -> usize {
    let longest = subject
        .estimate
        .modules
        .iter()
        .map(|m| m.stages.len())
        .max()
        .unwrap_or(1);
    let label = Px::of_text(&longest.saturating_sub(1).to_string()) + Px::of(8);
    let needed = usize::try_from((label.0 + slot.0 - 1) / slot.0.max(1)).unwrap_or(1);
    [1, 2, 4, 5, 8, 10, 16, 20, 32, 50]
        .into_iter()
        .find(|every| *every >= needed)
        .unwrap_or(100)
}

/// The position of a bar.
struct Column {
    /// The left edge, with the gap.
    x: Px,
    /// The width, with the gap.
    width: Px,
    /// Whether the pipeline rank stands below the bar.
    labeled: bool,
}

fn bar(
    subject: &Subject<'_>,
    axis: &Axis,
    slot: &Slot<'_>,
    (place, stage): (StageRef, &StageEstimate),
    column: &Column,
) -> Mark {
    let scale = Scale::coarse(subject.unit);
    let device = (subject.standing).device_of(subject.config, place.module, stage.total, stage.graphs);
    let verdict = Verdict::of(subject.config, device);
    let gap = Px(column.width.0 / 5).min(Px::of(10));
    let (x, width) = (column.x + gap.over(2), column.width - gap);
    let middle = column.x + column.width.over(2);
    let reach = (column.width, HEIGHT - TOP);
    let mut drawings = vec![Drawing::rect(Class::Reach, (column.x, TOP), reach)];
    let mut below = Bytes::ZERO;
    for segment in subject.grouping.segments() {
        let bytes = segment.bytes(|bucket| stage.bytes(bucket));
        if bytes == Bytes::ZERO {
            continue;
        }
        let (bottom, top) = (axis.y(below), axis.y(below + bytes));
        below += bytes;
        let rect = Drawing::rect(segment.class(), (x, top), (width, bottom - top));
        drawings.push(rect.about(Target::line(place, segment.id())));
    }
    let (high, low) = (axis.y(device.1), axis.y(stage.total));
    drawings.push(Drawing::rect(Class::Band, (x, high), (width, low - high)));
    if column.labeled {
        let base = (middle, HEIGHT - Px::of(7));
        drawings.push(Drawing::text(
            Class::Label,
            base,
            Anchor::Middle,
            place.pp_rank.to_string(),
        ));
    }
    let number = scale.number(stage.total);
    let top = low - Px::of(6);
    // Numbers of neighbors must not touch.
    if Px::of_text(&number) + Px::of(5) <= column.width {
        drawings.push(Drawing::text(Class::Value, (middle, top), Anchor::Middle, number));
    } else if verdict == Verdict::DoesNotFit {
        drawings.push(Drawing::text(
            Class::Alarm,
            (middle, top),
            Anchor::Middle,
            verdict.sign(),
        ));
    }
    let others = match slot.stages.len() {
        1 => String::new(),
        n => format!(", the fullest of {n} neighbors"),
    };
    Mark {
        class: match verdict {
            Verdict::Unknown | Verdict::Fits | Verdict::NotThisJob | Verdict::Refused(_) => Class::Stage,
            Verdict::Tight => Class::StageTight,
            Verdict::DoesNotFit => Class::StageOver,
        },
        target: Target::stage(place),
        label: format!(
            "{}: {}{others}, {} layers{}",
            stage_name(subject.config, place),
            scale.amount(stage.total),
            layers(subject.config, place),
            match verdict {
                Verdict::Unknown | Verdict::Refused(_) => String::new(),
                Verdict::Fits | Verdict::Tight | Verdict::DoesNotFit | Verdict::NotThisJob =>
                    format!(", {}", verdict.words().to_ascii_lowercase()),
            }
        ),
        chosen: place == subject.stage,
        drawings,
    }
}
