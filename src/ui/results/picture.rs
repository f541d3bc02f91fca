//! Draws any scene, and tells the other views what the reader points at.

use super::super::browser;
use super::super::shown::{Gesture, Piece, shown_at_width};
use super::layers::{LIT, Layers, part, reach};
use super::view::View;
use crate::export::svg::{shape, texture, texture_over};
use crate::report::markup::{Markup, Text, tag};
use crate::report::scene::{Drawing, Mark, Px, Scene};
use crate::report::target::Target;
use leptos::prelude::*;

/// What choosing a mark of a picture is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// One of the marks is always the chosen one; the arrow keys choose.
    Choice,
    /// Each mark is a button of its own; the arrow keys move between them.
    Buttons,
}

/// The width before the first measurement.
const WIDTH: i32 = 720;
/// The width below which a picture is rather clipped than squeezed.
const NARROWEST: i32 = 160;

/// A chart of the shown outcome, which `draw` draws as wide as its place. `id` is unique on the page.
pub(super) fn picture(
    view: View,
    id: &'static str,
    draw: fn(&View, Px) -> Option<Scene>,
    purpose: Purpose,
) -> Piece {
    let width = RwSignal::new(WIDTH);
    let scene = Memo::new(move |_| {
        let width = Px::of(width.get().max(NARROWEST));
        draw(&view, width)
    });
    let hands = Hands {
        view,
        id,
        purpose,
        scene,
        last: RwSignal::new(0),
    };
    shown_at_width(
        "picture",
        width,
        move || hands.draw(),
        move |gesture| hands.act(gesture),
    )
}

/// What a picture shows, and what pointer and keys do to it.
#[derive(Clone, Copy)]
struct Hands {
    view: View,
    id: &'static str,
    purpose: Purpose,
    scene: Memo<Option<Scene>>,
    /// The mark that had the focus last.
    last: RwSignal<usize>,
}

impl Hands {
    fn draw(&self) -> Vec<Markup> {
        self.view.follow();
        let (scene, lit, last) = (self.scene.read(), self.view.lit.read(), self.last.get());
        let Some(scene) = scene.as_ref() else {
            return Vec::new();
        };
        let lit = lit.as_ref();
        let dims = lit.is_some_and(|lit| lights_up(scene, lit));
        // The tab key reaches one mark: the chosen one, or the one that had the focus last.
        let chosen = scene.marks.iter().position(|mark| mark.chosen);
        let reachable = chosen.unwrap_or(last.min(scene.marks.len().saturating_sub(1)));
        let (mut marks, mut layers) = (Vec::new(), Layers::default());
        for (i, mark) in scene.marks.iter().enumerate() {
            let chosen = if mark.chosen { " chosen" } else { "" };
            let class = [&*mark.class.names(), chosen].concat();
            let lights = when_lit(lit, Some(&mark.target));
            let element = self
                .element(i, mark, ["mark ", &class, lights].concat())
                .with("tabindex", if i == reachable { "0" } else { "-1" });
            let inside = if let Some(reach) = reach(mark, i) {
                let lights = |drawing: &Drawing| match lights {
                    "" => when_lit(lit, drawing.target.as_ref()),
                    all => all,
                };
                layers.add(mark, class, &lights);
                vec![reach]
            } else {
                self.drawn(&mark.drawings, lit)
            };
            marks.push(element.children(inside));
        }
        let silent = |drawings| {
            tag("g")
                .with("aria-hidden", "true")
                .children(self.drawn(drawings, lit))
        };
        let (width, height) = (Text::from(scene.width), Text::from(scene.height));
        let [shapes, texts] = layers.elements(self.id);
        let svg = tag("svg")
            .class(format!(
                "scene scene-{}{}",
                self.id,
                if dims { " dims" } else { "" }
            ))
            .with(
                "role",
                if self.purpose == Purpose::Choice {
                    "listbox"
                } else {
                    "group"
                },
            )
            .with(
                "aria-label",
                format!("{}. {}", scene.title, scene.description),
            )
            .with("viewBox", ["0 0 ", &width, " ", &height].concat())
            .with("width", width)
            .with("height", height)
            .child(texture(self.id))
            .child(silent(&scene.behind))
            .children(marks)
            .child(shapes)
            .child(silent(&scene.before))
            .child(texts);
        vec![svg]
    }

