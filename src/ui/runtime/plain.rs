//! A frame in another page.
//!
//! Values, what follows from them, and what acts on them are nodes of one graph. A node remembers what it read and
//! in which version; it is run again when one of those is another by the time somebody asks. Effects ask for
//! themselves, once the event that is being handled is over.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::{Fill, fill_in};
use crate::report::markup::Markup;
use crate::ui::browser::{self, Element};

/// What a node does when it is run; true when it has thereby become another.
type Follow = Box<dyn FnMut() -> bool>;

#[derive(Default)]
struct Node {
    /// How often it has become another.
    version: Cell<u32>,
    /// The moment at which it was last up to date.
    checked: Cell<Option<u32>>,
    /// What it read when it last ran, in order, and the versions of that.
    read: RefCell<Vec<(usize, u32)>>,
    /// None for a value that is set.
    follow: Option<RefCell<Follow>>,
}

#[derive(Default)]
struct Graph {
    nodes: RefCell<Vec<Rc<Node>>>,
    effects: RefCell<Vec<usize>>,
    /// Counts the changes.
    now: Cell<u32>,
    /// Who is running.
    reader: RefCell<Option<Rc<Node>>>,
    /// Whether the effects are about to be asked.
    waits: Cell<bool>,
}

thread_local! {
    static GRAPH: Graph = Graph::default();
}

impl Graph {
    fn add(&self, follow: Option<Follow>) -> usize {
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(Rc::new(Node {
            follow: follow.map(RefCell::new),
            ..Node::default()
        }));
        nodes.len() - 1
    }

    fn node(&self, at: usize) -> Rc<Node> {
        let node = self.nodes.borrow().get(at).cloned();
        node.unwrap_or_default()
    }

    /// Runs a node if something that it read has become another. Its version after that.
    fn refresh(&self, at: usize) -> u32 {
        let node = self.node(at);
        let Some(follow) = &node.follow else {
            return node.version.get();
        };
        let first = node.checked.get().is_none();
        if node.checked.replace(Some(self.now.get())) != Some(self.now.get()) {
            let changed = |(read, version): &(usize, u32)| self.refresh(*read) != *version;
            if first || node.read.borrow().iter().any(changed) {
                node.read.borrow_mut().clear();
                let before = self.reader.replace(Some(Rc::clone(&node)));
                let another = (follow.borrow_mut())();
                self.reader.replace(before);
                node.version
                    .update(|version| version.wrapping_add(another.into()));
            }
        }
        node.version.get()
    }

    /// Whoever is running has read this.
    fn track(&self, at: usize) {
        let version = self.refresh(at);
        if let Some(reader) = &*self.reader.borrow() {
            reader.read.borrow_mut().push((at, version));
        }
    }

    fn notify(&self, at: usize) {
        let node = self.node(at);
        node.version.update(|version| version.wrapping_add(1));
        self.now.update(|now| now.wrapping_add(1));
        if !self.effects.borrow().is_empty() && !self.waits.replace(true) {
            browser::after_event(Box::new(|| GRAPH.with(Self::settle)));
        }
    }

    fn settle(&self) {
        self.waits.set(false);
        let mut next = 0;
        loop {
            let effect = self.effects.borrow().get(next).copied();
            let Some(effect) = effect else { return };
            self.refresh(effect);
            next += 1;
        }
    }
}

/// What can change.
pub(in crate::ui) struct Trigger(usize);

impl Trigger {
    pub(in crate::ui) fn new() -> Self {
        Self(GRAPH.with(|graph| graph.add(None)))
    }

    /// Whoever is running runs again when this changes.
    pub(in crate::ui) fn track(&self) {
        GRAPH.with(|graph| graph.track(self.0));
    }

    /// It has changed.
    pub(in crate::ui) fn notify(&self) {
        GRAPH.with(|graph| graph.notify(self.0));
    }
}

/// What follows from what changes. It only counts how often it has become another.
#[derive(Clone, Copy)]
pub(in crate::ui) struct Version(usize);

impl Version {
    /// `follow` says whether it has become another.
    pub(in crate::ui) fn new(follow: Box<dyn Fn() -> bool + Send + Sync>) -> Self {
        Self(GRAPH.with(|graph| graph.add(Some(follow))))
    }

    /// Brings it up to date; whoever is running runs again when it has become another.
    pub(in crate::ui) fn track(self) {
        GRAPH.with(|graph| graph.track(self.0));
    }
}

/// Runs `act` now, and again whenever something that it read has changed.
pub(in crate::ui) fn effect(mut act: Box<dyn FnMut()>) {
    let follow: Follow = Box::new(move || {
        act();
        false
    });
    GRAPH.with(|graph| {
        let effect = graph.add(Some(follow));
        graph.effects.borrow_mut().push(effect);
        graph.refresh(effect);
    });
}

/// What this reads makes nobody run again.
pub(in crate::ui) fn untrack<T>(read: impl FnOnce() -> T) -> T {
    let before = GRAPH.with(|graph| graph.reader.take());
    let value = read();
    GRAPH.with(|graph| graph.reader.replace(before));
    value
}

/// A part of the page; none where the browser refuses.
pub(in crate::ui) struct Piece(Option<Element>);

/// An element with others in it.
pub(in crate::ui) fn element(shell: Markup, inside: Vec<Piece>, fill: Fill) -> Piece {
    let element = browser::new_element(shell.tag);
    if let Some(element) = &element {
        fill_in(element, &shell, fill);
        append(element, inside);
    }
    Piece(element)
}

/// Puts pieces at the end of an element.
pub(in crate::ui) fn append(element: &Element, pieces: Vec<Piece>) {
    for piece in pieces.into_iter().filter_map(|Piece(piece)| piece) {
        let _ = element.append_child(&piece);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::{Trigger, Version, untrack};

    #[test]
    fn what_was_not_tracked_makes_nobody_run_again() {
        let (trigger, runs) = (&*Box::leak(Box::new(Trigger::new())), Rc::new(Cell::new(0)));
        let other = &*Box::leak(Box::new(Trigger::new()));
        let version = Version::new(Box::new(|| {
            trigger.track();
            untrack(|| other.track());
            true
        }));
        let asked = || {
            let before = super::GRAPH.with(|graph| graph.refresh(version.0));
            runs.set(before);
            runs.get()
        };
        assert_eq!(asked(), 1);
        other.notify();
        assert_eq!(asked(), 1);
        trigger.notify();
        assert_eq!(asked(), 2);
    }
}
