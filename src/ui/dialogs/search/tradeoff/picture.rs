//! The points of the picture: where each layout stands, and which of them no other beats in both measures.

use core::fmt::Write;
use std::collections::BTreeSet;

use super::super::columns::Column;
use super::super::found::Found;
use crate::report::amount::{Scale, Unit};
use crate::report::scene::Px;
use crate::search::{Candidate, Space, frontier};

/// What can be compared: less of each is better.
pub(super) const MEASURES: [Column; 5] = [
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
/// Layouts in the same square of this side, in pixels, are one point: the one that is listed first.
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

/// What a measure is called.
pub(super) fn label(measure: Column) -> &'static str {
    match measure {
        Column::Bubble => "Pipeline bubble",
        Column::Recomputed => "Recomputed share",
        Column::Network => "Sent over the network a step",
        Column::Near => "Sent within the node a step",
        _ => "Peak memory",
    }
}

/// What a layout has of a measure, with its unit.
pub(super) fn amount(measure: Column, space: &Space, c: &Candidate, unit: Unit) -> String {
    let scale = Scale::coarse(unit);
    match measure {
        Column::Peak => scale.amount(c.peak),
        Column::Network => scale.amount(c.traffic.far),
        Column::Near => scale.amount(c.traffic.near),
        _ => format!("{} %", measure.text(space, c, unit)),
    }
}

/// A layout with all measures, in one sentence.
pub(super) fn sentence(space: &Space, c: &Candidate, unit: Unit) -> String {
    let [peak, bubble, recomputed, network, near] =
        MEASURES.map(|measure| amount(measure, space, c, unit));
    format!(
        "{}: peak {peak}, bubble {bubble}, {recomputed} recomputed, {network} over the network and {near} within the node a step.",
        space.sizes(c.index)
    )
}

impl Picture {
    /// The picture of the rows of a table; `None` where there are none.
    pub(super) fn new(
        space: &Space,
        found: &Found,
        own: Option<Candidate>,
        [across, up]: [Column; 2],
        width: Px,
    ) -> Option<Self> {
        let rows = found.rows(0, found.len());
        let shown: Vec<Candidate> = rows.into_iter().map(|(_, candidate)| candidate).collect();
        let all = || shown.iter().chain(&own);
        let ends = |measure: Column| {
            let key = |c: &&Candidate| measure.key(space, c);
            Some((*all().min_by_key(key)?, *all().max_by_key(key)?))
        };
        let ends = [ends(across)?, ends(up)?];
        let share = |measure: Column, (least, most): (Candidate, Candidate), c: &Candidate| {
            let from = measure.key(space, &least);
            let distance = |c: &Candidate| {
                u128::try_from(measure.key(space, c).saturating_sub(from)).unwrap_or(0)
            };
            (distance(c), distance(&most))
        };
        let [of_across, of_up] = ends;
        let place = |candidate: Candidate| {
            let (part, whole) = share(across, of_across, &candidate);
            let x = LEFT + (width - LEFT - MARGIN).share(part, whole);
            let (part, whole) = share(up, of_up, &candidate);
            let y = HEIGHT - BOTTOM - (HEIGHT - BOTTOM - MARGIN).share(part, whole);
            Point { candidate, x, y }
        };
        // Layouts that train adapters alone need less, and beat none that trains all weights.
        let adapters = shown.iter().all(|c| c.adapters);
        let alike = shown.iter().filter(|c| c.adapters == adapters);
        let alike: Vec<_> = alike.collect();
        let keys: Vec<(i128, i128)> = alike
            .iter()
            .map(|c| (across.key(space, c), up.key(space, c)))
            .collect();
        let best = frontier(&keys);
        let best: Vec<Point> = best
            .into_iter()
            .filter_map(|at| alike.get(at).copied())
            .map(|c| place(*c))
            .collect();
        let mut taken = BTreeSet::new();
        let mut is_free = move |point: &Point| {
            let square = |length: Px| length.0 / Px::of(SQUARE).0;
            taken.insert((square(point.x), square(point.y)))
        };
        let frontier: Vec<Point> = best.into_iter().filter(&mut is_free).collect();
        let others = shown.iter().map(|c| place(*c));
        Some(Self {
            width,
            frontier,
            others: others.filter(is_free).collect(),
            own: own.map(place),
            ends,
        })
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
        points
            .copied()
            .find(|point| point.candidate.index == c.index)
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
