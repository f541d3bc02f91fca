//! A part of the page: a tree of elements that follows the state, and what the reader does to it.
//!
//! One listener serves a whole tree. An element that something can be done to says by `data-at` which it
//! is; what is done inside of it counts as done to it, unless an element between has a place of its own.
//!
//! What the reader sees follows a keystroke in the same frame; what is scrolled out of sight, right after it.

use std::cell::Cell;
use std::rc::Rc;

use super::browser::{self, Element, Event, Patch};
pub(super) use super::runtime::Piece;
use super::runtime::element;
use crate::report::markup::{Markup, tag};
use leptos::prelude::*;

/// What the reader does, and to which place.
#[derive(Clone, Copy, Debug)]
#[allow(
    dead_code,
    reason = "the whole language of gestures, whatever the panels of today obey"
)]
pub(crate) enum Gesture<'a> {
    /// Points at it with a mouse. A finger points at nothing before it taps, and leaves nothing when it is lifted.
    Point(&'a str),
    /// Points at nothing any more, or moves the focus away.
    Leave,
    /// Moves the focus to it.
    Focus(&'a str),
    /// Moves the focus away from it.
    Blur(&'a str),
    /// Clicks or taps it.
    Choose(&'a str),
    /// Presses a key there, named as browsers do, after the modifiers in the order of `Ctrl+Alt+Shift+ArrowUp`. Shift
    /// is named only before keys that write nothing: `?` is `?`. The command key counts as Ctrl.
    Press(&'a str, &'a str),
    /// Types: the text that the control holds now.
    Input(&'a str, &'a str),
    /// Settles on a value: the control's text, or for a checkbox `true` or `false`.
    Change(&'a str, &'a str),
    /// Submits the form.
    Submit(&'a str),
}

/// The kinds of events that gestures are made of.
const EVENTS: &[&str] = &[
    "pointerover",
    "pointermove",
    "pointerleave",
    "focusin",
    "focusout",
    "click",
    "keydown",
    "input",
    "change",
    "submit",
];

/// Handles a gesture; true when nobody else must, the browser included.
type Hands = Box<dyn Fn(Gesture<'_>) -> bool>;

/// A part of the page that shows `draw` and obeys `hands`.
pub(crate) fn shown(
    class: &'static str,
    draw: impl Fn() -> Vec<Markup> + 'static,
    hands: impl Fn(Gesture<'_>) -> bool + 'static,
) -> Piece {
    erased(class, None, Box::new(draw), Box::new(hands))
}

/// The same, telling its width in pixels.
pub(crate) fn shown_at_width(
    class: &'static str,
    width: RwSignal<i32>,
    draw: impl Fn() -> Vec<Markup> + 'static,
    hands: impl Fn(Gesture<'_>) -> bool + 'static,
) -> Piece {
    erased(class, Some(width), Box::new(draw), Box::new(hands))
}

fn erased(
    class: &'static str,
    width: Option<RwSignal<i32>>,
    draw: Box<dyn Fn() -> Vec<Markup>>,
    hands: Hands,
) -> Piece {
    let fill = move |root: &Element| {
        if let Some(width) = width {
            browser::watch_width(root, Box::new(move |new| width.set(new)));
        }
        let (mut patch, sight) = (Patch::new(root), Sight::of(root, class));
        Effect::new(move |_| {
            if sight.is_turn() {
                patch.show(draw());
            }
        });
        browser::listen(root, EVENTS, Box::new(move |event| act(event, &hands)));
    };
    element(tag("div").class(class), Vec::new(), Box::new(fill))
}

/// Whether a tree is drawn with what is seen, or after it.
struct Sight {
    seen: Rc<Cell<bool>>,
    waits: Rc<Cell<bool>>,
    turn: RwSignal<()>,
}

impl Sight {
    /// The sight of an element of this class. A `whole` has no box of its own, and counts as seen.
    fn of(root: &Element, class: &str) -> Self {
        let seen = Rc::new(Cell::new(true));
        if class != "whole" {
            let seen = Rc::clone(&seen);
            browser::watch_sight(root, Box::new(move |now| seen.set(now)));
        }
        Self {
            seen,
            waits: Rc::default(),
            turn: RwSignal::new(()),
        }
    }

    /// Whether to draw now. Otherwise whoever asks is run again when it is time.
    fn is_turn(&self) -> bool {
        let () = self.turn.get();
        if self.seen.get() || self.waits.get() {
            self.waits.set(false);
            return true;
        }
        self.waits.set(true);
        let turn = self.turn;
        browser::after_frame(Box::new(move || turn.set(())));
        false
    }
}

/// A part of the page that never changes itself, with others in it.
pub(crate) fn frame(shell: Markup, inside: Vec<Piece>) -> Piece {
    element(shell, inside, Box::new(|_| ()))
}

/// Hands an event on as the gestures that it is.
fn act(event: &Event, hands: &Hands) {
    let kind = event.type_();
    let place = browser::place(event);
    let handled = match (kind.as_str(), place.as_deref()) {
        (kind, _) if kind.starts_with("pointer") && !browser::is_mouse(event) => false,
        ("pointerover", Some(place)) => hands(Gesture::Point(place)),
        // Within an element only its cells are told apart.
        ("pointermove", Some(place)) if place.contains('@') => hands(Gesture::Point(place)),
        ("pointerover" | "pointerleave", _) => hands(Gesture::Leave),
        ("focusin", Some(place)) => hands(Gesture::Focus(place)),
        ("focusout", place) => {
            if let Some(place) = place {
                hands(Gesture::Blur(place));
            }
            hands(Gesture::Leave)
        }
        ("click", Some(place)) => hands(Gesture::Choose(place)),
        ("keydown", Some(place)) => hands(Gesture::Press(place, &browser::key(event))),
        ("input", Some(place)) => hands(Gesture::Input(place, &browser::text(event))),
        ("change", Some(place)) => hands(Gesture::Change(place, &browser::text(event))),
        ("submit", Some(place)) => hands(Gesture::Submit(place)),
        _ => false,
    };
    if handled {
        event.prevent_default();
    }
}
