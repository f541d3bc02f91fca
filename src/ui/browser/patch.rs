//! Shows a tree of elements, and changes nothing but what differs from the tree before.
//!
//! Charts and tables are hundreds of elements that change together with every keystroke. A signal for
//! each of their attributes would be more code and more work than comparing two trees.

use web_sys::Element;

use crate::report::markup::Markup;

/// Elements below one that the page already has.
pub(crate) struct Patch {
    root: Element,
    shown: Vec<Markup>,
}

impl Patch {
    /// Nothing yet, below `root`, which nothing else may fill.
    pub(crate) fn new(root: &Element) -> Self {
        Self {
            root: root.clone(),
            shown: Vec::new(),
        }
    }

    /// Shows these elements in place of those before. What a browser refuses is left out.
    pub(crate) fn show(&mut self, elements: Vec<Markup>) {
        children(&self.root, &self.shown, &elements);
        self.shown = elements;
    }
}

fn children(parent: &Element, old: &[Markup], new: &[Markup]) {
    let mut at = parent.first_element_child();
    for (i, new) in new.iter().enumerate() {
        let old = old.get(i);
        match (at.take(), old) {
            (Some(element), Some(old)) if old.tag == new.tag => {
                change(&element, old, new);
                at = element.next_element_sibling();
            }
            (found, _) => {
                let Some(element) = create(parent, new) else {
                    continue;
                };
                match found {
                    Some(found) => {
                        let _ = parent.replace_child(&element, &found);
                    }
                    None => {
                        let _ = parent.append_child(&element);
                    }
                }
                at = element.next_element_sibling();
            }
        }
    }
    while let Some(element) = at {
        at = element.next_element_sibling();
        element.remove();
    }
}

fn change(element: &Element, old: &Markup, new: &Markup) {
    if old.attributes != new.attributes {
        for (name, _) in &old.attributes {
            if !new.attributes.iter().any(|(other, _)| other == name) {
                let _ = element.remove_attribute(name);
            }
        }
        for attribute in &new.attributes {
            if !old.attributes.contains(attribute) {
                let _ = element.set_attribute(attribute.0, &attribute.1);
            }
        }
    }
    if old.children.is_empty() && new.children.is_empty() {
        if old.text != new.text {
            element.set_text_content(Some(&new.text));
        }
    } else if new.children.is_empty() {
        element.set_text_content(Some(&new.text));
    } else {
        if old.children.is_empty() {
            element.set_text_content(None);
        }
        children(element, &old.children, &new.children);
    }
}

/// A new element in its parent's namespace, but for pictures, which have one of their own.
fn create(parent: &Element, new: &Markup) -> Option<Element> {
    let namespace = match new.tag {
        "svg" => Some(String::from("http://www.w3.org/2000/svg")),
        _ => parent.namespace_uri(),
    };
    let document = parent.owner_document()?;
    let element = document
        .create_element_ns(namespace.as_deref(), new.tag)
        .ok()?;
    change(&element, &Markup::default(), new);
    Some(element)
}
