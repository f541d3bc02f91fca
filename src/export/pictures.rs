//! All pictures that can be exported, by their names.

use super::{rank_map, style, svg};
use crate::report::charts::{CHARTS, Subject};
use crate::report::markup::Markup;
use crate::report::rank_map::Coloring;
use crate::report::verdict;

/// The ids and titles of all pictures.
pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    let charts = CHARTS.iter().map(|chart| (chart.id, chart.title));
    charts.chain([(rank_map::ID, rank_map::TITLE)])
}

/// Draws the picture with this id as an `<svg>` element; `None` where no picture has it. `coloring` is for the rank map.
#[must_use]
pub fn draw(name: &str, subject: &Subject<'_>, coloring: Coloring) -> Option<Markup> {
    if name == rank_map::ID {
        return Some(rank_map::picture(subject, coloring));
    }
    let chart = CHARTS.iter().find(|chart| chart.id == name)?;
    let mut scene = (chart.draw)(subject);
    if let Some(note) = verdict::headline(subject.config.not_modelled()) {
        scene = scene.with_note(&note);
    }
    Some(svg::picture(&scene, &style::standalone()))
}

/// The message for an unknown id.
#[must_use]
pub fn unknown(name: &str) -> String {
    let names: Vec<&str> = names().map(|(name, _)| name).collect();
    format!("no chart is called {name}; there are {}", names.join(", "))
}
