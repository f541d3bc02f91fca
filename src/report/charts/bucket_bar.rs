//! The bar of the headline: the buckets of the rank that needs most, end to end, beside the GPU's memory.

use super::{Chart, Subject};
use crate::report::amount::{Scale, exact, percent};
use crate::report::grouping::Segment;
use crate::report::scene::{Anchor, Class, Drawing, Mark, Px, Scene};
use crate::report::summary::{Standing, stage_name};
use crate::report::target::Target;
use crate::units::Bytes;

/// The buckets of the rank that needs most, end to end, beside the GPU's memory.
pub const CHART: Chart = Chart {
    id: "bucket_bar",
    title: "Headline",
    draw,
};

/// The height above the bar.
const TOP: Px = Px::of(18);
/// The height of the bar.
const BAR: Px = Px::of(30);
/// The height by which the line of the GPU's memory extends beyond the bar on either side.
const BEYOND: Px = Px::of(4);
/// The height below the bar, for the range that the device shows.
const BELOW: Px = Px::of(20);
/// The distance from the top of the bar to the base line of its text.
const BASE_LINE: Px = Px::of(20);
/// The side of a square in the line of names below the bar.
const SWATCH: Px = Px::of(9);
/// The gap on each side of a text within the bar.
const PAD: Px = Px::of(7);

fn draw(subject: &Subject<'_>) -> Scene {
    let summary = subject.standing;
    let scale = Scale::coarse(subject.unit);
    let rank = &subject.estimate.worst_rank;
    let held: Vec<(Segment, Bytes)> = subject
        .grouping
        .segments()
        .map(|segment| (segment, segment.bytes(|bucket| rank.bytes(bucket))))
        .filter(|(_, bytes)| *bytes > Bytes::ZERO)
        .collect();
    let whole = summary.device.1.max(summary.gpu_memory().unwrap_or(Bytes::ZERO));
    let at = |bytes: Bytes| subject.width.share(bytes.0.into(), whole.0.into());
    let size = |from: Px, to: Px| ((to - from).max(Px::ZERO), BAR);

    let mut behind = vec![Drawing::rect(Class::Free, (Px::ZERO, TOP), (subject.width, BAR))];
    let (from, to) = (at(summary.total), at(summary.device.1));
    behind.push(Drawing::rect(Class::Band, (from, TOP), size(from, to)));
    behind.extend(device_range(&summary, scale, at));
    let mut marks = Vec::new();
    let mut unnamed = Vec::new();
    let mut below = Bytes::ZERO;
    for (segment, bytes) in &held {
        let number = scale.number(*bytes);
        let (from, to) = (at(below), at(below + *bytes));
        below += *bytes;
        let target = Target::line(summary.worst, segment.id());
        let class = segment.class();
        let mut drawings = vec![Drawing::rect(class, (from, TOP), size(from, to)).about(target.clone())];
        let words = format!("{} {number}", segment.label());
        let (all, least) = (Px::for_words(&words), Px::of_text(&number));
        let mut texts = [(all, words), (least, number.clone())].into_iter();
        let text = texts.find(|(width, _)| *width + PAD + PAD <= to - from);
        if all + PAD + PAD > to - from {
            unnamed.push(Unnamed {
                segment: *segment,
                number: text.is_none().then(|| number.clone()),
            });
        }
        if let Some((_, text)) = text {
            let place = (from + PAD, TOP + BASE_LINE);
            drawings.push(Drawing::text(Class::Inside, place, Anchor::Start, text));
        }
        let share = percent(*bytes, summary.total);
        marks.push(Mark {
            class: Class::Row,
            target,
            label: format!(
                "{}: {number} {}, {share}, {}",
                segment.label(),
                subject.unit.symbol(),
                exact(*bytes)
            ),
            chosen: false,
            drawings,
        });
    }
    behind.extend(legend(&unnamed, subject.width, device_text(&summary, scale, at).1));
    let mut before = Vec::new();
    if let Some(gpu) = summary.gpu_memory() {
        let x = at(gpu);
        before.push(Drawing::line(Class::Gpu, (x, TOP - BEYOND), (x, TOP + BAR + BEYOND)));
        let name = format!("GPU {}", scale.amount(gpu));
        let (place, anchor) = if Px::for_words(&name) > x {
            (x, Anchor::Start)
        } else {
            (x, Anchor::End)
        };
        behind.push(Drawing::text(Class::GpuLabel, (place, TOP - Px::of(7)), anchor, name));
    }
    Scene {
        id: CHART.id,
        width: subject.width,
        height: TOP + BAR + BELOW,
        title: format!("Memory of {}, the fullest", stage_name(subject.config, summary.worst)),
        description: description(&summary, scale),
        behind,
        marks,
        before,
    }
}

