//! Draws any scene, and tells the other views what the reader points at.
//!
//! One listener a kind of event serves a whole picture; its marks are found by their number. A new scene
//! changes what differs in the nodes that are there.

use leptos::either::EitherOf3;
use leptos::ev::{FocusEvent, KeyboardEvent, MouseEvent, PointerEvent};
use leptos::html::Div;
use leptos::prelude::*;

use super::super::browser;
use super::view::{View, view};
use crate::export::svg::texture_id;
use crate::report::charts::Chart;
use crate::report::scene::{Drawing, Mark, Px, Scene, Shape};
use crate::report::target::Target;

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

/// A chart of the shown outcome, as wide as its place. `id` is unique on the page.
#[component]
pub(super) fn Picture(
    id: &'static str,
    #[prop(into)] chart: Signal<Chart>,
    purpose: Purpose,
) -> impl IntoView {
    let view = view();
    let width = RwSignal::new(WIDTH);
    let frame = NodeRef::<Div>::new();
    frame.on_load(move |frame| browser::watch_width(&frame, move |new| width.set(new)));
    let scene = Memo::new(move |_| {
        let width = Px::of(width.get().max(160));
        view.with(width, |subject| (chart.get().draw)(subject))
    });
    // The mark that the tab key reaches: the chosen one, or the one that had the focus last.
    let last = RwSignal::new(0usize);
    let reachable = Memo::new(move |_| {
        let scene = scene.read();
        let marks = scene.as_ref().map_or(&[][..], |scene| &scene.marks);
        let chosen = marks.iter().position(|mark| mark.chosen);
        chosen.unwrap_or_else(|| last.get().min(marks.len().saturating_sub(1)))
    });
    let layer = move |draw: fn(&Scene) -> &[Drawing]| {
        move || {
            let (scene, lit) = (scene.read(), view.lit.read());
            let drawings = scene.as_ref().map_or(&[][..], draw);
            drawings
                .iter()
                .map(|d| drawing(id, d, lit.as_ref(), String::new()))
                .collect_view()
        }
    };
    let marks = move || {
        let (scene, lit, reachable) = (scene.read(), view.lit.read(), reachable.get());
        let marks = scene.iter().flat_map(|scene| &scene.marks).enumerate();
        marks
            .map(|(i, mark)| self::mark(id, purpose, i, mark, lit.as_ref(), i == reachable))
            .collect_view()
    };
    let text = move |of: fn(&Scene) -> String| move || scene.read().as_ref().map(of);
    let dims = move || {
        scene.read().as_ref().is_some_and(|s| {
            view.lit
                .read()
                .as_ref()
                .is_some_and(|lit| lights_up(s, lit))
        })
    };
    let hands = Hands {
        id,
        purpose,
        scene,
        last,
        view,
    };
    let texture = texture_id(id);
    view! {
        <div class="picture" node_ref=frame>
            <svg
                class=format!("scene scene-{id}")
                class:dims=dims
                role=if purpose == Purpose::Choice { "listbox" } else { "group" }
                aria-label=text(|scene| format!("{}. {}", scene.title, scene.description))
                aria-orientation=(purpose == Purpose::Choice).then_some("horizontal")
                width=text(|scene| scene.width.to_string())
                height=text(|scene| scene.height.to_string())
                viewBox=text(|scene| format!("0 0 {} {}", scene.width, scene.height))
                on:pointerover=move |event| hands.point(&event)
                on:pointerleave=move |_| view.lit.set(None)
                on:focusin=move |event| hands.enter(&event)
                on:focusout=move |_| view.lit.set(None)
                on:click=move |event| hands.choose(&event)
                on:keydown=move |event| hands.press(&event)
            >
                <defs>
                    <pattern
                        id=texture
                        width="5"
                        height="5"
                        patternUnits="userSpaceOnUse"
                        patternTransform="rotate(45)"
                    >
                        <rect class="texture" width="1.5" height="5" />
                    </pattern>
                </defs>
                <g aria-hidden="true">{layer(|scene| &scene.behind)}</g>
                {marks}
                <g aria-hidden="true">{layer(|scene| &scene.before)}</g>
            </svg>
        </div>
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

/// What pointer and keys do to a picture.
#[derive(Clone, Copy)]
struct Hands {
    id: &'static str,
    purpose: Purpose,
    scene: Memo<Option<Scene>>,
    last: RwSignal<usize>,
    view: View,
}

impl Hands {
    /// What a place, such as `3` for a mark or `3.1` for a part of it, is about.
    fn target(&self, place: &str) -> Option<Target> {
        let scene = self.scene.read_untracked();
        let mark = scene.as_ref()?.marks.get(number(place)?)?;
        let part = place.split_once('.').and_then(|(_, part)| number(part));
        let part = part.and_then(|part| mark.drawings.get(part)?.target.clone());
        Some(part.unwrap_or_else(|| mark.target.clone()))
    }

    fn point(&self, event: &PointerEvent) {
        let target = browser::place(event).and_then(|place| self.target(&place));
        self.view.lit.set(target);
    }

    fn enter(&self, event: &FocusEvent) {
        if let Some(place) = browser::place(event) {
            self.last.set(number(&place).unwrap_or(0));
            self.view.lit.set(self.target(&place));
        }
    }

    fn choose(&self, event: &MouseEvent) {
        if let Some(target) = browser::place(event).and_then(|place| self.target(&place)) {
            self.view.choose(&target);
        }
    }

    fn press(&self, event: &KeyboardEvent) {
        let Some(now) = browser::place(event).and_then(|place| number(&place)) else {
            return;
        };
        let marks = self
            .scene
            .read_untracked()
            .as_ref()
            .map_or(0, |scene| scene.marks.len());
        let end = marks.saturating_sub(1);
        let key = event.key();
        let to = match key.as_str() {
            "ArrowLeft" | "ArrowUp" => now.saturating_sub(1),
            "ArrowRight" | "ArrowDown" => (now + 1).min(end),
            "Home" => 0,
            "End" => end,
            "Enter" | " " => now,
            "Escape" => return self.view.lit.set(None),
            _ => return,
        };
        event.prevent_default();
        self.last.set(to);
        if (to == now || self.purpose == Purpose::Choice)
            && let Some(target) = self.target(&to.to_string())
        {
            self.view.choose(&target);
        }
        browser::focus(mark_id(self.id, to));
    }
}

/// The number that a place starts with.
fn number(place: &str) -> Option<usize> {
    place.split('.').next()?.parse().ok()
}

fn mark_id(scene: &str, i: usize) -> String {
    format!("{scene}-{i}")
}

fn mark(
    scene: &'static str,
    purpose: Purpose,
    i: usize,
    mark: &Mark,
    lit: Option<&Target>,
    reachable: bool,
) -> impl IntoView + use<> {
    let lights = lit.is_some_and(|lit| lit.lights(&mark.target));
    let class = format!(
        "mark {}{}{}",
        mark.class.names(),
        if mark.chosen { " chosen" } else { "" },
        if lights { " lit" } else { "" }
    );
    let is_choice = purpose == Purpose::Choice;
    let drawings = mark.drawings.iter().enumerate();
    view! {
        <g
            id=mark_id(scene, i)
            class=class
            data-at=i.to_string()
            tabindex=if reachable { "0" } else { "-1" }
            role=if is_choice { "option" } else { "button" }
            aria-label=mark.label.clone()
            aria-selected=is_choice.then_some(if mark.chosen { "true" } else { "false" })
        >
            {drawings.map(|(j, d)| drawing(scene, d, lit, format!("{i}.{j}"))).collect_view()}
        </g>
    }
}

/// A shape; `at` is its place among the marks, where it has one.
fn drawing(
    scene: &str,
    drawing: &Drawing,
    lit: Option<&Target>,
    at: String,
) -> impl IntoView + use<> {
    let lights = lit
        .zip(drawing.target.as_ref())
        .is_some_and(|(lit, target)| lit.lights(target));
    let class = format!(
        "{}{}",
        drawing.class.names(),
        if lights { " lit" } else { "" }
    );
    let at = drawing.target.is_some().then_some(at);
    match &drawing.shape {
        Shape::Rect {
            x,
            y,
            width,
            height,
        } => {
            let [x, y, width, height] = [x, y, width, height].map(ToString::to_string);
            let texture = drawing.class.textured().then(|| {
                view! {
                    <rect
                        class=if lights { "textured lit" } else { "textured" }
                        fill=format!("url(#{})", texture_id(scene))
                        x=x.clone()
                        y=y.clone()
                        width=width.clone()
                        height=height.clone()
                    />
                }
            });
            EitherOf3::A(view! {
                <rect class=class data-at=at x=x y=y width=width height=height />
                {texture}
            })
        }
        Shape::Line { from, to } => EitherOf3::B(view! {
            <line
                class=class
                x1=from.0.to_string()
                y1=from.1.to_string()
                x2=to.0.to_string()
                y2=to.1.to_string()
            />
        }),
        Shape::Text { x, y, anchor, text } => EitherOf3::C(view! {
            <text class=class x=x.to_string() y=y.to_string() text-anchor=anchor.name()>
                {text.clone()}
            </text>
        }),
    }
}
