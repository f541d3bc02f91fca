//! A breakdown as rows: name, bar, number.

use super::Subject;
use crate::report::amount::{Scale, exact, percent};
use crate::report::parts::Part;
use crate::report::scene::{Anchor, Class, Drawing, Mark, Px, Scene};
use crate::report::target::Target;
use crate::units::Bytes;

const BAR: Px = Px::of(14);
/// From the middle of a row to the base line of its text.
const BASE_LINE: Px = Px::of(4);
const GAP: Px = Px::of(10);
const NAMES: Px = Px::of(168);
const NUMBERS: Px = Px::of(88);
/// A bar that shows something is at least this wide.
const LEAST: Px = Px(150);

/// The picture of a stage's parts. Numbers add up to the stage's total.
pub(super) fn draw(id: &'static str, title: &str, subject: &Subject<'_>, parts: &[Part]) -> Scene {
    let scale = Scale::fine(subject.unit);
    let amounts: Vec<Bytes> = parts.iter().map(|part| part.bytes).collect();
    let total: Bytes = amounts.iter().copied().sum();
    let longest = amounts.iter().copied().max().unwrap_or(Bytes::ZERO);
    let row = subject.row;
    let names = NAMES.min(subject.width.over(2));
    let (left, right) = (names + GAP, subject.width - NUMBERS);
    let room = (right - left).max(Px::ZERO);
    let numbers = scale.parts(&amounts);
    let mut marks = Vec::new();
    for (i, (part, number)) in parts.iter().zip(&numbers).enumerate() {
        let top = row.times(i);
        let base = top + row.over(2) + BASE_LINE;
        let mut drawings = vec![
            Drawing::rect(Class::Reach, (Px::ZERO, top), (subject.width, row)),
            Drawing::text(
                Class::Label,
                (Px::ZERO, base),
                Anchor::Start,
                clipped(&part.label, names),
            ),
        ];
        let mut x = left;
        for share in &part.shares {
            let width = room
                .share(share.bytes.0.into(), longest.0.into())
                .max(LEAST);
            let target = Target::line(subject.stage, share.path.clone());
            let place = (x, top + (row - BAR).over(2));
            drawings.push(Drawing::rect(share.bucket.into(), place, (width, BAR)).about(target));
            x += width;
        }
        let number = format!("{number} {}", subject.unit.symbol());
        drawings.push(Drawing::text(
            Class::Value,
            (subject.width, base),
            Anchor::End,
            number.clone(),
        ));
        marks.push(Mark {
            class: Class::Row,
            target: Target::line(subject.stage, part.path.clone()),
            label: format!(
                "{}: {number}, {} of the stage, {}",
                part.label,
                percent(part.bytes, total),
                exact(part.bytes)
            ),
            chosen: false,
            drawings,
        });
    }
    let largest = parts
        .iter()
        .zip(&numbers)
        .max_by_key(|(part, _)| part.bytes);
    let description = largest.map_or_else(String::new, |(part, number)| {
        let (rows, unit) = (parts.len(), subject.unit.symbol());
        let total = scale.amount(total);
        format!(
            "{} is the largest of {rows} rows: {number} {unit} of {total}.",
            part.label
        )
    });
    Scene {
        id,
        width: subject.width,
        height: row.times(parts.len().max(1)),
        title: title.to_owned(),
        description,
        behind: Vec::new(),
        marks,
        before: Vec::new(),
    }
}

/// A name that stays within its column.
fn clipped(name: &str, width: Px) -> String {
    if Px::of_text(name) <= width {
        return name.to_owned();
    }
    let fits = usize::try_from(width.0 / crate::report::scene::CHARACTER.0).unwrap_or(0);
    let mut text: String = name.chars().take(fits.saturating_sub(1)).collect();
    text.push('…');
    text
}
