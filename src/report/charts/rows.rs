//! Draws a breakdown as rows with a name, a bar and a number.

use super::Subject;
use crate::memory::bucket::Bucket;
use crate::report::amount::{Scale, exact, percent};
use crate::report::grouping::Grouping;
use crate::report::parts::Part;
use crate::report::scene::{Anchor, Class, Drawing, Mark, Px, Scene};
use crate::report::target::Target;
use crate::units::Bytes;

/// The height of a bar.
const BAR: Px = Px::of(14);
/// The distance from the middle of a line of text to its base line.
const BASE_LINE: Px = Px::of(4);
/// The gap between the columns.
const GAP: Px = Px::of(10);
/// The width of the column of names.
const NAMES: Px = Px::of(200);
/// The width of the column of names where the rows are groups.
const NAMES_OF_GROUPS: Px = Px::of(240);
/// The width of the column of numbers.
const NUMBERS: Px = Px::of(88);
/// The width of the column of numbers where each number has its share of the stage behind it.
const NUMBERS_AND_SHARES: Px = Px::of(136);
/// The least width of the column of bars; a narrower picture has them below the names.
const BARS: Px = Px::of(80);
/// The least height of a row with its bar below its text, and the height of that text.
const TWO_LINES: (Px, Px) = (Px::of(38), Px::of(20));
/// How far the names of buckets below their group start to the right.
const NESTED: Px = Px::of(22);
/// The least width of a bar.
const LEAST: Px = Px(150);

/// The positions within a row.
struct RowLayout {
    /// The height of the row.
    height: Px,
    /// The width of the name.
    name: Px,
    /// The distance from the top of the row to the base line of its text.
    base: Px,
    /// The distance from the top of the row to its bar.
    bar: Px,
    /// The x coordinate at which bars start.
    left: Px,
    /// The x coordinate at which the longest bar ends.
    right: Px,
}

impl RowLayout {
    /// Places bars between names and numbers, or below them in a narrow picture.
    fn new(subject: &Subject<'_>) -> Self {
        let (names, numbers) = match subject.grouping {
            Grouping::Buckets => (NAMES, NUMBERS),
            Grouping::Groups(_) => (NAMES_OF_GROUPS, NUMBERS_AND_SHARES),
        };
        let right = subject.width - numbers;
        let height = subject.row;
        if right - names - GAP >= BARS {
            return Self {
                height,
                name: names,
                base: height.over(2) + BASE_LINE,
                bar: (height - BAR).over(2),
                left: names + GAP,
                right,
            };
        }
        let (least, text) = TWO_LINES;
        Self {
            height: height.max(least),
            name: right - GAP,
            base: text.over(2) + BASE_LINE,
            bar: text,
            left: Px::ZERO,
            right: subject.width,
        }
    }
}

/// The class of a share: that of its bucket, or of the bucket's group where it is not split.
fn class(subject: &Subject<'_>, bucket: Option<Bucket>) -> Class {
    bucket.map_or(Class::Other, |bucket| subject.grouping.segment(bucket).class())
}

/// Draws the rows of a breakdown.
pub(super) fn draw(id: &'static str, title: &str, subject: &Subject<'_>, parts: &[Part]) -> Scene {
    let scale = Scale::fine(subject.unit);
    let amounts = parts.iter().filter(|part| !part.nested);
    let total: Bytes = amounts.clone().map(|part| part.bytes).sum();
    let longest = amounts.map(|part| part.bytes).max().unwrap_or_default();
    let at = RowLayout::new(subject);
    let room = (at.right - at.left).max(Px::ZERO);
    let mut marks = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        let top = at.height.times(i);
        let base = top + at.base;
        let indent = if part.nested { NESTED } else { Px::ZERO };
        let mut drawings = vec![
            Drawing::rect(Class::Reach, (Px::ZERO, top), (subject.width, at.height)),
            Drawing::text(
                Class::Label,
                (indent, base),
                Anchor::Start,
                clipped(&part.label, at.name - indent),
            ),
        ];
        let mut x = at.left;
        for share in &part.shares {
            let width = room.share(share.bytes.0.into(), longest.0.into()).max(LEAST);
            let target = Target::line(subject.stage, share.path.clone());
            let place = (x, top + at.bar);
            drawings.push(Drawing::rect(class(subject, share.bucket), place, (width, BAR)).about(target));
            x += width;
        }
        let number = scale.amount(part.bytes);
        let share = percent(part.bytes, total);
        let text = if subject.grouping == Grouping::Buckets {
            number.clone()
        } else {
            format!("{number} · {share}")
        };
        drawings.push(Drawing::text(Class::Value, (subject.width, base), Anchor::End, text));
        marks.push(Mark {
            class: Class::Row,
            target: Target::line(subject.stage, part.path.clone()),
            label: format!("{}: {number}, {share} of the stage, {}", part.name(), exact(part.bytes)),
            chosen: false,
            drawings,
        });
    }
    let largest = parts.iter().filter(|part| !part.nested).max_by_key(|part| part.bytes);
    let description = largest.map_or_else(String::new, |part| {
        let (rows, number, total) = (parts.len(), scale.amount(part.bytes), scale.amount(total));
        format!("{} is the largest of {rows} rows: {number} of {total}.", part.name())
    });
    Scene {
        id,
        width: subject.width,
        height: at.height.times(parts.len().max(1)),
        title: title.to_owned(),
        description,
        behind: Vec::new(),
        marks,
        before: Vec::new(),
    }
}

/// A name, shortened with an ellipsis where it is wider than `width`.
pub(super) fn clipped(name: &str, width: Px) -> String {
    if Px::for_words(name) <= width {
        return name.to_owned();
    }
    let fits = usize::try_from(width.0 / Px::for_words("…").0).unwrap_or(0);
    let mut text: String = name.chars().take(fits.saturating_sub(1)).collect();
    text.push('…');
    text
}
