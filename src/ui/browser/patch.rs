//! Shows a tree of elements, and changes nothing but what differs from the tree before.
//!
//! The page is hundreds of elements that change together with every keystroke. A signal for each of their
//! attributes would be more code and more work than comparing two trees.
//!
//! An element with an `id` stays the same element wherever it goes among its siblings; the others are told
//! apart by where they stand. What an input holds follows the tree, but is written only where it differs
//! from what the reader sees there, so that the caret stays where it is.

use std::collections::VecDeque;

use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlInputElement};

use super::after_event;
use crate::report::markup::Markup;

/// Elements below one that the page already has.
pub(crate) struct Patch {
    root: Element,
    shown: Vec<Markup>,
    live: Vec<Live>,
}

/// An element of the page with those in it, in the order in which the tree has them: nothing has to be looked for.
struct Live {
    element: Element,
    inside: Vec<Live>,
}

impl Patch {
    /// Nothing yet, below `root`, which nothing else may fill.
    pub(crate) fn new(root: &Element) -> Self {
        Self {
            root: root.clone(),
            shown: Vec::new(),
            live: Vec::new(),
        }
    }

    /// Shows these elements in place of those before. What a browser refuses is left out.
    pub(crate) fn show(&mut self, elements: Vec<Markup>) {
        children(&self.root, &mut self.live, &self.shown, &elements);
        self.shown = elements;
    }
}

fn attribute<'a>(element: &'a Markup, name: &str) -> Option<&'a str> {
    let mut attributes = element.attributes.iter();
    attributes
        .find(|(other, _)| *other == name)
        .map(|(_, value)| &**value)
}

/// Whether one can become the other.
fn same(old: &Markup, new: &Markup) -> bool {
    old.tag == new.tag && attribute(old, "id") == attribute(new, "id")
}

fn children(parent: &Element, live: &mut Vec<Live>, old: &[Markup], new: &[Markup]) {
    // Most often nothing has come, gone or moved.
    if old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same(old, new)) {
        for ((live, old), new) in live.iter_mut().zip(old).zip(new) {
            change(live, old, new);
        }
        return;
    }
    let mut left: VecDeque<(Live, &Markup)> = live.drain(..).zip(old).collect();
    for (i, new_one) in new.iter().enumerate() {
        // What is not wanted any more goes first: what stands behind it need not move, and keeps the focus.
        let rest = new.get(i..).unwrap_or_default();
        while let Some((gone, _)) =
            left.pop_front_if(|(_, old)| !rest.iter().any(|new| same(old, new)))
        {
            gone.element.remove();
        }
        let stays = left.front().is_some_and(|(_, old)| same(old, new_one));
        let kept = if stays {
            Some(0)
        } else if attribute(new_one, "id").is_some() {
            left.iter().position(|(_, old)| same(old, new_one))
        } else {
            None
        };
        let one = if let Some((mut one, old)) = kept.and_then(|at| left.remove(at)) {
            change(&mut one, old, new_one);
            one
        } else if let Some(one) = create(parent, new_one) {
            one
        } else {
            continue;
        };
        if !stays {
            let next = left.front().map(|(next, _)| next.element.as_ref());
            let _ = parent.insert_before(&one.element, next);
        }
        live.push(one);
    }
    for (gone, _) in left {
        gone.element.remove();
    }
}

fn change(live: &mut Live, old: &Markup, new: &Markup) {
    let element = &live.element;
    if old.attributes != new.attributes {
        for (name, _) in &old.attributes {
            if attribute(new, name).is_none() {
                let _ = element.remove_attribute(name);
            }
        }
        for (name, value) in &new.attributes {
            if attribute(old, name) != Some(value) && !is_held(new.tag, name) {
                let _ = element.set_attribute(name, value);
            }
        }
    }
    if old.children.is_empty() && new.children.is_empty() {
        if old.text != new.text {
            write(element, &new.text);
        }
    } else if new.children.is_empty() {
        element.set_text_content(Some(&new.text));
        live.inside.clear();
    } else {
        if !old.text.is_empty() {
            element.set_text_content(None);
        }
        children(element, &mut live.inside, &old.children, &new.children);
    }
    // After the children, since a list can only hold what it offers.
    if matches!(new.tag, "input" | "select" | "textarea") {
        hold(element.unchecked_ref(), old, new);
    }
}

/// Changes the text of an element without children. Its text stays the same node where there is one, which a browser lays
/// out again in place, while another node is styled like any that comes to the page.
fn write(element: &Element, text: &str) {
    match element.first_child() {
        Some(node) if !text.is_empty() => node.set_node_value(Some(text)),
        _ => element.set_text_content(Some(text)),
    }
}

/// Whether this is what a control holds: no attribute, since the reader changes it too.
fn is_held(tag: &str, name: &str) -> bool {
    match name {
        "value" => matches!(tag, "input" | "select" | "textarea"),
        "checked" => tag == "input",
        _ => false,
    }
}

/// Makes a control hold what it should. All kinds have these properties under the same names.
fn hold(control: &HtmlInputElement, old: &Markup, new: &Markup) {
    if let Some(value) = attribute(new, "value") {
        let holds = control.value() == value;
        if old.tag.is_empty() {
            if !holds {
                control.set_value(value);
            }
        } else if attribute(old, "value") != Some(value) || !holds {
            // A browser that gets a new text for the control in use lays out the page there and then. Once everything
            // else has been changed, that is the layout that comes anyway.
            let (control, value) = (control.clone(), value.to_owned());
            after_event(Box::new(move || {
                if control.value() != value {
                    control.set_value(&value);
                }
            }));
        }
    }
    if matches!(attribute(new, "type"), Some("checkbox" | "radio")) {
        let checked = attribute(new, "checked").is_some();
        if control.checked() != checked {
            control.set_checked(checked);
        }
    }
}

/// A new element in its parent's namespace, but for pictures, which have one of their own.
fn create(parent: &Element, new: &Markup) -> Option<Live> {
    let namespace = match new.tag {
        "svg" => Some(String::from("http://www.w3.org/2000/svg")),
        _ => parent.namespace_uri(),
    };
    let document = parent.owner_document()?;
    let element = document
        .create_element_ns(namespace.as_deref(), new.tag)
        .ok()?;
    let mut live = Live {
        element,
        inside: Vec::new(),
    };
    change(&mut live, &Markup::default(), new);
    Some(live)
}
