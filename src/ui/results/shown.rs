//! A part of the results: a tree of elements that follows the state, and what the reader does to it.
//!
//! One listener a kind of event serves a whole tree; an element that can be pointed at or chosen says by
//! `data-at` which it is.

use leptos::ev::{FocusEvent, KeyboardEvent, MouseEvent, PointerEvent};
use leptos::html::Div;
use leptos::prelude::*;

use super::super::browser::{self, Patch};
use crate::report::markup::Markup;

/// What the reader does, and to which place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gesture<'a> {
    /// Points at it.
    Point(&'a str),
    /// Moves the focus to it.
    Focus(&'a str),
    /// Points at nothing any more, or moves the focus away.
    Leave,
    /// Clicks or taps it.
    Choose(&'a str),
    /// Presses a key there.
    Press(&'a str, &'a str),
}

/// Handles a gesture; true when the browser must not.
type Hands = Box<dyn Fn(Gesture<'_>) -> bool>;

/// A part of the page that shows `draw` and obeys `hands`.
pub(super) fn shown(
    class: &'static str,
    draw: impl Fn() -> Vec<Markup> + 'static,
    hands: impl Fn(Gesture<'_>) -> bool + 'static,
) -> AnyView {
    erased(class, None, Box::new(draw), Box::new(hands))
}

/// The same, telling its width in pixels.
pub(super) fn shown_at_width(
    class: &'static str,
    width: RwSignal<i32>,
    draw: impl Fn() -> Vec<Markup> + 'static,
    hands: impl Fn(Gesture<'_>) -> bool + 'static,
) -> AnyView {
    erased(class, Some(width), Box::new(draw), Box::new(hands))
}

fn erased(
    class: &'static str,
    width: Option<RwSignal<i32>>,
    draw: Box<dyn Fn() -> Vec<Markup>>,
    hands: Hands,
) -> AnyView {
    let root = NodeRef::<Div>::new();
    root.on_load(move |root| {
        if let Some(width) = width {
            browser::watch_width(&root, move |new| width.set(new));
        }
        let mut patch = Patch::new(&root);
        Effect::new(move |_| patch.show(draw()));
    });
    let hands = StoredValue::new_local(hands);
    let act = move |gesture: Gesture<'_>| hands.with_value(|hands| hands(gesture));
    let point = move |event: PointerEvent| {
        let place = browser::place(&event);
        act(place.as_deref().map_or(Gesture::Leave, Gesture::Point));
    };
    let focus = move |event: FocusEvent| {
        if let Some(place) = browser::place(&event) {
            act(Gesture::Focus(&place));
        }
    };
    let choose = move |event: MouseEvent| {
        if let Some(place) = browser::place(&event) {
            act(Gesture::Choose(&place));
        }
    };
    let press = move |event: KeyboardEvent| {
        if let Some(place) = browser::place(&event)
            && act(Gesture::Press(&place, &event.key()))
        {
            event.prevent_default();
        }
    };
    view! {
        <div
            class=class
            node_ref=root
            on:pointerover=point
            on:pointerleave=move |_| {
                act(Gesture::Leave);
            }
            on:focusin=focus
            on:focusout=move |_| {
                act(Gesture::Leave);
            }
            on:click=choose
            on:keydown=press
        ></div>
    }
    .into_any()
}
