//! The points of the picture: where each layout stands, and which of them no other beats in both measures.

use core::fmt::Write;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::columns;
use megatron_memory::report::amount::{Scale, Unit};
use megatron_memory::report::scene::Px;
use megatron_memory::search::{Candidate, Column, LayoutTable, Space, Tradeoff, seconds};
use megatron_memory::units::Bytes;

/// The measures that can be compared: less of each is better.
pub(super) const MEASURES: [Column; 6] = [
    Column::Time,
    Column::Peak,
    Column::Bubble,
    Column::Recomputed,
    Column::Network,
    Column::Near,
];

/// The height of the picture.
pub(super) const HEIGHT: Px = Px::of(260);
/// The room left of the points, for the numbers of the vertical measure.
pub(super) const LEFT: Px = Px::of(64);
/// The room right of the points and above them.
const MARGIN: Px = Px::of(14);
/// The room below the points, for the numbers of the horizontal measure.
const BOTTOM: Px = Px::of(28);
/// Layouts in the same square of this side, in pixels, are one point: one that none beats, or the best of them.
const SQUARE: i32 = 3;

/// A layout in the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) candidate: Candidate,
    pub(super) x: Px,
    pub(super) y: Px,
}

/// The picture of what was found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Picture {
    pub(super) width: Px,
    /// The layouts that none beats in both measures, from left to right.
    pub(super) frontier: Vec<Point>,
    /// The other layouts.
    pub(super) others: Vec<Point>,
    /// The layout of the page, where it is one of the combinations.
    pub(super) own: Option<Point>,
    /// For each measure, across and up: the layouts with the least and the most of it.
    pub(super) ends: [(Candidate, Candidate); 2],
}

/// The measure with an id; see [`Column::id`].
pub(super) fn measure(id: &str) -> Option<Column> {
    MEASURES.into_iter().find(|column| column.id() == id)
}

/// The name of a measure.
pub(super) fn label(measure: Column) -> &'static str {
    match measure {
        Column::Time => "Time of a step",
        Column::Bubble => "Pipeline bubble",
        Column::Recomputed => "Recomputed share",
        Column::Network => "Sent over the network a step",
        Column::Near => "Sent within the node a step",
        _ => "Peak memory",
    }
}

/// The value of a layout in a measure, with its unit.
pub(super) fn amount(measure: Column, space: &Space, c: &Candidate, unit: Unit) -> String {
    let scale = Scale::coarse(unit);
    match measure {
        Column::Peak => scale.amount(c.peak),
        Column::Time => columns::text(measure, space, c, unit),
        Column::Network => scale.amount(c.traffic.far),
        Column::Near => scale.amount(c.traffic.near),
        _ => format!("{} %", columns::text(measure, space, c, unit)),
    }
}

/// The quarters of an axis at which it has ticks between its ends.
pub(super) const QUARTERS: [u32; 3] = [1, 2, 3];

/// What a place so many quarters of the way between two layouts stands for, with its unit; `None` where both have the
/// same.
pub(super) fn amount_between(
    measure: Column,
    space: &Space,
    (least, most): (&Candidate, &Candidate),
    quarters: u32,
    unit: Unit,
) -> Option<String> {
    let (least, most) = (measure.key(space, least), measure.key(space, most));
    let between = least + (most - least) * i128::from(quarters) / 4;
    let between = u64::try_from(between).ok().filter(|_| least < most)?;
    Some(match measure {
        Column::Time => seconds(between),
        Column::Peak | Column::Network | Column::Near => Scale::coarse(unit).amount(Bytes(between)),
        _ => format!("{} %", columns::percent(between)),
    })
}

/// A layout with all measures, in one sentence.
pub(super) fn sentence(space: &Space, c: &Candidate, unit: Unit) -> String {
    let [time, peak, bubble, recomputed, network, near] = MEASURES.map(|measure| amount(measure, space, c, unit));
    let time = if time.is_empty() {
        time
    } else {
        format!(", which takes about {time}")
    };
    format!(
        "{}: peak {peak}, bubble {bubble}, {recomputed} recomputed, {network} over the network and {near} within the node a step{time}.",
        space.sizes(c.index)
    )
}

/// A picture on its way: it looks at one sorted run of the table after the other, first to learn how far each column
/// reaches and which layouts none beats, and then to place the others.
#[derive(Debug)]
pub(super) struct Drawing {
    space: Arc<Space>,
    own: Option<Candidate>,
    /// The columns: across, and up.
    columns: [Column; 2],
    width: Px,
    /// The number of the next run.
    run: usize,
    tradeoff: Tradeoff,
    /// Once all runs were looked at: the picture, of which the other layouts are still to be placed.
    picture: Option<Picture>,
    /// The squares in which a layout stands that none beats.
    taken: BTreeSet<(i32, i32)>,
    /// The other layouts by the square that they stand in.
    others: BTreeMap<(i32, i32), Point>,
}

impl Drawing {
    /// Nothing is looked at yet.
    pub(super) fn new(space: Arc<Space>, own: Option<Candidate>, columns: [Column; 2], width: Px) -> Self {
        let mut tradeoff = Tradeoff::new(columns);
        let own = own.filter(|own| has_measures(columns, own));
        if let Some(own) = &own {
            tradeoff.reach(&space, own);
        }
        Self {
            space,
            own,
            columns,
            width,
            run: 0,
            tradeoff,
            picture: None,
            taken: BTreeSet::new(),
            others: BTreeMap::new(),
        }
    }

