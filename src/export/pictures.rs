//! All pictures that can be exported, by their names.

use super::{rank_map, style, svg};
use crate::report::caption::with_caption;
use crate::report::card;
use crate::report::charts::{CHARTS, Subject};
use crate::report::markup::Markup;
use crate::report::rank_map::Coloring;
use crate::report::scene::Scene;
use crate::report::verdict;

/// The ids and titles of all pictures.
pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    let charts = CHARTS.iter().map(|chart| (chart.id, chart.title));
    charts.chain([(rank_map::ID, rank_map::TITLE), (card::ID, card::TITLE)])
}

/// Draws the picture with this id as an `<svg>` element, with the job and the names of its colors below it; `None`
/// where no picture has the id. `model` is the name of the job's model, `coloring` is for the rank map, and `link`,
/// which leads to the job, for the card.
#[must_use]
pub fn draw(name: &str, subject: &Subject<'_>, model: Option<&str>, coloring: Coloring, link: &str) -> Option<Markup> {
    if name == rank_map::ID {
        return Some(rank_map::picture(subject, coloring));
    }
    if name == card::ID {
        let card = marked(card::draw(subject, model, link), subject);
        return Some(svg::picture(&card, &style::of_cards()));
    }
    let chart = CHARTS.iter().find(|chart| chart.id == name)?;
    let scene = marked(with_caption((chart.draw)(subject), subject, model), subject);
    Some(svg::picture(&scene, &style::standalone()))
}

/// A picture that says what of its job is not modelled.
fn marked(scene: Scene, subject: &Subject<'_>) -> Scene {
    match verdict::headline(subject.config.not_modelled()) {
        Some(note) => scene.with_note(&note),
        None => scene,
    }
}

/// The message for an unknown id.
#[must_use]
pub fn unknown(name: &str) -> String {
    let names: Vec<&str> = names().map(|(name, _)| name).collect();
    format!("no chart is called {name}; there are {}", names.join(", "))
}