    /// What the keyboard reaches of a mark.
    fn element(&self, i: usize, mark: &Mark, class: String) -> Markup {
        let element = tag("g")
            .with("id", mark_id(self.id, i))
            .class(class)
            .with("data-at", i.to_string())
            .with("aria-label", mark.label.clone());
        match self.purpose {
            Purpose::Buttons => element.with("role", "button"),
            Purpose::Choice => element
                .with("role", "option")
                .with("aria-selected", if mark.chosen { "true" } else { "false" }),
        }
    }

    /// The elements of some drawings.
    fn drawn(&self, drawings: &[Drawing], lit: Option<&Target>) -> Vec<Markup> {
        let lights = |drawing: &Drawing| when_lit(lit, drawing.target.as_ref());
        let shapes = drawings
            .iter()
            .map(|drawing| shape(drawing, lights(drawing)));
        let mut elements: Vec<Markup> = shapes.collect();
        let is_lit = drawings.iter().find(|drawing| drawing.class.textured());
        if let Some((below, texture)) = texture_over(self.id, drawings, is_lit.map_or("", lights)) {
            elements.insert(below, texture);
        }
        elements
    }

    /// What a place, such as `3` for a mark or `3@12,7` for a cell of its reach, is about.
    fn target(&self, place: &str) -> Option<Target> {
        let scene = self.scene.read_untracked();
        let mark = scene.as_ref()?.marks.get(number(place)?)?;
        let cell = place.split_once('@').and_then(|(_, cell)| part(mark, cell));
        Some(cell.unwrap_or(&mark.target).clone())
    }

    fn act(&self, gesture: Gesture<'_>) -> bool {
        match gesture {
            Gesture::Point(place) => self.view.point(self.target(place)),
            Gesture::Focus(place) => {
                self.last.set(number(place).unwrap_or(0));
                self.view.lit.set(self.target(place));
            }
            Gesture::Leave => self.view.lit.set(None),
            Gesture::Choose(place) => {
                let target = self.target(place);
                return target.is_some_and(|target| self.view.tap(target));
            }
            Gesture::Press(place, key) => return self.press(place, key),
            _ => {}
        }
        false
    }

    fn press(&self, place: &str, key: &str) -> bool {
        let marks = self
            .scene
            .read_untracked()
            .as_ref()
            .map_or(0, |scene| scene.marks.len());
        let (now, end) = (number(place).unwrap_or(0), marks.saturating_sub(1));
        let to = match key {
            "ArrowLeft" | "ArrowUp" => now.saturating_sub(1),
            "ArrowRight" | "ArrowDown" => (now + 1).min(end),
            "Home" => 0,
            "End" => end,
            "Enter" | " " => now,
            _ => return false,
        };
        self.last.set(to);
        if (to == now || self.purpose == Purpose::Choice)
            && let Some(target) = self.target(&to.to_string())
        {
            self.view.choose(&target);
        }
        browser::focus(mark_id(self.id, to));
        true
    }
}

/// Whether a scene shows anything that a target lights up.
fn lights_up(scene: &Scene, lit: &Target) -> bool {
    scene.marks.iter().any(|mark| {
        let mut parts = mark
            .drawings
            .iter()
            .filter_map(|drawing| drawing.target.as_ref());
        lit.lights(&mark.target) || parts.any(|target| lit.lights(target))
    })
}

/// The class of what is lit, after others.
pub(super) fn when_lit(lit: Option<&Target>, target: Option<&Target>) -> &'static str {
    let lights = lit
        .zip(target)
        .is_some_and(|(lit, target)| lit.lights(target));
    if lights { LIT } else { "" }
}

/// The number that a place starts with.
pub(super) fn number(place: &str) -> Option<usize> {
    place.split(['.', '@']).next()?.parse().ok()
}

fn mark_id(scene: &str, i: usize) -> String {
    format!("{scene}-{i}")
}
