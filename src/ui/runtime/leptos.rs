//! The calculator's own page.

use std::cell::Cell;
use std::rc::Rc;

use leptos::html::custom;
use leptos::prelude::*;
use leptos::reactive::signal::ArcTrigger;

use super::{Fill, fill_in};
use crate::report::markup::Markup;
use crate::ui::browser::Element;

pub(in crate::ui) use leptos::prelude::{AnyView as Piece, untrack};

/// What can change.
pub(in crate::ui) struct Trigger(ArcTrigger);

impl Trigger {
    pub(in crate::ui) fn new() -> Self {
        Self(ArcTrigger::new())
    }

    /// Whoever is running runs again when this changes.
    pub(in crate::ui) fn track(&self) {
        self.0.track();
    }

    /// It has changed.
    pub(in crate::ui) fn notify(&self) {
        self.0.notify();
    }
}

/// What follows from what changes. It only counts how often it has become another.
#[derive(Clone, Copy)]
pub(in crate::ui) struct Version(Memo<u32>);

impl Version {
    /// `follow` says whether it has become another.
    pub(in crate::ui) fn new(follow: Box<dyn Fn() -> bool + Send + Sync>) -> Self {
        Self(Memo::new(move |before: Option<&u32>| {
            let before = before.copied().unwrap_or_default();
            before.wrapping_add(follow().into())
        }))
    }

    /// Brings it up to date; whoever is running runs again when it has become another.
    pub(in crate::ui) fn track(self) {
        self.0.get();
    }
}

/// Runs `act` now, and again whenever something that it read has changed.
pub(in crate::ui) fn effect(mut act: Box<dyn FnMut()>) {
    Effect::new(move |_: Option<()>| act());
}

/// The one type of element that the page is built from: each further one would be code of its own.
pub(in crate::ui) fn element(shell: Markup, inside: Vec<Piece>, fill: Fill) -> Piece {
    let name = shell.tag;
    let fill = Rc::new(Cell::new(Some((shell, fill))));
    custom(name)
        .directive(fill_once, fill)
        .child(inside)
        .into_any()
}

fn fill_once(element: Element, fill: Rc<Cell<Option<(Markup, Fill)>>>) {
    if let Some((shell, fill)) = fill.take() {
        fill_in(&element, &shell, fill);
    }
}