    /// Looks at one more run. Returns whether the picture is done.
    pub(super) fn advance(&mut self, table: &LayoutTable) -> bool {
        let run = self.run;
        self.run += 1;
        let columns = self.columns;
        let shown = move |c: &&Candidate| has_measures(columns, c);
        match (table.rows_of_run(run), self.picture.is_some()) {
            (Some(rows), false) => self.tradeoff.add(&self.space, rows.filter(shown)),
            (Some(rows), true) => rows.filter(shown).for_each(|c| self.place_other(*c)),
            (None, false) => {
                self.picture = self.begin();
                self.run = 0;
                return self.picture.is_none();
            }
            (None, true) => return true,
        }
        false
    }

    /// The picture; `None` where there is no layout.
    pub(super) fn picture(&mut self) -> Option<Picture> {
        let mut picture = self.picture.take()?;
        picture.others = core::mem::take(&mut self.others).into_values().collect();
        Some(picture)
    }

    /// The picture without the other layouts, after all were looked at.
    fn begin(&mut self) -> Option<Picture> {
        let mut picture = Picture {
            width: self.width,
            frontier: Vec::new(),
            others: Vec::new(),
            own: None,
            ends: self.tradeoff.ends()?,
        };
        let best = self.tradeoff.best().iter().map(|c| self.point(&picture, *c));
        let best: Vec<Point> = best.collect();
        let best = best.into_iter();
        picture.frontier = best.filter(|p| self.taken.insert(p.square())).collect();
        picture.own = self.own.map(|own| self.point(&picture, own));
        Some(picture)
    }

    /// Where a layout stands in a picture that reaches so far.
    fn point(&self, picture: &Picture, candidate: Candidate) -> Point {
        let share = |column: Column, (least, most): (Candidate, Candidate)| {
            let key = |c: &Candidate| column.key(&self.space, c);
            let distance = |c: &Candidate| u128::try_from(key(c).saturating_sub(key(&least))).unwrap_or(0);
            (distance(&candidate), distance(&most))
        };
        let [across, up] = self.columns;
        let [of_across, of_up] = picture.ends;
        let (part, whole) = share(across, of_across);
        let x = place_across(self.width, part, whole);
        let (part, whole) = share(up, of_up);
        let y = place_up(part, whole);
        Point { candidate, x, y }
    }

    /// Places a layout that others beat, where none stands that is better.
    fn place_other(&mut self, candidate: Candidate) {
        let Some(picture) = &self.picture else { return };
        let point = self.point(picture, candidate);
        let square = point.square();
        if self.taken.contains(&square) {
            return;
        }
        let other = self.others.entry(square).or_insert(point);
        if candidate.is_before(&other.candidate) {
            *other = point;
        }
    }
}

/// Whether a layout has both measures: no time is predicted for some ways of training.
fn has_measures(columns: [Column; 2], c: &Candidate) -> bool {
    c.step_nanoseconds.is_some() || !columns.contains(&Column::Time)
}

/// Where a part of the horizontal axis of a picture ends.
fn place_across(width: Px, part: u128, whole: u128) -> Px {
    LEFT + (width - LEFT - MARGIN).share(part, whole)
}

/// Where a part of the vertical axis ends.
fn place_up(part: u128, whole: u128) -> Px {
    HEIGHT - BOTTOM - (HEIGHT - BOTTOM - MARGIN).share(part, whole)
}

impl Point {
    /// The square of the picture that it stands in.
    fn square(&self) -> (i32, i32) {
        let number = |length: Px| length.0 / Px::of(SQUARE).0;
        (number(self.x), number(self.y))
    }
}

impl Picture {
    /// Where so many quarters of the horizontal axis end.
    pub(super) fn across(&self, quarters: u32) -> Px {
        place_across(self.width, quarters.into(), 4)
    }

    /// Where so many quarters of the vertical axis end.
    pub(super) fn up(quarters: u32) -> Px {
        place_up(quarters.into(), 4)
    }

    /// The path that has a dot for each of the other layouts.
    pub(super) fn dots(&self) -> String {
        let mut path = String::new();
        for Point { x, y, .. } in &self.others {
            // A line of no length, which is drawn as its round ends.
            write!(path, "M{x} {y}h0").ok();
        }
        path
    }

    /// The steps between the layouts that none beats: what lies above and to the right of them is beaten.
    pub(super) fn steps(&self) -> String {
        let mut path = String::new();
        for Point { x, y, .. } in &self.frontier {
            if path.is_empty() {
                write!(path, "M{x} {y}").ok();
            } else {
                write!(path, "H{x}V{y}").ok();
            }
        }
        path
    }

    /// The layout that is nearest to a place.
    pub(super) fn nearest(&self, x: Px, y: Px) -> Option<Candidate> {
        let points = self.frontier.iter().chain(&self.own).chain(&self.others);
        let distance = |point: &&Point| {
            let squared = |a: Px, b: Px| u64::from(a.0.abs_diff(b.0)).saturating_pow(2);
            squared(point.x, x).saturating_add(squared(point.y, y))
        };
        points.min_by_key(distance).map(|point| point.candidate)
    }

    /// Where a layout stands.
    pub(super) fn place(&self, c: &Candidate) -> Option<Point> {
        let points = self.frontier.iter().chain(&self.own).chain(&self.others);
        points.copied().find(|point| point.candidate.index == c.index)
    }

    /// The layout that none beats after or before another one, or the first of them.
    pub(super) fn step(&self, from: Option<&Candidate>, forward: bool) -> Option<Candidate> {
        let at = from.and_then(|c| {
            let mut points = self.frontier.iter();
            points.position(|point| point.candidate.index == c.index)
        });
        let last = self.frontier.len().checked_sub(1)?;
        let at = match at {
            None => 0,
            Some(at) if forward => (at + 1).min(last),
            Some(at) => at.saturating_sub(1),
        };
        self.frontier.get(at).map(|point| point.candidate)
    }
}