/// What the device shows, in words, and from where to where they are: below the right end of its range, or at the start of
/// the line.
fn device_text(summary: &Standing, scale: Scale, at: impl Fn(Bytes) -> Px) -> (String, (Px, Px)) {
    let (low, high) = summary.device;
    let text = format!("{} on the device", scale.range(low, high));
    let needed = Px::for_words(&text);
    let start = (at(high) - needed).max(Px::ZERO);
    (text, (start, start + needed))
}

/// The names of segments that are too narrow for them, in a line below the bar: where there is room for all of them, with
/// the numbers that the segments are too narrow for as well, or else by themselves, or else short.
fn legend(unnamed: &[Unnamed], width: Px, device_text: (Px, Px)) -> Vec<Drawing> {
    let names = |name: fn(&Unnamed) -> String| {
        let names = unnamed.iter().map(|one| (one.segment.class(), name(one)));
        named(names, width, device_text)
    };
    let with_numbers = names(|one| match &one.number {
        Some(number) => format!("{} {number}", one.segment.label()),
        None => one.segment.label().to_owned(),
    });
    let alone = || names(|one| one.segment.label().to_owned());
    let short = || names(|one| one.segment.short_label().to_owned());
    let is_complete = |(_, is_complete): &(Vec<Drawing>, bool)| *is_complete;
    let complete = Some(with_numbers).filter(is_complete);
    complete
        .or_else(|| Some(alone()).filter(is_complete))
        .unwrap_or_else(short)
        .0
}

/// A segment that is too narrow for its name.
struct Unnamed {
    segment: Segment,
    /// Its number, where it is too narrow for that as well.
    number: Option<String>,
}

/// Names with a square each, as many as there is room for: before the words on the device, behind them, or on both sides.
/// The second result says whether there is room for all.
fn named(
    names: impl Iterator<Item = (Class, String)> + Clone,
    width: Px,
    (from, to): (Px, Px),
) -> (Vec<Drawing>, bool) {
    let name_width = |words: &str| SWATCH + Px::of(5) + Px::for_words(words) + PAD;
    let needed = names.clone().map(|(_, words)| name_width(&words));
    let needed = needed.fold(Px::ZERO, |sum, width| sum + width);
    let fits = |x: Px, words: &str, end: Px| x + name_width(words) <= end;
    let is_all_behind = needed > from && to + PAD + needed <= width;
    let sides = [(Px::ZERO, from), (to + PAD, width)];
    let mut sides = sides.into_iter().skip(usize::from(is_all_behind));
    let (mut x, mut end) = sides.next().unwrap_or_default();
    let base_line = TOP + BAR + BELOW - Px::of(5);
    let mut drawings = Vec::new();
    for (class, words) in names {
        if !fits(x, &words, end) {
            (x, end) = sides.next().unwrap_or((x, end));
        }
        if !fits(x, &words, end) {
            return (drawings, false);
        }
        let next = x + name_width(&words);
        drawings.push(Drawing::rect(class, (x, base_line - SWATCH), (SWATCH, SWATCH)));
        let place = (x + SWATCH + Px::of(5), base_line);
        drawings.push(Drawing::text(Class::Tick, place, Anchor::Start, words));
        x = next;
    }
    (drawings, true)
}

/// The range that the device shows, as a bracket below the bar with its numbers.
fn device_range(summary: &Standing, scale: Scale, at: impl Fn(Bytes) -> Px) -> [Drawing; 4] {
    let (low, high) = summary.device;
    let (from, to) = (at(low), at(high));
    let (top, line) = (TOP + BAR, TOP + BAR + BEYOND);
    let (text, (start, end)) = device_text(summary, scale, &at);
    let (place, anchor) = if end == to {
        (to, Anchor::End)
    } else {
        (start, Anchor::Start)
    };
    let side = |x| Drawing::line(Class::DeviceRange, (x, top), (x, line));
    [
        side(from),
        side(to),
        Drawing::line(Class::DeviceRange, (from, line), (to, line)),
        Drawing::text(Class::Tick, (place, TOP + BAR + BELOW - Px::of(5)), anchor, text),
    ]
}

fn description(summary: &Standing, scale: Scale) -> String {
    format!(
        "{} {}: {}.",
        scale.amount(summary.total),
        summary.device_words(scale),
        summary.verdict.words().to_ascii_lowercase()
    )
}
