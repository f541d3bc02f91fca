//! Every picture that can be exported, by its name.

use super::{rank_map, style, svg};
use crate::report::charts::{CHARTS, Subject};
use crate::report::markup::Markup;
use crate::report::rank_map::Coloring;

/// The names of all pictures in files, each with what people call it.
pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    let charts = CHARTS.iter().map(|chart| (chart.id, chart.title));
    charts.chain([(rank_map::ID, rank_map::TITLE)])
}

/// The picture of a name as the one element of a file; nothing where none is called so. `coloring` is for the ranks.
#[must_use]
pub fn draw(name: &str, subject: &Subject<'_>, coloring: Coloring) -> Option<Markup> {
    if name == rank_map::ID {
        return Some(rank_map::picture(subject, coloring));
    }
    let chart = CHARTS.iter().find(|chart| chart.id == name)?;
    Some(svg::picture(&(chart.draw)(subject), &style::standalone()))
}

/// What to say about a name that no picture has.
#[must_use]
pub fn unknown(name: &str) -> String {
    let names: Vec<&str> = names().map(|(name, _)| name).collect();
    format!("no chart is called {name}; there are {}", names.join(", "))
}
